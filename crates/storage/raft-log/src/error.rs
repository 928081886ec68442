//! What can go wrong with a journal, besides what can go wrong with its write-ahead log.

use base::LogIndex;
use storage_wal::{Corruption, Fault};

/// Why a batch was not appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// No room: the next segment cannot be had, and what is left is kept for the reserve class. Nothing was
    /// appended; the journal is well.
    #[error("no space left for the log")]
    Full,
    /// The entries do not follow the log: a hole, or over an entry that is committed or in the snapshot. Nothing was
    /// appended.
    #[error("entry {found} does not follow the log, whose last entry is {last}")]
    OutOfOrder {
        /// The index of the entry.
        found: LogIndex,
        /// The last index of the log.
        last: LogIndex,
    },
    /// The hard state calls entries committed that the log would not hold. Nothing was appended.
    #[error("entry {commit} is said to be committed, and the last entry of the log is {last}")]
    CommitAhead {
        /// The commit index of the hard state.
        commit: LogIndex,
        /// The last index of the log, the batch included.
        last: LogIndex,
    },
    /// No segment could hold so much. Nothing was appended.
    #[error("a batch of {bytes} bytes is too large for the log")]
    TooLarge {
        /// The size of the batch.
        bytes: u64,
    },
    /// The host is broken.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Why entries or a snapshot cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The entries asked for are no longer (or not yet) in the log.
    #[error("the log holds entries {first} to {last}")]
    OutOfRange {
        /// The first entry held.
        first: LogIndex,
        /// The last entry held; `first - 1` if there is none.
        last: LogIndex,
    },
    /// What was written and verified is damaged now.
    #[error(transparent)]
    Corrupt(#[from] Corruption),
    /// The host is broken.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Why a snapshot was not written. What was written of it is gone; older snapshots and the log are untouched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The disk is full, or there is no descriptor left. The journal is well; try again later.
    #[error("no space or no file descriptor left for the snapshot")]
    Full,
    /// There is no snapshot being written.
    #[error("no snapshot was begun")]
    NotBegun,
    /// It is older than the newest one, or the log does not reach from it on.
    #[error("a snapshot at {index} is of no use: the newest is at {newest}")]
    Stale {
        /// The index of the refused snapshot.
        index: LogIndex,
        /// The index of the newest one.
        newest: LogIndex,
    },
    /// The host is broken.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<storage_wal::AppendError> for AppendError {
    fn from(error: storage_wal::AppendError) -> AppendError {
        match error {
            storage_wal::AppendError::Full => AppendError::Full,
            storage_wal::AppendError::TooLarge { bytes } => AppendError::TooLarge { bytes },
            storage_wal::AppendError::Fault(fault) => AppendError::Fault(fault),
        }
    }
}

impl From<storage_wal::ReadError> for ReadError {
    fn from(error: storage_wal::ReadError) -> ReadError {
        match error {
            storage_wal::ReadError::Corrupt(corruption) => ReadError::Corrupt(corruption),
            storage_wal::ReadError::Fault(fault) => ReadError::Fault(fault),
        }
    }
}
