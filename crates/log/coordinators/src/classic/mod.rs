//! One classic group: its members, its generation and its state. It knows no table and no partition: it says when its record
//! has to be written, and its answers wait for that outside.

mod join;
mod rebalance;
mod sync;

pub(crate) use join::member_bytes;

use std::collections::BTreeMap;

use base::{MonoTime, WallTime};
use log_wire::ErrorCode;

use crate::codec::{StoredGroup, StoredMember};
use crate::consumer_protocol::topics;
use crate::deadlines::Deadlines;
use crate::{Blob, Generation, Text, Ticket};

/// A member of the group.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The order of joining: the first member leads.
    pub(crate) rank: u64,
    /// What is durable of it. Until the leader of a new generation assigns, the assignment is that of before.
    pub(crate) stored: StoredMember,
    /// When it is expelled if nothing is heard of it.
    pub(crate) deadline: MonoTime,
    pub(crate) joining: Option<Ticket>,
    pub(crate) syncing: Option<Ticket>,
}

/// What the group does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It has no members.
    Empty,
    /// It waits for its members to join. `initial_left_ms` is how much longer the first rebalance may be prolonged.
    Preparing { deadline: MonoTime, initial_left_ms: Option<u64>, grown: bool },
    /// It waits for the leader's assignment.
    Completing { deadline: MonoTime },
    /// Every member has its assignment.
    Stable,
}

/// A classic group.
#[derive(Clone, Debug)]
pub(crate) struct ClassicGroup {
    pub(crate) generation: Generation,
    pub(crate) protocol_type: Text,
    pub(crate) protocol: Text,
    pub(crate) leader: Text,
    pub(crate) members: BTreeMap<Text, Member>,
    pub(crate) instances: BTreeMap<Text, Text>,
    /// Ids that were handed out with MEMBER_ID_REQUIRED, and when they are forgotten.
    pub(crate) expected: BTreeMap<Text, MonoTime>,
    pub(crate) phase: Phase,
    /// The generation has its assignment. It stays so while the next rebalance is prepared.
    pub(crate) assigned: bool,
    pub(crate) empty_since: WallTime,
    pub(crate) next_rank: u64,
    /// The record has to be written.
    pub(crate) dirty: bool,
    pub(crate) deadlines: Deadlines,
}

impl ClassicGroup {
    pub(crate) fn new(wall: WallTime) -> Self {
        Self {
            generation: Generation(0),
            protocol_type: "".into(),
            protocol: "".into(),
            leader: "".into(),
            members: BTreeMap::new(),
            instances: BTreeMap::new(),
            expected: BTreeMap::new(),
            phase: Phase::Empty,
            assigned: false,
            empty_since: wall,
            next_rank: 0,
            dirty: false,
            deadlines: Deadlines::default(),
        }
    }

    /// The group as its durable record has it. Every member gets its whole session timeout anew: nobody knows when this
    /// member was heard last (rule L52).
    pub(crate) fn restored(stored: &StoredGroup, now: MonoTime) -> Self {
        let mut group = Self::new(stored.empty_since);
        group.generation = stored.generation;
        group.protocol_type = stored.protocol_type.clone();
        group.protocol = stored.protocol.clone();
        group.leader = stored.leader.clone();
        group.assigned = stored.assigned;
        for member in &stored.members {
            group.insert(member.clone(), now);
        }
        let deadline = now.plus_ms(group.rebalance_timeout_ms());
        group.phase = match (stored.members.is_empty(), stored.assigned) {
            (true, _) => Phase::Empty,
            (false, true) => Phase::Stable,
            // A member has left, or it was a consumer group until now: nobody is to assign, so everybody has to join.
            (false, false) if stored.leader.is_empty() => {
                Phase::Preparing { deadline, initial_left_ms: None, grown: false }
            }
            (false, false) => Phase::Completing { deadline },
        };
        group
    }

    pub(crate) fn insert(&mut self, stored: StoredMember, now: MonoTime) {
        if let Some(instance) = &stored.instance {
            self.instances.insert(instance.clone(), stored.id.clone());
        }
        let deadline = now.plus_ms(stored.session_timeout_ms);
        let member = Member { rank: self.next_rank, stored, deadline, joining: None, syncing: None };
        self.next_rank += 1;
        self.members.insert(member.stored.id.clone(), member);
    }

    /// The record of the group. If it waits for its members to join, a replay of the record waits for them too: it has no leader
    /// and no assignment.
    pub(crate) fn stored(&self) -> StoredGroup {
        let prepares = matches!(self.phase, Phase::Preparing { .. });
        StoredGroup {
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: if prepares { "".into() } else { self.leader.clone() },
            assigned: self.assigned && !prepares,
            empty_since: self.empty_since,
            members: self.by_rank().map(|member| member.stored.clone()).collect(),
        }
    }

    pub(crate) fn by_rank(&self) -> impl Iterator<Item = &Member> {
        let mut members: Vec<_> = self.members.values().collect();
        members.sort_by_key(|member| member.rank);
        members.into_iter()
    }

    pub(crate) fn rebalance_timeout_ms(&self) -> u64 {
        self.members.values().map(|member| member.stored.rebalance_timeout_ms).max().unwrap_or(0)
    }

    /// Whether a member of this id and instance id is in the group.
    pub(crate) fn check_identity(&self, member: &Text, instance: Option<&Text>) -> Result<(), ErrorCode> {
        if let Some(instance) = instance {
            match self.instances.get(instance) {
                None => return Err(ErrorCode::UnknownMemberId),
                Some(owner) if owner != member => return Err(ErrorCode::FencedInstanceId),
                Some(_) => {}
            }
        }
        if self.members.contains_key(member) { Ok(()) } else { Err(ErrorCode::UnknownMemberId) }
    }

    /// Whether the member is in the group and in its present generation.
    pub(crate) fn check(&self, who: &crate::MemberRef) -> Result<(), ErrorCode> {
        self.check_identity(&who.member, who.instance.as_ref())?;
        if who.generation == self.generation { Ok(()) } else { Err(ErrorCode::IllegalGeneration) }
    }

    /// Something was heard of the member.
    pub(crate) fn touch(&mut self, member: &Text, now: MonoTime) {
        if let Some(member) = self.members.get_mut(member) {
            member.deadline = now.plus_ms(member.stored.session_timeout_ms);
        }
    }

    pub(crate) const fn state(&self) -> &'static str {
        match self.phase {
            Phase::Empty => "Empty",
            Phase::Preparing { .. } => "PreparingRebalance",
            Phase::Completing { .. } => "CompletingRebalance",
            Phase::Stable => "Stable",
        }
    }

    /// Whether a member reads this topic, as far as its metadata can be read. A group that is not of consumers is not asked.
    pub(crate) fn subscribes(&self, topic: &str) -> bool {
        self.members.values().any(|member| {
            let chosen = member.stored.protocols.iter().filter(|(name, _)| *name == self.protocol);
            chosen.clone().count() == 0
                || chosen.into_iter().any(|(_, metadata)| match topics(metadata) {
                    Some(topics) => topics.contains(&topic),
                    None => true,
                })
        })
    }

    /// The metadata of a member for the protocol that was chosen.
    pub(crate) fn metadata(&self, member: &StoredMember) -> Blob {
        let found = member.protocols.iter().find(|(name, _)| *name == self.protocol);
        found.map_or_else(|| Blob::from(&[][..]), |(_, metadata)| metadata.clone())
    }

    /// When this member is expelled if nothing is heard of it; nothing while it waits for others.
    pub(crate) fn deadline_of(&self, member: &Text) -> Option<MonoTime> {
        let member = self.members.get(member)?;
        (member.joining.is_none() && member.syncing.is_none()).then_some(member.deadline)
    }

    /// Every request that waits in the group, which is about to be forgotten.
    pub(crate) fn waiting(&self) -> Vec<Ticket> {
        self.members.values().flat_map(|member| [member.joining, member.syncing]).flatten().collect()
    }
}
