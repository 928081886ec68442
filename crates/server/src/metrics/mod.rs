//! Figures about the running server: what the threads besides the shards count, and the list of all of them under
//! ZooKeeper's names. What shards count lives in their fronts and is asked for.

pub(crate) mod catalog;
pub(crate) mod histogram;
pub(crate) mod process;
pub(crate) mod sample;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use journal::{Batch, JournalStats};
use parking_lot::Mutex;

use self::histogram::Histogram;

/// What the journal's thread counts.
#[derive(Default)]
pub(crate) struct JournalMetrics {
    pub(crate) flush_us: Histogram,
    pub(crate) batches_per_flush: Histogram,
    pub(crate) entries_per_flush: Histogram,
    pub(crate) bytes_per_flush: Histogram,
    pub(crate) snapshot_us: Histogram,
    slow_flushes: AtomicU64,
    snapshots_failed: AtomicU64,
    full: AtomicBool,
    stats: Mutex<JournalStats>,
}

impl JournalMetrics {
    pub(crate) fn flushed(&self, batches: u64, entries: u64, bytes: u64) {
        self.batches_per_flush.record(batches);
        self.entries_per_flush.record(entries);
        self.bytes_per_flush.record(bytes);
    }

    pub(crate) fn slow_flush(&self) {
        self.slow_flushes.fetch_add(1, Relaxed);
    }

    pub(crate) fn snapshot_failed(&self) {
        self.snapshots_failed.fetch_add(1, Relaxed);
    }

    pub(crate) fn set_full(&self, full: bool) {
        self.full.store(full, Relaxed);
    }

    pub(crate) fn publish(&self, stats: JournalStats) {
        *self.stats.lock() = stats;
    }

    pub(crate) fn slow_flushes(&self) -> u64 {
        self.slow_flushes.load(Relaxed)
    }

    pub(crate) fn snapshots_failed(&self) -> u64 {
        self.snapshots_failed.load(Relaxed)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Relaxed)
    }

    pub(crate) fn stats(&self) -> JournalStats {
        *self.stats.lock()
    }
}

/// What the core's thread counts.
#[derive(Default)]
pub(crate) struct CoreMetrics {
    /// How long readers were held off by one turn of applying.
    pub(crate) apply_us: Histogram,
    pub(crate) bytes_per_entry: Histogram,
}

impl CoreMetrics {
    pub(crate) fn proposed(&self, batch: &Batch) {
        for entry in &batch.entries {
            self.bytes_per_entry.record(entry.data.len() as u64);
        }
    }
}

/// What the start has taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StartMetrics {
    pub(crate) snapshot_load_ms: u64,
    pub(crate) log_load_ms: u64,
    pub(crate) entries_loaded: u64,
    pub(crate) total_ms: u64,
}
