//! What this member has heard of another one: that its disk is blank, or that it has a seat.

use consensus_raft::MemberId;

use super::Cluster;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Blank,
    /// It had a seat once.
    Bereft,
    Seated(Cluster, Option<Vec<MemberId>>),
    /// It has a seat, and says that this member has one there, too.
    Admits(Cluster),
}

impl Heard {
    /// The ensemble that its sender voted in.
    pub(super) const fn voted_in(&self) -> Option<Cluster> {
        match self {
            Self::Seated(cluster, None) | Self::Admits(cluster) => Some(*cluster),
            _ => None,
        }
    }

    /// The ensemble that its sender says this member is let into.
    pub(super) const fn admits(&self) -> Option<Cluster> {
        if let Self::Admits(cluster) = self { Some(*cluster) } else { None }
    }
}
