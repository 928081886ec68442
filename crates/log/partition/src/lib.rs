//! One partition of a topic: what may be appended to its log, what of it is committed, and what may be read.
//!
//! It is a deterministic machine. A batch goes in and comes out with its offset and its place; when it is durable is told
//! from outside. It knows no frame, no file and no thread. What of the log is committed, and where each leader's epoch begins,
//! its [`Replica`](replication_appointed::Replica) knows: the same that replicates logs to other brokers, here alone.
//!
//! Besides the records a partition knows which producers wrote which batches, and which
//! transactions are open, decided or aborted. These [`Tables`] are a function of the log: a batch or a marker that is
//! appended changes them, in the order of the log, and nothing else does (L20). It also knows its segments: which there are,
//! how long each is and of when its records are. All of that is its [`state`](Partition::state), sealed by a checksum and kept
//! beside the log, so that a start reads only the log behind it, and no segment.
//!
//! # A read
//! [`Partition::read`] gives batches in memory, or a [`SegmentRead`]: which segment, and the nearest places in it that are
//! known. If it knows the exact ones, [`SegmentRead::range`] says so; otherwise whoever has the file finds them with
//! [`SegmentRead::locate`], over the headers of few batches, with the [`SegmentIndex`] beside the segment and with where an
//! earlier read ended. A read ends at the end of a batch. Its last batch may be left out because it is too long, its first
//! never.
//!
//! # A replica that follows
//! [`Partition::receive`] takes batches of the leader as they are, with their offsets. It looks into the headers only. Batches
//! that the leader of a newer epoch does not have are cut off: what they had changed in the tables and the segments is taken
//! back, batch by batch, the last first. The [`state`](Partition::state) that is kept is therefore that of what is committed:
//! no cut ever goes below it.
//!
//! # Not done, and what that costs
//! - A replica that has to start anew, because what it lacks is gone on the leader, knows only of producers that have written
//!   since: a retry of an older batch is taken for a new one there, as by Kafka's replicas.
//! - Records of compressed batches are not looked into when they are appended, unless the topic is compacted or wants another
//!   codec: the highest timestamp of other compressed batches is what their producer says.
//! - The state holds 68 bytes for each segment, and is written anew once for each segment of the write-ahead log: a partition
//!   of ten thousand segments writes 680 KB each time.
//! - All aborted transactions are kept in memory until their records are gone: 32 bytes each.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod active_index;
mod compaction;
mod config;
mod epochs;
#[cfg(test)]
mod hole_tests;
mod ids;
mod locate;
mod partition;
#[cfg(test)]
mod partition_tests;
mod pass_end;
mod plain_records;
mod prepared;
mod producers;
mod read;
mod replication;
#[cfg(test)]
mod replication_tests;
mod retention;
mod sealed;
mod segment;
mod segment_index;
mod segments;
mod state;
mod tables;
#[cfg(test)]
mod test_support;
mod time_lookup;
mod trail;
mod transactions;
mod varint;

pub use active_index::IndexFrame;
pub use compaction::{Cleaner, CompactionJob, CompactionNeed, Kept, Mapped, OffsetMap, Replacement};
pub use config::{Compaction, Durability, PartitionConfig, TopicCompression};
pub use epochs::{EpochEnd, LeaderEpochs};
pub use ids::{
    Boundary, CoordinatorEpoch, LeaderEpoch, Offset, PartitionId, Place, ProducerEpoch, ProducerId,
    SegmentId, Sequence,
};
pub use locate::{Hint, LocateError, Located, SegmentBytes, follows};
pub use partition::{Appended, Begun, Commit, NewBatch, Partition};
pub use pass_end::PassEnd;
pub use plain_records::{RECORDS_BYTES_MAX, Unreadable, read_records};
pub use prepared::{BatchRefused, Prepared};
pub use producers::{
    KnownBatch, KnownProducer, Marker, MarkerVerdict, ProducerBatch, ProducerLimits, Producers,
    TransactionVersion, Verdict,
};
pub use read::{Isolation, Read, SegmentRead, Source};
pub use replication::{Change, Cut, NewEpoch, Taken};
pub use replication_appointed::{
    Answer, Append, Appended as ReplicaAppended, BadAppend, Config, Diverged, Epoch, LeadError, PersistId,
    Position, Refused, ReplicaId, Seq, Voters, choose,
};
pub use retention::NewStart;
pub use sealed::Damage;
pub use segment::Segment;
pub use segment_index::{IndexBuilder, SegmentIndex};
pub use segments::Stale;
pub use state::{State, StoredBatch, StoredEvent};
pub use tables::{Tables, TablesUndo};
pub use time_lookup::{FoundTime, Looks, TimeLookup, WantedTime};
pub use transactions::{Aborted, Transactions};
