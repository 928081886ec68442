//! What the threads besides the shards count; what shards count lives in their fronts and is asked for.

pub(crate) mod leadership;
mod trail;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub(crate) use node_group::JournalCounters;
use node_metrics::Histogram;
use storage_raft_log::Batch;

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
