//! A partition that has its leader: it is told so, asked for the next step, and handed over.

use replication_appointed::ReplicaId;

use crate::controller::Controller;
use crate::deadlines::Deadline;
use crate::ids::PartitionId;
use crate::partition::HandOver;
use crate::step::{Step, may_choose_instead, next_leader, step};

impl Controller {
    pub(crate) fn settle(&mut self, id: PartitionId) {
        let Some(partition) = self.partitions.get_mut(&id) else { return };
        partition.accepts_loss = false;
        let config = &partition.record.config;
        let leader = config.leader;
        if !self.nodes.is_alive(leader) {
            return;
        }
        if partition.confirmed != config.epoch {
            self.outbox.due(leader, id);
            return;
        }
        if !may_choose_instead(&partition.record, &self.nodes) {
            partition.shrinks_until = None;
        } else if self.now < *partition.shrinks_until.get_or_insert(self.now.plus_ms(self.settings.shrink_ms))
        {
            self.deadlines.set_by(Deadline::Partition(id), self.now.plus_ms(self.settings.shrink_ms));
        } else {
            // Its epoch may never begin, because the voters that are dead do not promise it.
            partition.shrinks_until = None;
            self.begin(id);
            return self.appoint(id);
        }
        match step(&partition.record, &self.nodes) {
            Some(Step::Finish(_)) => drop(self.outbox.ready.insert(id)),
            Some(Step::Change(_)) => self.outbox.due(leader, id),
            None => {}
        }
        self.hand_over_if_wanted(id);
    }

    fn hand_over_if_wanted(&mut self, id: PartitionId) {
        let Some(partition) = self.partitions.get_mut(&id) else { return };
        let next = next_leader(partition, &self.nodes);
        let leader = partition.record.config.leader;
        match (next, partition.hand_over) {
            (Some(to), Some(asked)) if to == asked.to && self.now < asked.until => {
                self.outbox.due(leader, id);
            }
            (_, Some(_)) => self.fail_hand_over(id),
            (Some(_), None) if partition.not_before > self.now => {
                self.deadlines.set(Deadline::Partition(id), partition.not_before);
            }
            (Some(_), None) if self.hand_overs.len() >= self.settings.hand_overs_max => {
                self.hand_overs_waiting.insert(id);
            }
            (Some(to), None) => {
                let until = self.now.plus_ms(self.settings.hand_over_ms);
                partition.hand_over = Some(HandOver { to, until });
                self.hand_overs.insert(id);
                self.deadlines.set(Deadline::Partition(id), until);
                self.outbox.due(leader, id);
            }
            (None, None) => drop(self.hand_overs_waiting.remove(&id)),
        }
    }

    /// The leader did not prepare in time, or another replica is to lead. A wish of a person is given up; another reason is
    /// taken up again later.
    fn fail_hand_over(&mut self, id: PartitionId) {
        if let Some(partition) = self.partitions.get_mut(&id) {
            (partition.wanted, partition.goes_back) = (None, false);
            partition.not_before = self.now.plus_ms(self.settings.hand_over_ms);
        }
        self.end_hand_over(id);
        self.look_at(id);
    }

    /// Whatever became of it, another one may begin.
    pub(crate) fn end_hand_over(&mut self, id: PartitionId) {
        if let Some(partition) = self.partitions.get_mut(&id) {
            partition.hand_over = None;
        }
        self.hand_overs_waiting.remove(&id);
        self.hand_overs.remove(&id);
    }

    /// The node has been alive for long enough to lead again what prefers it.
    pub(crate) fn give_back(&mut self, node: ReplicaId) {
        let (Some(after_ms), Some(known)) = (self.settings.preferred_after_ms, self.nodes.node(node)) else {
            return;
        };
        let Some(partitions) = self.misplaced.get(&node).filter(|_| self.nodes.is_alive(node)) else {
            return;
        };
        let at = known.alive_since.plus_ms(after_ms);
        if at > self.now {
            self.deadlines.set(Deadline::Preferred(node), at);
            return;
        }
        if self.is_imbalanced(node, partitions.len()) {
            for id in partitions {
                if let Some(partition) = self.partitions.get_mut(id) {
                    partition.goes_back = true;
                }
            }
            self.to_judge.extend(partitions);
        }
        self.deadlines.set(Deadline::Preferred(node), self.now.plus_ms(after_ms.max(1)));
    }

    /// Whether so many partitions that prefer a node and are led elsewhere are enough to give them back.
    fn is_imbalanced(&self, node: ReplicaId, elsewhere: usize) -> bool {
        let prefers = |id: &&PartitionId| {
            let partition = self.partitions.get(id);
            partition.is_some_and(|partition| partition.record.preferred.first() == Some(&node))
        };
        let percent = self.settings.imbalance_percent;
        percent == 0
            || self.of_node.get(&node).is_some_and(|of_node| {
                let all = of_node.iter().filter(prefers).count() as u64;
                elsewhere as u64 * 100 > all.saturating_mul(percent)
            })
    }

    /// Which node is preferred and does not lead.
    pub(crate) fn index_misplaced(&mut self, id: PartitionId, before: Option<ReplicaId>) {
        let now = self.partitions.get(&id).and_then(|partition| partition.misplaced());
        if before == now {
            return;
        }
        if let Some(node) = before
            && let Some(partitions) = self.misplaced.get_mut(&node)
        {
            partitions.remove(&id);
            if partitions.is_empty() {
                self.misplaced.remove(&node);
            }
        }
        let Some(node) = now else { return };
        self.misplaced.entry(node).or_default().insert(id);
        if let Some(after_ms) = self.settings.preferred_after_ms {
            self.deadlines.set_by(Deadline::Preferred(node), self.now.plus_ms(after_ms));
        }
    }
}
