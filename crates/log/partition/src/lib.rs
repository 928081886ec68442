//! One partition of a topic: what may be appended to its log, what of it is committed, and what may be read.
//!
//! It is a deterministic machine. A batch goes in and comes out with its offset and its place; when it is durable is told
//! from outside. It knows no frame, no file and no thread.
//!
//! Besides the records a partition knows where each leader's epoch begins, which producers wrote which batches, and which
//! transactions are open, decided or aborted. These [`Tables`] are a function of the log: a batch or a marker that is
//! appended changes them, in the order of the log, and nothing else does (L20). They can be kept beside the log, sealed by
//! a checksum, so that a start reads only the log behind them.
//!
//! # Not done, and what that costs
//! - A replica that follows: a partition lives on one broker.
//! - Compaction: `cleanup.policy=compact` keeps everything.
//! - Records of compressed batches are not looked into: an offset that is looked for by time is that of their batch.
//! - Other records are looked into for that only: keys that must not be null, and counts inside a batch, are not checked.
//! - The sparse index of every segment is in memory, 24 bytes for 16 KiB of batches, and a start reads all segments to make
//!   it.
//! - All aborted transactions are kept in memory until their records are gone: 32 bytes each.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod config;
mod epochs;
mod ids;
mod partition;
#[cfg(test)]
mod partition_tests;
mod producers;
mod read;
mod retention;
mod sealed;
mod segment;
mod tables;
#[cfg(test)]
mod test_support;
mod time_lookup;
mod transactions;

pub use config::PartitionConfig;
pub use epochs::{EpochEnd, EpochStart, LeaderEpochs};
pub use ids::{
    CoordinatorEpoch, LeaderEpoch, Offset, PartitionId, Place, ProducerEpoch, ProducerId, Sequence,
};
pub use partition::{Appended, NewBatch, Partition, StoredBatch};
pub use producers::{
    KnownBatch, KnownProducer, Marker, MarkerVerdict, ProducerBatch, ProducerLimits, Producers,
    TransactionVersion, Verdict,
};
pub use read::{Cut, Isolation, Read, SegmentRead, Source};
pub use retention::NewStart;
pub use sealed::Damage;
pub use segment::Segment;
pub use tables::Tables;
pub use time_lookup::{FoundTime, TimeLookup};
pub use transactions::{Aborted, Transactions};
