//! The types between owners of logs and the write-ahead log: log ids, positions, checkpoints.

use crate::codec::Malformed;
use alloc::vec::Vec;
use core::fmt;

/// A log of a write-ahead log. Given once, at its creation, and never again for another: a record of a log that was
/// dropped is never taken for one of a later log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogId(pub u64);

impl LogId {
    /// The first log of a directory.
    pub const FIRST: LogId = LogId(1);
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The place of a record. Later records have higher ones, across all logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The number of the segment.
    pub sequence: u64,
    /// The place of the record's header in it, in bytes.
    pub offset: u64,
}

/// What the owners can say of their logs at this moment. It is asked when a segment is begun, and nothing of it is
/// encoded before.
///
/// The checkpoint of a log stands for all its records so far: earlier segments may be recycled because of it. An owner
/// therefore takes a record into account before the next one of any log is appended.
pub trait Checkpoints {
    /// At least the bytes that the checkpoints of all logs take together. Asked whenever room is looked for, so it must
    /// be cheap.
    fn bytes_max(&self) -> usize;

    /// Appends the checkpoint of this log, which is one that was created and not dropped. At most
    /// [`CHECKPOINT_BYTES_MAX`](crate::CHECKPOINT_BYTES_MAX) bytes.
    fn encode(&self, log: LogId, out: &mut Vec<u8>);
}

/// The owners while a write-ahead log is opened: they are given back what it holds.
///
/// First the checkpoints, from the newest segment to the oldest; then, for each log, where it begins, and its records
/// in order. What any call does must not outlive a failed opening.
pub trait Restore {
    /// The checkpoint of a log at the beginning of this segment. Whether the owner can begin with it; then it needs no
    /// earlier record of the log. The newest that will do is taken.
    ///
    /// # Errors
    /// The bytes cannot be understood.
    fn offer(&mut self, log: LogId, sequence: u64, checkpoint: &[u8]) -> Result<bool, Malformed>;

    /// The log begins here: with the checkpoint that was taken, or with the one that it was created with.
    ///
    /// # Errors
    /// The bytes cannot be understood.
    fn begin(&mut self, log: LogId, at: Position, checkpoint: &[u8]) -> Result<(), Malformed>;

    /// The next record of the log.
    ///
    /// # Errors
    /// The bytes cannot be understood.
    fn record(&mut self, log: LogId, at: Position, payload: &[u8]) -> Result<(), Malformed>;

    /// The log ends: it was dropped, and what was given of it is void.
    fn dropped(&mut self, log: LogId);
}
