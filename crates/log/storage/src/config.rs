//! Sizes and limits of the store.

use storage_wal::WalConfig;

/// How the store lays out and writes its files.
#[derive(Clone, Copy, Debug)]
pub struct StoreConfig {
    /// The write-ahead log.
    pub wal: WalConfig,
    /// A partition with so many bytes in memory is written to its segment.
    pub write_behind_bytes: usize,
    /// All partitions together hold at most so many bytes in memory, and one batch more: above it, all are written.
    pub memory_bytes_max: usize,
    /// A step of writing behind ends once it has written so many bytes, while memory has room: what is appended meanwhile
    /// waits for it.
    pub write_behind_step_bytes: usize,
    /// How many segments are open for writing at most.
    pub open_files_max: usize,
    /// How many partitions one step of [`Store::sync_step`](crate::Store::sync_step) flushes at most.
    pub sync_step_partitions: usize,
    /// How many partitions are asked for their states at once.
    pub states_asked_max: usize,
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            wal: WalConfig {
                segment_bytes: 64 << 20,
                first_segment_bytes: 8 << 20,
                reserved_bytes: 2 << 20,
                prepare_step_bytes: 256 << 10,
                write_buffer_bytes: 512 << 10,
                recycled_segments_max: 2,
            },
            write_behind_bytes: 64 << 10,
            memory_bytes_max: 32 << 20,
            write_behind_step_bytes: 256 << 10,
            open_files_max: 256,
            sync_step_partitions: 4,
            states_asked_max: 256,
        }
    }
}
