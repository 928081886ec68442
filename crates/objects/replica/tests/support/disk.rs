//! A disk that keeps everything at once, and gives a process what it needs to start.

use std::sync::Arc;

use base::{LogIndex, Term};
use consensus_raft::{self as raft, MemberId};
use consensus_replica::start::Seat;
use consensus_replica::{JournalEvent, JournalRequest, SnapshotEnd};
use objects_state::guest::Engine;
use objects_state::{Loader, State};
use storage_raft_log::{Batch, Entry, EntryKind, HardState, SnapshotMeta};

/// The log behind the newest snapshot, and that.
pub struct Disk {
    hard_state: HardState,
    base: (LogIndex, Term),
    log: Vec<Entry>,
    snapshot: Option<(SnapshotMeta, Vec<u8>)>,
    /// One that is being written.
    chunks: Vec<u8>,
    /// Whether none can be written.
    pub refuses_snapshots: bool,
}

impl Disk {
    pub const fn new() -> Self {
        Self {
            hard_state: HardState { term: Term(1), vote: None, commit: LogIndex(1) },
            base: (LogIndex(1), Term(1)),
            log: Vec::new(),
            snapshot: None,
            chunks: Vec::new(),
            refuses_snapshots: false,
        }
    }

    /// The newest snapshot: what it covers, and its bytes.
    pub fn newest_snapshot(&self) -> Option<(LogIndex, &[u8])> {
        self.snapshot.as_ref().map(|(meta, bytes)| (meta.index, &bytes[..]))
    }

    /// What a process begins with.
    pub fn seat(&self, engine: Arc<dyn Engine>) -> (Seat, State) {
        let mut state = self.snapshot.as_ref().map_or_else(State::new, |(_, bytes)| {
            let mut loader = Loader::new();
            loader.chunk(bytes).expect("a snapshot");
            loader.finish().expect("a whole snapshot")
        });
        let HardState { term, vote, commit } = self.hard_state;
        let recovered = raft::Recovered {
            hard_state: raft::HardState { term, vote, commit: commit.max(self.base.0) },
            membership: raft::Membership {
                voters: (1..=3).map(MemberId).collect(),
                ..raft::Membership::default()
            },
            base_index: self.base.0,
            base_term: self.base.1,
            entries: self.log.iter().map(engine_entry).collect(),
        };
        state.set_engine(engine);
        (Seat::new(recovered, self.base), state)
    }

    /// Does what a core asks.
    pub fn take(&mut self, request: JournalRequest) -> Option<JournalEvent> {
        match request {
            JournalRequest::Persist { number, batch, .. } => {
                self.persist(batch);
                Some(JournalEvent::Persisted { number })
            }
            JournalRequest::SnapshotBegin => {
                self.chunks.clear();
                None
            }
            JournalRequest::SnapshotChunk { bytes, .. } => {
                self.chunks.extend_from_slice(&bytes);
                Some(JournalEvent::SnapshotChunkWritten { bytes: bytes.len() as u64 })
            }
            JournalRequest::SnapshotFinish { .. } if self.refuses_snapshots => {
                Some(JournalEvent::SnapshotFailed("no room".into()))
            }
            JournalRequest::SnapshotFinish { meta, .. } => {
                let index = meta.index;
                self.base = (index, meta.term);
                self.log.retain(|entry| entry.index > index);
                self.snapshot = Some((meta, std::mem::take(&mut self.chunks)));
                Some(JournalEvent::SnapshotSaved { index })
            }
            JournalRequest::SnapshotRead { peer, index, first } => {
                let read = self.snapshot.as_ref().map(|(meta, bytes)| {
                    let SnapshotMeta { position, digest, created, .. } = *meta;
                    (vec![bytes.clone().into()], Some(SnapshotEnd { position, digest, created }))
                });
                Some(JournalEvent::SnapshotRead { peer, index, first, read })
            }
            JournalRequest::MakeRoom { .. } => None,
        }
    }

    fn persist(&mut self, batch: Batch) {
        self.hard_state = batch.hard_state.unwrap_or(self.hard_state);
        for entry in batch.entries {
            self.log.retain(|known| known.index < entry.index);
            self.log.push(entry);
        }
    }
}

fn engine_entry(entry: &Entry) -> raft::Entry {
    let kind = match entry.kind {
        EntryKind::Normal => raft::EntryKind::Normal,
        EntryKind::Membership => raft::EntryKind::Membership,
    };
    raft::Entry { index: entry.index, term: entry.term, kind, data: entry.data.clone() }
}
