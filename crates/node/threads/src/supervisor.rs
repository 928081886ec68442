//! Where the threads of a server report how they ended, and where its end is waited for.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Why a server that ran had to stop: this host is broken, or our own code is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {part} failed, and the server stopped: {reason}")]
pub struct ThreadFault {
    /// The part that failed.
    pub part: String,
    /// How.
    pub reason: String,
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
    fn report(&self, part: &str, reason: String) {
        tracing::error!(part, reason, "a fault: the server stops");
        let mut notes = self.notes.lock();
        notes.fault.get_or_insert_with(|| ThreadFault { part: String::from(part), reason });
        self.news.notify_all();
    }

    /// The server was stopped.
    pub fn stopped(&self) {
        self.notes.lock().stopped = true;
        self.news.notify_all();
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
            self.supervisor.report(self.part, String::from("a bug: its thread panicked"));
        }
    }
}

/// Starts one of the server's threads. That it fails or panics is reported to the supervisor.
pub fn spawn(
    part: &'static str,
    supervisor: &Arc<Supervisor>,
    run: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let mut ending = Ending { part, supervisor: Arc::clone(supervisor), said: false };
    let thread = thread::Builder::new().name(format!("diwan-{part}"));
    let thread = thread.spawn(move || {
        let outcome = run();
        ending.said = true;
        if let Err(reason) = outcome {
            ending.supervisor.report(part, reason);
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
        let thread = spawn("journal", &supervisor, || Err(String::from("no disk"))).expect("a thread");
        thread.join().expect("it ends");
        assert_eq!(supervisor.wait().expect_err("a fault").reason, "no disk");

        let supervisor = Arc::new(Supervisor::default());
        let thread =
            spawn("core", &supervisor, || std::panic::resume_unwind(Box::new(()))).expect("a thread");
        assert!(thread.join().is_err());
        assert_eq!(supervisor.wait().expect_err("a fault").part, "core");
    }

    #[test]
    fn a_stop_is_no_fault() {
        let supervisor = Arc::new(Supervisor::default());
        supervisor.stopped();
        assert_eq!(supervisor.wait(), Ok(()));
    }
}
