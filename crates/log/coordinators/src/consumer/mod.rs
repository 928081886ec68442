//! One consumer group (KIP-848): its members, what each is to own, and how each is led there.
//!
//! The group's epoch rises with its members, their subscriptions and its topics. For an epoch, a target assignment is computed.
//! Each member is led to it by its own heartbeats: first it gives up what is not in its target, then it gets what nobody holds
//! any more. A partition counts as held until its holder says that it owns it no more, leaves, or is removed (L48).
//!
//! Members may speak the classic protocol (JoinGroup, SyncGroup, Heartbeat, LeaveGroup): they are led in the same way, and are
//! told by REBALANCE_IN_PROGRESS that they have to join again.
//!
//! It knows no table and no partition: it says which records have changed, and its answers wait for them outside.

mod admission;
mod classic_member;
mod commit;
mod describe;
mod heartbeat;
mod holders;
mod reconcile;
mod roster;
mod subscriptions;
mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::{MonoTime, WallTime};

use crate::codec::{Key, Value};
use crate::deadlines::Deadlines;
use crate::stored_consumer::{MemberState, StoredConsumerGroup, StoredConsumerMember};
use crate::turn::Turn;
use crate::{Epoch, GroupConfig, GroupLimits, Partitions, Text, Topics};

pub(crate) use admission::check_heartbeat;
pub(crate) use heartbeat::numbers as partitions;
use holders::Holders;
use subscriptions::Subscriptions;

/// How many members are removed at once in any case, and which part of a large group is.
const EXPELLED_AT_ONCE: usize = 8;
const EXPELLED_PART: usize = 16;

/// What a request may use besides its turn.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) topics: &'a dyn Topics,
    pub(crate) config: GroupConfig,
}

/// A member of the group, with what is not durable of it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) stored: Arc<StoredConsumerMember>,
    /// When it is removed if nothing is heard of it.
    session: MonoTime,
    /// When it is removed if it has not given up what it has to.
    rebalance: Option<MonoTime>,
    /// When a classic member is removed if it has not joined again.
    join: Option<MonoTime>,
    /// When a classic member is removed if it has not asked for its assignment.
    sync: Option<MonoTime>,
}

impl Member {
    fn deadline(&self) -> MonoTime {
        [self.rebalance, self.join, self.sync].into_iter().flatten().fold(self.session, Ord::min)
    }
}

/// Which records have to be written.
#[derive(Clone, Debug, Default)]
struct Changes {
    group: bool,
    members: BTreeSet<Text>,
    targets: BTreeSet<Text>,
}

/// A consumer group.
#[derive(Clone, Debug)]
pub(crate) struct ConsumerGroup {
    pub(crate) epoch: Epoch,
    pub(crate) assignment_epoch: Epoch,
    /// Of the topics that the epoch is for.
    topics_hash: u64,
    pub(crate) empty_since: WallTime,
    pub(crate) members: BTreeMap<Text, Member>,
    instances: BTreeMap<Text, Text>,
    target: BTreeMap<Text, Arc<Partitions>>,
    subscriptions: Subscriptions,
    holders: Holders,
    /// How many members speak the classic protocol.
    classic_members: usize,
    /// Bytes of all members that they sent themselves.
    bytes: usize,
    /// When the target was computed, if this coordinator did it.
    assigned_at: Option<MonoTime>,
    changes: Changes,
    pub(crate) deadlines: Deadlines,
}

impl ConsumerGroup {
    /// A group without members. Its epoch is the one that Kafka begins with.
    pub(crate) fn new(wall: WallTime) -> Self {
        Self::of(&StoredConsumerGroup {
            epoch: Epoch(1),
            assignment_epoch: Epoch(0),
            topics_hash: subscriptions::NO_TOPICS_HASH,
            empty_since: wall,
        })
    }

    /// A group that is as its record says, without members so far.
    fn of(stored: &StoredConsumerGroup) -> Self {
        Self {
            epoch: stored.epoch,
            assignment_epoch: stored.assignment_epoch,
            topics_hash: stored.topics_hash,
            empty_since: stored.empty_since,
            members: BTreeMap::new(),
            instances: BTreeMap::new(),
            target: BTreeMap::new(),
            subscriptions: Subscriptions::default(),
            holders: Holders::default(),
            classic_members: 0,
            bytes: 0,
            assigned_at: None,
            changes: Changes::default(),
            deadlines: Deadlines::default(),
        }
    }

    /// The group as its records have it. Every member gets its whole session, and what it has to give up its whole rebalance
    /// timeout: nobody knows when this member was heard last (L52).
    pub(crate) fn restored(
        name: &Text,
        table: &BTreeMap<Key, Value>,
        config: GroupConfig,
        limits: &GroupLimits,
        now: MonoTime,
    ) -> Option<Self> {
        let Some(Value::ConsumerGroup(stored)) = table.get(&Key::ConsumerGroup(name.clone())) else {
            return None;
        };
        let mut group = Self::of(stored);
        let first = Key::ConsumerMember(name.clone(), "".into());
        for (key, value) in table.range(first..) {
            let (Key::ConsumerMember(owner, _), Value::ConsumerMember(member)) = (key, value) else { break };
            if owner != name {
                break;
            }
            group.put(Arc::clone(member), now);
            group.touch(&member.id, config, limits, now);
        }
        let first = Key::ConsumerTarget(name.clone(), "".into());
        for (key, value) in table.range(first..) {
            let (Key::ConsumerTarget(owner, member), Value::ConsumerTarget(target)) = (key, value) else {
                break;
            };
            if owner != name {
                break;
            }
            group.target.insert(member.clone(), Arc::clone(target));
        }
        group.changes = Changes::default();
        Some(group)
    }

    /// Takes the records that have changed.
    pub(crate) fn take_changes(&mut self, name: &Text) -> Vec<(Key, Option<Value>)> {
        let changes = std::mem::take(&mut self.changes);
        let mut records = Vec::new();
        if changes.group {
            records.push((Key::ConsumerGroup(name.clone()), Some(Value::ConsumerGroup(self.stored()))));
        }
        for id in changes.members {
            let value = self.members.get(&id).map(|member| Value::ConsumerMember(Arc::clone(&member.stored)));
            records.push((Key::ConsumerMember(name.clone(), id), value));
        }
        for id in changes.targets {
            let value = self.target.get(&id).map(|target| Value::ConsumerTarget(Arc::clone(target)));
            records.push((Key::ConsumerTarget(name.clone(), id), value));
        }
        records
    }

    /// Removes members whose time is over: some of them, if they are many, for what is written of it is one batch. If that were
    /// larger than a segment may be, nobody would ever be removed. The others follow at once, with the next turn.
    pub(crate) fn expire(&mut self, turn: &Turn<'_>) {
        let most = EXPELLED_AT_ONCE.max(self.members.len() / EXPELLED_PART);
        let over = self.members.values().filter(|member| member.deadline() <= turn.now).take(most);
        let over: Vec<_> = over.map(|member| member.stored.id.clone()).collect();
        self.remove(&over, turn.wall);
    }

    /// Looks at all deadlines anew.
    pub(crate) fn set_deadlines(&mut self) {
        let of_members = self.members.iter().map(|(id, member)| (id.clone(), member.deadline()));
        self.deadlines.set_all(of_members, None);
    }

    /// When something is due for this member.
    pub(crate) fn deadline_of(&self, member: &Text) -> Option<MonoTime> {
        self.members.get(member).map(Member::deadline)
    }

    /// Every key that a record of this group has.
    pub(crate) fn keys(&self, name: &Text) -> Vec<Key> {
        let members = self.members.keys().map(|id| Key::ConsumerMember(name.clone(), id.clone()));
        let targets = self.target.keys().map(|id| Key::ConsumerTarget(name.clone(), id.clone()));
        members.chain(targets).chain([Key::ConsumerGroup(name.clone())]).collect()
    }

    /// Whether it may become a classic group: somebody is left, and nobody speaks the protocol of KIP-848.
    pub(crate) fn is_classic_only(&self) -> bool {
        !self.members.is_empty() && self.classic_members == self.members.len()
    }

    /// Whether every member has what the newest target gives it.
    fn is_at_rest(&self) -> bool {
        self.assignment_epoch == self.epoch
            && self.members.values().all(|member| self.is_reconciled(&member.stored))
    }

    fn is_reconciled(&self, member: &StoredConsumerMember) -> bool {
        member.state == MemberState::Stable && member.epoch == self.assignment_epoch
    }

    pub(crate) fn state(&self) -> &'static str {
        if self.members.is_empty() {
            "Empty"
        } else if self.assignment_epoch < self.epoch {
            "Assigning"
        } else if self.is_at_rest() {
            "Stable"
        } else {
            "Reconciling"
        }
    }

    /// Whether a member reads this topic. While topics are not matched yet, the group counts as a reader of each.
    pub(crate) fn subscribes(&self, topic: &str) -> bool {
        self.subscriptions.covers(topic)
    }

    /// Looks for the topics that members read, without consequences for the group's epoch.
    pub(crate) fn look(&mut self, topics: &dyn Topics, limits: &GroupLimits, now: MonoTime) {
        self.subscriptions.look(topics, &limits.consumer, now);
    }

    fn stored(&self) -> StoredConsumerGroup {
        StoredConsumerGroup {
            epoch: self.epoch,
            assignment_epoch: self.assignment_epoch,
            topics_hash: self.topics_hash,
            empty_since: self.empty_since,
        }
    }

    /// What a member may own.
    pub(crate) fn held(&self, member: &Text) -> Partitions {
        self.members.get(member).map(|member| describe::held(&member.stored)).unwrap_or_default()
    }

    fn target_of(&self, member: &Text) -> Arc<Partitions> {
        self.target.get(member).map(Arc::clone).unwrap_or_default()
    }
}
