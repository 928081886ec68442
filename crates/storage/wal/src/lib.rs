//! A write-ahead log that carries many logs on one disk, over the small [`Disk`](storage_disk::Disk) trait.
//!
//! Every record belongs to a log ([`LogId`]), which has an owner. All records go into one sequence of preallocated,
//! recycled segments, so that one write and one flush make durable what was appended for all logs. After a crash each
//! owner is given back exactly its records: every flushed one, a beginning of the unflushed ones, in order, nothing
//! else. A torn tail (never acknowledged) is cut; damage to anything that may have been acknowledged is reported and
//! left alone.
//!
//! It does not know what records and checkpoints mean, or which owners there are.
//!
//! # The directory
//! - `meta`: format version and the owner of the directory ([`meta`]), written once, when everything else is in place.
//! - `log/<number>.seg`: segments of records, each filled with zeros before it is used or used before; at most one of
//!   them waits for its use. The first record of a segment lists every log with its checkpoint, which stands for all
//!   earlier records of that log, so that earlier segments can be dropped; and it vouches for the end of the segment
//!   before it. `record.rs` has the form of a record, `segment.rs` that of the first one.
//!
//! # An append, a read, a crash
//! *An append.* An owner asks for room for a group of records ([`Wal::group`]): if they do not fit into the current
//! segment, the next one is made ready now, so only this step can find the disk full. [`Group::append`] encodes each
//! record into the write buffer, behind the id of its log, and returns its [`Position`]; a large buffer is written
//! at once, so that it stays in the processor's cache. A record that does not fit begins the next segment: a mark that names it ends the old one, which is flushed; then the first record of the new
//! one asks [`Checkpoints`] for every owner's present checkpoint. No record is durable yet. [`Wal::flush`] writes the
//! buffer and flushes the file once, for all owners; then all of it is durable, and each may acknowledge its own.
//!
//! *A read.* An owner kept the position of its record. [`Wal::read`] writes what is still in the buffer, opens the
//! segment if it is not the current one, reads the record, and verifies its checksum and that it is that log's.
//! [`Wal::reader`] does so for a range, whichever logs its records belong to.
//!
//! *A crash.* [`Replayed::read`] reads the first record of every segment, newest first, and offers each owner its
//! checkpoint until it accepts one. From the oldest segment that an owner has accepted on, every record is verified;
//! each owner is given the checkpoint that it accepted and the records of its log behind it. In the last segment the
//! first record that does not verify is the end, unless a later one vouches for it (`replay.rs`). Owners judge what they
//! have; only then [`Replayed::resume`] overwrites the torn tail and removes leftovers.
//!
//! # Invariants
//! - A name is durable before anything in its file is acknowledged. Otherwise a crash takes the file with its name.
//! - A record never verifies in another place, another segment or another use of its file. Otherwise old records of a
//!   recycled segment would become valid behind new ones.
//! - After a failed write or flush nothing is written any more. What the disk holds is then unknown: the kernel may have
//!   dropped the pages, and a second flush that succeeds would prove nothing.
//! - A full disk is found when a segment is made ready, never when a record is written. Otherwise a group could end
//!   half-way, and a flush could fail because the disk is full.
//! - Opening changes nothing before all was read and judged. Otherwise a directory that was refused, or mounted by
//!   mistake, would already be a different one.
//! - The first record of a segment lists every log that there is, and what a checkpoint stands for is exactly what lies
//!   in earlier segments. Otherwise a log, or its last records, would go with the segment that is recycled. A start
//!   checks the list against the logs that the segment before it ends with.
//! - A log is created by a record in the same sequence as its own. So no flush of any owner can make a record durable
//!   without its log. The same holds for dropping it.
//! - A segment goes only when no log needs it, and only when what says so is durable: the first record of the segment
//!   behind it, and the record that dropped a log. Otherwise a crash brings back a log whose records are gone.
//! - An id is never given to a second log. Otherwise records of the first one, which still lie in old segments, would be
//!   taken for its.
//!
//! # Not done, and what that costs
//! - Damage within the last flush before a crash cannot be told from a torn tail, unless something was written behind
//!   it: the next flush, or the mark of [`Wal::mark_clean`]. A bit would have to rot between a flush and that moment.
//! - On a copy-on-write file system a segment that was filled ahead keeps no room. A write that finds none is tried
//!   again later: nothing of it was acknowledged, and the same bytes go to the same place. If instead the flush fails,
//!   or the write that ends a segment in the middle of a group, the log is poisoned.
//! - The last segment, removed by hand while no other was ready behind it, leaves no trace of having been there.
//! - A log that needs an old record keeps every segment from there on, with the records of all other logs. An owner
//!   that needs few old records for long should copy them forward, or keep them elsewhere.
//! - Every segment repeats the checkpoints of all logs: a hundred thousand of 30 bytes are 5 % of a segment of 64 MiB,
//!   written at once when it is begun.
//! - Records of a range are read through memory: there is no way yet to hand a part of a segment to a socket.
#![cfg_attr(not(test), no_std)]
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

extern crate alloc;

pub mod codec;
mod config;
mod directory;
mod error;
mod limits;
mod log;
mod logs;
pub mod meta;
mod preallocation;
mod read;
mod record;
mod recovery;
mod replay;
mod room;
mod scan;
mod segment;
mod wal;

pub use config::{Class, Progress, Space, WalConfig, WalStats};
pub use error::{AppendError, Corruption, CreateError, Fault, OpenError, ReadError};
pub use limits::{CHECKPOINT_BYTES_MAX, LOGS_MAX, RECORD_BYTES_MAX, SEGMENT_BYTES_MAX};
pub use log::{Checkpoints, LogId, Position, Restore};
pub use read::{LogRecord, Reader};
pub use recovery::{Replayed, TornTail};
pub use segment::LOG_DIRECTORY;
pub use wal::{Group, Wal, record_bytes_max};
