//! What the threads besides the shards count; what shards count lives in their fronts and is asked for.

pub(crate) mod leadership;
mod trail;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use storage_raft_log::{Batch, JournalStats};

use node_metrics::Histogram;

/// What the journal's thread counts.
#[derive(Default)]
pub(crate) struct JournalCounters {
    pub(crate) flush_us: Histogram,
    pub(crate) batches_per_flush: Histogram,
    pub(crate) entries_per_flush: Histogram,
    pub(crate) bytes_per_flush: Histogram,
    pub(crate) snapshot_us: Histogram,
    pub(crate) requests_per_flush: Histogram,
    /// Batches that waited behind the first when the journal looked.
    pub(crate) batches_waiting: Histogram,
    pub(crate) queued_us: Histogram,
    pub(crate) append_us: Histogram,
    pub(crate) queued_and_flushed_us: Histogram,
    slow_flushes: AtomicU64,
    snapshots_failed: AtomicU64,
    full: AtomicBool,
    stats: Mutex<JournalStats>,
}

impl JournalCounters {
    pub(crate) fn flushed(&self, batches: u64, entries: u64, bytes: u64) {
        self.batches_per_flush.record(batches);
        self.entries_per_flush.record(entries);
        self.bytes_per_flush.record(bytes);
    }

    /// What the requests of one flush went through. Each counts alike, and the time of work done for all of them
    /// together is shared among them.
    pub(crate) fn requests(&self, times: &RequestTimes) {
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

/// How long the requests of one flush took, from when the oldest was handed to the journal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestTimes {
    pub(crate) requests: u64,
    /// Batches that waited when the journal looked, the first included.
    pub(crate) waiting: u64,
    pub(crate) queued_us: u64,
    pub(crate) appended_us: u64,
    pub(crate) done_us: u64,
}

/// What the core's thread counts.
#[derive(Default)]
pub(crate) struct CoreCounters {
    /// Messages of shards that lay there behind the first when the core looked.
    pub(crate) messages_waiting: Histogram,
    /// How long they had lain there.
    pub(crate) messages_waited_us: Histogram,
    /// What proposing a command took, and handing it to the journal.
    pub(crate) propose_us: Histogram,
    pub(crate) hand_over_us: Histogram,
    messages: AtomicU64,
    commands: AtomicU64,
    /// How long readers were held off by one turn of applying.
    pub(crate) apply_us: Histogram,
    pub(crate) bytes_per_entry: Histogram,
}

impl CoreCounters {
    /// So many messages lay there, the oldest for so long.
    pub(crate) fn received(&self, messages: u64, waited_us: u64) {
        self.messages.fetch_add(messages, Relaxed);
        self.messages_waiting.record(messages.saturating_sub(1));
        self.messages_waited_us.record_many(waited_us, messages);
    }

    /// So many commands were proposed together and handed to the journal.
    pub(crate) fn handed_over(&self, commands: u64, propose_us: u64, hand_over_us: u64) {
        self.commands.fetch_add(commands, Relaxed);
        self.propose_us.record_many(propose_us / commands, commands);
        self.hand_over_us.record_many(hand_over_us / commands, commands);
    }

    /// Messages of shards since the start.
    pub(crate) fn messages(&self) -> u64 {
        self.messages.load(Relaxed)
    }

    /// Commands handed to the journal since the start.
    pub(crate) fn commands(&self) -> u64 {
        self.commands.load(Relaxed)
    }

    pub(crate) fn proposed(&self, batch: &Batch) {
        for entry in &batch.entries {
            self.bytes_per_entry.record(entry.data.len() as u64);
        }
    }
}

/// What the start has taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StartFigures {
    pub(crate) snapshot_load_ms: u64,
    pub(crate) log_load_ms: u64,
    pub(crate) entries_loaded: u64,
    pub(crate) total_ms: u64,
}
