//! What people, and planners, ask for.

use std::collections::BTreeSet;

use base::MonoTime;
use replication_appointed::ReplicaId;

use crate::controller::Controller;
use crate::event::{Act, ActKind};
use crate::ids::PartitionId;
use crate::record::{Goal, Members};

/// Why something that was asked for is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActError {
    /// There is no such partition.
    NoPartition,
    /// The replica does not vote, leads already, or its node is not alive.
    CannotLead,
    /// There is no change that could be cancelled.
    NoGoal,
    /// The partition has a leader, or enough of its voters are alive: nothing need be lost.
    NothingLost,
    /// None of its voters is alive.
    NobodyAlive,
}

impl Controller {
    /// Hands the lead over to that replica. It is tried once: the record tells whether it came to pass.
    ///
    /// # Errors
    /// [`ActError`].
    pub fn hand_over(&mut self, id: PartitionId, to: ReplicaId, now: MonoTime) -> Result<(), ActError> {
        self.now = self.now.max(now);
        let partition = self.partitions.get_mut(&id).ok_or(ActError::NoPartition)?;
        let config = &partition.record.config;
        if config.leader == to || !config.voters.replicas().contains(&to) || !self.nodes.may_lead(to) {
            return Err(ActError::CannotLead);
        }
        partition.wanted = Some(to);
        partition.not_before = MonoTime::ZERO;
        self.judge_now(id);
        Ok(())
    }

    /// Begins to change the replicas to these. The goal is durable once the record shows it.
    ///
    /// # Errors
    /// [`ActError`].
    pub fn reassign(&mut self, id: PartitionId, to: Members, now: MonoTime) -> Result<(), ActError> {
        self.now = self.now.max(now);
        let partition = self.partitions.get_mut(&id).ok_or(ActError::NoPartition)?;
        let from = match &partition.record.goal {
            Some(goal) => goal.from.clone(),
            None => partition.record.members(),
        };
        partition.edit = Some(Goal { to, from });
        self.judge_now(id);
        Ok(())
    }

    /// Goes back to the replicas that there were before [`Controller::reassign`].
    ///
    /// # Errors
    /// [`ActError`].
    pub fn cancel(&mut self, id: PartitionId, now: MonoTime) -> Result<(), ActError> {
        let partition = self.partitions.get_mut(&id).ok_or(ActError::NoPartition)?;
        let goal = partition.record.goal.as_ref().or(partition.edit.as_ref());
        let from = goal.map(|goal| goal.from.clone()).ok_or(ActError::NoGoal)?;
        self.reassign(id, from, now)
    }

    /// Appoints a leader although too few voters are alive: the longest log of those that are. Entries that are committed may
    /// be lost, and the record says so ([`Record::loss`](crate::Record::loss)). Returns the voters that are missing. If they
    /// return in time nothing is lost, and the record is not marked.
    ///
    /// # Errors
    /// [`ActError`].
    pub fn recover_with_loss(
        &mut self,
        id: PartitionId,
        now: MonoTime,
    ) -> Result<BTreeSet<ReplicaId>, ActError> {
        self.now = self.now.max(now);
        let nodes = &self.nodes;
        let partition = self.partitions.get_mut(&id).ok_or(ActError::NoPartition)?;
        if !partition.needs_leader(nodes) || partition.has_enough_voters(nodes) {
            return Err(ActError::NothingLost);
        }
        let voters = partition.record.config.voters.replicas();
        let missing: BTreeSet<ReplicaId> =
            voters.iter().filter(|id| !nodes.is_alive(**id)).copied().collect();
        if missing.len() == voters.len() {
            return Err(ActError::NobodyAlive);
        }
        partition.accepts_loss = true;
        self.judge_now(id);
        Ok(missing)
    }

    pub(crate) fn asked(&mut self, node: ReplicaId, acts: &[Act]) {
        self.heard(node);
        for Act { partition, kind } in acts {
            // Whoever has asked sees by the record what became of it.
            let _ = match kind {
                ActKind::HandOver(to) => self.hand_over(*partition, *to, self.now),
                ActKind::RecoverWithLoss => self.recover_with_loss(*partition, self.now).map(|_| ()),
            };
        }
    }

    fn judge_now(&mut self, id: PartitionId) {
        self.look_at(id);
        self.judge_all();
    }
}
