//! Copies of partitions with several replicas: lent to the machine that does this broker's duties as one of them, and told what
//! leaders send.
//!
//! Whatever changes a copy here gives to the disk what is to be made durable, and says what follows for clients: that more is
//! committed, and that the copy is served from now on, or not any more.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::Now;
use bytes::Bytes;
use log_partition::{
    Change, LeaderEpoch, NewBatch, NewEpoch, NewStart, Offset, Partition, PartitionId, PersistId, Seq,
};
use log_storage::Append as Appending;
use replication_appointed::{
    Answer, Append, Appended, BadAppend, Config, Epoch, LeadError, Refused, Replica, ReplicaId, Round,
};
use replication_controller::PartitionId as ReplicatedId;
use replication_node::{Copies, Input, LogCopy};
use storage_wal::LogId;

use super::in_flight::{Awaited, InFlight};
use super::{Hosted, PartitionEvent, Partitions, Slot, seed_of};
use crate::catalog::TopicImage;
use crate::disk_work::DiskCommand;

/// The name that replication has for a partition.
pub(crate) const fn replicated(id: PartitionId) -> ReplicatedId {
    ReplicatedId { group: id.topic, index: id.index.cast_unsigned() }
}

/// The partition of that name; nothing if there can be none.
pub(crate) fn partition_of(id: ReplicatedId) -> Option<PartitionId> {
    Some(PartitionId { topic: id.group, index: i32::try_from(id.index).ok()? })
}

/// A copy, lent.
#[derive(Debug)]
pub(crate) struct LentCopy<'p> {
    slot: Slot,
    hosted: &'p mut Hosted,
    in_flight: &'p mut InFlight,
    events: &'p mut Vec<PartitionEvent>,
}

/// What clients are told of a copy.
struct Marks {
    /// Where it begins for them.
    start: Offset,
    /// What is before that is deleted for good.
    deleted_to: Option<Seq>,
    high_watermark: Offset,
    /// Who leads, as far as the copy knows.
    leader: Option<(ReplicaId, LeaderEpoch)>,
    /// The newest round of which it is known that it still led when it asked.
    confirmed: Option<Round>,
}

impl Marks {
    fn of(partition: &Partition) -> Self {
        Self {
            start: partition.shown_start(),
            deleted_to: partition.replica().deleted_to(),
            high_watermark: partition.high_watermark(),
            leader: partition.leader(),
            confirmed: partition.replica().confirmed(),
        }
    }
}

impl Copies for Partitions {
    type Copy<'a> = LentCopy<'a>;

    fn copy(&mut self, partition: ReplicatedId) -> Option<LentCopy<'_>> {
        let slot = self.by_id.get(partition_of(partition)?)?;
        self.lend(slot).filter(|copy| copy.hosted.is_replicated)
    }
}

impl LogCopy for LentCopy<'_> {
    fn replica(&self) -> &Replica {
        self.hosted.partition.replica()
    }

    fn fence(&mut self, epoch: Epoch) -> Result<(), Refused> {
        let before = Marks::of(&self.hosted.partition);
        let new = self.hosted.partition.fence(LeaderEpoch::of(epoch))?;
        self.promise(new, before);
        Ok(())
    }

    fn lead(&mut self, own: ReplicaId, config: &Config) -> Result<(), LeadError> {
        let before = Marks::of(&self.hosted.partition);
        let new = self.hosted.partition.lead(own, config.clone())?;
        self.promise(new, before);
        Ok(())
    }

    fn apply(&mut self, input: Input) {
        let before = Marks::of(&self.hosted.partition);
        let partition = &mut self.hosted.partition;
        match input {
            Input::Appended(from, answer) => partition.receive_appended(from, answer),
            Input::Diverged(from, answer) => partition.receive_diverged(from, answer),
            Input::Refused(answer) => partition.receive_refused(answer),
            Input::SendAgain(to) => partition.send_again(to),
            Input::TellAgain => partition.tell_again(),
            Input::AskForVoters(voters) => partition.ask_for_voters(voters),
            Input::GiveUpVoters => partition.give_up_voters(),
        }
        self.follow_up(before);
    }

    fn take_answer(&mut self) -> Option<(ReplicaId, Appended)> {
        self.hosted.partition.take_answer()
    }
}

impl LentCopy<'_> {
    /// An epoch is promised, or begins. The marks were there before.
    fn promise(&mut self, new: NewEpoch, before: Marks) {
        let command = DiskCommand::Epoch(self.hosted.log, new.promised, new.begins);
        self.in_flight.give_awaited(command, 0, Awaited::Replica(self.slot, new.persist));
        self.follow_up(before);
    }

    /// That number is durable.
    fn persisted(&mut self, persist: PersistId) {
        let before = Marks::of(&self.hosted.partition);
        self.hosted.partition.persisted(persist);
        if self.hosted.partition.replica().is_leading() {
            self.events.push(PartitionEvent::Flushed(self.slot));
        }
        self.follow_up(before);
    }

    /// What its disk and its clients have to know. The marks were there before.
    fn follow_up(&mut self, before: Marks) {
        if let Some(new) = self.hosted.partition.take_start() {
            self.store_start(new, Awaited::Start(self.slot, new.persist));
        }
        let replica = self.hosted.partition.replica();
        let (leads, is_established) = (replica.is_leading(), replica.is_established());
        if self.hosted.is_ready && !leads {
            self.hosted.is_ready = false;
            self.events.push(PartitionEvent::Lost(self.slot));
        } else if !self.hosted.is_ready && is_established {
            self.hosted.is_ready = true;
            self.events.push(PartitionEvent::Ready(self.slot));
        }
        let marks = Marks::of(&self.hosted.partition);
        if marks.leader != before.leader {
            self.events.push(PartitionEvent::Followed(self.slot));
        }
        if marks.deleted_to != before.deleted_to || marks.start > before.start {
            self.events.push(PartitionEvent::StartMoved(self.slot));
        }
        if marks.confirmed > before.confirmed {
            self.events.push(PartitionEvent::Confirmed(self.slot));
        }
        if marks.high_watermark > before.high_watermark {
            // How many bytes that are is not known: whoever waits looks.
            self.events.push(PartitionEvent::Committed(self.slot, usize::MAX));
        }
    }

    /// Takes what a leader has sent.
    fn receive(
        &mut self,
        from: ReplicaId,
        append: &Append,
        batches: &Bytes,
        now: Now,
    ) -> Result<Option<Answer>, BadAppend> {
        let before = Marks::of(&self.hosted.partition);
        let taken = self.hosted.partition.receive(from, append, batches, now.wall)?;
        let mut changes = taken.changes;
        if let Some(persist) = taken.persist {
            // Without a change, what is awaited is the end of what was given before: a record that says nothing new stands for that.
            let last = changes.pop().unwrap_or_else(|| Change::Epoch(self.known_promise(persist)));
            changes.into_iter().for_each(|change| self.store(change, Awaited::Gone, now));
            self.store(last, Awaited::Replica(self.slot, persist), now);
        }
        self.follow_up(before);
        Ok(taken.answer)
    }

    fn known_promise(&self, persist: PersistId) -> NewEpoch {
        NewEpoch { persist, promised: self.hosted.partition.epoch(), begins: None }
    }

    fn store(&mut self, change: Change, awaited: Awaited, now: Now) {
        let log = self.hosted.log;
        let mut bytes = 0;
        let command = match change {
            Change::Batch(NewBatch { at, end, bytes: batch, begun, commit, index, persist: _ }) => {
                bytes = batch.len();
                DiskCommand::Append(Appending { log, at, end, now: now.wall, begun, batch, commit, index })
            }
            Change::Reset(start, promised) => DiskCommand::Reset(log, start, promised),
            Change::State(state) => DiskCommand::State(log, state),
            Change::Cut(cut) => DiskCommand::Cut(log, cut),
            Change::Epoch(new) => DiskCommand::Epoch(log, new.promised, new.begins),
            Change::Start(new) => return self.store_start(new, awaited),
        };
        self.in_flight.give_awaited(command, bytes, awaited);
    }

    /// The log begins later from now on.
    fn store_start(&mut self, new: NewStart, awaited: Awaited) {
        let command = DiskCommand::Start(self.hosted.log, new.start, new.first_segment);
        self.in_flight.give_awaited(command, 0, awaited);
    }
}

impl Partitions {
    fn lend(&mut self, slot: Slot) -> Option<LentCopy<'_>> {
        let Self { hosted, in_flight, events, .. } = self;
        let hosted = hosted.get_mut(slot.0)?.as_mut()?;
        Some(LentCopy { slot, hosted, in_flight, events })
    }

    /// The place of a copy, if it is ready.
    pub(crate) fn slot_of(&self, id: PartitionId) -> Option<Slot> {
        self.by_id.get(id)
    }

    /// Takes what a leader has sent. Gives what it is to be told at once.
    ///
    /// # Errors
    /// The sender is at fault; nothing was changed.
    pub(crate) fn receive(
        &mut self,
        slot: Slot,
        from: ReplicaId,
        (append, batches): (&Append, &Bytes),
        now: Now,
    ) -> Result<Option<Answer>, BadAppend> {
        self.lend(slot).map_or(Ok(None), |mut copy| copy.receive(from, append, batches, now))
    }

    /// Makes a copy with an empty log that has promised an epoch. A copy that there is becomes that in one step. Once it is durable,
    /// that is told by [`PartitionEvent::Made`]. None is made while the disk holds a copy that cannot be used: an empty one in its
    /// place would be a voter that has forgotten what it acknowledged.
    pub(crate) fn make_copy(&mut self, id: PartitionId, promised: LeaderEpoch, topic: &TopicImage) {
        let is_of_others = self.by_id(id).is_some_and(|hosted| !hosted.is_replicated);
        if self.damaged.contains(&id) || self.stored.contains_key(&id) || is_of_others {
            return;
        }
        if let Some(log) = self.by_id(id).map(|hosted| hosted.log) {
            self.forget_copy(id);
            self.in_flight.give(DiskCommand::Reset(log, Offset::ZERO, promised));
            self.made(id, log, promised, topic);
        } else {
            self.promised.insert(id, promised);
            if self.creating.insert(id, Arc::clone(&topic.name)).is_none() {
                self.in_flight.give(DiskCommand::Create(id, Offset::ZERO));
            }
        }
    }

    /// The log of a copy is there, and was not used.
    pub(super) fn made(&mut self, id: PartitionId, log: LogId, promised: LeaderEpoch, topic: &TopicImage) {
        let mut partition = Partition::new(topic.config, Offset::ZERO);
        let Ok(new) = partition.fence(promised) else { return };
        let slot = self.host_copy(id, log, partition, topic);
        let command = DiskCommand::Epoch(log, new.promised, new.begins);
        self.in_flight.give_awaited(command, 0, Awaited::Made(slot, new.persist));
    }

    /// A copy is here from now on. It leads nothing yet.
    pub(super) fn host_copy(
        &mut self,
        id: PartitionId,
        log: LogId,
        mut partition: Partition,
        topic: &TopicImage,
    ) -> Slot {
        partition.set_seed(seed_of(id));
        partition.set_config(topic.config);
        self.place(Hosted::new(id, &topic.name, log, partition, true))
    }

    /// The disk held a copy at the start. One that has promised nothing was being made when the process before died: it counts
    /// for nothing, and is made anew if it is wanted.
    pub(super) fn host_stored(
        &mut self,
        id: PartitionId,
        log: LogId,
        partition: Partition,
        topic: &TopicImage,
    ) {
        if partition.epoch() < LeaderEpoch(0) {
            self.in_flight.give(DiskCommand::Drop(log));
        } else {
            self.host_copy(id, log, partition, topic);
        }
    }

    /// Asks whether a partition is still led here. Gives the round to wait for; nothing if no other broker can lead it without the
    /// promise of this one.
    pub(crate) fn confirm(&mut self, slot: Slot) -> Option<Round> {
        let hosted = self.get_mut(slot).filter(|hosted| hosted.is_replicated)?;
        let (id, round) = (hosted.id, hosted.partition.confirm());
        if round.is_some_and(|round| hosted.partition.replica().is_confirmed(round)) {
            return None;
        }
        self.touched.insert(id);
        // It is known not to be, and who waits is about to hear of it.
        Some(round.unwrap_or(Round(u64::MAX)))
    }

    /// Whether a partition was still led here when that round began.
    pub(crate) fn is_confirmed(&self, slot: Slot, round: Round) -> bool {
        self.get(slot).is_some_and(|hosted| hosted.partition.replica().is_confirmed(round))
    }

    /// A partition has one replica from now on, which is here. Gives whether it leads; otherwise nothing is changed.
    pub(crate) fn release(&mut self, id: PartitionId) -> bool {
        let hosted = self.by_id.get(id).and_then(|slot| self.get_mut(slot));
        let Some(hosted) = hosted.filter(|hosted| hosted.partition.replica().is_leading()) else {
            return false;
        };
        hosted.is_replicated = false;
        true
    }

    /// A copy is not wanted any more.
    pub(crate) fn drop_copy(&mut self, id: PartitionId) {
        self.promised.remove(&id);
        self.creating.remove(&id);
        if let Some(log) = self.forget_copy(id) {
            self.in_flight.give(DiskCommand::Drop(log));
        }
    }

    /// What stood for a copy does not any more. Gives its log.
    fn forget_copy(&mut self, id: PartitionId) -> Option<LogId> {
        let slot = self.by_id.remove(id)?;
        let gone = self.hosted.get_mut(slot.0).and_then(Option::take)?;
        self.by_log.remove(&gone.log);
        self.in_flight.forget(slot);
        self.free.push(slot);
        self.events.push(PartitionEvent::Gone(slot));
        Some(gone.log)
    }

    /// Something of a copy is durable.
    pub(super) fn copy_persisted(&mut self, slot: Slot, persist: PersistId) {
        if let Some(mut copy) = self.lend(slot) {
            copy.persisted(persist);
            let id = copy.hosted.id;
            self.touched.insert(id);
        }
    }

    /// Takes the partitions with several replicas of which something is durable by now, or was appended.
    pub(crate) fn take_touched(&mut self) -> BTreeSet<PartitionId> {
        std::mem::take(&mut self.touched)
    }
}
