//! Messages between replicas, and their disks.

use replication_appointed::{Answer, ReplicaId};
use replication_controller::PartitionId;

use super::packet::{Body, Packet};
use super::world::{ENTRIES_MAX, World};
use crate::violation::Violation;

impl World {
    /// A leader appends a value.
    pub(super) fn append(&mut self, node: ReplicaId, partition: PartitionId) -> Result<(), Violation> {
        let Some(truth) = self.truths.get_mut(&partition).filter(|truth| truth.values < ENTRIES_MAX) else {
            return Ok(());
        };
        let value = truth.values;
        let leads = |run: &&mut super::copy::Run| run.replica.is_leading() && run.pause.is_none();
        let run = self.nodes.get_mut(&node).and_then(|node| node.copies.get_mut(&partition)?.run.as_mut());
        let Some(run) = run.filter(leads) else { return Ok(()) };
        run.append(value);
        truth.values += 1;
        self.after(node, partition)
    }

    /// A leader sends what there is to a replica.
    pub(super) fn send(&mut self, node: ReplicaId, partition: PartitionId, to: ReplicaId) {
        if !self.hear(node, to) {
            return;
        }
        let Some(run) = self.run(node, partition) else { return };
        if let Some((append, entries)) = run.next_append(to) {
            self.packets.push(Packet::Replica(partition, node, to, Body::Append(append, entries)));
        }
    }

    pub(super) fn deliver_to_replica(
        &mut self,
        partition: PartitionId,
        from: ReplicaId,
        to: ReplicaId,
        body: Body,
    ) -> Result<(), Violation> {
        if !self.hear(from, to) {
            return Ok(());
        }
        // Entries of an epoch that the node does not know may be for a new copy, or follow a loss: then this copy is to go first.
        if let Body::Append(append, _) = &body
            && self.run_of(to, partition).is_none_or(|run| append.epoch > run.config_epoch())
        {
            self.read_configuration(to, partition)?;
        }
        let Some(run) = self.run(to, partition) else { return Ok(()) };
        let answer = match body {
            Body::Append(append, entries) => run.receive(from, &append, &entries)?,
            Body::Appended(answer) => {
                run.replica.receive_appended(from, answer);
                None
            }
            Body::Diverged(answer) => {
                run.replica.receive_diverged(from, answer);
                None
            }
            Body::Refused(answer) => {
                run.replica.receive_refused(answer);
                run.stop_if_idle();
                None
            }
        };
        let body = answer.map(|answer| match answer {
            Answer::Diverged(diverged) => Body::Diverged(diverged),
            Answer::Refused(refused) => Body::Refused(refused),
        });
        self.packets.extend(body.map(|body| Packet::Replica(partition, to, from, body)));
        self.after(to, partition)
    }

    /// What a follower has to tell its leader.
    pub(super) fn answer(&mut self, node: ReplicaId, partition: PartitionId) {
        let Some(run) = self.run(node, partition) else { return };
        if let Some((leader, appended)) = run.replica.take_answer() {
            self.packets.push(Packet::Replica(partition, node, leader, Body::Appended(appended)));
        }
    }

    /// A disk does one thing.
    pub(super) fn disk(&mut self, node: ReplicaId, partition: PartitionId) -> Result<(), Violation> {
        if let Some(copy) = self.node(node).copies.get_mut(&partition) {
            copy.step_disk();
        }
        self.answer_fences(node, partition);
        self.after(node, partition)
    }

    /// The connection between two nodes is new: what was on its way is lost.
    pub(super) fn reconnect(&mut self, one: ReplicaId, other: ReplicaId) -> Result<(), Violation> {
        let between = |from: &ReplicaId, to: &ReplicaId| [(one, other), (other, one)].contains(&(*from, *to));
        self.packets.retain(|packet| !matches!(packet, Packet::Replica(_, from, to, _) if between(from, to)));
        for (node, peer) in [(one, other), (other, one)] {
            for partition in self.partitions() {
                let Some(run) = self.run(node, partition) else { continue };
                run.replica.send_again(peer);
                if run.replica.leader().is_some_and(|(leader, _)| leader == peer) {
                    run.replica.tell_again();
                }
                self.after(node, partition)?;
            }
        }
        Ok(())
    }
}
