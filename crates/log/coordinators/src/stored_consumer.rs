//! The durable form of consumer groups (KIP-848): a record for the group, one for each member, and one for what each member is
//! to own. What a member owns is with the member, so that no crash parts it from the member's epoch.

use std::collections::{BTreeMap, BTreeSet};

use base::WallTime;
use log_wire::{Malformed, Reader, Writer};

use crate::{Blob, Epoch, Partitions, Text, TopicId};

/// The least bytes of a topic with its partitions, of a partition, of a name, and of a protocol, in a record.
const TOPIC_BYTES_MIN: usize = 17;
const NUMBER_BYTES: usize = 4;
const OWNED_BYTES: usize = 8;
const NAME_BYTES_MIN: usize = 1;
const PROTOCOL_BYTES_MIN: usize = 2;

/// Partitions that a member owns, with the epoch since which it does.
pub(crate) type Owned = BTreeMap<TopicId, BTreeMap<i32, Epoch>>;

/// A consumer group without its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredConsumerGroup {
    pub(crate) epoch: Epoch,
    /// The group's epoch that the target assignment is for.
    pub(crate) assignment_epoch: Epoch,
    /// Of the topics that the group's epoch is for.
    pub(crate) topics_hash: u64,
    pub(crate) empty_since: WallTime,
}

/// How far a member is led towards its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberState {
    /// It has all that its epoch gives it.
    Stable,
    /// It has to give up partitions before it gets others.
    Unrevoked,
    /// It is in its target's epoch, and others have not given up yet what it is to get.
    Unreleased,
}

/// What a classic member brought into the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassicProtocols {
    pub(crate) session_timeout_ms: u64,
    pub(crate) protocols: Vec<(Text, Blob)>,
}

/// A member of a consumer group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredConsumerMember {
    pub(crate) id: Text,
    pub(crate) instance: Option<Text>,
    pub(crate) rack: Option<Text>,
    pub(crate) client_id: Text,
    pub(crate) client_host: Text,
    pub(crate) rebalance_timeout_ms: u64,
    pub(crate) topics: BTreeSet<Text>,
    /// Empty if there is none.
    pub(crate) regex: Text,
    pub(crate) assignor: Option<Text>,
    /// Nothing if the member speaks the protocol of KIP-848.
    pub(crate) classic: Option<ClassicProtocols>,
    pub(crate) epoch: Epoch,
    pub(crate) previous_epoch: Epoch,
    pub(crate) state: MemberState,
    pub(crate) assigned: Owned,
    /// What it has to give up, and may own until it says that it does not.
    pub(crate) revoking: Owned,
}

impl StoredConsumerMember {
    /// A member that has just come.
    pub(crate) fn new(id: Text) -> Self {
        Self {
            id,
            instance: None,
            rack: None,
            client_id: "".into(),
            client_host: "".into(),
            rebalance_timeout_ms: 0,
            topics: BTreeSet::new(),
            regex: "".into(),
            assignor: None,
            classic: None,
            epoch: Epoch::JOIN,
            previous_epoch: Epoch::JOIN,
            state: MemberState::Stable,
            assigned: Owned::new(),
            revoking: Owned::new(),
        }
    }

    /// Brings the member to an epoch.
    pub(crate) const fn advance(&mut self, epoch: Epoch) {
        self.previous_epoch = self.epoch;
        self.epoch = epoch;
    }

    /// About how many bytes of its record others sent.
    pub(crate) fn bytes(&self) -> usize {
        let texts = [&self.id, &self.client_id, &self.client_host, &self.regex];
        let optional = [&self.instance, &self.rack, &self.assignor];
        let protocols = self.classic.iter().flat_map(|classic| &classic.protocols);
        texts.iter().map(|text| text.len()).sum::<usize>()
            + optional.into_iter().flatten().map(|text| text.len()).sum::<usize>()
            + self.topics.iter().map(|topic| topic.len()).sum::<usize>()
            + protocols.map(|(name, metadata)| name.len() + metadata.len()).sum::<usize>()
    }
}

pub(crate) fn write_group(writer: &mut Writer<'_>, group: &StoredConsumerGroup) {
    writer.i32(group.epoch.0).i32(group.assignment_epoch.0);
    writer.i64(group.topics_hash.cast_signed()).i64(group.empty_since.ms());
}

pub(crate) fn read_group(reader: &mut Reader<'_>) -> Result<StoredConsumerGroup, Malformed> {
    Ok(StoredConsumerGroup {
        epoch: Epoch(reader.i32()?),
        assignment_epoch: Epoch(reader.i32()?),
        topics_hash: reader.i64()?.cast_unsigned(),
        empty_since: WallTime::of_ms(reader.i64()?),
    })
}

pub(crate) fn write_partitions(writer: &mut Writer<'_>, partitions: &Partitions) {
    writer.count(partitions.len());
    for (id, numbers) in partitions {
        writer.uuid(id).count(numbers.len());
        for number in numbers {
            writer.i32(*number);
        }
    }
}

pub(crate) fn read_partitions(reader: &mut Reader<'_>) -> Result<Partitions, Malformed> {
    let mut partitions = Partitions::new();
    for _ in 0..reader.count(TOPIC_BYTES_MIN)? {
        let (id, count) = (reader.uuid()?, reader.count(NUMBER_BYTES)?);
        let numbers = (0..count).map(|_| reader.i32()).collect::<Result<_, _>>()?;
        partitions.insert(id, numbers);
    }
    Ok(partitions)
}

fn write_owned(writer: &mut Writer<'_>, owned: &Owned) {
    writer.count(owned.len());
    for (id, numbers) in owned {
        writer.uuid(id).count(numbers.len());
        for (number, since) in numbers {
            writer.i32(*number).i32(since.0);
        }
    }
}

fn read_owned(reader: &mut Reader<'_>) -> Result<Owned, Malformed> {
    let mut owned = Owned::new();
    for _ in 0..reader.count(TOPIC_BYTES_MIN)? {
        let (id, count) = (reader.uuid()?, reader.count(OWNED_BYTES)?);
        let numbers = (0..count).map(|_| Ok((reader.i32()?, Epoch(reader.i32()?))));
        owned.insert(id, numbers.collect::<Result<_, _>>()?);
    }
    Ok(owned)
}

/// Everything but the id, which is in the key.
pub(crate) fn write_member(writer: &mut Writer<'_>, member: &StoredConsumerMember) {
    writer.nullable_text(member.instance.as_deref()).nullable_text(member.rack.as_deref());
    writer.text(&member.client_id).text(&member.client_host);
    writer.i64(member.rebalance_timeout_ms as i64).count(member.topics.len());
    for topic in &member.topics {
        writer.text(topic);
    }
    writer.text(&member.regex).nullable_text(member.assignor.as_deref());
    writer.bool(member.classic.is_some());
    if let Some(classic) = &member.classic {
        writer.i64(classic.session_timeout_ms as i64).count(classic.protocols.len());
        for (name, metadata) in &classic.protocols {
            writer.text(name).bytes(metadata);
        }
    }
    writer.i32(member.epoch.0).i32(member.previous_epoch.0).i8(match member.state {
        MemberState::Stable => 0,
        MemberState::Unrevoked => 1,
        MemberState::Unreleased => 2,
    });
    write_owned(writer, &member.assigned);
    write_owned(writer, &member.revoking);
}

pub(crate) fn read_member(reader: &mut Reader<'_>, id: Text) -> Result<StoredConsumerMember, Malformed> {
    let mut member = StoredConsumerMember::new(id);
    member.instance = reader.nullable_text()?.map(Text::from);
    member.rack = reader.nullable_text()?.map(Text::from);
    (member.client_id, member.client_host) = (reader.text()?.into(), reader.text()?.into());
    member.rebalance_timeout_ms = millis(reader)?;
    for _ in 0..reader.count(NAME_BYTES_MIN)? {
        member.topics.insert(reader.text()?.into());
    }
    member.regex = reader.text()?.into();
    member.assignor = reader.nullable_text()?.map(Text::from);
    if reader.bool()? {
        member.classic = Some(read_classic(reader)?);
    }
    (member.epoch, member.previous_epoch) = (Epoch(reader.i32()?), Epoch(reader.i32()?));
    member.state = match reader.i8()? {
        0 => MemberState::Stable,
        1 => MemberState::Unrevoked,
        2 => MemberState::Unreleased,
        _ => return Err(Malformed("a member in an unknown state")),
    };
    (member.assigned, member.revoking) = (read_owned(reader)?, read_owned(reader)?);
    Ok(member)
}

fn read_classic(reader: &mut Reader<'_>) -> Result<ClassicProtocols, Malformed> {
    let mut classic = ClassicProtocols { session_timeout_ms: millis(reader)?, protocols: Vec::new() };
    for _ in 0..reader.count(PROTOCOL_BYTES_MIN)? {
        classic.protocols.push((reader.text()?.into(), Blob::from(reader.bytes()?)));
    }
    Ok(classic)
}

fn millis(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    u64::try_from(reader.i64()?).map_err(|_| Malformed("a timeout below zero"))
}
