//! What a partition knows of its own log besides the records: where each leader's epoch begins, which producers wrote which
//! batches, and which transactions are open, decided or aborted.
//!
//! Each of the three is a function of the log: a batch or a marker that is appended changes it, in the order of the log,
//! and nothing else does (L20). It can be kept beside the log, sealed by a checksum, so that a start reads only the log
//! behind it.
//!
//! # Not done, and what that costs
//! - The records themselves, their segments and indexes, and the leader that appends: no partition can be served yet.
//! - All aborted transactions are kept in memory until their records are gone: 32 bytes each.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod epochs;
mod ids;
mod producers;
mod sealed;
mod transactions;

pub use epochs::{EpochEnd, EpochStart, LeaderEpochs};
pub use ids::{CoordinatorEpoch, LeaderEpoch, Offset, PartitionId, Place, ProducerEpoch, ProducerId, Sequence};
pub use producers::{
    KnownBatch, Marker, MarkerVerdict, ProducerBatch, ProducerLimits, Producers, TransactionVersion, Verdict,
};
pub use sealed::Damage;
pub use transactions::{Aborted, Transactions};
