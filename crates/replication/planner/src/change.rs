//! A change of one partition, by indexes of the model: what a step does before it gets its names.

use crate::model::Model;
use crate::step::Action;

/// See [`Action`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The first voter leads.
    Place(Vec<usize>),
    Lead {
        from: Option<usize>,
        to: usize,
    },
    Move {
        from: usize,
        to: usize,
        leads: bool,
    },
    Add(usize),
    Promote(usize),
    Remove(usize),
}

impl Change {
    /// Changes the model.
    pub(crate) fn apply(&self, model: &mut Model, partition: usize) {
        match self {
            Self::Place(voters) => {
                for voter in voters {
                    model.add_voter(partition, *voter);
                }
                model.set_leader(partition, voters.first().copied());
            }
            Self::Lead { to, .. } => model.set_leader(partition, Some(*to)),
            Self::Move { from, to, .. } => model.move_voter(partition, *from, *to),
            Self::Add(node) | Self::Promote(node) => model.add_voter(partition, *node),
            Self::Remove(from) if model.partitions[partition].voters.contains(from) => {
                model.remove_voter(partition, *from);
            }
            Self::Remove(from) => model.remove_learner(partition, *from),
        }
    }

    /// The nodes on which a new replica takes room.
    pub(crate) fn takes_room(&self) -> Vec<usize> {
        match self {
            Self::Place(voters) => voters.clone(),
            Self::Move { to, .. } | Self::Add(to) => vec![*to],
            Self::Lead { .. } | Self::Promote(_) | Self::Remove(_) => Vec::new(),
        }
    }

    /// The node that gets a copy of the data.
    pub(crate) const fn copies_to(&self) -> Option<usize> {
        match self {
            Self::Move { to, .. } | Self::Add(to) => Some(*to),
            Self::Place(_) | Self::Lead { .. } | Self::Promote(_) | Self::Remove(_) => None,
        }
    }

    /// The same with the numbers of the nodes.
    pub(crate) fn action(&self, model: &Model) -> Action {
        let id = |node: usize| model.nodes[node].id;
        match self {
            Self::Place(voters) => Action::Place { voters: voters.iter().map(|node| id(*node)).collect() },
            Self::Lead { from, to } => Action::TransferLeadership { from: from.map(id), to: id(*to) },
            Self::Move { from, to, leads } => {
                Action::MoveReplica { from: id(*from), to: id(*to), leads: *leads }
            }
            Self::Add(to) => Action::AddReplica { to: id(*to) },
            Self::Promote(node) => Action::PromoteLearner { node: id(*node) },
            Self::Remove(from) => Action::RemoveReplica { from: id(*from) },
        }
    }
}
