//! The partitions of a broker on one disk: a write-ahead log that all of them share, and the segments of each.
//!
//! A batch is appended to the write-ahead log, with all others that wait, and is durable after one flush for all of
//! them. Later, and many at a time, batches are written to the segment of their partition, from which they are read;
//! a segment is flushed only before the write-ahead log is recycled. So a broker with ten thousand partitions flushes
//! one file, and an idle partition has no open file.
//!
//! The store does not know what a batch means. It is told where each stands; the state of a partition (its tables and the list
//! of its segments) is bytes to it, a [`state`](Restored::state). Only the [`SegmentReader`] looks at batches.
//!
//! # An append, a read, a crash
//! *An append.* [`Store::append`] writes batches to the buffer of the write-ahead log and keeps them in memory.
//! [`Store::flush`] makes all of them durable. [`Store::write_behind`] writes those of a partition that are many enough,
//! or old enough, to its segment and tells how far; from then on they are read from there, and their memory is free.
//!
//! *A read.* Whoever reads has a disk of its own over the same directory and a [`SegmentReader`]: only what
//! [`Store::write_behind`] told may be read; what is not told yet, the caller has in memory.
//!
//! *A crash.* [`Store::open`] gives back, for each partition, the last state that its owner gave, and every batch and
//! change of the start behind it, in order. Batches that are in the flushed part of the segments are marked; all
//! others are written there again. No segment is read. The owner says which segments its state names ([`Store::adopt`]);
//! one that is missing is damage, and files that nobody names are removed ([`Store::remove_leftovers`]).
//!
//! # Invariants
//! - What lies in a segment counts only up to the point that a checkpoint in the write-ahead log names: everything before
//!   that point is flushed, file and name. What is behind it may be anything, and is written again.
//! - The write-ahead log keeps, for each partition, every batch that is not in the flushed part, and its last state. Both
//!   are judged by what the checkpoints on the disk say, never by what memory knows.
//! - A segment is removed only after the record that says that it is gone is durable.
//! - An index tells of batches that are durable only. Nothing depends on it.
//! - No call but those that begin a segment of the write-ahead log, and one every second, looks at all partitions.
//!
//! # Not done, and what that costs
//! - Every batch is written twice.
//! - One disk: a failed write or flush stops all partitions of the broker.
//! - A file stays as long as it was before a crash, though what is behind its end counts for nothing.
//! - With 100,000 partitions, the checkpoints and states that each segment of the write-ahead log repeats are about 25 MB:
//!   its segments (`StoreConfig::wal`) should be 256 MiB then.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod checkpoint;
mod compactor;
mod config;
mod files;
mod found;
mod leftovers;
mod partition_log;
mod reader;
mod record;
mod recovery;
mod removals;
mod retention;
mod segment_name;
mod store;
mod write_behind;

pub use compactor::{CompactionError, Compactor, CompactorConfig, CompactorStep};
pub use config::StoreConfig;
pub use reader::{ReadError, ReaderConfig, SegmentRange, SegmentReader};
pub use recovery::{Restored, RestoredBatch, RestoredEvent};
pub use segment_name::{SEGMENT_DIRECTORY, index_path, segment_path};
pub use store::{Append, Appended, Store, Written};
