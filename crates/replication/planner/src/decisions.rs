//! What a search decided, and why: from this and from the places before and after come the steps.

use std::collections::BTreeMap;

use crate::model::Model;
use crate::problem::{ProblemKind, Problems};
use crate::reason::Reason;

/// What was decided for a partition on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Lead,
    Add,
    Remove,
}

/// See the module. A later decision of a kind for the same partition and node replaces an earlier one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decisions {
    reasons: BTreeMap<(usize, What, usize), Reason>,
    /// For each partition, the most important reason and the number of the decision.
    order: BTreeMap<usize, (u8, usize)>,
    /// Who replaces a leader that was lost.
    pub(crate) emergency_leaders: BTreeMap<usize, usize>,
    pub(crate) problems: Problems,
    made: usize,
}

impl Decisions {
    /// Changes the leader in the model.
    pub(crate) fn lead(&mut self, model: &mut Model, partition: usize, to: usize, reason: Reason) {
        model.set_leader(partition, Some(to));
        self.made += 1;
        self.note(partition, What::Lead, to, reason);
    }

    /// Adds a voter to the model.
    pub(crate) fn add(&mut self, model: &mut Model, partition: usize, to: usize, reason: Reason) {
        model.add_voter(partition, to);
        self.made += 1;
        self.note(partition, What::Add, to, reason);
    }

    /// Moves a voter in the model.
    pub(crate) fn replace(
        &mut self,
        model: &mut Model,
        partition: usize,
        (from, to): (usize, usize),
        reason: Reason,
    ) {
        model.move_voter(partition, from, to);
        self.made += 1;
        self.note(partition, What::Remove, from, reason);
        self.note(partition, What::Add, to, reason);
        self.note(partition, What::Lead, to, reason);
    }

    /// Removes a voter from the model.
    pub(crate) fn remove(&mut self, model: &mut Model, partition: usize, from: usize, reason: Reason) {
        model.remove_voter(partition, from);
        self.made += 1;
        self.note(partition, What::Remove, from, reason);
    }

    /// Removes a learner from the model.
    pub(crate) fn remove_learner(
        &mut self,
        model: &mut Model,
        partition: usize,
        from: usize,
        reason: Reason,
    ) {
        model.remove_learner(partition, from);
        self.made += 1;
        self.note(partition, What::Remove, from, reason);
    }

    /// Remembers what cannot be done.
    pub(crate) fn problem(&mut self, model: &Model, kind: ProblemKind, partition: usize) {
        self.problems.add(kind, model.partitions[partition].id);
    }

    fn note(&mut self, partition: usize, what: What, node: usize, reason: Reason) {
        self.reasons.insert((partition, what, node), reason);
        let order = self.order.entry(partition).or_insert((reason.class(), self.made));
        if reason.class() < order.0 {
            *order = (reason.class(), self.made);
        }
    }

    /// Why a node leads.
    pub(crate) fn why_lead(&self, partition: usize, node: usize) -> Option<Reason> {
        self.reasons.get(&(partition, What::Lead, node)).copied()
    }

    /// Why a node got a replica.
    pub(crate) fn why_add(&self, partition: usize, node: usize) -> Option<Reason> {
        self.reasons.get(&(partition, What::Add, node)).copied()
    }

    /// Why a node lost its replica.
    pub(crate) fn why_remove(&self, partition: usize, node: usize) -> Option<Reason> {
        self.reasons.get(&(partition, What::Remove, node)).copied()
    }

    /// The partitions for which something was decided, the most important first.
    pub(crate) fn in_order(&self) -> Vec<usize> {
        let mut partitions: Vec<usize> = self.order.keys().copied().collect();
        partitions.sort_by_key(|partition| self.order[partition]);
        partitions
    }

    /// How many decisions were made.
    pub(crate) const fn made(&self) -> usize {
        self.made
    }
}
