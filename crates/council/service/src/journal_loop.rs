//! The journal's thread: a driver of [`JournalExecutor`], which says what is done on the disk and in which order.
//!
//! It takes what the core sent, runs the machine until that has nothing more to do, hands its answers to the core, and
//! sleeps. What the machine notices becomes metrics and log lines here. It knows nothing of batches and snapshots.

use consensus_replica::JournalEvent;
use node_threads::{Clock, Mailbox, ThreadWaker};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use consensus_replica::journal_executor::{
    ExecutorConfig, Flushed, JournalExecutor, JournalNotice, JournalOutput, Next,
};
use storage_raft_log::{Disk, DiskError, Fault, Journal, Space};

use council_wire::Zxid;

use crate::counters::{JournalCounters, RequestTimes};
use crate::messages::JournalMail;
use crate::snapshot_requests::{Saved, SnapshotRequests};

/// How many chunks of a snapshot are read at once for another member.
pub(crate) const CHUNKS_PER_READ: usize = 4;

/// What the journal's thread is told before it starts.
#[derive(Clone, Debug)]
pub(crate) struct JournalSettings {
    /// Where the log lies, for messages.
    pub(crate) log_directory: PathBuf,
    pub(crate) executor: ExecutorConfig,
    pub(crate) flush_warning: Duration,
}

/// What the journal's thread shares with the others.
pub(crate) struct JournalLinks {
    pub(crate) mail: Arc<Mailbox<JournalMail>>,
    pub(crate) waker: Arc<ThreadWaker>,
    pub(crate) answers: Arc<Mailbox<JournalEvent>>,
    pub(crate) metrics: Arc<JournalCounters>,
    pub(crate) desk: Arc<SnapshotRequests>,
}

/// See the module.
pub(crate) struct JournalLoop<D: Disk> {
    executor: JournalExecutor<D>,
    links: JournalLinks,
    log_directory: PathBuf,
    flush_warning_us: u64,
    clock: Clock,
    /// When the oldest effect of this turn was sent.
    sent_us: Option<u64>,
    stopping: bool,
    /// What came of a step, and the answers in it that are put together.
    outputs: Vec<JournalOutput>,
    outbox: Vec<JournalEvent>,
}

impl<D: Disk> JournalLoop<D> {
    pub(crate) fn new(
        journal: Journal<D>,
        settings: JournalSettings,
        links: JournalLinks,
        clock: Clock,
    ) -> Self {
        let JournalSettings { log_directory, executor, flush_warning } = settings;
        Self {
            executor: JournalExecutor::new(journal, &executor),
            links,
            log_directory,
            flush_warning_us: u64::try_from(flush_warning.as_micros()).unwrap_or(u64::MAX),
            clock,
            sent_us: None,
            stopping: false,
            outputs: Vec::new(),
            outbox: Vec::new(),
        }
    }

    /// Runs until told to stop; then gives the disk back.
    ///
    /// # Errors
    /// When this host cannot keep its promise any more.
    pub(crate) fn run(mut self) -> Result<D, Fault> {
        self.hand_on();
        loop {
            self.take_mail();
            if self.stopping && self.executor.is_drained() {
                return self.executor.close();
            }
            self.turn()?;
        }
    }

    fn take_mail(&mut self) {
        let mut mail = Vec::new();
        self.sent_us = self.links.mail.take_all_since(&mut mail);
        for letter in mail {
            match letter {
                JournalMail::Effect(effect) => self.executor.feed(effect),
                JournalMail::Stop => self.stopping = true,
            }
        }
    }

    /// Takes steps until there is mail to be taken again.
    fn turn(&mut self) -> Result<(), Fault> {
        loop {
            let now_us = self.clock.mono_us();
            let next = self.executor.step(now_us);
            self.hand_on();
            match next? {
                Next::Step => {}
                Next::Feed => return Ok(()),
                Next::Sleep { until_us } => {
                    let timeout =
                        until_us.map(|until_us| Duration::from_micros(until_us.saturating_sub(now_us)));
                    self.links.waker.park(timeout, || !self.links.mail.is_empty());
                    return Ok(());
                }
            }
        }
    }

    /// Hands on what came of a step. Answers that follow each other wake the core once.
    fn hand_on(&mut self) {
        std::mem::swap(self.executor.outputs(), &mut self.outputs);
        let mut outputs = std::mem::take(&mut self.outputs);
        for output in outputs.drain(..) {
            match output {
                JournalOutput::Event(event) => self.outbox.push(event),
                JournalOutput::Notice(notice) => {
                    self.links.answers.put_all(&mut self.outbox);
                    self.heed(notice);
                }
            }
        }
        self.outputs = outputs;
        self.links.answers.put_all(&mut self.outbox);
    }

    fn heed(&self, notice: JournalNotice) {
        let metrics = &self.links.metrics;
        match notice {
            JournalNotice::Flushed(flushed) => {
                self.count_flush(&flushed);
                metrics.publish(self.executor.stats());
            }
            JournalNotice::Prepared => metrics.publish(self.executor.stats()),
            JournalNotice::SnapshotSaved { index, position: zxid, began_us } => {
                metrics.snapshot_us.record(self.clock.mono_us().saturating_sub(began_us));
                self.links.desk.saved(Saved { index, zxid: Zxid(zxid) });
            }
            JournalNotice::SnapshotFailed { problem } => {
                tracing::warn!(%problem, "the snapshot was given up; the log is whole, and a later one may succeed");
                metrics.snapshot_failed();
                self.links.desk.failed();
            }
            JournalNotice::SnapshotUnreadable { error } => {
                tracing::error!(%error, "a snapshot could not be read for another member");
            }
            JournalNotice::SpaceChanged { space, shortage } => {
                self.tell_space(space, shortage);
                metrics.set_full(space == Space::Full);
            }
        }
    }

    fn count_flush(&self, flushed: &Flushed) {
        let metrics = &self.links.metrics;
        let sent_us = self.sent_us.unwrap_or(flushed.began_us);
        let took_us = flushed.flushed_us - flushed.appended_us;
        metrics.flush_us.record(took_us);
        metrics.flushed(flushed.batches, flushed.entries, flushed.bytes);
        metrics.requests(&RequestTimes {
            requests: flushed.commands,
            waiting: flushed.waiting,
            queued_us: flushed.began_us.saturating_sub(sent_us),
            appended_us: flushed.appended_us - flushed.began_us,
            done_us: self.clock.mono_us().saturating_sub(sent_us),
        });
        if took_us >= self.flush_warning_us {
            metrics.slow_flush();
            tracing::warn!(
                milliseconds = took_us / 1000,
                "flushing the log took long, which holds every write up; the disk is slow or shared"
            );
        }
    }

    fn tell_space(&self, space: Space, shortage: Option<(Fault, u64)>) {
        let log_directory = self.log_directory.display();
        if space == Space::Plenty {
            tracing::info!(%log_directory, "there is room for the log again: writes are taken");
            return;
        }
        let Some((fault, needed_bytes)) = shortage else { return };
        if fault.error == DiskError::NoDescriptor {
            tracing::error!(
                %log_directory,
                error = %fault,
                "there is no file descriptor for the next log segment: writes are refused until there is one, reads go \
                 on; hint: raise the limit of open files (`ulimit -n`, `LimitNOFILE`)"
            );
            return;
        }
        let free_bytes = crate::disk::free_bytes(&self.log_directory).unwrap_or(0);
        tracing::error!(
            %log_directory,
            free_bytes,
            needed_bytes,
            "the disk is full: writes are refused until there is room, reads go on; hint: free space or enlarge the \
             file system, and writes are taken again by themselves"
        );
    }
}

#[cfg(test)]
mod tests;
