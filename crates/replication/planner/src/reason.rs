//! Why a step is planned.

use core::fmt;

use crate::ids::{NodeId, ZoneId};
use crate::resource::{Resource, Utilisation};

/// See the module. The order is the order of importance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Nobody leads the partition.
    LeaderLost,
    /// The partition has no replica yet.
    New,
    /// A replica is on a node that is gone.
    NodeGone(NodeId),
    /// The partition has fewer replicas than it wants.
    TooFewReplicas {
        /// How many work.
        live: usize,
        /// How many it wants.
        wanted: usize,
    },
    /// The partition has more replicas than it wants.
    TooManyReplicas {
        /// How many work.
        live: usize,
        /// How many it wants.
        wanted: usize,
    },
    /// Everything is to leave the node.
    Draining(NodeId),
    /// A zone has more replicas of the partition than it needs to have.
    ZoneHasTooMany(ZoneId),
    /// A node uses more of a resource than its part.
    Balance {
        /// The resource.
        resource: Resource,
        /// How much of it the relieved node used.
        before: Utilisation,
        /// How much of it that node uses after this change alone.
        after: Utilisation,
        /// By how much the highest utilisation of both nodes falls.
        gain: Utilisation,
    },
}

impl Reason {
    /// Balance is the only reason that can wait.
    #[must_use]
    pub const fn is_balance(&self) -> bool {
        matches!(self, Self::Balance { .. })
    }

    /// What is planned first: smaller numbers.
    pub(crate) const fn class(&self) -> u8 {
        match self {
            Self::LeaderLost => 0,
            Self::New => 1,
            Self::NodeGone(_) | Self::TooFewReplicas { .. } => 2,
            Self::TooManyReplicas { .. } => 3,
            Self::Draining(_) => 4,
            Self::ZoneHasTooMany(_) => 5,
            Self::Balance { .. } => 6,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeaderLost => write!(f, "the partition has no leader"),
            Self::New => write!(f, "the partition is new"),
            Self::NodeGone(node) => write!(f, "{node} is gone"),
            Self::TooFewReplicas { live, wanted } => {
                write!(f, "the partition has {live} replicas and wants {wanted}")
            }
            Self::TooManyReplicas { live, wanted } => {
                write!(f, "the partition has {live} replicas and wants only {wanted}")
            }
            Self::Draining(node) => write!(f, "{node} is draining"),
            Self::ZoneHasTooMany(zone) => write!(f, "{zone} has too many replicas of the partition"),
            Self::Balance { resource, before, after, .. } => {
                write!(f, "the {resource} of the relieved node falls from {before} to {after}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_reads_as_a_sentence() {
        let reason = Reason::Balance {
            resource: Resource::Cpu,
            before: Utilisation::percent(90),
            after: Utilisation::percent(85),
            gain: Utilisation::percent(5),
        };
        assert_eq!(reason.to_string(), "the CPU of the relieved node falls from 90.0 % to 85.0 %");
        assert!(reason.is_balance());
        assert_eq!(Reason::NodeGone(NodeId(4)).to_string(), "node 4 is gone");
    }
}
