//! Sizes and limits of a journal.

use crate::identity::Identity;
use storage_wal::{WalConfig, WalStats};

/// How a journal lays out its files.
#[derive(Clone, Debug)]
pub struct JournalConfig {
    /// The identity that an empty directory gets; another directory has its identity in `meta`.
    pub identity: Identity,
    /// The size of a log segment, in bytes.
    pub segment_bytes: u32,
    /// The size of the very first segment: small, so that a first start does not wait for a large file of zeros.
    pub first_segment_bytes: u32,
    /// Room that is kept for batches of the reserve class while no further segment can be had; at most a quarter of
    /// a segment.
    pub reserve_bytes: u32,
    /// How many bytes one step of [`Journal::prepare`](crate::Journal::prepare) writes and flushes at most: what
    /// arrives meanwhile waits for it.
    pub prepare_step_bytes: u32,
    /// Appended bytes beyond this are written (not yet flushed) without waiting for the flush.
    pub write_buffer_bytes: u32,
    /// A snapshot being written is sent on its way to the disk each time it has grown by so much.
    pub snapshot_writeback_bytes: u32,
    /// Bytes of entries in one record, unless a single entry is larger: a batch of more becomes several records.
    pub record_bytes_max: usize,
    /// How many segments no longer needed are kept for reuse.
    pub spare_segments_max: usize,
    /// What may lie in the directory before it is initialised: other small files of its service.
    pub harmless_names: &'static [&'static str],
}

impl Default for JournalConfig {
    fn default() -> Self {
        JournalConfig {
            identity: Identity::default(),
            segment_bytes: 64 << 20,
            first_segment_bytes: 8 << 20,
            reserve_bytes: 2 << 20,
            prepare_step_bytes: 256 << 10,
            write_buffer_bytes: 4 << 20,
            snapshot_writeback_bytes: 512 << 10,
            record_bytes_max: 1 << 20,
            spare_segments_max: 2,
            harmless_names: &[],
        }
    }
}

impl JournalConfig {
    /// What of it concerns the write-ahead log.
    pub(crate) const fn wal(&self) -> WalConfig {
        WalConfig {
            segment_bytes: self.segment_bytes,
            first_segment_bytes: self.first_segment_bytes,
            reserved_bytes: self.reserve_bytes,
            prepare_step_bytes: self.prepare_step_bytes,
            write_buffer_bytes: self.write_buffer_bytes,
            recycled_segments_max: self.spare_segments_max,
        }
    }
}

/// What [`Journal::compact`](crate::Journal::compact) keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepPolicy {
    /// How many of the newest good snapshots stay, with the log behind the oldest of them. At least 1 is kept.
    pub snapshots: usize,
    /// How many entries before the newest snapshot stay for members that lag.
    pub entries: u64,
}

impl Default for KeepPolicy {
    fn default() -> Self {
        KeepPolicy { snapshots: 3, entries: 0 }
    }
}

/// Counts since the journal was opened, and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalStats {
    /// Bytes of log records written.
    pub log_bytes_written: u64,
    /// Bytes of snapshots written.
    pub snapshot_bytes_written: u64,
    /// Bytes of zeros written to make segments.
    pub zero_bytes_written: u64,
    /// Flushes of the log (one `fdatasync` each).
    pub flushes: u64,
    /// Batches appended.
    pub batches: u64,
    /// Entries appended.
    pub entries: u64,
    /// Log segments that hold records.
    pub segments: u64,
    /// Segments reused since the start.
    pub segments_recycled: u64,
    /// Snapshots held.
    pub snapshots: u64,
}

impl JournalStats {
    /// The same with what the write-ahead log counts.
    pub(crate) const fn with(self, wal: WalStats) -> JournalStats {
        JournalStats {
            log_bytes_written: wal.bytes_written,
            zero_bytes_written: wal.zero_bytes_written,
            flushes: wal.flushes,
            segments: wal.segments,
            segments_recycled: wal.segments_recycled,
            ..self
        }
    }
}
