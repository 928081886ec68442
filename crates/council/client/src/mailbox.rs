//! What the handles of a session ask of the thread that owns its connection.

use std::sync::{Mutex, MutexGuard, PoisonError};

use council_client_core::WatcherType;
use council_client_core::operation::Asked;
use mio::Waker;

use crate::Error;
use crate::delivery::Sink;
use crate::event::Watcher;
use crate::pending::Completer;

/// What the thread is asked to do.
pub(crate) enum Command {
    Submit(Asked<Watcher>, Sink),
    AddAuth {
        scheme: String,
        credentials: Vec<u8>,
        sink: Sink,
    },
    /// Take watchers off a node, without asking the server.
    Forget {
        path: String,
        kind: WatcherType,
        completer: Completer<()>,
    },
    /// Report changes of the connection's state to a watcher.
    Listen(Watcher),
    Unlisten(Watcher),
    /// Break the connection; the session goes on.
    Disconnect,
    /// Go without closing the session.
    Abandon,
    Close,
}

/// The way from the handles to the thread.
#[derive(Debug)]
pub(crate) struct Mailbox {
    queue: Mutex<Queue>,
    waker: Waker,
}

struct Queue {
    commands: Vec<Command>,
    /// So many submissions may wait for the thread.
    commands_max: usize,
    over: Option<Error>,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("commands", &self.commands.len()).field("over", &self.over).finish()
    }
}

impl Mailbox {
    /// An empty one, in which so many submissions may wait.
    pub(crate) fn new(commands_max: usize, waker: Waker) -> Self {
        let queue = Queue { commands: Vec::new(), commands_max, over: None };
        Self { queue: Mutex::new(queue), waker }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a command over; what is refused comes back, with the reason.
    pub(crate) fn post(&self, command: Command) -> Option<(Command, Error)> {
        let mut queue = self.lock();
        if let Some(error) = &queue.over {
            let error = error.clone();
            return Some((command, error));
        }
        if queue.commands.len() >= queue.commands_max && matches!(command, Command::Submit(..)) {
            return Some((command, Error::TooManyRequests));
        }
        queue.commands.push(command);
        let first = queue.commands.len() == 1;
        drop(queue);
        if first {
            // It fails only when the system has no memory for one wake-up; the thread's timer finds the command then.
            let _ = self.waker.wake();
        }
        None
    }

    pub(crate) fn take(&self) -> Vec<Command> {
        std::mem::take(&mut self.lock().commands)
    }

    /// No thread takes commands any more; these came last.
    pub(crate) fn finish(&self, error: Error) -> Vec<Command> {
        let mut queue = self.lock();
        queue.over = Some(error);
        std::mem::take(&mut queue.commands)
    }
}
