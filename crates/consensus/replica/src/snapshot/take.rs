//! When a snapshot is begun, and how fast it is scanned.

use base::{MonoTime, WallTime};
use consensus_raft::{LogIndex, SnapshotOffer};
use storage_raft_log::SnapshotMeta;

use crate::journal::JournalRequest;
use crate::output::Output;
use crate::state_machine::{ReplicatedState, ScanProgress};
use crate::{Fault, ReplicaConfig, convert};

/// Chunks on their way to the disk at a time.
const CHUNKS_IN_FLIGHT_MAX: u32 = 2;

/// Where a snapshot stands.
#[derive(Debug, Default)]
enum Stage {
    #[default]
    Idle,
    Scanning {
        meta: SnapshotMeta,
        in_flight: u32,
    },
    Saving,
}

/// The last snapshot that became durable in this life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastSnapshot {
    /// The index it covers.
    pub index: LogIndex,
    /// The number of the last transaction in it.
    pub position: i64,
    /// When it was begun.
    pub began: WallTime,
    /// From its begin until it was durable, milliseconds.
    pub took_ms: u64,
    /// Its length.
    pub bytes: u64,
}

/// Decides when to take snapshots and paces them.
#[derive(Debug)]
pub(crate) struct SnapshotTaker {
    after_bytes: u64,
    after_commands: u64,
    side_bytes_max: usize,
    chunk_bytes: usize,
    log_bytes: u64,
    commands: u64,
    asked: bool,
    stage: Stage,
    began_mono: MonoTime,
    /// The one that was begun last; the one that this life started from before that.
    scanned: LastSnapshot,
    last: Option<LastSnapshot>,
    /// What the snapshot on its way to the disk is called; after that the last one saved.
    named: Option<SnapshotMeta>,
    recovered_index: LogIndex,
}

impl SnapshotTaker {
    pub(crate) fn new(config: &ReplicaConfig, recovered_index: LogIndex) -> Self {
        Self {
            after_bytes: config.snapshot_after_bytes,
            after_commands: config.snapshot_after_commands,
            side_bytes_max: config.snapshot_side_bytes_max,
            chunk_bytes: config.snapshot_chunk_bytes,
            log_bytes: 0,
            commands: 0,
            asked: false,
            stage: Stage::Idle,
            began_mono: MonoTime::ZERO,
            scanned: LastSnapshot { index: recovered_index, ..LastSnapshot::default() },
            last: None,
            named: None,
            recovered_index,
        }
    }

    /// Counts what the log has grown by.
    pub(crate) const fn grown(&mut self, bytes: u64, commands: u64) {
        self.log_bytes += bytes;
        self.commands += commands;
    }

    /// Somebody asks for a snapshot that covers this index. One that is there or under way may do.
    pub(crate) fn ask(&mut self, index: LogIndex) {
        self.asked |= self.scanned.index < index;
    }

    /// What the newest one covers: the one under way, or the last.
    pub(crate) const fn covers(&self) -> LogIndex {
        self.scanned.index
    }

    /// Whether one should begin.
    pub(crate) const fn is_due(&self) -> bool {
        matches!(self.stage, Stage::Idle)
            && (self.asked || self.log_bytes >= self.after_bytes || self.commands >= self.after_commands)
    }

    /// One begins, covering what is applied now.
    pub(crate) fn begin(&mut self, meta: SnapshotMeta, mono: MonoTime) {
        (self.log_bytes, self.commands, self.asked) = (0, 0, false);
        self.began_mono = mono;
        self.scanned = LastSnapshot {
            index: meta.index,
            position: meta.position,
            began: meta.created,
            ..LastSnapshot::default()
        };
        self.stage = Stage::Scanning { meta, in_flight: 0 };
    }

    /// Takes the next chunk of the snapshot out of the state.
    ///
    /// # Errors
    /// The state has rotted. The snapshot does not end.
    pub(crate) fn scan<R: ReplicatedState>(
        &mut self,
        state: &mut R::State,
        out: &mut Output<impl Clone>,
    ) -> Result<(), Fault> {
        let hurry = self.hurries(R::snapshot_side_bytes(state));
        let mut bytes = Vec::with_capacity(self.chunk_bytes + self.chunk_bytes / 4);
        let progress = R::snapshot_chunk(state, &mut bytes, self.chunk_bytes);
        if progress == ScanProgress::Rotten {
            return Err(Fault::Rotten { position: self.scanned.position });
        }
        if !bytes.is_empty() {
            self.sent(bytes.len());
            out.ask_journal(JournalRequest::SnapshotChunk { bytes, hurry });
        }
        if let ScanProgress::Done { digest } = progress
            && let Some(meta) = self.finish(digest)
        {
            out.ask_journal(JournalRequest::SnapshotFinish { meta, replaces: false });
        }
        Ok(())
    }

    /// Whether the next chunk should be scanned now, with so much displaced by writes.
    pub(crate) const fn wants_chunk(&self, side_bytes: usize) -> bool {
        match self.stage {
            Stage::Scanning { in_flight, .. } => in_flight < CHUNKS_IN_FLIGHT_MAX || self.hurries(side_bytes),
            _ => false,
        }
    }

    /// Whether the scan should not hold back for the disk's rate.
    const fn hurries(&self, side_bytes: usize) -> bool {
        side_bytes >= self.side_bytes_max / 2
    }

    /// Whether writes should wait for the scan.
    pub(crate) const fn holds_writes(&self, side_bytes: usize) -> bool {
        matches!(self.stage, Stage::Scanning { .. }) && side_bytes >= self.side_bytes_max
    }

    /// A chunk went to the disk.
    fn sent(&mut self, bytes: usize) {
        self.scanned.bytes += bytes as u64;
        if let Stage::Scanning { in_flight, .. } = &mut self.stage {
            *in_flight += 1;
        }
    }

    /// A chunk is written.
    pub(crate) fn written(&mut self) {
        if let Stage::Scanning { in_flight, .. } = &mut self.stage {
            *in_flight = in_flight.saturating_sub(1);
        }
    }

    /// The scan is at its end: what to make durable.
    fn finish(&mut self, digest: u64) -> Option<SnapshotMeta> {
        match core::mem::replace(&mut self.stage, Stage::Saving) {
            Stage::Scanning { meta, .. } => {
                self.named = Some(SnapshotMeta { digest, ..meta });
                self.named.clone()
            }
            other => {
                self.stage = other;
                None
            }
        }
    }

    /// It is durable.
    pub(crate) fn saved(&mut self, mono: MonoTime) {
        self.stage = Stage::Idle;
        self.last = Some(LastSnapshot { took_ms: mono.since(self.began_mono), ..self.scanned });
    }

    /// It could not be written. The next is due after as much log again.
    pub(crate) fn failed(&mut self) {
        self.stage = Stage::Idle;
        self.scanned.index = self.last.map_or(self.recovered_index, |last| last.index);
    }

    pub(crate) const fn last(&self) -> Option<LastSnapshot> {
        self.last
    }

    /// What members that lag may be given, right after [`Self::saved`].
    pub(crate) fn offer(&self) -> Option<SnapshotOffer> {
        let meta = self.named.as_ref()?;
        let membership = convert::engine_membership(&meta.membership);
        Some(SnapshotOffer { index: meta.index, term: meta.term, membership })
    }

    /// Whether one is under way.
    pub(crate) const fn is_busy(&self) -> bool {
        !matches!(self.stage, Stage::Idle)
    }

    pub(crate) const fn is_scanning(&self) -> bool {
        matches!(self.stage, Stage::Scanning { .. })
    }
}
