//! Messages between replicas, and their disks.

use replication_appointed::{Answer, Append, ReplicaId};
use replication_controller::PartitionId;
use replication_node::{Admission, Reply};

use super::packet::{Body, Packet};
use super::world::{ENTRIES_MAX, World};
use crate::disk::Entry;
use crate::violation::Violation;

impl World {
    /// A leader appends a value.
    pub(super) fn append(&mut self, node: ReplicaId, partition: PartitionId) -> Result<(), Violation> {
        let Some(truth) = self.truths.get_mut(&partition).filter(|truth| truth.values < ENTRIES_MAX) else {
            return Ok(());
        };
        let value = truth.values;
        let leads = |run: &&mut super::copy::Run| run.replica.is_leading();
        let Some(state) = self.nodes.get_mut(&node) else { return Ok(()) };
        if state.process.as_ref().is_none_or(|process| process.paused.contains(&partition)) {
            return Ok(());
        }
        let run = state.copies.get_mut(&partition).and_then(|copy| copy.run.as_mut());
        let Some(run) = run.filter(leads) else { return Ok(()) };
        run.append(value);
        truth.values += 1;
        self.follow_up(node, partition)
    }

    /// One of the replicas that have something to be sent is sent it, if it hears the leader.
    pub(super) fn send_some(&mut self) -> Result<(), Violation> {
        let mut all = Vec::new();
        for (node, state) in &self.nodes {
            let due = state.process.iter().flat_map(|process| &process.to_send);
            all.extend(due.map(|(partition, to)| (*node, *partition, *to)));
        }
        let place = self.random.below(all.len() as u64) as usize;
        let Some((node, partition, to)) = all.get(place).copied() else { return Ok(()) };
        self.process(node).map(|process| process.to_send.remove(&(partition, to)));
        if !self.hear(node, to) {
            return Ok(());
        }
        let Some(run) = self.run(node, partition) else { return Ok(()) };
        if let Some((append, entries)) = run.next_append(to) {
            self.packets.push(Packet::Replica(partition, node, to, Body::Append(append, entries)));
        }
        self.follow_up(node, partition)
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
        match body {
            Body::Append(append, entries) => self.receive(partition, from, to, &append, &entries),
            Body::Reply(reply) => {
                self.drive(to, |machine, copies, now| machine.answered(partition, from, reply, now, copies))
            }
        }
    }

    fn receive(
        &mut self,
        partition: PartitionId,
        from: ReplicaId,
        to: ReplicaId,
        append: &Append,
        entries: &[Entry],
    ) -> Result<(), Violation> {
        let mut admission = Admission::Close;
        self.drive(to, |machine, _, now| admission = machine.admit(partition, from, append.epoch, now))?;
        match admission {
            Admission::Take => {}
            Admission::Later => {
                self.figures.held_back += 1;
                return Ok(());
            }
            Admission::Close => return self.reconnect(from, to),
        }
        let Some(run) = self.run(to, partition) else { return Ok(()) };
        let reply = run.receive(from, append, entries)?.map(|answer| match answer {
            Answer::Diverged(diverged) => Reply::Diverged(diverged),
            Answer::Refused(refused) => Reply::Refused(refused),
        });
        self.packets.extend(reply.map(|reply| Packet::Replica(partition, to, from, Body::Reply(reply))));
        self.follow_up(to, partition)
    }

    /// A disk does one thing.
    pub(super) fn disk(&mut self, node: ReplicaId, partition: PartitionId) -> Result<(), Violation> {
        if let Some(copy) = self.node(node).copies.get_mut(&partition) {
            copy.step_disk();
        }
        self.follow_up(node, partition)
    }

    /// The connection between two nodes is new: what was on its way is lost.
    pub(super) fn reconnect(&mut self, one: ReplicaId, other: ReplicaId) -> Result<(), Violation> {
        let between = |from: &ReplicaId, to: &ReplicaId| [(one, other), (other, one)].contains(&(*from, *to));
        self.packets.retain(|packet| !matches!(packet, Packet::Replica(_, from, to, _) if between(from, to)));
        for (node, peer) in [(one, other), (other, one)] {
            self.drive(node, |machine, copies, now| machine.reconnected(peer, now, copies))?;
        }
        Ok(())
    }
}
