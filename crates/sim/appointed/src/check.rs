//! What must hold, whatever happens. None of it is taken from the replicas' own accounts but what they show to others.

use replication_appointed::{ReplicaId, Seq, Voters};

use crate::disk::Entry;
use crate::violation::Violation;
use crate::world::World;

impl World {
    /// Looks at what a replica shows after a step.
    pub(crate) fn check(&mut self, id: ReplicaId) -> Result<(), Violation> {
        let Some(replica) = &self.node(id).replica else { return Ok(()) };
        let (committed, leads) = (replica.committed(), replica.is_leading());
        let (start, epoch) = (replica.log().start(), replica.promised());
        let shown: Vec<Entry> =
            (start.0..committed.0).filter_map(|at| self.node(id).entry(Seq(at))).collect();
        for (at, entry) in (start.0..committed.0).zip(&shown) {
            match self.committed.get(at as usize) {
                Some(known) if known == entry => {}
                Some(_) => return Err(Violation::Differs(id, Seq(at))),
                None if !leads => return Err(Violation::Early(id, Seq(at))),
                None => {
                    self.committed.push(*entry);
                    self.check_disks(id, Seq(at + 1))?;
                }
            }
        }
        self.check_deletions(id)?;
        self.check_confirmation(id)?;
        if leads {
            match self.leaders.insert(epoch, id) {
                Some(before) if before != id => return Err(Violation::TwoLeaders(epoch)),
                _ => {}
            }
        }
        Ok(())
    }

    /// A replica has begun to lead.
    pub(crate) fn check_leader(&self, id: ReplicaId) -> Result<(), Violation> {
        let node = self.node(id);
        let Some(replica) = &node.replica else { return Ok(()) };
        let start = replica.log().start();
        for (at, known) in self.committed.iter().enumerate().skip(start.0 as usize) {
            if node.entry(Seq(at as u64)) != Some(*known) {
                return Err(Violation::Lacks(id, replica.promised(), Seq(at as u64)));
            }
        }
        Ok(())
    }

    /// A leader that answers a client's deletion has it on enough disks; it, and each leader of a later epoch, shows no entry that was
    /// deleted (L69).
    fn check_deletions(&mut self, id: ReplicaId) -> Result<(), Violation> {
        let node = self.node(id);
        let (Some(replica), wanted) = (&node.replica, node.deletion) else { return Ok(()) };
        let epoch = replica.promised();
        if let Some(wanted) = wanted.filter(|wanted| replica.deleted_to() >= Some(*wanted)) {
            let is_gone = |id: ReplicaId| self.node(id).disk.base.end >= wanted;
            if !self.are_on_enough(id, is_gone) {
                return Err(Violation::LeftOnDisks(id, wanted));
            }
            self.node_mut(id).deletion = None;
            self.deleted = self.deleted.max((epoch, wanted));
        }
        let (deleted_in, deleted) = self.deleted;
        for id in self.ids() {
            let Some(replica) = &self.node(id).replica else { continue };
            let serves = replica.is_established() && replica.promised() >= deleted_in;
            if serves && replica.shown_start() < deleted {
                return Err(Violation::Undeleted(id, replica.shown_start()));
            }
        }
        Ok(())
    }

    /// A leader that hears that it still led when it asked had no successor then.
    fn check_confirmation(&mut self, id: ReplicaId) -> Result<(), Violation> {
        let node = self.node(id);
        let (Some(replica), Some((round, newest))) = (&node.replica, node.question) else { return Ok(()) };
        if !replica.is_confirmed(round) {
            return Ok(());
        }
        if newest > replica.promised() {
            return Err(Violation::Succeeded(id, newest));
        }
        self.node_mut(id).question = None;
        self.confirmed += 1;
        Ok(())
    }

    /// What was committed up to `end` is on the disks of enough voters.
    fn check_disks(&self, leader: ReplicaId, end: Seq) -> Result<(), Violation> {
        let has = |id: ReplicaId| {
            let disk = &self.node(id).disk;
            let same = |at: u64| {
                let entry = disk.entries.get((at - disk.base.end.0) as usize);
                entry == self.committed.get(at as usize)
            };
            disk.end() >= end && (disk.base.end.0..end.0).all(same)
        };
        if self.are_on_enough(leader, has) { Ok(()) } else { Err(Violation::TooFewDisks(leader, end)) }
    }

    /// Whether that holds for enough voters: of those that the council has appointed with the leader, and of those that it asks for.
    fn are_on_enough(&self, leader: ReplicaId, has: impl Fn(ReplicaId) -> bool) -> bool {
        let Some(replica) = &self.node(leader).replica else { return true };
        let appointed = self.appointed.get(&replica.promised()).map(|config| &config.voters);
        let asked = self.node(leader).asked.map(|place| &self.bounds.voters[place]);
        let are_enough =
            |voters: &Voters| voters.replicas().iter().filter(|id| has(**id)).count() >= voters.durable_on();
        appointed.into_iter().chain(asked).all(are_enough)
    }
}
