//! What can go wrong: a fault of this host, a directory that cannot be opened, a full disk.

use crate::log::Position;
use crate::segment::segment_path;
use alloc::string::{String, ToString};
use storage_disk::DiskError;

const HINT_LOG: &str = "the log was left as it is, because what is damaged may have been acknowledged. Restore the data \
     directory from a backup, or, in an ensemble, start the member anew with an empty directory";

/// This host cannot keep its promise: the log is poisoned and the server must stop.
///
/// After a failed write or flush it is unknown what the disk holds (the kernel may have dropped the pages), so the log
/// never tries again: a restart reads what is really there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {operation} `{file}`: {error}")]
pub struct Fault {
    /// The file or directory, within the data directory.
    pub file: String,
    /// What was tried, as a verb: `write`, `flush`, `rename`.
    pub operation: &'static str,
    /// The disk's error.
    pub error: DiskError,
}

impl Fault {
    /// The disk's error of a call for this file.
    #[must_use]
    pub fn new(file: &str, operation: &'static str, error: DiskError) -> Fault {
        Fault { file: file.to_string(), operation, error }
    }
}

/// Damage that was found in data that may have been acknowledged. Nothing was changed on the disk.
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

impl Corruption {
    /// Damage in a segment of the log.
    #[must_use]
    pub fn at(position: Position, what: &str) -> Corruption {
        Corruption {
            file: segment_path(position.sequence),
            offset: position.offset,
            what: what.to_string(),
            hint: HINT_LOG,
        }
    }
}

pub(crate) fn damaged(sequence: u64, offset: u64, what: &str) -> OpenError {
    OpenError::Corrupt(Corruption::at(Position { sequence, offset }, what))
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
    /// A file was written by a newer program, or by an older one whose format is no longer read.
    #[error(
        "`{file}` has format version {found}, this program reads version {known}\nhint: start the program that wrote it"
    )]
    Version {
        /// The file.
        file: String,
        /// Its version.
        found: u32,
        /// The one that is known here.
        known: u32,
    },
    /// Data that may have been acknowledged is damaged.
    #[error(transparent)]
    Corrupt(#[from] Corruption),
    /// The disk refused a call.
    #[error(transparent)]
    Disk(#[from] Fault),
}

/// Why nothing was appended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// No room: the next segment cannot be had, and what is left is kept for [`Class::Reserved`](crate::Class). The log
    /// is well.
    #[error("no space left for the log")]
    Full,
    /// No segment could hold so much.
    #[error("{bytes} bytes are too many for the log")]
    TooLarge {
        /// Bytes of records.
        bytes: u64,
    },
    /// The host is broken.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Why a log was not created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// There are [`LOGS_MAX`](crate::LOGS_MAX) logs.
    #[error("there are as many logs as there may be ({})", crate::LOGS_MAX)]
    TooManyLogs,
    /// What creates it was not appended.
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl From<Fault> for CreateError {
    fn from(fault: Fault) -> CreateError {
        CreateError::Append(AppendError::Fault(fault))
    }
}

/// Why records cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// What was written and verified is damaged now.
    #[error(transparent)]
    Corrupt(#[from] Corruption),
    /// The host is broken.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<ReadError> for OpenError {
    fn from(error: ReadError) -> OpenError {
        match error {
            ReadError::Corrupt(corruption) => OpenError::Corrupt(corruption),
            ReadError::Fault(fault) => OpenError::Disk(fault),
        }
    }
}
