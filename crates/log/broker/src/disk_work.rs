//! What a broker asks of its disk, and what it hears of it.

use log_partition::{Cut, Damage, LeaderEpoch, Offset, Partition, PartitionId, SegmentId, State};
use log_storage::Append;
use storage_wal::LogId;

/// Something to be done, in the order in which it was asked for.
#[derive(Clone, Debug)]
pub enum DiskCommand {
    /// Create the log of a partition.
    Create(PartitionId, Offset),
    /// Drop a log with all that it holds.
    Drop(LogId),
    /// Append a batch.
    Append(Append),
    /// Keep the state of a partition.
    State(LogId, State),
    /// An epoch is promised, and begins there.
    Epoch(LogId, LeaderEpoch, Option<Offset>),
    /// The end of the log is cut off.
    Cut(LogId, Cut),
    /// The log is dropped, and begins there, with that promise.
    Reset(LogId, Offset, LeaderEpoch),
    /// The log begins at the first offset; segments before the second are gone.
    Start(LogId, Offset, Offset),
    /// A segment that compaction has made takes the place of others, which may be removed then.
    Replace {
        /// The partition.
        log: LogId,
        /// The change of its state.
        change: Vec<u8>,
        /// The old segments.
        removed: Vec<SegmentId>,
        /// The new one; nothing if nothing of them is kept.
        added: Option<SegmentId>,
    },
}

/// The file system that the data lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its size.
    pub total_bytes: u64,
    /// How much of it this broker can still use.
    pub usable_bytes: u64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskEvent {
    /// The log of a partition was created, durably.
    Created(PartitionId, LogId),
    /// So many commands, from the first on, are durable.
    Durable(u64),
    /// These commands, of which the first has number 1, count as committed before they are durable: they were handed to the
    /// operating system, and their partitions ask for no more.
    Early(Vec<u64>),
    /// Batches of a log before that offset are in their segments. The end of the log had been cut off so often before.
    Written(LogId, Offset, u32),
    /// The tables of these partitions are to be given again.
    StatesAsked(Vec<LogId>),
    /// So many bytes of batches find room: [`u64::MAX`] if the disk is not full. What it had no room for before that was known
    /// waits for room.
    Room(u64),
    /// The file system is like this by now.
    Volume(Volume),
}

/// A partition as the disk gives it back at a start.
#[derive(Clone, Debug)]
pub struct StoredPartition {
    /// Its log.
    pub log: LogId,
    /// Which one.
    pub id: PartitionId,
    /// The partition, as far as its state can be read.
    pub partition: Option<Partition>,
    /// Why it cannot be served.
    pub damage: Option<Damage>,
}
