//! What the clients of one scenario know together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tools_testbed::Failure;

/// How long everything may take to be well again after a fault.
const RECOVERY_MAX: Duration = Duration::from_secs(60);
/// Between two looks. Not a synchronisation: only how often we look.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Something that was acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) client: usize,
    pub(crate) asked: Instant,
    pub(crate) at: Instant,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    stopping: AtomicBool,
    done: Mutex<Vec<Done>>,
    complaints: Mutex<Vec<String>>,
}

impl Shared {
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// What this client asked for then is acknowledged now.
    pub(crate) fn acknowledged(&self, client: usize, asked: Instant) {
        lock(&self.done).push(Done { client, asked, at: Instant::now() });
    }

    /// Something is not as it must be.
    pub(crate) fn complain(&self, what: String) {
        lock(&self.complaints).push(what);
    }

    /// # Errors
    /// A client has complained.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let complaints = lock(&self.complaints).clone();
        if complaints.is_empty() { Ok(()) } else { Err(Failure::Broken(complaints)) }
    }

    /// Lets the clients work for so long.
    ///
    /// # Errors
    /// A client has complained.
    pub(crate) fn work_for(&self, time: Duration) -> Result<(), Failure> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.check()?;
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Waits until each of the clients 0 to `clients` has been acknowledged something that it asked for from now on.
    ///
    /// # Errors
    /// A client has complained, or it takes too long.
    pub(crate) fn all_go_on(&self, clients: usize) -> Result<(), Failure> {
        let since = Instant::now();
        loop {
            let go_on = self.behind(since);
            if (0..clients).all(|client| go_on.contains_key(&client)) {
                return Ok(());
            }
            self.check()?;
            if since.elapsed() > RECOVERY_MAX {
                let hang: Vec<_> = (0..clients).filter(|client| !go_on.contains_key(client)).collect();
                return Err(Failure::broken(format!("clients {hang:?} hang for {RECOVERY_MAX:?}")));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// The first acknowledgement of each client to something that it asked for after that.
    fn behind(&self, since: Instant) -> BTreeMap<usize, Instant> {
        let done = lock(&self.done);
        let behind = done.iter().rev().take_while(|done| done.at >= since).filter(|done| done.asked >= since);
        behind.map(|done| (done.client, done.at)).collect()
    }

    /// How many acknowledgements there were, and the longest wait for one.
    pub(crate) fn figures(&self) -> (usize, Duration) {
        let done = lock(&self.done);
        let longest = done.iter().map(|done| done.at - done.asked).max().unwrap_or_default();
        (done.len(), longest)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
