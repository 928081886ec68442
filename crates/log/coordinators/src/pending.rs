//! Offsets that a transaction commits: pending until its marker, then committed or dropped.
//!
//! They are records of the same partition as the groups, so a restart finds them. One record per group and producer holds what
//! is pending, and one per producer holds its epoch and the groups in which it has something pending. A marker changes all
//! of them in one append: nobody sees one group's offsets committed and another's pending, and the marker is answered when
//! every reader sees its effect (L37, L45).
//!
//! Whether the transaction is open only its own coordinator knows: the broker asks it, between
//! [`GroupCoordinator::transaction_guard`] and the request.

use std::collections::{BTreeMap, BTreeSet};

use log_partition::{Marker, ProducerId, TransactionVersion};
use log_wire::ErrorCode;

use crate::classic::Phase;
use crate::codec::{Key, StoredOffset, StoredPending, StoredProducer, Value};
use crate::group::Group;
use crate::{
    Answer, Generation, GroupCoordinator, NewOffset, Text, Topic, TransactionGuard, TxnOffsetCommit,
};

/// The bytes of a committed offset's record besides its texts.
const OFFSET_BYTES: usize = 64;

impl GroupCoordinator {
    /// To be taken before the transaction's coordinator is asked whether the transaction is open: if a marker of the producer
    /// comes in between, the commit is refused. Otherwise offsets of an ended transaction would stay pending for ever (L44).
    #[must_use]
    pub fn transaction_guard(&self, producer_id: ProducerId) -> TransactionGuard {
        TransactionGuard(self.stored_producer(producer_id).map_or(0, |producer| producer.markers))
    }

    pub(crate) fn commit_pending(&mut self, commit: TxnOffsetCommit) -> Answer {
        let id = commit.producer.id;
        let admitted = self.may_commit_pending(&commit).and_then(|()| self.may_write(&commit));
        if let Err(code) = admitted {
            return Answer::Failed(code);
        }
        let group = commit.who.group;
        self.heard_of(&group, &commit.who.member);
        let mut producer = self.stored_producer(id).cloned().unwrap_or_default();
        let mut stale = BTreeSet::new();
        if producer.epoch < commit.producer.epoch {
            // What is pending under an older epoch is of a transaction that ended without this partition.
            stale = std::mem::take(&mut producer.groups);
            producer.epoch = commit.producer.epoch;
        }
        let key = Key::Pending(group.clone(), id);
        let anew = stale.contains(&group);
        let mut pending = if anew { StoredPending::default() } else { self.stored_pending(&key) };
        let (others, bytes) = self.pending_elsewhere(&producer, id, &group);
        let room = self.limits.pending_offsets_max.saturating_sub(others);
        let one = |offset| self.add_pending(&mut pending, offset, room);
        let codes: Vec<_> = commit.offsets.into_iter().map(one).collect();
        if bytes + bytes_of(&group, &pending) > self.limits.group_bytes_max {
            return Answer::Failed(ErrorCode::PolicyViolation);
        }
        if codes.contains(&ErrorCode::None) {
            self.settle(id, &stale, false);
            producer.groups.insert(group);
            producer.last_heard = self.wall;
            self.journal.put(key, Some(Value::Pending(pending)));
            self.journal.put(Key::Producer(id), Some(Value::Producer(producer)));
        }
        Answer::Each(codes)
    }

    /// A member must be of the present generation (KIP-447). A client that names none is taken as it is, in every state.
    fn may_commit_pending(&self, commit: &TxnOffsetCommit) -> Result<(), ErrorCode> {
        let who = &commit.who;
        if who.group.is_empty() {
            return Err(ErrorCode::InvalidGroupId);
        }
        let memberless = who.generation < Generation(0) && who.member.is_empty() && who.instance.is_none();
        match self.groups.get(&who.group) {
            None if who.generation < Generation(0) => Ok(()),
            None => Err(ErrorCode::IllegalGeneration),
            Some(Group::Consumer(group)) => group.check_transactional_commit(who, &commit.offsets),
            Some(Group::Classic(_)) if memberless => Ok(()),
            Some(Group::Classic(group)) if who.generation < Generation(0) && group.phase == Phase::Empty => {
                Ok(())
            }
            Some(Group::Classic(group)) => group.check(who),
        }
    }

    fn may_write(&self, commit: &TxnOffsetCommit) -> Result<(), ErrorCode> {
        let id = commit.producer.id;
        if self.stored_producer(id).is_some_and(|known| commit.producer.epoch < known.epoch) {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if commit.guard != self.transaction_guard(id) {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        let table = self.journal.table();
        let known = table.contains_key(&Key::Pending(commit.who.group.clone(), id));
        let full = table.len() >= self.limits.records_max && !known;
        if full { Err(ErrorCode::PolicyViolation) } else { Ok(()) }
    }

    fn add_pending(&self, pending: &mut StoredPending, new: NewOffset, room: usize) -> ErrorCode {
        if new.metadata.len() > self.limits.offset_metadata_bytes_max {
            return ErrorCode::OffsetMetadataTooLarge;
        }
        let key = (new.topic.name.clone(), new.partition);
        if pending.offsets.len() >= room && !pending.offsets.contains_key(&key) {
            return ErrorCode::PolicyViolation;
        }
        pending.offsets.insert(key, StoredOffset::new(new, self.wall));
        ErrorCode::None
    }

    /// The marker of a transaction for this partition.
    ///
    /// # Errors
    /// - INVALID_PRODUCER_EPOCH: the marker is of an earlier transaction than the one it would end.
    /// - TRANSACTION_COORDINATOR_FENCED: a newer coordinator has written a marker for this producer.
    pub(crate) fn end_transaction(&mut self, marker: &Marker) -> Result<Answer, ErrorCode> {
        let known = self.stored_producer(marker.producer_id).cloned();
        let raises = marker.version == TransactionVersion::EpochPerTransaction;
        let mut producer = known.unwrap_or_default();
        let (open, same_epoch) = (!producer.groups.is_empty(), marker.epoch == producer.epoch);
        if marker.epoch < producer.epoch || (raises && open && same_epoch) {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if producer.coordinator_epoch.is_some_and(|newest| marker.coordinator_epoch < newest) {
            return Err(ErrorCode::TransactionCoordinatorFenced);
        }
        if raises && same_epoch && producer.coordinator_epoch == Some(marker.coordinator_epoch) {
            // Only this marker brings a producer without pending offsets to this epoch.
            return Ok(Answer::Done);
        }
        self.settle(marker.producer_id, &producer.groups, marker.commit);
        producer.groups.clear();
        producer.epoch = marker.epoch;
        producer.coordinator_epoch = Some(marker.coordinator_epoch);
        producer.markers += 1;
        producer.last_heard = self.wall;
        self.journal.put(Key::Producer(marker.producer_id), Some(Value::Producer(producer)));
        Ok(Answer::Done)
    }

    /// Commits or drops what is pending of a producer.
    fn settle(&mut self, id: ProducerId, groups: &BTreeSet<Text>, commit: bool) {
        for group in groups {
            let key = Key::Pending(group.clone(), id);
            let pending = self.stored_pending(&key);
            if self.journal.table().contains_key(&key) {
                self.journal.put(key, None);
            }
            for ((topic, partition), mut stored) in pending.offsets.into_iter().filter(|_| commit) {
                stored.committed_at = self.wall;
                self.journal.put(Key::Offset(group.clone(), topic, partition), Some(Value::Offset(stored)));
            }
        }
    }

    /// How many offsets the producer has pending in other groups, and their bytes.
    fn pending_elsewhere(&self, producer: &StoredProducer, id: ProducerId, group: &Text) -> (usize, usize) {
        let others = producer.groups.iter().filter(|other| *other != group);
        others.fold((0, 0), |(count, bytes), other| {
            let pending = self.stored_pending(&Key::Pending(other.clone(), id));
            (count + pending.offsets.len(), bytes + bytes_of(other, &pending))
        })
    }

    fn stored_producer(&self, id: ProducerId) -> Option<&StoredProducer> {
        match self.journal.table().get(&Key::Producer(id)) {
            Some(Value::Producer(producer)) => Some(producer),
            _ => None,
        }
    }

    fn stored_pending(&self, key: &Key) -> StoredPending {
        match self.journal.table().get(key) {
            Some(Value::Pending(pending)) => pending.clone(),
            _ => StoredPending::default(),
        }
    }

    fn pending_records(&self, group: &Text) -> impl Iterator<Item = (&Key, &StoredPending)> {
        let first = Key::Pending(group.clone(), ProducerId(i64::MIN));
        let group = group.clone();
        self.journal.table().range(first..).map_while(move |(key, value)| match (key, value) {
            (Key::Pending(owner, _), Value::Pending(pending)) if *owner == group => Some((key, pending)),
            _ => None,
        })
    }

    /// The partitions of a group for which an undecided transaction has an offset.
    pub(crate) fn unstable(&self, group: &Text) -> BTreeMap<(Text, i32), [u8; 16]> {
        let pending = self.pending_records(group).flat_map(|(_, pending)| &pending.offsets);
        pending.map(|(key, stored)| (key.clone(), stored.topic_id)).collect()
    }

    pub(crate) fn has_pending(&self, group: &Text) -> bool {
        self.pending_records(group).next().is_some()
    }

    /// Drops what is pending for partitions whose offsets are deleted: their topic, their group or they themselves go.
    pub(crate) fn drop_pending(&mut self, group: &Text, gone: impl Fn(&Topic, i32) -> bool) {
        let mut changed = Vec::new();
        for (key, pending) in self.pending_records(group) {
            let mut left = pending.clone();
            left.offsets.retain(|(name, partition), stored| {
                !gone(&Topic { name: name.clone(), id: stored.topic_id }, *partition)
            });
            if left != *pending {
                changed.push((key.clone(), (!left.offsets.is_empty()).then_some(Value::Pending(left))));
            }
        }
        for (key, value) in changed {
            self.journal.put(key, value);
        }
    }

    /// The groups in which something is pending.
    pub(crate) fn groups_with_pending(&self) -> BTreeSet<Text> {
        let groups = self.journal.table().keys().filter_map(|key| match key {
            Key::Pending(group, _) => Some(group.clone()),
            _ => None,
        });
        groups.collect()
    }

    /// Forgets the epochs of producers that were silent for `producer.id.expiration.ms` and have nothing pending.
    pub(crate) fn expire_producers(&mut self) {
        let (wall, limit) = (self.wall, self.limits.producer_expiration_ms);
        let producers = self.journal.table().range(Key::Producer(ProducerId(i64::MIN))..);
        let producers = producers.take_while(|(key, _)| matches!(key, Key::Producer(_)));
        let over = producers.filter(|(_, value)| match value {
            Value::Producer(producer) => {
                producer.groups.is_empty() && wall.since(producer.last_heard) >= limit
            }
            _ => false,
        });
        for key in over.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.journal.put(key, None);
        }
    }
}

/// About how many bytes the offsets take in the append that commits them.
fn bytes_of(group: &Text, pending: &StoredPending) -> usize {
    let one = |((topic, _), stored): (&(Text, i32), &StoredOffset)| {
        group.len() + topic.len() + stored.metadata.len() + OFFSET_BYTES
    };
    pending.offsets.iter().map(one).sum()
}
