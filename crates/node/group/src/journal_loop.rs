//! The driver of [`JournalExecutor`], which says what is done on the disk and in which order.
//!
//! The journal's thread takes what the core sent, runs the machine until that has nothing more to do, hands its answers to
//! the core, and sleeps. While little is written, the core's thread takes a turn itself instead: the journal's thread need
//! not be woken for it, nor the core's for the answer. What the machine notices becomes metrics and log lines here. It
//! knows nothing of batches and snapshots.
//!
//! Invariants:
//! - *One driver at a time.* A turn is taken under the lock.
//! - *Nothing but batches on the core's thread*, and only while the disk is quick: one slow flush, and the journal's thread
//!   does them all for a while. Preparing, snapshots and waiting for room are always the journal's thread's.

use consensus_replica::{JournalEvent, JournalRequest};
use node_threads::{Clock, Mailbox, ThreadWaker};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use consensus_replica::journal_executor::{
    ExecutorConfig, Flushed, JournalExecutor, JournalNotice, JournalOutput, Next,
};
use storage_raft_log::{Disk, DiskError, Fault, Journal, Space};

use base::LogIndex;

use crate::journal_counters::{JournalCounters, RequestTimes};

/// How many chunks of a snapshot are read at once for another member.
pub const CHUNKS_PER_READ: usize = 4;

/// Something for the journal's thread.
pub enum JournalMail {
    /// What the core asks for.
    Effect(JournalRequest),
    /// Make what is there durable and end.
    Stop,
}

/// Who is told what became of snapshots.
pub trait SnapshotNews: Send + Sync {
    /// One is durable, with entries up to this index and the transaction of this number.
    fn saved(&self, index: LogIndex, position: i64);
    /// One could not be written.
    fn failed(&self);
}

/// What the journal's thread is told before it starts.
#[derive(Clone, Debug)]
pub struct JournalSettings {
    /// Where the log lies, for messages.
    pub log_directory: PathBuf,
    /// What its machine is told.
    pub executor: ExecutorConfig,
    /// A flush that takes longer is logged.
    pub flush_warning: Duration,
}

/// What the journal's thread shares with the others.
pub struct JournalLinks {
    /// Where it takes its work.
    pub mail: Arc<Mailbox<JournalMail>>,
    /// Wakes its thread.
    pub waker: Arc<ThreadWaker>,
    /// Where it answers the core.
    pub answers: Arc<Mailbox<JournalEvent>>,
    /// What it counts.
    pub metrics: Arc<JournalCounters>,
    /// Nobody, where nobody waits for snapshots.
    pub snapshots: Option<Arc<dyn SnapshotNews>>,
}

/// The journal and its driver, lent to the thread that takes a turn. See the module.
pub struct SharedJournal<D: Disk> {
    driver: Mutex<Option<JournalDriver<D>>>,
    mail: Arc<Mailbox<JournalMail>>,
    waker: Arc<ThreadWaker>,
    clock: Clock,
    /// The journal's thread is to take a turn although there is no mail.
    wanted: AtomicBool,
}

/// How long the core's thread leaves all flushes to the journal's thread after one that was slow, microseconds, and what
/// is slow.
const AVOID_US: u64 = 1_000_000;
const SLOW_US: u64 = 20_000;
/// How long the journal's thread may sleep on after a turn of the core's thread, microseconds: the log is to note soon
/// that its last flush succeeded.
const SLEEP_ON_US: u64 = 60_000;

struct JournalDriver<D: Disk> {
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
    /// Until when the journal's thread sleeps at the longest.
    sleeps_until_us: Option<u64>,
    /// Until when the core's thread takes no turns: the disk is slow.
    avoid_until_us: u64,
}

impl<D: Disk> SharedJournal<D> {
    /// A journal that is open, whose thread is to [run](Self::run).
    pub fn new(
        journal: Journal<D>,
        settings: JournalSettings,
        links: JournalLinks,
        clock: Clock,
    ) -> Arc<Self> {
        let JournalSettings { log_directory, executor, flush_warning } = settings;
        let (mail, waker) = (Arc::clone(&links.mail), Arc::clone(&links.waker));
        let driver = JournalDriver {
            executor: JournalExecutor::new(journal, &executor),
            links,
            log_directory,
            flush_warning_us: u64::try_from(flush_warning.as_micros()).unwrap_or(u64::MAX),
            clock,
            sent_us: None,
            stopping: false,
            outputs: Vec::new(),
            outbox: Vec::new(),
            sleeps_until_us: None,
            avoid_until_us: 0,
        };
        Arc::new(Self {
            driver: Mutex::new(Some(driver)),
            mail,
            waker,
            clock,
            wanted: AtomicBool::new(false),
        })
    }

    /// The journal's thread: runs until told to stop; then gives the disk back.
    ///
    /// # Errors
    /// When this host cannot keep its promise any more.
    pub fn run(&self) -> Result<D, Fault> {
        loop {
            let timeout = {
                let mut lent = self.driver.lock();
                let driver = lent.as_mut().expect("the journal is there until its thread ends");
                driver.hand_on();
                driver.take_mail();
                if driver.stopping && driver.executor.is_drained() {
                    return lent.take().expect("it was there").executor.close();
                }
                match driver.turn()? {
                    Next::Step | Next::Feed => continue,
                    Next::Sleep { until_us } => {
                        driver.sleeps_until_us = until_us;
                        let now_us = self.clock.mono_us();
                        until_us.map(|until_us| Duration::from_micros(until_us.saturating_sub(now_us)))
                    }
                }
            };
            let has_work = || !self.mail.is_empty() || self.wanted.swap(false, Ordering::SeqCst);
            self.waker.park(timeout, has_work);
        }
    }

    /// Appends, flushes and answers what lies in the mailbox on the calling thread, which is the core's. False if that is
    /// the journal's thread's to do: it is at work, or the disk is slow.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn flush_here(&self) -> Result<bool, Fault> {
        let Some(mut lent) = self.driver.try_lock() else { return Ok(false) };
        let Some(driver) = lent.as_mut() else { return Ok(false) };
        let began_us = self.clock.mono_us();
        if driver.stopping || !driver.executor.is_idle() || began_us < driver.avoid_until_us {
            return Ok(false);
        }
        driver.take_mail();
        driver.flush()?;
        let now_us = self.clock.mono_us();
        if now_us - began_us > SLOW_US {
            driver.avoid_until_us = now_us + AVOID_US;
        }
        if driver.sleeps_until_us.is_none_or(|until_us| until_us > now_us + SLEEP_ON_US) {
            driver.sleeps_until_us = Some(now_us);
            drop(lent);
            self.wanted.store(true, Ordering::SeqCst);
            self.waker.wake();
        }
        Ok(true)
    }
}

impl<D: Disk> JournalDriver<D> {
    fn take_mail(&mut self) {
        let mut mail = Vec::new();
        self.sent_us = self.links.mail.take_all_since(&mut mail);
        for message in mail {
            match message {
                JournalMail::Effect(effect) => self.executor.feed(effect),
                JournalMail::Stop => self.stopping = true,
            }
        }
    }

    /// Takes steps until there is mail to be taken again.
    fn turn(&mut self) -> Result<Next, Fault> {
        loop {
            match self.step()? {
                Next::Step => {}
                next => return Ok(next),
            }
        }
    }

    /// Takes the steps of a turn up to the answer of its batches.
    fn flush(&mut self) -> Result<(), Fault> {
        self.step()?;
        while self.executor.is_flushing() {
            self.step()?;
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Next, Fault> {
        let next = self.executor.step(self.clock.mono_us());
        self.hand_on();
        next
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
            JournalNotice::SnapshotSaved { index, position, began_us } => {
                metrics.snapshot_us.record(self.clock.mono_us().saturating_sub(began_us));
                self.links.snapshots.iter().for_each(|news| news.saved(index, position));
            }
            JournalNotice::SnapshotFailed { problem } => {
                tracing::warn!(%problem, "the snapshot was given up; the log is whole, and a later one may succeed");
                metrics.snapshot_failed();
                self.links.snapshots.iter().for_each(|news| news.failed());
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
        let free_bytes = storage_dir_disk::free_bytes(&self.log_directory).unwrap_or(0);
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
