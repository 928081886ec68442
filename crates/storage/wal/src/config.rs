//! Sizes of a write-ahead log, and what it says of its state.

/// How a write-ahead log lays out its files.
#[derive(Clone, Copy, Debug)]
pub struct WalConfig {
    /// The size of a segment, in bytes. It must be many times the size of all logs' checkpoints; otherwise most of each
    /// segment repeats the one before it.
    pub segment_bytes: u32,
    /// The size of the very first segment: small, so that a first start does not wait for a large file of zeros.
    pub first_segment_bytes: u32,
    /// Room that is kept for records of [`Class::Reserved`](crate::Class) while no further segment can be had; at most a
    /// quarter of a segment.
    pub reserved_bytes: u32,
    /// How many bytes one step of [`Wal::prepare`](crate::Wal::prepare) writes and flushes at most: what arrives
    /// meanwhile waits for it.
    pub prepare_step_bytes: u32,
    /// Appended bytes beyond this are written (not yet flushed) without waiting for the flush.
    pub write_buffer_bytes: u32,
    /// How many segments no longer needed are kept to be used again.
    pub recycled_segments_max: usize,
}

impl WalConfig {
    /// The room that is kept in a segment of this capacity for records of the reserved class. A small segment keeps a
    /// quarter: one that kept all of itself would take no ordinary record.
    pub(crate) fn kept_bytes(&self, capacity: u64) -> u64 {
        u64::from(self.reserved_bytes).min(capacity / 4)
    }

    /// The capacity of a segment that takes `bytes` of ordinary records.
    pub(crate) fn capacity_for(&self, bytes: u64) -> u64 {
        bytes + u64::from(self.reserved_bytes).min(bytes.div_ceil(3))
    }
}

/// Which records may use the reserved room while the disk is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// They may not: refused when the next segment cannot be made ready.
    Ordinary,
    /// What must go on, or makes room.
    Reserved,
}

/// Whether there is room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Writes may go on.
    Plenty,
    /// The disk had no room for the next segment. Ordinary records already under way still find a place in the current
    /// one; new ones should be refused to clients until there is room again.
    Full,
}

/// Whether there is more to do in a task that is done in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Call again when there is time.
    More,
    /// Nothing to do for now.
    Idle,
}

/// Counts since the log was opened, and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalStats {
    /// Bytes of records written.
    pub bytes_written: u64,
    /// Bytes of zeros written to make segments.
    pub zero_bytes_written: u64,
    /// Flushes of records (one `fdatasync` each).
    pub flushes: u64,
    /// Segments that hold records.
    pub segments: u64,
    /// Segments used again.
    pub segments_recycled: u64,
    /// Logs.
    pub logs: u64,
}
