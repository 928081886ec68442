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

    /// What was committed up to `end` is on the disks of enough voters: of those that the council has appointed with the
    /// leader, and of those that it asks for.
    fn check_disks(&self, leader: ReplicaId, end: Seq) -> Result<(), Violation> {
        let Some(replica) = &self.node(leader).replica else { return Ok(()) };
        let appointed = self.appointed.get(&replica.promised()).map(|config| &config.voters);
        let asked = self.node(leader).asked.map(|place| &self.bounds.voters[place]);
        for voters in appointed.into_iter().chain(asked) {
            if !self.is_on(voters, end) {
                return Err(Violation::TooFewDisks(leader, end));
            }
        }
        Ok(())
    }

    fn is_on(&self, voters: &Voters, end: Seq) -> bool {
        let has = |id: &&ReplicaId| {
            let disk = &self.node(**id).disk;
            let same = |at: u64| {
                let entry = disk.entries.get((at - disk.base.end.0) as usize);
                entry == self.committed.get(at as usize)
            };
            disk.end() >= end && (disk.base.end.0..end.0).all(same)
        };
        voters.replicas().iter().filter(has).count() >= voters.durable_on()
    }
}
