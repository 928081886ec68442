//! A partition that needs a leader: an attempt begins when enough voters are alive, and ends with a proposal.

use replication_appointed::{Epoch, ReplicaId};

use crate::attempt::{Attempt, Progress};
use crate::controller::Controller;
use crate::deadlines::Deadline;
use crate::ids::PartitionId;

/// The first pause after another controller was found at work, and the longest.
const PAUSE_MS: (u64, u64) = (10, 1_000);

impl Controller {
    pub(crate) fn appoint(&mut self, id: PartitionId) {
        self.end_hand_over(id);
        let Some(partition) = self.partitions.get_mut(&id) else { return };
        if partition.attempt.is_none() {
            if !partition.has_enough_voters(&self.nodes) {
                return;
            }
            if partition.not_before > self.now {
                self.deadlines.set(Deadline::Partition(id), partition.not_before);
                return;
            }
            self.begin(id);
        }
        self.advance(id);
    }

    /// Picks an epoch. From now on the partition needs a leader, whatever becomes of the one before.
    pub(crate) fn begin(&mut self, id: PartitionId) {
        let Some(partition) = self.partitions.get_mut(&id) else { return };
        let highest = partition.floor.max(partition.record.config.epoch);
        let Some(epoch) = highest.0.checked_add(1).map(Epoch) else { return };
        partition.floor = epoch;
        partition.attempt = Some(Attempt::new(epoch));
    }

    fn advance(&mut self, id: PartitionId) {
        let Some(partition) = self.partitions.get_mut(&id) else { return };
        let (record, wish) = (&partition.record, partition.wish());
        let Some(attempt) = &mut partition.attempt else { return };
        for node in record.config.voters.replicas() {
            if self.nodes.is_alive(*node) && !attempt.told.contains_key(node) {
                self.outbox.due(*node, id);
            }
        }
        match attempt.progress(record, wish, &self.nodes) {
            Progress::TooFew => {}
            Progress::Enough if attempt.has_grace => {}
            Progress::Enough => {
                attempt.has_grace = true;
                self.deadlines.set(Deadline::Partition(id), self.now.plus_ms(self.settings.grace_ms));
            }
            Progress::Ready => drop(self.outbox.ready.insert(id)),
        }
    }

    /// The deadline of a partition.
    pub(crate) fn time_has_come(&mut self, id: PartitionId) {
        if let Some(partition) = self.partitions.get_mut(&id)
            && let Some(attempt) = &mut partition.attempt
        {
            attempt.is_grace_over = attempt.has_grace;
        }
        self.look_at(id);
    }

    /// A replica has promised that epoch. If nobody here has asked for it, another controller or a leader is at work, and the
    /// record may be old.
    pub(crate) fn learn_promise(&mut self, id: PartitionId, promised: Epoch) {
        let Some(partition) = self.partitions.get_mut(&id) else { return };
        if promised <= partition.floor.max(partition.record.config.epoch) {
            return;
        }
        partition.floor = promised;
        if partition.attempt.take().is_some() {
            partition.refusals += 1;
            if partition.refusals > 1 {
                let (first, most) = PAUSE_MS;
                let longest = (first << partition.refusals.min(7)).min(most);
                partition.not_before = self.now.plus_ms(self.random.below(longest));
            }
        }
        self.read(id);
    }

    /// The leader is prepared: its voters are fenced, and this replica is preferred.
    pub(crate) fn prepared(&mut self, node: ReplicaId, id: PartitionId, epoch: Epoch, to: ReplicaId) {
        let Some(partition) = self.partitions.get_mut(&id) else { return };
        let config = &partition.record.config;
        let is_asked = partition.hand_over.is_some_and(|asked| asked.to == to);
        let is_leader = config.leader == node && config.epoch == epoch;
        let is_free = !partition.is_reading && !partition.needs_leader(&self.nodes);
        let can_lead = self.nodes.is_alive(to) && partition.has_enough_voters(&self.nodes);
        if is_asked && is_leader && is_free && can_lead {
            partition.wanted = Some(to);
            self.begin(id);
        }
        self.look_at(id);
    }
}
