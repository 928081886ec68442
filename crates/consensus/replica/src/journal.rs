//! What passes between a replica and its journal.

use bytes::Bytes;
use consensus_raft::{LogIndex, MemberId};
use storage_raft_log::{Batch, SnapshotMeta, Space};

use crate::batch::BatchReader;
use crate::peer_message::SnapshotEnd;

/// Chunks of a saved snapshot, and behind the last one what the snapshot says of itself.
pub type Chunks = (Vec<Bytes>, Option<SnapshotEnd>);

/// What a replica asks of its journal, in order.
#[derive(Debug)]
pub enum JournalRequest {
    /// Make this durable, then answer [`JournalEvent::Persisted`]. Answering the last of several answers all.
    Persist {
        /// Counts up.
        number: u64,
        /// What to write.
        batch: Batch,
        /// Whether it may use the space kept for when the disk is full.
        reserved: bool,
        /// How many commands its entries hold, for metrics.
        commands: u64,
    },
    /// More is to be persisted than the journal said it has room for: make room for so many bytes of records. Answer
    /// [`JournalEvent::Room`], or [`JournalEvent::Space`] if the disk is full.
    MakeRoom {
        /// How many, counted as [`storage_raft_log::log_bytes_max`] does.
        bytes: u64,
    },
    /// A snapshot begins.
    SnapshotBegin,
    /// Its next chunk. Answer [`JournalEvent::SnapshotChunkWritten`] when it is written and the rate allows more.
    SnapshotChunk {
        /// The chunk.
        bytes: Vec<u8>,
        /// Writes displace much meanwhile: do not hold back for the rate.
        hurry: bool,
    },
    /// The snapshot is whole: make it durable, drop what it replaces, answer [`JournalEvent::SnapshotSaved`].
    SnapshotFinish {
        /// What it is called.
        meta: SnapshotMeta,
        /// It came from another member and takes the place of the log: no batch may overtake it.
        replaces: bool,
    },
    /// Another member needs chunks of the saved snapshot of this index, from this one on. Answer
    /// [`JournalEvent::SnapshotRead`].
    SnapshotRead {
        /// Who needs it.
        peer: MemberId,
        /// Which snapshot.
        index: LogIndex,
        /// The number of the first chunk, from 0.
        first: u64,
    },
}

/// A batch with more bytes in its entries than this is not small.
pub(crate) const SMALL_BYTES: usize = 16 << 10;
/// Nor is one with more commands.
const SMALL_COMMANDS: usize = 2;

impl JournalRequest {
    /// Whether this is a batch of so few commands that hardly anybody else can wait for the disk.
    #[must_use]
    pub fn is_small_batch(&self) -> bool {
        let Self::Persist { batch, .. } = self else { return false };
        match &batch.entries[..] {
            [] => true,
            [entry] => entry.data.len() <= SMALL_BYTES && has_few_commands(&entry.data),
            _ => false,
        }
    }
}

fn has_few_commands(content: &[u8]) -> bool {
    let Ok(mut reader) = BatchReader::new(content) else { return false };
    for _ in 0..SMALL_COMMANDS {
        match reader.next_command() {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
    matches!(reader.next_command(), Ok(None))
}

/// What a journal answers.
#[derive(Debug)]
pub enum JournalEvent {
    /// Everything up to this number is durable.
    Persisted {
        /// The number of the last [`JournalRequest::Persist`] that is.
        number: u64,
    },
    /// How much more the journal can take without a further segment. A journal that never says so sets no limit.
    Room {
        /// The number of the last [`JournalRequest::Persist`] that is taken into account; 0 for none.
        after: u64,
        /// Bytes of records, counted as [`storage_raft_log::log_bytes_max`] does.
        bytes: u64,
    },
    /// A chunk of the snapshot is written.
    SnapshotChunkWritten {
        /// Its length.
        bytes: u64,
    },
    /// The snapshot is durable.
    SnapshotSaved {
        /// The index that it covers.
        index: LogIndex,
    },
    /// Chunks of a saved snapshot, or nothing when it is not there any more.
    SnapshotRead {
        /// Who needs them.
        peer: MemberId,
        /// Which snapshot.
        index: LogIndex,
        /// The number of the first chunk.
        first: u64,
        /// The chunks, and behind the last one what the snapshot says of itself.
        read: Option<Chunks>,
    },
    /// The snapshot could not be written; the log is whole, and a later one may succeed.
    SnapshotFailed(String),
    /// Whether there is room ahead.
    Space(Space),
}
