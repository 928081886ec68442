//! The thread that compacts logs: it runs the compactor, step by step, for the broker.
//!
//! It has a disk of its own over the directory, so that it holds up neither appends nor flushes: what it shares with them is
//! the device and the processor. If the operator limits how many bytes it reads a second, it pauses between two steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use log_broker::{CompactionCommand, CompactionEvent};
use log_storage::{Compactor, CompactorConfig, CompactorStep};
use node_threads::{Mailbox, ThreadWaker};
use storage_dir_disk::DirDisk;
use storage_wal::LogId;

use crate::mail::ShardMail;

/// What the thread shares with others.
pub(crate) struct Compaction {
    /// What it is told.
    pub(crate) commands: Mailbox<CompactionCommand>,
    waker: Arc<ThreadWaker>,
    stopping: AtomicBool,
}

impl Compaction {
    pub(crate) fn new() -> Arc<Self> {
        let waker = ThreadWaker::of_parking();
        let commands = Mailbox::new(Arc::clone(&waker));
        Arc::new(Self { commands, waker, stopping: AtomicBool::new(false) })
    }

    /// The thread: runs until it is told to stop. What it has made and nobody has taken is removed by the next start.
    pub(crate) fn run(&self, disk: DirDisk, broker: &Mailbox<ShardMail>, bytes_per_second_max: Option<f64>) {
        let config = CompactorConfig::default();
        let pause = bytes_per_second_max.map(|rate| config.step_bytes as f64 / rate.max(1.0));
        let pause = pause.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let mut thread = Thread { compactor: Compactor::new(disk, config), log: None, broker };
        let mut commands = Vec::new();
        while !self.stopping.load(Ordering::SeqCst) {
            self.commands.take_all(&mut commands);
            commands.drain(..).for_each(|command| thread.told(command));
            let rest = match thread.step() {
                Rest::Not => pause.unwrap_or(Duration::ZERO),
                Rest::UntilTold => Duration::MAX,
            };
            if rest > Duration::ZERO {
                let is_told = || !self.commands.is_empty() || self.stopping.load(Ordering::SeqCst);
                self.waker.park(Some(rest).filter(|rest| *rest < Duration::MAX), is_told);
            }
        }
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.waker.wake();
    }
}

enum Rest {
    /// There is more to do.
    Not,
    UntilTold,
}

struct Thread<'t> {
    compactor: Compactor<DirDisk>,
    /// The partition of the pass that is at work and does not wait for an answer.
    log: Option<LogId>,
    broker: &'t Mailbox<ShardMail>,
}

impl Thread<'_> {
    fn told(&mut self, command: CompactionCommand) {
        match command {
            CompactionCommand::Start(log, id, job) => {
                self.compactor.start(id, *job);
                self.log = Some(log);
            }
            CompactionCommand::Taken(log) => {
                self.compactor.taken();
                self.log = Some(log);
            }
            CompactionCommand::Refused(_) => {
                self.compactor.refused();
                self.log = None;
            }
        }
    }

    fn step(&mut self) -> Rest {
        let Some(log) = self.log else { return Rest::UntilTold };
        let event = match self.compactor.step() {
            CompactorStep::More => return Rest::Not,
            CompactorStep::Ready(replacement) => CompactionEvent::Ready(log, replacement),
            CompactorStep::Idle | CompactorStep::Done => CompactionEvent::Ended(log, Ok(())),
            CompactorStep::Failed(error) => CompactionEvent::Ended(log, Err(error)),
        };
        self.log = None;
        self.broker.put(ShardMail::Compaction(event));
        Rest::UntilTold
    }
}
