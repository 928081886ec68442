//! What must hold, whatever happens.

use replication_appointed::{Epoch, ReplicaId, Seq, Voters};
use replication_controller::PartitionId;

use super::world::World;
use crate::disk::Entry;
use crate::violation::Violation;

impl World {
    /// Looks at what a replica shows.
    pub(super) fn check(&mut self, node: ReplicaId, partition: PartitionId) -> Result<(), Violation> {
        let (Some(run), Some(truth)) = (self.run_of(node, partition), self.truths.get(&partition)) else {
            return Ok(());
        };
        let (replica, epoch) = (&run.replica, run.replica.promised());
        if truth.is_removed || replica.log().position().epoch < truth.lost {
            // Nobody wants what it has any more.
            return Ok(());
        }
        let leads = replica.is_leading();
        let shown: Vec<Entry> = (0..replica.committed().0).filter_map(|at| run.entry(Seq(at))).collect();
        let common = shown.len().min(truth.committed.len());
        if let Some(at) = (0..common).find(|at| shown[*at] != truth.committed[*at]) {
            return Err(Violation::Differs(node, Seq(at as u64)));
        }
        if shown.len() > common {
            if !leads {
                return Err(Violation::Early(node, Seq(common as u64)));
            }
            self.check_disks(node, partition, &shown)?;
        }
        let Some(truth) = self.truths.get_mut(&partition) else { return Ok(()) };
        truth.committed.extend(&shown[common..]);
        truth.committed_in.resize(truth.committed.len(), epoch);
        if leads {
            let before = *truth.leaders.entry(epoch).or_insert(node);
            let said = self.store.said.get(&(partition, epoch));
            if before != node {
                return Err(Violation::TwoLeaders(epoch));
            }
            if said.is_none_or(|config| config.leader != node) {
                return Err(Violation::NotAppointed(node, epoch));
            }
        }
        Ok(())
    }

    /// A replica has begun to lead: it has what was committed in the epochs before.
    pub(super) fn check_leader(&self, node: ReplicaId, partition: PartitionId) -> Result<(), Violation> {
        let (Some(run), Some(truth)) = (self.run_of(node, partition), self.truths.get(&partition)) else {
            return Ok(());
        };
        let epoch = run.replica.promised();
        if truth.is_removed || epoch < truth.lost {
            return Ok(());
        }
        // A leader whose record comes late may have been followed already: what was committed after its epoch is not there.
        let lacks = |(at, (known, committed_in)): (usize, (&Entry, &Epoch))| {
            *committed_in < epoch && run.entry(Seq(at as u64)) != Some(*known)
        };
        let all = truth.committed.iter().zip(&truth.committed_in);
        match all.enumerate().position(lacks) {
            Some(at) => Err(Violation::Lacks(node, epoch, Seq(at as u64))),
            None => Ok(()),
        }
    }

    fn check_disks(
        &self,
        leader: ReplicaId,
        partition: PartitionId,
        shown: &[Entry],
    ) -> Result<(), Violation> {
        let Some(run) = self.run_of(leader, partition) else { return Ok(()) };
        let said = |epoch| self.store.said.get(&(partition, epoch));
        let (epoch, asked) = (run.replica.promised(), run.next_voters.as_ref());
        // Once other voters are written, though the leader does not know it, those before may drop their copies.
        let next = said(Epoch(epoch.0 + 1)).filter(|config| !config.chosen && config.leader == leader);
        let is_written = asked.is_some_and(|asked| next.is_some_and(|config| config.voters == *asked));
        let appointed = said(epoch).filter(|_| !is_written).map(|config| &config.voters);
        let is_on = |voters: &Voters| {
            let has = |id: &&ReplicaId| {
                let copy = self.nodes.get(*id).and_then(|node| node.copies.get(&partition));
                copy.is_some_and(|copy| copy.disk.entries.starts_with(shown))
            };
            voters.replicas().iter().filter(has).count() >= voters.durable_on()
        };
        match appointed.into_iter().chain(asked).all(is_on) {
            true => Ok(()),
            false => Err(Violation::TooFewDisks(leader, Seq(shown.len() as u64))),
        }
    }

    /// A person has accepted a loss: what the leader of that epoch has is all there is from now on.
    pub(super) fn lose(&mut self, partition: PartitionId, leader: ReplicaId, epoch: Epoch) {
        let copy = self.nodes.get(&leader).and_then(|node| node.copies.get(&partition));
        let kept = copy.map(|copy| copy.disk.entries.clone()).unwrap_or_default();
        if let Some(truth) = self.truths.get_mut(&partition) {
            let same = truth.committed.iter().zip(&kept).take_while(|(one, other)| one == other).count();
            truth.committed.truncate(same);
            truth.committed_in.truncate(same);
            truth.lost = epoch;
        }
    }

    /// A partition without a leader that is known to have everything.
    pub(super) fn unled(&self) -> Option<&'static str> {
        let leads = |(id, (_, record)): (&PartitionId, &(_, replication_controller::Record))| {
            let config = &record.config;
            let run = self.run_of(config.leader, *id);
            run.is_some_and(|run| run.replica.is_established() && run.replica.promised() == config.epoch)
        };
        (!self.store.records.iter().all(leads)).then_some("a partition has no leader")
    }

    /// What is not as it should be long after all faults.
    pub(super) fn unsettled(&self) -> Option<&'static str> {
        if let Some(unled) = self.unled() {
            return Some(unled);
        }
        for (id, (_, record)) in &self.store.records {
            let config = &record.config;
            let Some(leader) = self.run_of(config.leader, *id) else { return Some("a leader has no copy") };
            if record.goal.is_some() {
                return Some("replicas are not those that there should be");
            }
            let end = leader.replica.log().end();
            for node in record.members().nodes() {
                let Some(run) = self.run_of(node, *id) else { return Some("a replica has no copy") };
                if run.entries != leader.entries || run.replica.committed() != end {
                    return Some("a log differs");
                }
            }
        }
        let is_left = |node: &super::world::Node| {
            node.copies.keys().any(|partition| !self.store.records.contains_key(partition))
        };
        if self.nodes.values().any(is_left) {
            return Some("a copy of a removed partition is left");
        }
        let is_busy = |node: &super::world::Node| {
            node.process.as_ref().is_some_and(|process| process.machine.next_deadline().is_some())
        };
        if self.nodes.values().any(is_busy) {
            return Some("a node waits");
        }
        let waits =
            |controller: &replication_controller::Controller| !controller.status().partitions.is_empty();
        self.controllers.values().any(waits).then_some("a controller waits")
    }
}
