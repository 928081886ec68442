//! The records of the internal partition. A decoder refuses what it does not know, and never reads beyond its bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::WallTime;
use log_partition::{CoordinatorEpoch, ProducerEpoch, ProducerId};
use log_wire::{Malformed, Reader, Writer};

use crate::stored_consumer::{self, StoredConsumerGroup, StoredConsumerMember};
use crate::{Blob, Generation, NewOffset, Offset, Partitions, Text, journal};

/// The version of keys and values: their first byte.
const VERSION: i8 = 1;
const GROUP: i8 = 1;
const OFFSET: i8 = 2;
const PENDING: i8 = 3;
const PRODUCER: i8 = 4;
const CONSUMER_GROUP: i8 = 5;
const CONSUMER_MEMBER: i8 = 6;
const CONSUMER_TARGET: i8 = 7;
/// The least bytes of a member, and of a protocol, in a record.
const MEMBER_BYTES_MIN: usize = 24;
const PROTOCOL_BYTES_MIN: usize = 2;
/// The least bytes of a pending offset, and of a group's name, in a record.
const PENDING_BYTES_MIN: usize = 42;
const NAME_BYTES_MIN: usize = 1;

/// A record of the internal partition that cannot be read: the log is damaged, or newer than this program.
pub type Damaged = Malformed;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// A classic group.
    Group(Text),
    /// Group, topic, partition.
    Offset(Text, Text, i32),
    /// What a producer's open transaction will commit in a group.
    Pending(Text, ProducerId),
    /// A producer that commits offsets in transactions.
    Producer(ProducerId),
    /// A consumer group without its members.
    ConsumerGroup(Text),
    /// Group, member.
    ConsumerMember(Text, Text),
    /// Group, member: what the member is to own.
    ConsumerTarget(Text, Text),
}

impl Key {
    /// The group whose state the record is part of; nothing for offsets and producers.
    pub(crate) const fn group(&self) -> Option<&Text> {
        match self {
            Self::Group(group)
            | Self::ConsumerGroup(group)
            | Self::ConsumerMember(group, _)
            | Self::ConsumerTarget(group, _) => Some(group),
            Self::Offset(..) | Self::Pending(..) | Self::Producer(_) => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredMember {
    pub(crate) id: Text,
    pub(crate) instance: Option<Text>,
    pub(crate) client_id: Text,
    pub(crate) client_host: Text,
    pub(crate) session_timeout_ms: u64,
    pub(crate) rebalance_timeout_ms: u64,
    pub(crate) protocols: Vec<(Text, Blob)>,
    pub(crate) assignment: Blob,
}

/// A group as it was when its last rebalance or its last assignment became durable. Members are in the order of joining.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredGroup {
    pub(crate) generation: Generation,
    pub(crate) protocol_type: Text,
    pub(crate) protocol: Text,
    pub(crate) leader: Text,
    pub(crate) assigned: bool,
    pub(crate) empty_since: WallTime,
    pub(crate) members: Vec<StoredMember>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredOffset {
    pub(crate) topic_id: [u8; 16],
    pub(crate) offset: Offset,
    pub(crate) leader_epoch: i32,
    pub(crate) metadata: Text,
    pub(crate) committed_at: WallTime,
}

impl StoredOffset {
    pub(crate) fn new(new: NewOffset, committed_at: WallTime) -> Self {
        Self {
            topic_id: new.topic.id,
            offset: new.offset,
            leader_epoch: new.leader_epoch,
            metadata: new.metadata,
            committed_at,
        }
    }
}

/// Offsets by topic and partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoredPending {
    pub(crate) offsets: BTreeMap<(Text, i32), StoredOffset>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoredProducer {
    pub(crate) epoch: ProducerEpoch,
    /// Of the newest marker, if there is one.
    pub(crate) coordinator_epoch: Option<CoordinatorEpoch>,
    /// How many markers have come.
    pub(crate) markers: i64,
    /// Where something is pending.
    pub(crate) groups: BTreeSet<Text>,
    pub(crate) last_heard: WallTime,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Group(StoredGroup),
    Offset(StoredOffset),
    Pending(StoredPending),
    Producer(StoredProducer),
    ConsumerGroup(StoredConsumerGroup),
    ConsumerMember(Arc<StoredConsumerMember>),
    ConsumerTarget(Arc<Partitions>),
}

impl journal::Key for Key {
    type Value = Value;

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, true);
        match self {
            Self::Group(group) => writer.i8(VERSION).i8(GROUP).text(group),
            Self::Offset(group, topic, partition) => {
                writer.i8(VERSION).i8(OFFSET).text(group).text(topic).i32(*partition)
            }
            Self::Pending(group, id) => writer.i8(VERSION).i8(PENDING).text(group).i64(id.0),
            Self::Producer(id) => writer.i8(VERSION).i8(PRODUCER).i64(id.0),
            Self::ConsumerGroup(group) => writer.i8(VERSION).i8(CONSUMER_GROUP).text(group),
            Self::ConsumerMember(group, member) => {
                writer.i8(VERSION).i8(CONSUMER_MEMBER).text(group).text(member)
            }
            Self::ConsumerTarget(group, member) => {
                writer.i8(VERSION).i8(CONSUMER_TARGET).text(group).text(member)
            }
        };
        out
    }

    fn encode_value(value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, true);
        writer.i8(VERSION);
        match value {
            Value::Group(group) => write_group(&mut writer, group),
            Value::Offset(offset) => write_offset(&mut writer, offset),
            Value::Pending(pending) => write_pending(&mut writer, pending),
            Value::Producer(producer) => write_producer(&mut writer, producer),
            Value::ConsumerGroup(group) => stored_consumer::write_group(&mut writer, group),
            Value::ConsumerMember(member) => stored_consumer::write_member(&mut writer, member),
            Value::ConsumerTarget(target) => stored_consumer::write_partitions(&mut writer, target),
        }
        out
    }
}

/// Reads a record.
pub(crate) fn read(key: &[u8], value: Option<&[u8]>) -> Result<(Key, Option<Value>), Damaged> {
    let mut reader = Reader::new(key, true);
    version(&mut reader)?;
    let key = match reader.i8()? {
        GROUP => Key::Group(text(&mut reader)?),
        OFFSET => Key::Offset(text(&mut reader)?, text(&mut reader)?, reader.i32()?),
        PENDING => Key::Pending(text(&mut reader)?, ProducerId(reader.i64()?)),
        PRODUCER => Key::Producer(ProducerId(reader.i64()?)),
        CONSUMER_GROUP => Key::ConsumerGroup(text(&mut reader)?),
        CONSUMER_MEMBER => Key::ConsumerMember(text(&mut reader)?, text(&mut reader)?),
        CONSUMER_TARGET => Key::ConsumerTarget(text(&mut reader)?, text(&mut reader)?),
        _ => return Err(Malformed("a key of an unknown kind")),
    };
    reader.end()?;
    let Some(value) = value else { return Ok((key, None)) };
    let mut reader = Reader::new(value, true);
    version(&mut reader)?;
    let value = match &key {
        Key::Group(_) => Value::Group(read_group(&mut reader)?),
        Key::Offset(..) => Value::Offset(read_offset(&mut reader)?),
        Key::Pending(..) => Value::Pending(read_pending(&mut reader)?),
        Key::Producer(_) => Value::Producer(read_producer(&mut reader)?),
        Key::ConsumerGroup(_) => Value::ConsumerGroup(stored_consumer::read_group(&mut reader)?),
        Key::ConsumerMember(_, id) => {
            Value::ConsumerMember(Arc::new(stored_consumer::read_member(&mut reader, id.clone())?))
        }
        Key::ConsumerTarget(..) => {
            Value::ConsumerTarget(Arc::new(stored_consumer::read_partitions(&mut reader)?))
        }
    };
    reader.end()?;
    Ok((key, Some(value)))
}

pub(crate) fn version(reader: &mut Reader<'_>) -> Result<(), Damaged> {
    if reader.i8()? == VERSION { Ok(()) } else { Err(Malformed("a record of an unknown version")) }
}

pub(crate) fn text(reader: &mut Reader<'_>) -> Result<Text, Damaged> {
    reader.text().map(Text::from)
}

fn millis(reader: &mut Reader<'_>) -> Result<u64, Damaged> {
    u64::try_from(reader.i64()?).map_err(|_| Malformed("a timeout below zero"))
}

fn write_offset(writer: &mut Writer<'_>, offset: &StoredOffset) {
    writer.uuid(&offset.topic_id).i64(offset.offset.0).i32(offset.leader_epoch);
    writer.text(&offset.metadata).i64(offset.committed_at.ms());
}

fn read_offset(reader: &mut Reader<'_>) -> Result<StoredOffset, Damaged> {
    Ok(StoredOffset {
        topic_id: reader.uuid()?,
        offset: Offset(reader.i64()?),
        leader_epoch: reader.i32()?,
        metadata: text(reader)?,
        committed_at: WallTime::of_ms(reader.i64()?),
    })
}

fn write_pending(writer: &mut Writer<'_>, pending: &StoredPending) {
    writer.count(pending.offsets.len());
    for ((topic, partition), offset) in &pending.offsets {
        writer.text(topic).i32(*partition);
        write_offset(writer, offset);
    }
}

fn read_pending(reader: &mut Reader<'_>) -> Result<StoredPending, Damaged> {
    let mut pending = StoredPending::default();
    for _ in 0..reader.count(PENDING_BYTES_MIN)? {
        let partition = (text(reader)?, reader.i32()?);
        pending.offsets.insert(partition, read_offset(reader)?);
    }
    Ok(pending)
}

fn write_producer(writer: &mut Writer<'_>, producer: &StoredProducer) {
    writer.i16(producer.epoch.0).i32(producer.coordinator_epoch.map_or(-1, |epoch| epoch.0));
    writer.i64(producer.markers).i64(producer.last_heard.ms()).count(producer.groups.len());
    for group in &producer.groups {
        writer.text(group);
    }
}

fn read_producer(reader: &mut Reader<'_>) -> Result<StoredProducer, Damaged> {
    let mut producer = StoredProducer {
        epoch: ProducerEpoch(reader.i16()?),
        coordinator_epoch: Some(reader.i32()?).filter(|epoch| *epoch >= 0).map(CoordinatorEpoch),
        markers: reader.i64()?,
        last_heard: WallTime::of_ms(reader.i64()?),
        groups: BTreeSet::new(),
    };
    for _ in 0..reader.count(NAME_BYTES_MIN)? {
        producer.groups.insert(text(reader)?);
    }
    Ok(producer)
}

fn write_group(writer: &mut Writer<'_>, group: &StoredGroup) {
    writer.i32(group.generation.0).text(&group.protocol_type).text(&group.protocol).text(&group.leader);
    writer.bool(group.assigned).i64(group.empty_since.ms()).count(group.members.len());
    for member in &group.members {
        writer.text(&member.id).nullable_text(member.instance.as_deref());
        writer.text(&member.client_id).text(&member.client_host);
        writer.i64(member.session_timeout_ms as i64).i64(member.rebalance_timeout_ms as i64);
        writer.count(member.protocols.len());
        for (name, metadata) in &member.protocols {
            writer.text(name).bytes(metadata);
        }
        writer.bytes(&member.assignment);
    }
}

fn read_group(reader: &mut Reader<'_>) -> Result<StoredGroup, Damaged> {
    let mut group = StoredGroup {
        generation: Generation(reader.i32()?),
        protocol_type: text(reader)?,
        protocol: text(reader)?,
        leader: text(reader)?,
        assigned: reader.bool()?,
        empty_since: WallTime::of_ms(reader.i64()?),
        members: Vec::new(),
    };
    for _ in 0..reader.count(MEMBER_BYTES_MIN - 4)? {
        group.members.push(read_member(reader)?);
    }
    Ok(group)
}

fn read_member(reader: &mut Reader<'_>) -> Result<StoredMember, Damaged> {
    let (id, instance) = (text(reader)?, reader.nullable_text()?.map(Text::from));
    let (client_id, client_host) = (text(reader)?, text(reader)?);
    let (session_timeout_ms, rebalance_timeout_ms) = (millis(reader)?, millis(reader)?);
    let mut protocols = Vec::new();
    for _ in 0..reader.count(PROTOCOL_BYTES_MIN)? {
        protocols.push((text(reader)?, Blob::from(reader.bytes()?)));
    }
    let assignment = Blob::from(reader.bytes()?);
    Ok(StoredMember {
        id,
        instance,
        client_id,
        client_host,
        session_timeout_ms,
        rebalance_timeout_ms,
        protocols,
        assignment,
    })
}
