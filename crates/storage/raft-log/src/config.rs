//! Sizes and limits of a journal, and who it belongs to.

/// Who a data directory belongs to: chosen by the caller when the directory is made, read back ever after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The ensemble.
    pub cluster: [u8; 16],
    /// This very data directory: a directory made anew is another incarnation, for it has forgotten its votes.
    pub incarnation: [u8; 16],
    /// The member, within the ensemble.
    pub member: u64,
}

/// How a journal lays out its files.
#[derive(Clone, Debug)]
pub struct JournalConfig {
    /// Who the directory will belong to if it is empty; one that is not says itself who it belongs to.
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
    /// What may lie in the directory before it is ours: other small files of the service that it belongs to.
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
    /// The room that is kept in a segment of this capacity for batches of the reserve class. A small segment keeps a
    /// quarter: one that kept all of itself would take no ordinary batch.
    pub(crate) fn kept_bytes(&self, capacity: u64) -> u64 {
        u64::from(self.reserve_bytes).min(capacity / 4)
    }

    /// The capacity of a segment that takes `bytes` of ordinary records.
    pub(crate) fn capacity_for(&self, bytes: u64) -> u64 {
        bytes + u64::from(self.reserve_bytes).min(bytes.div_ceil(3))
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

/// Whether there is room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Writes may go on.
    Plenty,
    /// The disk had no room for the next segment. Ordinary batches already under way still find a place in the
    /// current one; new ones should be refused to clients until [`Journal::try_reserve`](crate::Journal::try_reserve)
    /// succeeds.
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
