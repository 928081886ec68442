//! What can go wrong: a fault of this host, a directory that cannot be opened, a full disk.

use crate::disk::DiskError;
use alloc::string::String;

/// This host cannot keep its promise: the journal is poisoned and the server must stop.
///
/// After a failed write or flush nobody knows what the disk holds (the kernel may have dropped the pages), so the
/// journal never tries again: a restart reads what is really there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {operation} `{file}`: {error}")]
pub struct Fault {
    /// The file or directory, within the data directory.
    pub file: String,
    /// What was tried, as a verb: `write`, `flush`, `rename`.
    pub operation: &'static str,
    /// What the disk said.
    pub error: DiskError,
}

/// Damage that recovery found in data that may have been acknowledged. Nothing was changed on the disk.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{file}` is damaged at byte {offset}: {what}\nhint: {hint}")]
pub struct Corruption {
    /// The file, within the data directory.
    pub file: String,
    /// Where in it, in bytes.
    pub offset: u64,
    /// What was found there.
    pub what: String,
    /// What the operator can do.
    pub hint: &'static str,
}

/// Why a data directory was not opened. In none of these cases anything acknowledged was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The directory holds something else, for example the data of another program. It was left untouched.
    #[error("the data directory holds `{name}`, which is not ours\nhint: {hint}")]
    Foreign {
        /// The name that was found.
        name: String,
        /// What the operator can do.
        hint: &'static str,
    },
    /// A file was written by a newer program.
    #[error(
        "`{file}` has format version {found}, this program knows up to {known}\nhint: start the newer program that wrote it"
    )]
    Version {
        /// The file.
        file: String,
        /// Its version.
        found: u32,
        /// The newest that is known here.
        known: u32,
    },
    /// Data that may have been acknowledged is damaged.
    #[error(transparent)]
    Corrupt(#[from] Corruption),
    /// The disk refused a call.
    #[error(transparent)]
    Disk(#[from] Fault),
}

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
        found: u64,
        /// The last index of the log.
        last: u64,
    },
    /// The hard state calls entries committed that the log would not hold. Nothing was appended.
    #[error("entry {commit} is said to be committed, and the last entry of the log is {last}")]
    CommitAhead {
        /// The commit index of the hard state.
        commit: u64,
        /// The last index of the log, the batch included.
        last: u64,
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
        first: u64,
        /// The last entry held; `first - 1` if there is none.
        last: u64,
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
        index: u64,
        /// The index of the newest one.
        newest: u64,
    },
    /// The host is broken.
    #[error(transparent)]
    Fault(#[from] Fault),
}
