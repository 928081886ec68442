//! The disk: its thread runs the executor for what the shards ask, and tells them what became of it. A shard that asks for a
//! lone small batch, or for several that need no flush, runs them itself: neither the disk's thread need be woken for them, nor the
//! shard for the answers.
//!
//! Invariants:
//! - *In order.* Commands are put into the mailbox, or a seat at the executor is taken for them, while the broker is locked:
//!   in the order in which the broker gave them. Whoever has the executor first takes what is in the mailbox.
//! - *Small batches only on a shard's thread*, and only while the disk is quick: one slow flush, and the disk's thread does
//!   them all for a while. What can wait is always the disk's thread's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use log_broker::lone_flush::{avoid_until_us, is_lone};
use log_broker::{DiskCommand, DiskEvent, DiskExecutor, Next};
use node_metrics::{Distribution, Histogram};
use node_threads::{Clock, Mailbox, ThreadWaker};
use parking_lot::{Mutex, MutexGuard};
use storage_disk::Disk;
use storage_wal::Fault;

/// How long the disk's thread sleeps while shards flush, milliseconds: the next segment must be ready in time.
const ALONGSIDE_MS: u64 = 50;

/// The executor, its mailboxes, and whoever has it. See the module.
pub(crate) struct SharedDisk<D: Disk> {
    executor: Mutex<Option<DiskExecutor<D>>>,
    commands: Mailbox<DiskCommand>,
    events: Arc<Mailbox<DiskEvent>>,
    waker: Arc<ThreadWaker>,
    clock: Clock,
    stopping: AtomicBool,
    /// A shard has flushed since the disk's thread looked.
    alongside: AtomicBool,
    /// The disk's thread sleeps for longer than it should once a shard flushes.
    sleeps_long: AtomicBool,
    avoid_until_us: AtomicU64,
    /// How long writing and flushing took, microseconds.
    turns: Histogram,
    fault: Mutex<Option<Fault>>,
}

/// The executor, for one turn of a shard.
pub(crate) struct Seat<'d, D: Disk> {
    disk: &'d SharedDisk<D>,
    executor: MutexGuard<'d, Option<DiskExecutor<D>>>,
}

impl<D: Disk> SharedDisk<D> {
    pub(crate) fn new(executor: DiskExecutor<D>, events: Arc<Mailbox<DiskEvent>>, clock: Clock) -> Arc<Self> {
        let waker = ThreadWaker::of_parking();
        Arc::new(Self {
            executor: Mutex::new(Some(executor)),
            commands: Mailbox::new(Arc::clone(&waker)),
            events,
            waker,
            clock,
            stopping: AtomicBool::new(false),
            alongside: AtomicBool::new(false),
            sleeps_long: AtomicBool::new(false),
            avoid_until_us: AtomicU64::new(0),
            turns: Histogram::default(),
            fault: Mutex::new(None),
        })
    }

    /// Takes over commands, in order: the caller has the broker locked. Gives a seat if the caller is to run them itself;
    /// otherwise [`Self::wake`] is to be called once the broker is free.
    pub(crate) fn give(&self, commands: &mut Vec<DiskCommand>) -> Option<Seat<'_, D>> {
        if is_lone(commands) && !self.is_avoided() {
            let executor = self.executor.try_lock();
            // Commands in the mailbox come first.
            if let Some(executor) = executor.filter(|executor| self.is_free(executor)) {
                return Some(Seat { disk: self, executor });
            }
        }
        self.commands.put_all_quietly(commands);
        None
    }

    /// Whether a flush was slow of late.
    fn is_avoided(&self) -> bool {
        let until_us = self.avoid_until_us.load(Ordering::Relaxed);
        until_us > 0 && self.clock.mono_us() < until_us
    }

    fn is_free(&self, executor: &Option<DiskExecutor<D>>) -> bool {
        self.commands.is_empty() && executor.as_ref().is_some_and(|executor| !executor.is_behind())
    }

    pub(crate) fn wake(&self) {
        self.commands.wake();
    }

    /// How long writing and flushing took, microseconds.
    pub(crate) fn turns(&self) -> Distribution {
        self.turns.snapshot()
    }

    /// The disk's thread: runs until it is told to stop and nothing is left to do.
    ///
    /// # Errors
    /// The disk failed.
    pub(crate) fn run(&self) -> Result<(), Fault> {
        let (mut commands, mut events) = (Vec::new(), Vec::new());
        loop {
            let mut guard = self.executor.lock();
            if let Some(fault) = self.fault.lock().take() {
                return Err(fault);
            }
            self.commands.take_all(&mut commands);
            let stopping = commands.is_empty() && self.stopping.load(Ordering::SeqCst);
            let Some(executor) = guard.as_mut() else { return Ok(()) };
            let (began, has_work) = (self.clock.now(), !commands.is_empty());
            executor.turn(&mut commands, &mut events, began.mono())?;
            if has_work {
                self.turns.record(self.clock.now().mono_us.saturating_sub(began.mono_us));
            }
            self.events.put_all(&mut events);
            let next = executor.work(&mut events)?;
            if stopping {
                self.events.put_all(&mut events);
                return guard.take().map_or(Ok(()), |executor| executor.close().map(drop));
            }
            drop(guard);
            self.events.put_all(&mut events);
            if let Next::InMs(ms) = next {
                let alongside = self.alongside.swap(false, Ordering::SeqCst);
                let most = if alongside { ms.min(ALONGSIDE_MS) } else { ms };
                self.sleeps_long.store(!alongside, Ordering::SeqCst);
                let mail = || !self.commands.is_empty() || self.stopping.load(Ordering::SeqCst);
                self.waker.park(Some(Duration::from_millis(most)), mail);
            }
        }
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.waker.wake();
    }
}

impl<D: Disk> Seat<'_, D> {
    /// Runs the commands and gives what became of them. After a fault nothing did: the disk's thread reports it.
    pub(crate) fn run(mut self, commands: &mut Vec<DiskCommand>, events: &mut Vec<DiskEvent>) {
        let began = self.disk.clock.mono_us();
        let Some(executor) = self.executor.as_mut() else { return };
        if let Err(fault) = executor.short_turn(commands, events) {
            events.clear();
            *self.disk.fault.lock() = Some(fault);
            self.disk.waker.wake();
            return;
        }
        let ended = self.disk.clock.mono_us();
        self.disk.turns.record(ended.saturating_sub(began));
        if let Some(until) = avoid_until_us(began, ended, executor.is_behind()) {
            self.disk.avoid_until_us.store(until, Ordering::Relaxed);
        }
        self.disk.alongside.store(true, Ordering::SeqCst);
        if self.disk.sleeps_long.swap(false, Ordering::SeqCst) {
            self.disk.waker.wake();
        }
    }
}
