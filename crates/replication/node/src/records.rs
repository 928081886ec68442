//! What the configuration says, and what became of what was written.

use base::MonoTime;
use replication_appointed::{Epoch, Position, ReplicaId};
use replication_controller::{Known, PartitionId, Record, Version, Written};

use crate::assignment::{Assignment, Context};
use crate::copy::{Copies, LogCopy};
use crate::deadlines::Deadline;
use crate::effect::Effect;
use crate::node::Node;
use crate::reading::Verdict;

impl Node {
    /// The configuration says that, read or observed. A version that is not above one that was seen changes nothing.
    pub fn learn<C: Copies>(&mut self, known: Known, now: MonoTime, copies: &mut C) {
        self.pass(now);
        let (partition, epoch) = (known.partition, known.record.config.epoch);
        if self.seen.get(&partition).is_none_or(|seen| *seen < known.version) {
            self.seen.insert(partition, known.version);
            self.take_record(known, copies);
        }
        self.end_reading(partition, epoch, copies);
    }

    /// The configuration does not have that partition any more. Its id is never used again, so no record of it follows that
    /// was read or observed.
    pub fn removed<C: Copies>(&mut self, partition: PartitionId, copies: &mut C) {
        self.seen.remove(&partition);
        self.readings.remove(&partition);
        self.deadlines.set(Deadline::Read(partition), None);
        self.drop_copy(partition, copies);
    }

    /// The partition has one replica from now on, which is here and leads: the copy stays, and is the owner's alone. Controllers
    /// have nothing to do with it any more.
    pub fn release(&mut self, partition: PartitionId) {
        self.assignments.remove(&partition);
        self.readings.remove(&partition);
        self.deadlines.set(Deadline::Partition(partition), None);
        self.deadlines.set(Deadline::Read(partition), None);
    }

    /// What became of [`Effect::Write`].
    pub fn wrote<C: Copies>(
        &mut self,
        partition: PartitionId,
        result: Written,
        now: MonoTime,
        copies: &mut C,
    ) {
        self.pass(now);
        let change = self.assignments.get(&partition).and_then(|assignment| assignment.change.as_ref());
        match (result, change) {
            (Written::Yes(version), Some(change)) if version == Version(change.version.0 + 1) => {
                let record = change.record.clone();
                self.learn(Known { partition, version, record }, now, copies);
            }
            _ => drop(self.read(partition, |_| {})),
        }
    }

    fn take_record<C: Copies>(&mut self, known: Known, copies: &mut C) {
        let (partition, epoch) = (known.partition, known.record.config.epoch);
        if !names(&known.record, self.own) {
            return self.drop_copy(partition, copies);
        }
        let is_assigned = self.assignments.contains_key(&partition);
        let promised = match copies.copy(partition) {
            // One that there was must not give way to an empty one because the owner cannot use it now.
            None => (!is_assigned).then_some(epoch),
            Some(copy) => {
                is_lost(&copy, &known.record, self.own).then(|| epoch.max(copy.replica().promised()))
            }
        };
        let assignment = self.assignments.entry(partition).or_insert_with(|| Assignment::new(known.clone()));
        assignment.known = known;
        match promised {
            Some(promised) if assignment.creating.is_none() => {
                let (own, now, settings) = (self.own, self.now, &self.settings);
                assignment.create(promised, &mut Context { own, now, settings, outbox: &mut self.outbox });
                self.deadlines.set(Deadline::Partition(partition), None);
            }
            _ => self.with(partition, copies, |assignment, copy, context| {
                assignment.act_on_record(copy, context);
            }),
        }
    }

    /// The copy is dropped, if there is one. Its promise goes with it.
    fn drop_copy<C: Copies>(&mut self, partition: PartitionId, copies: &mut C) {
        let was_assigned = self.assignments.remove(&partition).is_some();
        self.deadlines.set(Deadline::Partition(partition), None);
        if was_assigned || copies.copy(partition).is_some() {
            self.outbox.push(Effect::Drop { partition });
        }
    }

    /// A record of that epoch has come: what waited for it goes on, or the record is read again.
    fn end_reading<C: Copies>(&mut self, partition: PartitionId, epoch: Epoch, copies: &mut C) {
        let Some(mut reading) = self.readings.remove(&partition) else { return };
        let assigned = self.assignments.get(&partition).map(Assignment::epoch);
        let epoch = assigned.map_or(epoch, |assigned| assigned.max(epoch));
        if assigned.is_some() {
            let fences = reading.fences.take();
            fences.into_iter().for_each(|(from, fenced)| self.fence(from, partition, fenced, copies));
        }
        match reading.judge(epoch) {
            Verdict::Done => self.deadlines.set(Deadline::Read(partition), None),
            verdict => {
                self.readings.insert(partition, reading);
                return if verdict == Verdict::ReadNow {
                    self.send_read(partition)
                };
            }
        }
        let Some((leader, sent)) = reading.dropped.filter(|dropped| dropped.1 <= epoch) else { return };
        match self.assignments.get_mut(&partition) {
            Some(assignment) if assignment.creating.is_some() => assignment.dropped = Some((leader, sent)),
            _ => self.with(partition, copies, |assignment, copy, context| {
                assignment.ask_again(leader, sent, copy, context);
            }),
        }
    }
}

/// Whether a node has a copy of a partition with that record.
fn names(record: &Record, node: ReplicaId) -> bool {
    let config = &record.config;
    config.leader == node || config.voters.replicas().contains(&node) || config.learners.contains(&node)
}

/// Whether a person has given up entries that this copy may have, and may know to be committed, or may still be sent: a copy
/// without entries takes those of the leader before, unless it has promised the epoch of the loss.
fn is_lost(copy: &impl LogCopy, record: &Record, own: ReplicaId) -> bool {
    let (position, promised) = (copy.replica().log().position(), copy.replica().promised());
    let lost = record.loss.as_ref().map_or(Epoch::NONE, |loss| loss.epoch);
    let may_have_more = position != Position::default() || promised < lost;
    record.config.leader != own && position.epoch < lost && may_have_more
}
