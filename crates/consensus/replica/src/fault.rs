//! Why a member must stop.

use consensus_raft::{LogIndex, MemberId};
use core::fmt;

/// This host, or our own code, is broken: the member must stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A log entry is not of a form that this build can read.
    UnreadableEntry {
        /// The entry.
        index: LogIndex,
    },
    /// A log entry holds a command or a change of members that this build cannot read.
    MalformedEntry {
        /// The entry.
        index: LogIndex,
        /// What is wrong with it.
        what: String,
    },
    /// The data is of a feature level that this build does not understand.
    NewerData {
        /// The level of the data.
        level: u32,
        /// The highest level that this build understands.
        understood: u32,
    },
    /// This member's state differs from one that a majority agrees on.
    Divergence {
        /// The number of the transaction behind which the states were compared.
        position: i64,
        /// The digest of this member's state.
        own: u64,
        /// The digest of the majority's.
        theirs: u64,
        /// Who differs from this member, with the digest of each.
        different: Vec<(MemberId, u64)>,
    },
    /// Records in this member's memory are not what was written: its state has rotted. What is on its disk has not.
    Rotten {
        /// The number of the last transaction in the snapshot that showed it.
        position: i64,
    },
    /// The snapshot of another member, on which raft relies already, could not be written.
    SnapshotLost {
        /// Why.
        reason: String,
    },
    /// The driver cannot go on.
    Driver {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnreadableEntry { index } => {
                write!(f, "log entry {index} is not of a form that this build can read")
            }
            Self::MalformedEntry { index, what } => write!(f, "log entry {index} holds {what}"),
            Self::NewerData { level, understood } => write!(
                f,
                "the data is of feature level {level}, and this build understands levels up to {understood}; hint: \
                 start a build at least as new as those of the other members"
            ),
            Self::Divergence { position, own, theirs, different } => write!(
                f,
                "the state of this member differs from that of a majority at transaction 0x{position:x}: its digest is {own:016x}, \
                 and {theirs:016x} at {different:?}. Nothing was served from it since this was found; empty its data \
                 directory, and it takes the others' state; keep a copy for a report"
            ),
            Self::Rotten { position } => write!(
                f,
                "this member's memory has changed by itself: a snapshot at transaction 0x{position:x} holds other records than \
                 were written, and is not kept. Nothing is served from that memory any more; hint: test this machine's memory"
            ),
            Self::SnapshotLost { reason } => {
                write!(f, "the snapshot of another member could not be kept: {reason}")
            }
            Self::Driver { reason } => f.write_str(reason),
        }
    }
}

impl core::error::Error for Fault {}
