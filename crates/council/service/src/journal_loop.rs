//! The journal's thread: everything that waits is appended, one flush makes it durable, one answer tells the core.
//!
//! Snapshots are written between flushes, a chunk at a time, and answered no faster than the configured rate: the
//! core scans the next chunk only after the answer, so the rate bounds the scan as well. Segments ahead are prepared
//! in steps whenever nothing waits.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use council_replica::{ChunkReader, CoreEffect, JournalEvent};
use storage_raft_log::{
    AppendError, Batch, Disk, DiskError, Fault, Journal, KeepPolicy, Progress, SnapshotError, Space,
};

use crate::clock::Clock;
use crate::mailbox::{Doorbell, Mailbox};
use crate::metrics::{JournalMetrics, RequestTimes};
use crate::snapshots::{Saved, SnapshotDesk};

/// How often a full disk is looked at again.
const FULL_RETRY: Duration = Duration::from_millis(500);
/// How long nothing must have come before the log notes that its last flush succeeded.
const IDLE: Duration = Duration::from_millis(50);

/// Something for the journal's thread.
pub(crate) enum JournalMail {
    /// What the core asks for.
    Effect(CoreEffect),
    /// Make what is there durable and end.
    Stop,
}

/// What the journal's thread is told before it starts.
#[derive(Clone, Debug)]
pub(crate) struct JournalSettings {
    /// Where the log lies, for messages.
    pub(crate) log_directory: PathBuf,
    pub(crate) snapshot_bytes_per_second: u64,
    pub(crate) keep: KeepPolicy,
    pub(crate) flush_warning: Duration,
}

/// What the journal's thread shares with the others.
pub(crate) struct JournalLinks {
    pub(crate) mail: Arc<Mailbox<JournalMail>>,
    pub(crate) bell: Arc<Doorbell>,
    pub(crate) answers: Arc<Mailbox<JournalEvent>>,
    pub(crate) metrics: Arc<JournalMetrics>,
    pub(crate) desk: Arc<SnapshotDesk>,
}

/// See the module.
pub(crate) struct JournalLoop<D: Disk> {
    journal: Journal<D>,
    chunks: ChunkReader<D>,
    settings: JournalSettings,
    mail: Arc<Mailbox<JournalMail>>,
    bell: Arc<Doorbell>,
    answers: Arc<Mailbox<JournalEvent>>,
    metrics: Arc<JournalMetrics>,
    desk: Arc<SnapshotDesk>,
    clock: Clock,
    waiting: VecDeque<CoreEffect>,
    /// Since when the oldest batch of them waits.
    waiting_since_us: Option<u64>,
    space: Space,
    /// The number of the last batch that was appended, and of the last that was answered to be durable.
    appended: u64,
    answered: u64,
    /// The room that the core was told of last, bytes.
    room_told: u64,
    /// Answers that are put together.
    outbox: Vec<JournalEvent>,
    /// Answers to chunks of a snapshot, each with the time before which it must not be given.
    paced: VecDeque<(u64, u64)>,
    snapshot_due_us: u64,
    snapshot_began_us: u64,
    prepared: bool,
    settled: bool,
    stopping: bool,
}

impl<D: Disk> JournalLoop<D> {
    pub(crate) fn new(
        journal: Journal<D>,
        settings: JournalSettings,
        links: JournalLinks,
        clock: Clock,
    ) -> Self {
        let JournalLinks { mail, bell, answers, metrics, desk } = links;
        Self {
            journal,
            chunks: ChunkReader::default(),
            settings,
            mail,
            bell,
            answers,
            metrics,
            desk,
            clock,
            waiting: VecDeque::new(),
            waiting_since_us: None,
            space: Space::Plenty,
            appended: 0,
            answered: 0,
            room_told: 0,
            outbox: Vec::new(),
            paced: VecDeque::new(),
            snapshot_due_us: 0,
            snapshot_began_us: 0,
            prepared: false,
            settled: true,
            stopping: false,
        }
    }

    /// Runs until told to stop; then gives the disk back.
    ///
    /// # Errors
    /// When this host cannot keep its promise any more.
    pub(crate) fn run(mut self) -> Result<D, Fault> {
        self.tell_room();
        loop {
            self.take_mail();
            // What waits for room on a full disk was never acknowledged to anybody.
            if self.stopping && (self.waiting.is_empty() || self.space == Space::Full) {
                return self.journal.close();
            }
            let worked = self.work()?;
            self.answer_paced();
            if !worked {
                self.idle()?;
            }
        }
    }

    fn take_mail(&mut self) {
        let mut mail = Vec::new();
        let since_us = self.mail.take_all_since(&mut mail);
        self.waiting_since_us = self.waiting_since_us.or(since_us);
        for letter in mail {
            match letter {
                JournalMail::Effect(effect) => self.waiting.push_back(effect),
                JournalMail::Stop => self.stopping = true,
            }
        }
    }

    /// One flush for all batches that wait, then one step of a snapshot: neither starves the other.
    fn work(&mut self) -> Result<bool, Fault> {
        let persisted = self.persist()?;
        let stepped = self.step()?;
        Ok(persisted || stepped)
    }

    fn step(&mut self) -> Result<bool, Fault> {
        match self.waiting.pop_front() {
            None => Ok(false),
            Some(persist @ CoreEffect::Persist { .. }) => {
                // There is no room for it: what is committed cannot be taken back, so it waits for room.
                self.waiting.push_front(persist);
                self.wait_for_room()?;
                Ok(true)
            }
            Some(CoreEffect::MakeRoom { bytes }) => {
                self.ensure_room(bytes)?;
                Ok(true)
            }
            Some(CoreEffect::SnapshotBegin) => {
                self.snapshot_began_us = self.clock.mono_us();
                let begun = self.journal.snapshot_begin();
                self.snapshot_step(begun)?;
                Ok(true)
            }
            Some(CoreEffect::SnapshotChunk { bytes, hurry }) => {
                let written = self.journal.snapshot_chunk(&bytes);
                if self.snapshot_step(written)? {
                    self.pace(bytes.len() as u64, hurry);
                }
                Ok(true)
            }
            Some(CoreEffect::SnapshotRead { peer, index, first }) => {
                let read = self.chunks.read(&mut self.journal, index, first).unwrap_or_else(|error| {
                    tracing::error!(%error, "a snapshot could not be read for another member");
                    None
                });
                self.answers.put(JournalEvent::SnapshotRead { peer, index, first, read });
                Ok(true)
            }
            Some(CoreEffect::SnapshotFinish { meta, .. }) => {
                let saved = Saved { index: meta.index, zxid: meta.zxid };
                let finished = self.journal.snapshot_finish(meta);
                if self.snapshot_step(finished)? {
                    self.journal.compact(self.settings.keep)?;
                    self.metrics.snapshot_us.record(self.clock.mono_us() - self.snapshot_began_us);
                    self.answers.put(JournalEvent::SnapshotSaved { index: saved.index });
                    self.desk.saved(saved);
                }
                Ok(true)
            }
        }
    }

    /// Appends all batches that wait, across chunks of snapshots, whose order among batches means nothing, up to a
    /// snapshot that takes the log's place; flushes once; answers once.
    fn persist(&mut self) -> Result<bool, Fault> {
        let began_us = self.clock.mono_us();
        let since_us = self.waiting_since_us.take().unwrap_or(began_us);
        let (mut last, mut batches, mut commands, mut entries, mut bytes) = (None, 0, 0, 0, 0);
        let waiting = self.waiting.len() as u64;
        let mut others = VecDeque::new();
        while let Some(effect) = self.waiting.pop_front() {
            let CoreEffect::Persist { number, batch, reserved, commands: count } = effect else {
                let barrier = matches!(effect, CoreEffect::SnapshotFinish { replaces: true, .. });
                others.push_back(effect);
                if barrier {
                    others.extend(self.waiting.drain(..));
                    break;
                }
                continue;
            };
            if !self.append(&batch, reserved)? {
                others.push_front(CoreEffect::Persist { number, batch, reserved, commands: count });
                others.extend(self.waiting.drain(..));
                break;
            }
            last = Some(number);
            self.appended = number;
            batches += 1;
            commands += count;
            entries += batch.entries.len() as u64;
            bytes += batch.entries.iter().map(|entry| entry.data.len() as u64).sum::<u64>();
        }
        self.waiting = others;
        if last.is_none() {
            return Ok(false);
        }
        let appended_us = self.clock.mono_us();
        if !self.flush()? {
            self.tell_space();
            return Ok(true);
        }
        self.answer_persisted();
        self.metrics.flushed(batches, entries, bytes);
        self.metrics.requests(&RequestTimes {
            requests: commands,
            waiting,
            queued_us: began_us.saturating_sub(since_us),
            appended_us: appended_us - began_us,
            done_us: self.clock.mono_us().saturating_sub(since_us),
        });
        self.publish();
        // After the answer: under load the next segment would otherwise not be ready in time.
        self.journal.keep_ahead()?;
        self.tell_space();
        self.tell_room();
        Ok(true)
    }

    fn answer_persisted(&mut self) {
        let (number, bytes) = (self.appended, self.journal.room());
        (self.answered, self.room_told) = (number, bytes);
        self.outbox.extend([JournalEvent::Room { after: number, bytes }, JournalEvent::Persisted { number }]);
        self.answers.put_all(&mut self.outbox);
    }

    /// Tells of room that was made since the last answer.
    fn tell_room(&mut self) {
        let bytes = self.journal.room();
        if bytes > self.room_told {
            self.room_told = bytes;
            self.answers.put(JournalEvent::Room { after: self.appended, bytes });
        }
    }

    /// The core holds back more than there is room for.
    fn ensure_room(&mut self, bytes: u64) -> Result<(), Fault> {
        match self.journal.ensure_room(bytes) {
            Err(AppendError::Fault(fault)) => return Err(fault),
            // As for batches: shards let far less into flight.
            Err(error) => panic!("the journal was asked for room that it cannot make: {error}"),
            Ok(()) => {}
        }
        self.tell_space();
        // Also if it is what was told before: the core waits for an answer.
        self.room_told = 0;
        self.tell_room();
        Ok(())
    }

    /// False when there is no room.
    fn append(&mut self, batch: &Batch, reserved: bool) -> Result<bool, Fault> {
        // A batch that is proposed cannot be taken back, and all others come behind it: on a full disk it may use the
        // reserve, as may what holds no entry (a vote, how much is committed).
        let reserved = reserved || self.space == Space::Full || batch.entries.is_empty();
        let appended =
            if reserved { self.journal.append_reserved(batch) } else { self.journal.append(batch) };
        match appended {
            Ok(()) => Ok(true),
            Err(AppendError::Full) => Ok(false),
            Err(AppendError::Fault(fault)) => Err(fault),
            // Our own invariants: the council hands out entries without holes and calls none committed that it did
            // not hand out, and shards let far less than a segment's 4 GiB into flight.
            Err(
                error @ (AppendError::OutOfOrder { .. }
                | AppendError::CommitAhead { .. }
                | AppendError::TooLarge { .. }),
            ) => {
                panic!("the journal was given what it cannot take: {error}")
            }
        }
    }

    /// False when the disk had no room for what was appended: it waits, and is not durable.
    fn flush(&mut self) -> Result<bool, Fault> {
        let began = self.clock.mono_us();
        match self.journal.flush() {
            Err(fault) if fault.error == DiskError::Full => return Ok(false),
            other => other?,
        }
        let took = self.clock.mono_us() - began;
        self.metrics.flush_us.record(took);
        self.settled = false;
        self.prepared = false;
        if took >= u64::try_from(self.settings.flush_warning.as_micros()).unwrap_or(u64::MAX) {
            self.metrics.slow_flush();
            tracing::warn!(
                milliseconds = took / 1000,
                "flushing the log took long, which holds every write up; the disk is slow or shared"
            );
        }
        Ok(true)
    }

    /// Whether the step of a snapshot was done; one that a full disk refused is given up, and the core told.
    fn snapshot_step(&mut self, step: Result<(), SnapshotError>) -> Result<bool, Fault> {
        let problem = match step {
            Ok(()) => return Ok(true),
            Err(SnapshotError::Fault(fault)) => return Err(fault),
            Err(problem) => problem,
        };
        // Chunks of a snapshot that was given up find nothing begun: the core has been told already.
        if !matches!(problem, SnapshotError::NotBegun) {
            tracing::warn!(%problem, "the snapshot was given up; the log is whole, and a later one may succeed");
            match self.journal.snapshot_abandon() {
                Ok(()) | Err(SnapshotError::NotBegun | SnapshotError::Full | SnapshotError::Stale { .. }) => {
                }
                Err(SnapshotError::Fault(fault)) => return Err(fault),
            }
            self.metrics.snapshot_failed();
            self.desk.failed();
            self.answers.put(JournalEvent::SnapshotFailed(problem.to_string()));
        }
        Ok(false)
    }

    /// Notes when a written chunk may be answered.
    fn pace(&mut self, bytes: u64, hurry: bool) {
        let now = self.clock.mono_us();
        self.snapshot_due_us = if hurry {
            now
        } else {
            let cost = bytes.saturating_mul(1_000_000) / self.settings.snapshot_bytes_per_second.max(1);
            self.snapshot_due_us.max(now) + cost
        };
        self.paced.push_back((self.snapshot_due_us, bytes));
    }

    fn answer_paced(&mut self) {
        if self.paced.is_empty() {
            return;
        }
        let now = self.clock.mono_us();
        while let Some((due, bytes)) = self.paced.front().copied() {
            if due > now {
                break;
            }
            self.paced.pop_front();
            self.answers.put(JournalEvent::SnapshotChunkWritten { bytes });
        }
    }

    /// Nothing waits: prepares for what will come, then sleeps.
    fn idle(&mut self) -> Result<(), Fault> {
        if !self.prepared {
            self.prepare()?;
            self.publish();
            return Ok(());
        }
        if self.space == Space::Full {
            return self.wait_for_room();
        }
        let pace = self.paced.front().map(|(due, _)| due.saturating_sub(self.clock.mono_us()));
        let pace = pace.map(Duration::from_micros);
        let settle = (!self.settled).then_some(IDLE);
        let timeout = [pace, settle].into_iter().flatten().min();
        self.bell.park(timeout, || !self.mail.is_empty());
        if self.mail.is_empty() && self.paced.is_empty() && !self.settled {
            match self.journal.settle() {
                Err(fault) if fault.error == DiskError::Full => self.tell_space(),
                other => other?,
            }
            self.settled = true;
        }
        Ok(())
    }

    /// One step towards the next segment.
    fn prepare(&mut self) -> Result<(), Fault> {
        self.prepared = self.journal.prepare()? == Progress::Idle;
        self.tell_space();
        self.tell_room();
        Ok(())
    }

    /// Tries to get room, and if there is none sleeps for a while or until there is mail.
    fn wait_for_room(&mut self) -> Result<(), Fault> {
        let space = self.journal.try_reserve()?;
        if self.answered < self.appended && self.journal.is_flushed() {
            self.answer_persisted();
        }
        self.tell_space();
        self.tell_room();
        if space == Space::Full {
            self.bell.park(Some(FULL_RETRY), || !self.mail.is_empty());
        }
        Ok(())
    }

    fn tell_space(&mut self) {
        let space = self.journal.space();
        if space == self.space {
            return;
        }
        self.space = space;
        match space {
            Space::Full => self.tell_shortage(),
            Space::Plenty => tracing::info!(
                log_directory = %self.settings.log_directory.display(),
                "there is room for the log again: writes are taken"
            ),
        }
        self.metrics.set_full(space == Space::Full);
        self.answers.put(JournalEvent::Space(space));
    }

    fn tell_shortage(&self) {
        let Some((fault, needed_bytes)) = self.journal.shortage() else { return };
        let log_directory = self.settings.log_directory.display();
        if fault.error == DiskError::NoDescriptor {
            tracing::error!(
                %log_directory,
                error = %fault,
                "there is no file descriptor for the next log segment: writes are refused until there is one, reads go \
                 on; hint: raise the limit of open files (`ulimit -n`, `LimitNOFILE`)"
            );
            return;
        }
        let free_bytes = crate::disk::free_bytes(&self.settings.log_directory).unwrap_or(0);
        tracing::error!(
            %log_directory,
            free_bytes,
            needed_bytes,
            "the disk is full: writes are refused until there is room, reads go on; hint: free space or enlarge the \
             file system, and writes are taken again by themselves"
        );
    }

    fn publish(&self) {
        self.metrics.publish(self.journal.stats());
    }
}

#[cfg(test)]
mod tests;
