//! The outcome of a command.

use alloc::string::String;
use alloc::vec::Vec;

use council_wire::{ErrorCode, Stat};

/// The result of one command, the same on every member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A node was created. Whether the client is told the Stat is its operation's business.
    Created {
        /// The whole path, with the number of a sequential node.
        path: String,
        /// The node's Stat at that moment.
        stat: Stat,
    },
    /// A node was deleted.
    Deleted,
    /// A node's data was replaced.
    DataSet {
        /// Its Stat after that.
        stat: Stat,
    },
    /// A node's ACL was replaced.
    AclSet {
        /// Its Stat after that.
        stat: Stat,
    },
    /// The ensemble is to have other members.
    Reconfigured {
        /// What `/zookeeper/config` says now.
        text: String,
        /// Its Stat.
        stat: Stat,
    },
    /// A multi was decided: all done, or none and every entry an error (see [`Outcome::is_failed_multi`]). It took
    /// a zxid in either case.
    Multi(Vec<SubOutcome>),
    /// The session is open.
    SessionCreated,
    /// The session has moved to a new connection: its generation is the one asked for, its sequence 0. No zxid.
    SessionAttached,
    /// The session was closed by its client and its ephemeral nodes are gone.
    SessionClosed,
    /// The session has expired and its ephemeral nodes are gone.
    SessionExpired,
    /// A container or TTL node was removed.
    Reaped,
    /// The epoch is one higher and the count 0.
    EpochRaised,
    /// `/zookeeper/config` says what was asked for; it took a zxid only if it said something else before.
    ConfigSet,
    /// The feature level is at least the one asked for. No zxid.
    FeatureLevelSet,
    /// Refused for a reason that every member sees; it took a zxid, as ZooKeeper's error transactions do.
    Refused(ErrorCode),
    /// Refused without a zxid: not decodable, or an internal command that no longer applies.
    Rejected(ErrorCode),
    /// Not executed, and no client expects a reply. No zxid.
    Dropped(DropReason),
}

impl Outcome {
    /// Whether this is a multi none of whose operations took effect.
    #[must_use]
    pub fn is_failed_multi(&self) -> bool {
        matches!(self, Self::Multi(results) if results.iter().any(|one| matches!(one, SubOutcome::Failed(_))))
    }
}

/// The result of one operation of a multi.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubOutcome {
    /// Answers a create: the path alone.
    Created {
        /// The whole path.
        path: String,
    },
    /// Answers a create2, createTTL or createContainer, all as create2.
    Created2 {
        /// The whole path.
        path: String,
        /// The node's Stat at that moment.
        stat: Stat,
    },
    /// Answers a delete.
    Deleted,
    /// Answers a setData.
    DataSet {
        /// The node's Stat at that moment.
        stat: Stat,
    },
    /// Answers a check.
    Checked,
    /// The multi failed: `Ok` before the operation that is to blame, its error there, `RuntimeInconsistency` behind.
    Failed(ErrorCode),
}

/// Why a command was not executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// Its session is not open (any more).
    UnknownSession,
    /// It comes from a connection that has lost its session to a newer one.
    OldGeneration,
    /// Its sequence was applied before.
    Duplicate,
    /// An earlier command of its connection is missing.
    Gap,
}
