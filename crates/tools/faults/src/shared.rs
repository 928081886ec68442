//! What the clients of one scenario know together: the writes that were acknowledged, and what was wrong.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::history::History;

/// An acknowledged write.
#[derive(Clone, Copy)]
pub(super) struct Write {
    pub(super) writer: usize,
    pub(super) submitted: Instant,
    pub(super) acknowledged: Instant,
}

/// What all clients share.
pub(super) struct Shared {
    pub(super) stopping: AtomicBool,
    /// By writer: the highest number that is known to have been written.
    acknowledged: Vec<AtomicU64>,
    pub(super) writes: Mutex<Vec<Write>>,
    pub(super) complaints: Mutex<Vec<String>>,
    pub(super) failed_twice: Mutex<Vec<(Instant, &'static str)>>,
    pub(super) refused: AtomicU64,
    pub(super) history: History,
}

impl Shared {
    pub(super) fn new(writers: usize) -> Self {
        Self {
            stopping: AtomicBool::new(false),
            acknowledged: (0..writers).map(|_| AtomicU64::new(0)).collect(),
            writes: Mutex::default(),
            complaints: Mutex::default(),
            failed_twice: Mutex::default(),
            refused: AtomicU64::new(0),
            history: History::new(),
        }
    }

    pub(super) fn writers(&self) -> usize {
        self.acknowledged.len()
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst) || !lock(&self.complaints).is_empty()
    }

    pub(super) fn acknowledged(&self, writer: usize) -> u64 {
        self.acknowledged[writer].load(Ordering::SeqCst)
    }

    pub(super) fn acknowledge(&self, writer: usize, number: u64, submitted: Instant) {
        self.acknowledged[writer].store(number, Ordering::SeqCst);
        lock(&self.writes).push(Write { writer, submitted, acknowledged: Instant::now() });
    }

    pub(super) fn complain(&self, what: String) {
        lock(&self.complaints).push(what);
    }

    pub(super) fn failed_twice(&self, what: &'static str) {
        lock(&self.failed_twice).push((Instant::now(), what));
    }

    pub(super) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::SeqCst);
    }
}

/// A lock is poisoned only when a thread of ours has panicked, which its join tells.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
