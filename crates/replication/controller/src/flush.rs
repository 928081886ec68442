//! Makes effects of what waits in the outbox: one message for each node, as large as may be.

use std::collections::BTreeSet;

use replication_appointed::ReplicaId;

use crate::controller::{Controller, Proposal};
use crate::deadlines::Deadline;
use crate::effect::{Change, Effect, FenceRequest, Known, Task, Work};
use crate::ids::{PartitionId, ProposalId};
use crate::outbox::Sent;
use crate::partition::Partition;
use crate::record::Record;
use crate::step::{Step, step};

/// What a node is to hear, by kind.
#[derive(Default)]
struct Messages {
    fences: Vec<FenceRequest>,
    known: Vec<Known>,
    tasks: Vec<Task>,
}

impl Messages {
    const fn is_empty(&self) -> bool {
        self.fences.is_empty() && self.known.is_empty() && self.tasks.is_empty()
    }
}

impl Controller {
    /// What the owner is to do now, in this order.
    #[must_use]
    pub fn take_effects(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.flush_reads(&mut effects);
        self.flush_proposals(&mut effects);
        for (node, partitions) in self.outbox.take_due() {
            if self.nodes.is_alive(node) {
                self.flush_node(node, &partitions, &mut effects);
            }
        }
        for (node, partitions) in self.outbox.take_news() {
            if self.nodes.is_alive(node) {
                let known = partitions.iter().filter_map(|id| self.known(*id)).collect();
                self.put(node, Messages { known, ..Messages::default() }, &mut effects);
            }
        }
        effects
    }

    fn flush_reads(&mut self, effects: &mut Vec<Effect>) {
        let reads: Vec<PartitionId> = core::mem::take(&mut self.outbox.reads).into_iter().collect();
        for partitions in reads.chunks(self.settings.message_max.max(1)) {
            effects.push(Effect::Read { partitions: partitions.to_vec() });
        }
    }

    fn flush_proposals(&mut self, effects: &mut Vec<Effect>) {
        while self.proposals.len() < self.settings.proposals_max.max(1) {
            let mut changes = Vec::new();
            let id = ProposalId(self.last_proposal.0 + 1);
            while changes.len() < self.settings.changes_max.max(1)
                && let Some(partition) = self.outbox.ready.pop_first()
            {
                changes.extend(self.change(partition, id));
            }
            if changes.is_empty() {
                return;
            }
            self.last_proposal = id;
            let proposal = Proposal { changes: changes.clone(), since: self.now };
            self.proposals.insert(id, proposal);
            self.deadlines.set_by(Deadline::Configuration, self.now.plus_ms(self.settings.proposal_ms));
            effects.push(Effect::Propose { id, changes });
        }
    }

    /// What is to be written of a partition. If something is under way already, its answer has the partition judged again.
    fn change(&mut self, id: PartitionId, proposal: ProposalId) -> Option<Change> {
        let partition = self.partitions.get_mut(&id)?;
        if partition.is_reading || partition.proposal.is_some() {
            return None;
        }
        let wish = partition.wish();
        let attempt = partition.attempt.as_ref();
        let appointment =
            attempt.and_then(|attempt| attempt.appointment(&partition.record, wish, &self.nodes));
        let edited = || {
            let goal = partition.edit.clone()?;
            Some(Record { goal: Some(goal), ..partition.record.clone() })
        };
        let finished = || match step(&partition.record, &self.nodes)? {
            Step::Finish(record) if !partition.needs_leader(&self.nodes) => Some(record),
            _ => None,
        };
        let record = appointment.or_else(edited).or_else(finished)?;
        let version = partition.version;
        partition.proposal = Some(proposal);
        Some(Change { partition: id, version, record })
    }

    fn flush_node(&mut self, node: ReplicaId, partitions: &BTreeSet<PartitionId>, effects: &mut Vec<Effect>) {
        let mut messages = Messages::default();
        for id in partitions {
            let Some(partition) = self.partitions.get(id).filter(|partition| !partition.is_reading) else {
                continue;
            };
            if partition.needs_leader(&self.nodes) {
                self.fence(node, *id, &mut messages);
            } else if partition.record.config.leader == node {
                self.ask(node, *id, &mut messages);
            }
        }
        if !messages.is_empty() {
            let at = self.now.plus_ms(self.settings.resend_ms.max(1));
            self.deadlines.set_by(Deadline::Resend(node), at);
        }
        self.put(node, messages, effects);
    }

    fn fence(&mut self, node: ReplicaId, id: PartitionId, messages: &mut Messages) {
        let Some(partition) = self.partitions.get(&id) else { return };
        let Some(attempt) = &partition.attempt else { return };
        let votes = partition.record.config.voters.replicas().contains(&node);
        let epoch = attempt.epoch;
        let is_wanted = votes && !attempt.told.contains_key(&node);
        if is_wanted && self.outbox.is_new(node, id, Sent::Fence(epoch)) {
            messages.fences.push(FenceRequest { partition: id, epoch });
        }
    }

    fn ask(&mut self, node: ReplicaId, id: PartitionId, messages: &mut Messages) {
        let Some(partition) = self.partitions.get(&id) else { return };
        let version = partition.version;
        if partition.confirmed != partition.record.config.epoch {
            if self.outbox.is_new(node, id, Sent::Tell(version)) {
                messages.known.extend(self.known(id));
            }
            return;
        }
        let tasks = self.tasks(id, partition);
        let to = partition.hand_over.map(|asked| asked.to);
        let changes = tasks.iter().any(|task| matches!(task.work, Work::Change { .. }));
        if !tasks.is_empty() && self.outbox.is_new(node, id, Sent::Ask(version, changes, to)) {
            messages.tasks.extend(tasks);
        }
    }

    fn tasks(&self, id: PartitionId, partition: &Partition) -> Vec<Task> {
        let epoch = partition.record.config.epoch;
        let task = |work| Task { partition: id, epoch, work };
        let change = match step(&partition.record, &self.nodes) {
            Some(Step::Change(record)) => {
                Some(Work::Change { version: partition.version, record: Box::new(record) })
            }
            _ => None,
        };
        let hand_over = partition.hand_over.map(|asked| Work::HandOver { to: asked.to });
        change.into_iter().chain(hand_over).map(task).collect()
    }

    fn known(&self, id: PartitionId) -> Option<Known> {
        let partition = self.partitions.get(&id)?;
        Some(Known { partition: id, version: partition.version, record: partition.record.clone() })
    }

    fn put(&self, node: ReplicaId, messages: Messages, effects: &mut Vec<Effect>) {
        let Messages { fences, known, tasks } = messages;
        let most = self.settings.message_max.max(1);
        effects.extend(fences.chunks(most).map(|some| Effect::SendFence { node, fences: some.to_vec() }));
        effects.extend(known.chunks(most).map(|some| Effect::Tell { node, known: some.to_vec() }));
        effects.extend(tasks.chunks(most).map(|some| Effect::Ask { node, tasks: some.to_vec() }));
    }
}
