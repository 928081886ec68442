//! A reply that is still to come.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::Error;

/// The handle of an operation that was submitted. Dropping it does not take the operation back.
#[must_use = "the operation is under way; only waiting tells how it ended"]
pub struct Pending<T> {
    slot: Arc<Slot<T>>,
}

/// The other end, which gives the result.
pub(crate) struct Completer<T> {
    slot: Arc<Slot<T>>,
    given: bool,
}

struct Slot<T> {
    result: Mutex<Option<Result<T, Error>>>,
    there: Condvar,
}

impl<T> Slot<T> {
    /// A poisoned lock only means that another thread panicked between two assignments: the value is whole.
    fn lock(&self) -> MutexGuard<'_, Option<Result<T, Error>>> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn pending<T>() -> (Completer<T>, Pending<T>) {
    let slot = Arc::new(Slot { result: Mutex::new(None), there: Condvar::new() });
    (Completer { slot: Arc::clone(&slot), given: false }, Pending { slot })
}

impl<T> Completer<T> {
    pub(crate) fn complete(mut self, result: Result<T, Error>) {
        self.give(result);
    }

    fn give(&mut self, result: Result<T, Error>) {
        self.given = true;
        *self.slot.lock() = Some(result);
        self.slot.there.notify_all();
    }
}

impl<T> Drop for Completer<T> {
    /// No caller may wait for ever, also if the thread that should have answered has failed.
    fn drop(&mut self) {
        if !self.given {
            self.give(Err(Error::ConnectionLost));
        }
    }
}

impl<T> Pending<T> {
    /// One that is done already.
    pub(crate) fn done(result: Result<T, Error>) -> Self {
        let (completer, pending) = pending();
        completer.complete(result);
        pending
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn wait(self) -> Result<T, Error> {
        let mut result = self.slot.lock();
        loop {
            if let Some(result) = result.take() {
                return result;
            }
            result = self.slot.there.wait(result).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits for the result, with a time limit.
    ///
    /// # Errors
    /// This handle again, when the time is over.
    pub fn wait_for(self, time: Duration) -> Result<Result<T, Error>, Self> {
        let deadline = Instant::now() + time;
        let mut result = self.slot.lock();
        loop {
            if let Some(result) = result.take() {
                return Ok(result);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(result);
                return Err(self);
            }
            result = self.slot.there.wait_timeout(result, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether [`Self::wait`] would return at once.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.slot.lock().is_some()
    }
}

impl<T> std::fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pending").field("done", &self.is_done()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_reaches_the_one_who_waits() {
        let (completer, handle) = pending();
        assert!(!handle.is_done());
        let waiter = std::thread::spawn(move || handle.wait());
        completer.complete(Ok(7));
        assert_eq!(waiter.join().unwrap(), Ok(7));
    }

    #[test]
    fn a_completer_that_is_dropped_leaves_nobody_waiting() {
        let (completer, handle) = pending::<()>();
        drop(completer);
        assert_eq!(handle.wait(), Err(Error::ConnectionLost));
    }

    #[test]
    fn waiting_can_be_given_up_and_taken_up() {
        let (completer, handle) = pending();
        let handle = handle.wait_for(Duration::from_millis(1)).unwrap_err();
        completer.complete(Ok(1));
        assert_eq!(handle.wait_for(Duration::ZERO).unwrap(), Ok(1));
    }
}
