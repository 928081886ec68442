//! What the journal's thread counts, for metrics.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use node_metrics::Histogram;
use parking_lot::Mutex;
use storage_raft_log::JournalStats;

/// What the journal's thread counts.
#[derive(Default)]
pub struct JournalCounters {
    /// What a flush took.
    pub flush_us: Histogram,
    /// Batches made durable by one flush.
    pub batches_per_flush: Histogram,
    /// Entries made durable by one flush.
    pub entries_per_flush: Histogram,
    /// Bytes made durable by one flush.
    pub bytes_per_flush: Histogram,
    /// What a snapshot took from its first chunk until it was durable.
    pub snapshot_us: Histogram,
    /// Commands made durable by one flush.
    pub requests_per_flush: Histogram,
    /// Batches that waited behind the first when the journal looked.
    pub batches_waiting: Histogram,
    /// How long a command waited for the journal.
    pub queued_us: Histogram,
    /// What appending a command took.
    pub append_us: Histogram,
    /// All of that together, and the flush.
    pub queued_and_flushed_us: Histogram,
    slow_flushes: AtomicU64,
    snapshots_failed: AtomicU64,
    full: AtomicBool,
    stats: Mutex<JournalStats>,
}

impl JournalCounters {
    /// A flush made so much durable.
    pub fn flushed(&self, batches: u64, entries: u64, bytes: u64) {
        self.batches_per_flush.record(batches);
        self.entries_per_flush.record(entries);
        self.bytes_per_flush.record(bytes);
    }

    /// What the requests of one flush went through. Each counts alike, and the time of work done for all of them
    /// together is shared among them.
    pub fn requests(&self, times: &RequestTimes) {
        let RequestTimes { requests, waiting, queued_us, appended_us, done_us } = *times;
        if requests == 0 {
            return;
        }
        self.requests_per_flush.record(requests);
        self.batches_waiting.record(waiting.saturating_sub(1));
        self.queued_us.record_many(queued_us, requests);
        self.append_us.record_many(appended_us / requests, requests);
        self.queued_and_flushed_us.record_many(done_us, requests);
    }

    /// A flush took long.
    pub fn slow_flush(&self) {
        self.slow_flushes.fetch_add(1, Relaxed);
    }

    /// A snapshot could not be written.
    pub fn snapshot_failed(&self) {
        self.snapshots_failed.fetch_add(1, Relaxed);
    }

    /// Whether the disk has no room for the log.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Relaxed);
    }

    /// The journal's own figures.
    pub fn publish(&self, stats: JournalStats) {
        *self.stats.lock() = stats;
    }

    /// How many flushes took long.
    pub fn slow_flushes(&self) -> u64 {
        self.slow_flushes.load(Relaxed)
    }

    /// How many snapshots could not be written.
    pub fn snapshots_failed(&self) -> u64 {
        self.snapshots_failed.load(Relaxed)
    }

    /// Whether the disk has no room for the log.
    pub fn is_full(&self) -> bool {
        self.full.load(Relaxed)
    }

    /// The journal's own figures.
    pub fn stats(&self) -> JournalStats {
        *self.stats.lock()
    }
}

/// How long the requests of one flush took, from when the oldest was handed to the journal.
#[derive(Clone, Copy, Debug)]
pub struct RequestTimes {
    /// How many.
    pub requests: u64,
    /// Batches that waited when the journal looked, the first included.
    pub waiting: u64,
    /// How long they waited for the journal.
    pub queued_us: u64,
    /// What appending all of them took.
    pub appended_us: u64,
    /// All of it.
    pub done_us: u64,
}
