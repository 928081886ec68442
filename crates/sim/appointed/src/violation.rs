//! Something that must not be.

use core::fmt;

use replication_appointed::{Epoch, ReplicaId, Seq};

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Two replicas show different values as committed.
    Differs(ReplicaId, Seq),
    /// A leader shows a value as committed that is not on enough disks.
    TooFewDisks(ReplicaId, Seq),
    /// A follower shows a value as committed that no leader does.
    Early(ReplicaId, Seq),
    /// A replica leads and lacks what was committed before.
    Lacks(ReplicaId, Epoch, Seq),
    /// A leader has deleted entries before that one for a client, and they are left on too many disks.
    LeftOnDisks(ReplicaId, Seq),
    /// A leader serves entries that were deleted for a client: it shows a log that starts there.
    Undeleted(ReplicaId, Seq),
    /// A leader hears that it still led when it asked, and had a successor then, of that epoch.
    Succeeded(ReplicaId, Epoch),
    /// Two replicas lead one epoch.
    TwoLeaders(Epoch),
    /// A replica has refused what a leader of ours has sent.
    Refused(&'static str),
    /// A replica has stopped by an assertion.
    Stopped(String),
    /// The configuration has two contents for one epoch, or an epoch that does not rise.
    Epoch(Epoch),
    /// A replica leads what the configuration did not say.
    NotAppointed(ReplicaId, Epoch),
    /// An appointment accepts a loss that no person has accepted.
    Loss(Epoch),
    /// All faults are healed, and something does not come to its end.
    Stuck(&'static str),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
