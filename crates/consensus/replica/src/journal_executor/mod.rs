//! The order of a member's work on its disk: which of the core's effects ([`JournalRequest`]) is done next, what one flush
//! covers, and when each is answered ([`JournalEvent`]). One machine for every driver: the server's journal thread and
//! the simulator feed the same one.
//!
//! # Invariants
//! - *Flushed before answered.* [`JournalEvent::Persisted`] is emitted only after a flush that covers every batch up to
//!   its number. A failed flush emits nothing and ends the machine with the fault.
//! - *One flush for all that waits.* All batches that wait are appended, across the steps of snapshots, whose order among
//!   batches means nothing, up to a snapshot that replaces the log; then they are flushed once and answered once.
//! - *Nothing starves.* After that comes one step of other work, and then the next turn. A batch that finds no room holds
//!   up the batches behind it and a snapshot that replaces the log, and nothing else: saving a snapshot may be what gives
//!   room.
//! - *Paced.* A chunk of a snapshot is answered no faster than the configured rate. The core scans the next chunk only
//!   after the answer, so the rate bounds the scan as well. A chunk in a hurry does not add to the time.
//! - *Told once.* A snapshot of which a step fails is abandoned, and the core is told once. What still comes of it finds no
//!   snapshot begun, and is passed over.
//! - *A full disk is no fault.* A batch that finds no room waits: what is proposed cannot be taken back. It is answered
//!   when it is flushed. The core is told of a change of [`Space`] and of room that was made.
//!
//! # A turn
//! 1. Append all batches that wait.
//! 2. Flush them.
//! 3. Answer the last of them.
//! 4. Keep the next segment ahead of need: after the answer, or under load it would not be ready in time.
//! 5. Do one step of other work.
//! 6. Answer the chunks that are due.
//! 7. If there was nothing to do: prepare the next segment, one step a turn; look for room on a full disk; after a moment
//!    of rest, note in the log that its last flush succeeded.
//!
//! Each of 1 to 5 is a step of its own, so that a driver can read its clock, crash or do something else between any two.
//! Steps with nothing to do are left out.
//!
//! # What it refuses to know
//! Threads, clocks, mailboxes, metrics and log lines. Time comes in with each step; what a driver wants to count or to log
//! goes out as a [`JournalNotice`].

mod batches;
mod output;
mod pace;
mod snapshot;
mod space;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::mem;

use storage_raft_log::{Disk, DiskError, Fault, Journal, JournalStats, KeepPolicy, Progress, Space};

use self::batches::Batches;
pub use self::output::{Flushed, JournalNotice, JournalOutput, Next};
use self::pace::Pace;
use crate::journal::{JournalEvent, JournalRequest};
use crate::snapshot::ChunkReader;

/// How often a full disk is looked at again, microseconds.
const FULL_RETRY_US: u64 = 500_000;
/// How long nothing must have happened before the log notes that its last flush succeeded, microseconds.
const REST_US: u64 = 50_000;

/// How a [`JournalExecutor`] works.
#[derive(Clone, Copy, Debug)]
pub struct ExecutorConfig {
    /// How many bytes of a snapshot are written a second at the most.
    pub snapshot_bytes_per_second: u64,
    /// How many chunks of a snapshot are read at once for a member that asks for it.
    pub chunks_per_read: usize,
    /// What is kept when a snapshot is saved.
    pub keep: KeepPolicy,
}

/// What the next step does.
#[derive(Debug)]
enum Stage {
    /// A turn begins: appends all batches that wait.
    Append,
    /// Flushes what was appended.
    Flush(Batches),
    /// Answers what was flushed.
    Answer(Batches),
    /// Makes the next segment ready in time.
    KeepAhead,
    /// Does one step of other work.
    Other,
    /// A chunk of a snapshot is written: sets the time of its answer.
    Pace { bytes: u64, hurry: bool },
    /// There is no room on the disk: waits before it looks again.
    AwaitRoom,
    /// A snapshot that was to replace the log could not be kept. What follows it has no place in this log, and the core,
    /// which was told, stops: nothing is done any more.
    Halted,
}

/// See the module.
pub struct JournalExecutor<D: Disk> {
    journal: Journal<D>,
    chunks: ChunkReader<D>,
    keep: KeepPolicy,
    /// What was fed and is not done, in order.
    waiting: VecDeque<JournalRequest>,
    stage: Stage,
    /// Whether this turn has done anything so far.
    worked: bool,
    /// The number of the last batch that was appended, and of the last that was answered to be durable.
    appended: u64,
    answered: u64,
    /// Whether the first batch that waits found no room in this turn.
    refused: bool,
    /// What the core was told last.
    space: Space,
    room_told: u64,
    pace: Pace,
    snapshot_began_us: u64,
    /// Whether the next segment is as ready as it can be.
    prepared: bool,
    /// Whether the log says that its last flush succeeded; if not, when it is to.
    settled: bool,
    settle_us: Option<u64>,
    /// The fault that ended it.
    ended: Option<Fault>,
    outputs: Vec<JournalOutput>,
}

impl<D: Disk> JournalExecutor<D> {
    /// Of a journal that was opened and recovered. The core is told at once what room there is.
    #[must_use]
    pub fn new(journal: Journal<D>, config: &ExecutorConfig) -> Self {
        let mut executor = Self {
            journal,
            chunks: ChunkReader::new(config.chunks_per_read),
            keep: config.keep,
            waiting: VecDeque::new(),
            stage: Stage::Append,
            worked: false,
            appended: 0,
            answered: 0,
            refused: false,
            space: Space::Plenty,
            room_told: 0,
            pace: Pace::new(config.snapshot_bytes_per_second),
            snapshot_began_us: 0,
            prepared: false,
            settled: true,
            settle_us: None,
            ended: None,
            outputs: Vec::new(),
        };
        executor.tell_room();
        executor
    }

    /// Takes what the core asks for, in order. It is begun in one of the next steps.
    pub fn feed(&mut self, effect: JournalRequest) {
        self.waiting.push_back(effect);
        self.settle_us = None;
    }

    /// Does the next step, at `now_us` on a clock that never goes back. Gives what the driver does next.
    ///
    /// # Errors
    /// This host cannot keep its promise any more. Every further call gives the same fault.
    pub fn step(&mut self, now_us: u64) -> Result<Next, Fault> {
        if let Some(fault) = &self.ended {
            return Err(fault.clone());
        }
        let next = match mem::replace(&mut self.stage, Stage::Append) {
            Stage::Append => self.append_waiting(now_us),
            Stage::Flush(batches) => self.flush(batches, now_us),
            Stage::Answer(batches) => Ok(self.answer(batches, now_us)),
            Stage::KeepAhead => self.keep_ahead(now_us),
            Stage::Other => self.other(now_us),
            Stage::Pace { bytes, hurry } => {
                self.pace.written(bytes, hurry, now_us);
                self.end_turn(now_us)
            }
            Stage::AwaitRoom => {
                self.answer_chunks(now_us);
                Ok(Next::Sleep { until_us: Some(now_us + FULL_RETRY_US) })
            }
            Stage::Halted => {
                self.stage = Stage::Halted;
                Ok(Next::Sleep { until_us: None })
            }
        };
        next.inspect_err(|fault| self.ended = Some(fault.clone()))
    }

    /// What came of the steps, in order; to be drained after each step.
    pub const fn outputs(&mut self) -> &mut Vec<JournalOutput> {
        &mut self.outputs
    }

    /// Flushes and gives the disk back.
    ///
    /// # Errors
    /// The disk failed.
    pub fn close(self) -> Result<D, Fault> {
        self.journal.close()
    }

    /// Whether a driver that is to stop may [`close`](Self::close) it now: nothing waits, or only for room on a full disk,
    /// and of that nothing was acknowledged to anybody.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.waiting.is_empty() || self.space == Space::Full || matches!(self.stage, Stage::Halted)
    }

    /// Whether the next step is a flush.
    #[must_use]
    pub const fn is_flush_due(&self) -> bool {
        matches!(self.stage, Stage::Flush(_))
    }

    /// Whether the next step begins a turn and nothing was fed. Whoever feeds a batch now and takes steps as long as
    /// [`is_flushing`](Self::is_flushing) has it flushed and answered, and nothing else was done.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        matches!(self.stage, Stage::Append) && self.waiting.is_empty()
    }

    /// Whether batches were appended and are not answered, or the step behind that is due, which keeps the next segment
    /// ahead of need.
    #[must_use]
    pub const fn is_flushing(&self) -> bool {
        matches!(self.stage, Stage::Flush(_) | Stage::Answer(_) | Stage::KeepAhead)
    }

    /// What the journal did since it was opened, and what it holds.
    #[must_use]
    pub fn stats(&self) -> JournalStats {
        self.journal.stats()
    }

    fn then(&mut self, stage: Stage) -> Next {
        self.stage = stage;
        Next::Step
    }

    fn keep_ahead(&mut self, now_us: u64) -> Result<Next, Fault> {
        self.journal.keep_ahead()?;
        self.tell_space();
        self.tell_room();
        self.go_on(now_us)
    }

    /// Behind the batches: other work in a step of its own, or the end of the turn.
    fn go_on(&mut self, now_us: u64) -> Result<Next, Fault> {
        if self.refused || self.first_other().is_some() {
            return Ok(self.then(Stage::Other));
        }
        self.end_turn(now_us)
    }

    /// One step of what is no batch.
    fn other(&mut self, now_us: u64) -> Result<Next, Fault> {
        let Some(effect) = self.first_other().and_then(|place| self.waiting.remove(place)) else {
            return if self.refused { self.look_for_room() } else { self.end_turn(now_us) };
        };
        self.worked = true;
        match effect {
            JournalRequest::MakeRoom { bytes } => self.make_room(bytes)?,
            JournalRequest::SnapshotBegin => self.snapshot_begin(now_us)?,
            JournalRequest::SnapshotChunk { bytes, hurry } => {
                if self.snapshot_chunk(&bytes)? {
                    // Timed from when it is written, so by the clock of the next step.
                    return Ok(self.then(Stage::Pace { bytes: bytes.len() as u64, hurry }));
                }
            }
            JournalRequest::SnapshotRead { peer, index, first } => self.snapshot_read(peer, index, first),
            JournalRequest::SnapshotFinish { meta, replaces } => {
                if !self.snapshot_finish(meta)? && replaces {
                    return Ok(self.then(Stage::Halted));
                }
            }
            JournalRequest::Persist { .. } => unreachable!("batches are no other work"),
        }
        self.end_turn(now_us)
    }

    /// Where the first effect stands that is no batch, if it may be done now.
    fn first_other(&self) -> Option<usize> {
        let place =
            self.waiting.iter().position(|effect| !matches!(effect, JournalRequest::Persist { .. }))?;
        (place == 0 || !replaces_log(&self.waiting[place])).then_some(place)
    }

    fn end_turn(&mut self, now_us: u64) -> Result<Next, Fault> {
        self.answer_late();
        self.answer_chunks(now_us);
        if self.worked || !self.waiting.is_empty() {
            self.settle_us = None;
            return Ok(Next::Feed);
        }
        self.rest(now_us)
    }

    fn answer_chunks(&mut self, now_us: u64) {
        while let Some(bytes) = self.pace.answered(now_us) {
            self.emit(JournalEvent::SnapshotChunkWritten { bytes });
            self.settle_us = None;
        }
    }

    /// Nothing waits: prepares for what will come.
    fn rest(&mut self, now_us: u64) -> Result<Next, Fault> {
        if !self.prepared {
            self.prepared = self.journal.prepare()? == Progress::Idle;
            self.tell_space();
            self.tell_room();
            self.notify(JournalNotice::Prepared);
            return Ok(Next::Feed);
        }
        if self.space == Space::Full {
            return self.look_for_room();
        }
        if self.settled || !self.pace.is_empty() {
            return Ok(Next::Sleep { until_us: self.pace.due_us() });
        }
        let settle_us = *self.settle_us.get_or_insert(now_us + REST_US);
        if now_us < settle_us {
            return Ok(Next::Sleep { until_us: Some(settle_us) });
        }
        match self.journal.settle() {
            Err(fault) if fault.error == DiskError::Full => self.tell_space(),
            other => other?,
        }
        self.settled = true;
        Ok(Next::Feed)
    }

    fn emit(&mut self, event: JournalEvent) {
        self.outputs.push(JournalOutput::Event(event));
    }

    fn notify(&mut self, notice: JournalNotice) {
        self.outputs.push(JournalOutput::Notice(notice));
    }
}

/// Whether no batch may overtake this effect, nor this effect a batch.
const fn replaces_log(effect: &JournalRequest) -> bool {
    matches!(effect, JournalRequest::SnapshotFinish { replaces: true, .. })
}
