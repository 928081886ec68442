//! The next step of a partition that has its leader: towards the replicas that there shall be, and to the replica that shall
//! lead. It follows from the record and the nodes alone, so any controller finds the same.

use std::collections::BTreeSet;

use replication_appointed::ReplicaId;

use crate::attempt::preference;
use crate::nodes::Nodes;
use crate::partition::Partition;
use crate::record::{Members, Record};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The leader writes that, and goes on under it.
    Change(Record),
    /// The goal is reached: the controller writes that.
    Finish(Record),
}

/// The next step towards the replicas that there shall be.
pub(crate) fn step(record: &Record, nodes: &Nodes) -> Option<Step> {
    if let Some(fewer) = fewer(record, nodes) {
        return Some(Step::Change(fewer));
    }
    let goal = record.goal.as_ref()?;
    let members = record.members();
    if members == goal.to {
        let leads = goal.to.voters.replicas().contains(&record.config.leader);
        return leads.then(|| Step::Finish(Record { goal: None, ..record.clone() }));
    }
    let (wanted, known) = (goal.to.nodes(), members.nodes());
    let missing: BTreeSet<ReplicaId> = wanted.difference(&known).copied().collect();
    if !missing.is_empty() {
        let learners = members.learners.union(&missing).copied().collect();
        let members = Members { voters: members.voters, learners };
        return record.continue_with(members).map(Step::Change);
    }
    // With a voter that is dead, entries could wait for it.
    let are_alive = goal.to.voters.replicas().iter().all(|id| nodes.is_alive(*id));
    record.continue_with(goal.to.clone()).filter(|_| are_alive).map(Step::Change)
}

/// Whether the leader has to go on with fewer voters, and a choice among those that are left would have the same outcome: each of
/// them has everything that is committed.
pub(crate) fn may_choose_instead(record: &Record, nodes: &Nodes) -> bool {
    record.is_on_all() && fewer(record, nodes).is_some()
}

/// The record with the voters that are left, if entries cannot commit otherwise and that is permitted.
fn fewer(record: &Record, nodes: &Nodes) -> Option<Record> {
    let voters = record.config.voters.replicas();
    let left: BTreeSet<ReplicaId> = voters.iter().filter(|id| !nodes.is_suspected(**id)).copied().collect();
    if !record.may_shrink_to(left.len()) {
        return None;
    }
    let members = record.members().reduced_to(left)?;
    record.with_fewer(members.clone()).continue_with(members)
}

/// Who shall lead instead of the leader.
pub(crate) fn next_leader(partition: &Partition, nodes: &Nodes) -> Option<ReplicaId> {
    let record = &partition.record;
    let (leader, voters) = (record.config.leader, record.config.voters.replicas());
    let may = |id: &ReplicaId| *id != leader && voters.contains(id) && nodes.may_lead(*id);
    let first = record.preferred.first().copied().filter(|_| partition.goes_back);
    let wanted = partition.wanted.filter(may).or_else(|| first.filter(may));
    let best = |may: &dyn Fn(&ReplicaId) -> bool| preference(record, None, nodes).into_iter().find(may);
    if !voters.contains(&leader) {
        // Even to a node that drains: this one is to have no copy at all.
        wanted.or_else(|| best(&|id| nodes.is_alive(*id)))
    } else if nodes.drains(leader) {
        wanted.or_else(|| best(&may))
    } else {
        wanted
    }
}
