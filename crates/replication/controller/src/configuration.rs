//! What the configuration says, and what became of proposals.

use std::collections::BTreeSet;

use replication_appointed::ReplicaId;

use crate::controller::Controller;
use crate::deadlines::Deadline;
use crate::effect::{Change, Known};
use crate::event::Written;
use crate::ids::{PartitionId, ProposalId, Version};
use crate::partition::Partition;
use crate::record::Record;

impl Controller {
    pub(crate) fn configured(&mut self, known: Known) {
        let Known { partition: id, version, record } = known;
        let known = self.partitions.get(&id).map(|partition| partition.version);
        if known.is_some_and(|known| known > version) {
            return;
        }
        self.reading.remove(&id);
        if known != Some(version) {
            self.replace(id, version, record);
        }
        if let Some(partition) = self.partitions.get_mut(&id) {
            partition.is_reading = false;
        }
        self.look_at(id);
    }

    pub(crate) fn removed(&mut self, id: PartitionId) {
        self.end_hand_over(id);
        let Some(partition) = self.partitions.remove(&id) else { return };
        self.deadlines.clear(Deadline::Partition(id));
        self.reading.remove(&id);
        self.index_misplaced(id, partition.misplaced());
        self.index_nodes(id, &partition.record.nodes(), &BTreeSet::new());
    }

    pub(crate) fn proposed(&mut self, id: ProposalId, results: &[Written]) {
        let Some(proposal) = self.proposals.remove(&id) else { return };
        let mut results = results.iter().copied();
        for change in proposal.changes {
            let id = change.partition;
            // A batch without all of its results is not known to be written.
            let written = results.next().unwrap_or(Written::Unknown);
            let Some(partition) = self.partitions.get_mut(&id) else { continue };
            partition.proposal = None;
            match written {
                Written::Yes(version) => {
                    let Change { partition, record, .. } = change;
                    self.configured(Known { partition, version, record });
                }
                Written::Conflict | Written::Unknown => self.read(id),
                Written::Untried => {}
            }
            // Also if a newer version was observed before this answer: what that asks for has waited for the answer.
            self.look_at(id);
        }
    }

    /// What was not answered for long.
    pub(crate) fn read_again(&mut self) {
        let oldest = self.now.minus_ms(self.settings.proposal_ms);
        let late: Vec<ProposalId> = self
            .proposals
            .iter()
            .filter(|(_, proposal)| proposal.since <= oldest)
            .map(|(id, _)| *id)
            .collect();
        for id in late {
            self.proposed(id, &[]);
        }
        self.outbox.reads.extend(&self.reading);
        if !self.reading.is_empty() || !self.proposals.is_empty() {
            let at = self.now.plus_ms(self.settings.proposal_ms);
            self.deadlines.set(Deadline::Configuration, at);
        }
    }

    fn replace(&mut self, id: PartitionId, version: Version, record: Record) {
        let nodes = record.nodes();
        nodes.iter().for_each(|node| self.expect(*node));
        let (mut before, mut misplaced) = (BTreeSet::new(), None);
        match self.partitions.get_mut(&id) {
            Some(partition) => {
                (before, misplaced) = (partition.record.nodes(), partition.misplaced());
                let is_new = partition.record.config != record.config;
                partition.replace(version, record);
                if is_new {
                    self.end_hand_over(id);
                    before.union(&nodes).for_each(|node| self.outbox.news(*node, id));
                }
            }
            None => drop(self.partitions.insert(id, Partition::new(version, record))),
        }
        self.index_nodes(id, &before, &nodes);
        self.index_misplaced(id, misplaced);
    }

    fn index_nodes(&mut self, id: PartitionId, before: &BTreeSet<ReplicaId>, now: &BTreeSet<ReplicaId>) {
        for node in before.difference(now) {
            if let Some(partitions) = self.of_node.get_mut(node) {
                partitions.remove(&id);
                if partitions.is_empty() {
                    self.of_node.remove(node);
                    self.forget_if_unnamed(*node);
                }
            }
        }
        for node in now.difference(before) {
            self.of_node.entry(*node).or_default().insert(id);
        }
    }
}
