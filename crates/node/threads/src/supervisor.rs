//! Where the threads of a server report how they ended, and where its end is waited for.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Why a server that ran had to stop: this host is broken, or our own code is.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the {part} failed, and the server stopped: {reason}")]
pub struct ThreadFault {
    /// The part that failed.
    pub part: &'static str,
    /// How.
    pub reason: FaultReason,
}

impl ThreadFault {
    /// A part that failed with an error.
    pub fn new(part: &'static str, error: impl Error + Send + Sync + 'static) -> Self {
        Self { part, reason: FaultReason::Error(Arc::new(error)) }
    }
}

/// How a part failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FaultReason {
    /// Its thread panicked.
    #[error("a bug: its thread panicked")]
    Panicked,
    /// With this error.
    #[error("{0}")]
    Error(Arc<dyn Error + Send + Sync>),
}

#[derive(Default)]
struct Notes {
    fault: Option<ThreadFault>,
    stopped: bool,
}

/// See the module.
#[derive(Default)]
pub struct Supervisor {
    notes: Mutex<Notes>,
    news: Condvar,
}

/// How often a caller that waits for a thread's message checks whether another thread has failed.
const LOOK: Duration = Duration::from_millis(50);

impl Supervisor {
    /// A part failed: what it belongs to stops.
    pub fn report(&self, fault: ThreadFault) {
        tracing::error!(
            part = fault.part,
            reason = fault.reason.to_string(),
            "a fault: what this part belongs to stops"
        );
        let mut notes = self.notes.lock();
        notes.fault.get_or_insert(fault);
        self.news.notify_all();
    }

    /// The server was stopped.
    pub fn stopped(&self) {
        self.notes.lock().stopped = true;
        self.news.notify_all();
    }

    /// Whether a part has failed.
    pub fn has_failed(&self) -> bool {
        self.notes.lock().fault.is_some()
    }

    /// Waits for a fault or for the server to be stopped.
    pub fn wait(&self) -> Result<(), ThreadFault> {
        let mut notes = self.notes.lock();
        while notes.fault.is_none() && !notes.stopped {
            self.news.wait(&mut notes);
        }
        notes.fault.clone().map_or(Ok(()), Err)
    }

    /// Waits for a thread's message, or for a fault.
    pub fn wait_until<T>(&self, message: &Receiver<T>) -> Result<T, ThreadFault> {
        loop {
            match message.recv_timeout(LOOK) {
                Ok(message) => return Ok(message),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    if let Some(fault) = self.notes.lock().fault.clone() {
                        return Err(fault);
                    }
                }
            }
        }
    }
}

/// Reports a thread that ends without having said how: it panicked.
struct Ending {
    part: &'static str,
    supervisor: Arc<Supervisor>,
    said: bool,
}

impl Drop for Ending {
    fn drop(&mut self) {
        if !self.said {
            self.supervisor.report(ThreadFault { part: self.part, reason: FaultReason::Panicked });
        }
    }
}

/// Starts one of the server's threads. That it fails or panics is reported to the supervisor.
pub fn spawn<E: Error + Send + Sync + 'static>(
    part: &'static str,
    supervisor: &Arc<Supervisor>,
    run: impl FnOnce() -> Result<(), E> + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let mut ending = Ending { part, supervisor: Arc::clone(supervisor), said: false };
    let thread = thread::Builder::new().name(format!("diwan-{part}"));
    let thread = thread.spawn(move || {
        let outcome = run();
        ending.said = true;
        if let Err(error) = outcome {
            ending.supervisor.report(ThreadFault::new(part, error));
        }
    })?;
    Ok(thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_fails_or_panics_is_reported() {
        let supervisor = Arc::new(Supervisor::default());
        let thread = spawn("journal", &supervisor, || Err(io::Error::other("no disk"))).expect("a thread");
        thread.join().expect("it ends");
        let fault = supervisor.wait().expect_err("a fault");
        assert!(matches!(&fault.reason, FaultReason::Error(error) if error.is::<io::Error>()), "{fault:?}");
        assert_eq!(fault.to_string(), "the journal failed, and the server stopped: no disk");

        let supervisor = Arc::new(Supervisor::default());
        let panics = || -> io::Result<()> { std::panic::resume_unwind(Box::new(())) };
        let thread = spawn("core", &supervisor, panics).expect("a thread");
        assert!(thread.join().is_err());
        let fault = supervisor.wait().expect_err("a fault");
        assert!(matches!(fault, ThreadFault { part: "core", reason: FaultReason::Panicked }), "{fault:?}");
    }

    #[test]
    fn a_stop_is_no_fault() {
        let supervisor = Arc::new(Supervisor::default());
        supervisor.stopped();
        assert!(supervisor.wait().is_ok());
    }
}
