//! What a plan cannot do, for an operator to know. Problems are counted by kind, so that their number has a bound.

use core::fmt;
use std::collections::BTreeMap;

use crate::ids::PartitionId;

/// What is wrong with a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// All nodes that had its data are gone. Nothing is planned for it: an empty replica would hide the loss.
    NoLiveReplica,
    /// It wants more replicas than there are nodes that may get one.
    TooFewNodes,
    /// No node has room for one of its replicas, or a zone for a better place.
    NoRoom,
    /// A zone has more of its replicas than the zones of the cluster ask for.
    ZoneHasTooMany,
    /// An operator pinned it, and one of its nodes is draining.
    PinnedOnDraining,
    /// Its leader alone is too much for the best node. No place is good for it.
    TooHot,
    /// Its move waits until others have made room. The next plan has it.
    WaitsForRoom,
    /// It has no leader, and nothing is moved for balance before that is repaired.
    BalanceWaitsForLeader,
}

/// How many partitions have a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub kind: ProblemKind,
    /// How many partitions it concerns.
    pub partitions: usize,
    /// The one with the lowest number.
    pub first: PartitionId,
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoLiveReplica => "all replicas are on nodes that are gone",
            Self::TooFewNodes => "more replicas are wanted than nodes serve",
            Self::NoRoom => "no node has room for a replica",
            Self::ZoneHasTooMany => "a zone has too many replicas",
            Self::PinnedOnDraining => "the partition is pinned to a node that is draining",
            Self::TooHot => "the leader alone is too much load for every node",
            Self::WaitsForRoom => "a move waits until other moves have made room",
            Self::BalanceWaitsForLeader => "balance waits until the partition has a leader",
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (partitions: {}, first: {})", self.kind, self.partitions, self.first)
    }
}

/// Collects problems.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problems {
    found: BTreeMap<ProblemKind, (usize, PartitionId)>,
}

impl Problems {
    /// To be called once for each kind and partition.
    pub(crate) fn add(&mut self, kind: ProblemKind, partition: PartitionId) {
        let (count, first) = self.found.entry(kind).or_insert((0, partition));
        *count += 1;
        *first = partition.min(*first);
    }

    pub(crate) fn list(&self) -> Vec<Problem> {
        let problem = |(kind, (partitions, first)): (&ProblemKind, &(usize, PartitionId))| Problem {
            kind: *kind,
            partitions: *partitions,
            first: *first,
        };
        self.found.iter().map(problem).collect()
    }
}
