//! Where threads report that they ended, and where the server's end is waited for.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::error::ServerFault;

#[derive(Default)]
struct Notes {
    fault: Option<ServerFault>,
    stopped: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Board {
    notes: Mutex<Notes>,
    news: Condvar,
}

/// How often somebody who waits for a thread's message looks whether another has failed.
const LOOK: Duration = Duration::from_millis(50);

impl Board {
    fn report(&self, part: &str, reason: String) {
        tracing::error!(part, reason, "a fault: the server stops");
        let mut notes = self.notes.lock();
        notes.fault.get_or_insert_with(|| ServerFault { part: String::from(part), reason });
        self.news.notify_all();
    }

    /// The server was stopped.
    pub(crate) fn stopped(&self) {
        self.notes.lock().stopped = true;
        self.news.notify_all();
    }

    /// Waits for a fault or for the server to be stopped.
    pub(crate) fn wait(&self) -> Result<(), ServerFault> {
        let mut notes = self.notes.lock();
        while notes.fault.is_none() && !notes.stopped {
            self.news.wait(&mut notes);
        }
        notes.fault.clone().map_or(Ok(()), Err)
    }

    /// Waits for a thread's message, or for a fault.
    pub(crate) fn wait_until<T>(&self, message: &Receiver<T>) -> Result<T, ServerFault> {
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
    board: Arc<Board>,
    said: bool,
}

impl Drop for Ending {
    fn drop(&mut self) {
        if !self.said {
            self.board.report(self.part, String::from("a bug: its thread panicked"));
        }
    }
}

/// Starts one of the server's threads. That it fails or panics is reported to the board.
pub(crate) fn spawn(
    part: &'static str,
    board: &Arc<Board>,
    run: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let mut ending = Ending { part, board: Arc::clone(board), said: false };
    let thread = thread::Builder::new().name(format!("diwan-{part}"));
    let thread = thread.spawn(move || {
        let outcome = run();
        ending.said = true;
        if let Err(reason) = outcome {
            ending.board.report(part, reason);
        }
    })?;
    Ok(thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_fails_or_panics_is_reported() {
        let board = Arc::new(Board::default());
        let thread = spawn("journal", &board, || Err(String::from("no disk"))).expect("a thread");
        thread.join().expect("it ends");
        assert_eq!(board.wait().expect_err("a fault").reason, "no disk");

        let board = Arc::new(Board::default());
        let thread = spawn("core", &board, || std::panic::resume_unwind(Box::new(()))).expect("a thread");
        assert!(thread.join().is_err());
        assert_eq!(board.wait().expect_err("a fault").part, "core");
    }

    #[test]
    fn a_stop_is_no_fault() {
        let board = Arc::new(Board::default());
        board.stopped();
        assert_eq!(board.wait(), Ok(()));
    }
}
