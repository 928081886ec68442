//! What goes out of the machine: answers for the core, notices for the driver, and what the driver does next.

use consensus_raft::LogIndex;
use storage_raft_log::{Fault, SnapshotError, Space};

use crate::journal::JournalEvent;

/// What a driver does after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Takes the next step. The turn goes on: what has arrived meanwhile may be fed, but need not be.
    Step,
    /// Feeds what has arrived and takes the next step: a turn is over.
    Feed,
    /// Waits until there is something to feed, or until that time if it says one; then it takes the next step.
    Sleep {
        /// Microseconds on the clock that steps are told.
        until_us: Option<u64>,
    },
}

/// What came of a step. A driver hands on the events and heeds the notices in the order in which they come.
#[derive(Debug)]
pub enum JournalOutput {
    /// For the core.
    Event(JournalEvent),
    /// For the driver, to count and to log.
    Notice(JournalNotice),
}

/// What happened to the journal.
#[derive(Debug)]
pub enum JournalNotice {
    /// A flush succeeded, and its batches are answered.
    Flushed(Flushed),
    /// A step was taken towards the next segment.
    Prepared,
    /// A snapshot is durable.
    SnapshotSaved {
        /// The index that it covers.
        index: LogIndex,
        /// The last transaction in it.
        position: i64,
        /// When it was begun, microseconds.
        began_us: u64,
    },
    /// A snapshot was abandoned. The log is whole, and a later snapshot may succeed.
    SnapshotFailed {
        /// Why.
        problem: SnapshotError,
    },
    /// A snapshot could not be read for another member.
    SnapshotUnreadable {
        /// Why.
        error: storage_raft_log::ReadError,
    },
    /// The disk is full, or has room again.
    SpaceChanged {
        /// Which of the two.
        space: Space,
        /// What the disk has no room for, and how many bytes that needs; nothing if it has room.
        shortage: Option<(Fault, u64)>,
    },
}

/// What one flush made durable, and when, microseconds on the clock that steps are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushed {
    /// How much waited when the turn began, batches and all else.
    pub waiting: u64,
    /// Batches.
    pub batches: u64,
    /// Commands in their entries.
    pub commands: u64,
    /// Entries in them.
    pub entries: u64,
    /// Bytes of these entries.
    pub bytes: u64,
    /// When the first batch was appended.
    pub began_us: u64,
    /// When the last batch was appended and the flush began.
    pub appended_us: u64,
    /// When the flush was done.
    pub flushed_us: u64,
}
