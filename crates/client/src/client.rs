//! The handle that users hold, and what it shares with the thread that owns the connection.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::{Poll, Waker};

use crate::driver::{Driver, WAKE};
use crate::options::Options;
use crate::path::Chroot;
use crate::pending::{Completer, Pending, pending};
use crate::session::{Context, Session, Submission};
use crate::{ConnectError, ConnectString, Error};

/// A session with an ensemble. Clones are the same session; it is closed when the last one is dropped.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    mailbox: Arc<Mailbox>,
    status: Status,
    chroot: Chroot,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionState {
    /// No server is connected; one is looked for.
    #[default]
    Connecting,
    /// Connected.
    Connected,
    /// Connected to a server that only reads.
    ConnectedReadOnly,
    /// Over: a server did not accept an identity.
    AuthFailed,
    /// Over: it has expired.
    Expired,
    /// Over: it was closed.
    Closed,
}

impl SessionState {
    /// Whether a server is connected.
    #[must_use]
    pub const fn is_connected(self) -> bool {
        matches!(self, Self::Connected | Self::ConnectedReadOnly)
    }

    /// Whether nothing more will happen.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::AuthFailed | Self::Expired | Self::Closed)
    }
}

/// What it takes to go on with a session from elsewhere.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Ticket {
    /// The session's id.
    pub session: i64,
    /// Its password.
    pub password: [u8; 16],
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket")
            .field("session", &format_args!("{:#x}", self.session))
            .finish_non_exhaustive()
    }
}

/// What is known of the session, for all threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    shared: Arc<(Mutex<Known>, Condvar)>,
}

#[derive(Debug, Default)]
struct Known {
    state: SessionState,
    ticket: Ticket,
    timeout_ms: i32,
    server: Option<SocketAddr>,
}

impl Status {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, state: SessionState) {
        self.lock().state = state;
        self.shared.1.notify_all();
    }

    pub(crate) fn connected(&self, state: SessionState, ticket: &Ticket, timeout_ms: i32) {
        let mut known = self.lock();
        known.state = state;
        known.ticket = ticket.clone();
        known.timeout_ms = timeout_ms;
        drop(known);
        self.shared.1.notify_all();
    }

    pub(crate) fn state(&self) -> SessionState {
        self.lock().state
    }

    pub(crate) fn ticket(&self) -> Ticket {
        self.lock().ticket.clone()
    }

    pub(crate) fn server(&self, server: Option<SocketAddr>) {
        self.lock().server = server;
    }
}

/// What the thread is asked to do.
pub(crate) enum Command {
    Submit(Submission),
    AddAuth {
        scheme: String,
        credentials: Vec<u8>,
        completer: Completer<()>,
    },
    /// Something with the watch tables alone.
    Local(Box<dyn FnOnce(&mut Context) + Send>),
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

#[derive(Default)]
struct Queue {
    commands: Vec<Command>,
    over: Option<Error>,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue").field("commands", &self.commands.len()).field("over", &self.over).finish()
    }
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a command over, or back with the reason why nobody takes it any more.
    fn post(&self, command: Command) -> Result<(), (Command, Error)> {
        let mut queue = self.lock();
        if let Some(error) = &queue.over {
            let error = error.clone();
            return Err((command, error));
        }
        queue.commands.push(command);
        let first = queue.commands.len() == 1;
        drop(queue);
        if first {
            // It fails only when the system has no memory for one wake-up; the thread's timer finds the command then.
            let _ = self.waker.wake();
        }
        Ok(())
    }

    pub(crate) fn take(&self) -> Vec<Command> {
        std::mem::take(&mut self.lock().commands)
    }

    /// Nobody takes commands any more; these came last.
    pub(crate) fn finish(&self, error: Error) -> Vec<Command> {
        let mut queue = self.lock();
        queue.over = Some(error);
        std::mem::take(&mut queue.commands)
    }
}

impl Client {
    /// Opens a session with the defaults; see [`Options::connect`].
    ///
    /// # Errors
    /// When the connect string is not one, or this host has no thread left.
    pub fn connect(servers: &str) -> Result<Self, ConnectError> {
        Options::new().connect(servers)
    }

    pub(crate) fn start(servers: ConnectString, options: Options) -> Result<Self, ConnectError> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        let mailbox = Arc::new(Mailbox { queue: Mutex::new(Queue::default()), waker });
        let status = Status::default();
        let chroot = Chroot::new(&servers.chroot);
        let session = Session::new(&options, &servers.chroot, status.clone());
        let driver =
            Driver::new(poll, Arc::clone(&mailbox), session, servers.hosts, &options, status.clone());
        let thread = std::thread::Builder::new().name(String::from("client")).spawn(move || driver.run())?;
        let thread = Mutex::new(Some(thread));
        Ok(Self { inner: Arc::new(Inner { mailbox, status, chroot, thread }) })
    }

    pub(crate) fn chroot(&self) -> &Chroot {
        &self.inner.chroot
    }

    pub(crate) fn submit(&self, submission: Submission) {
        if let Err((Command::Submit(refused), error)) = self.inner.mailbox.post(Command::Submit(submission)) {
            let mut context =
                Context { chroot: Chroot::default(), watches: Default::default(), closed: false };
            (refused.sink)(Err(error), &mut context);
        }
    }

    pub(crate) fn local(&self, action: impl FnOnce(&mut Context) + Send + 'static) {
        // Of a session that is over there is nothing to change.
        let _ = self.inner.mailbox.post(Command::Local(Box::new(action)));
    }

    /// Adds an identity to this connection and every later one. A server that does not accept it ends the session.
    pub fn add_auth(&self, scheme: &str, credentials: &[u8]) -> Pending<()> {
        let (completer, pending) = pending();
        let (scheme, credentials) = (String::from(scheme), credentials.to_vec());
        let command = Command::AddAuth { scheme, credentials, completer };
        if let Err((Command::AddAuth { completer, .. }, error)) = self.inner.mailbox.post(command) {
            completer.complete(Err(error));
        }
        pending
    }

    /// Where the session stands.
    #[must_use]
    pub fn state(&self) -> SessionState {
        self.inner.status.state()
    }

    /// The session timeout that the server gave, once it did.
    #[must_use]
    pub fn session_timeout(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.inner.status.lock().timeout_ms).unwrap_or(0))
    }

    /// What it takes to go on with this session from elsewhere: see [`Options::resume`].
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        self.inner.status.ticket()
    }

    /// The session's id, 0 before there is one.
    #[must_use]
    pub fn session_id(&self) -> i64 {
        self.inner.status.lock().ticket.session
    }

    /// The server that is connected.
    #[must_use]
    pub fn server(&self) -> Option<SocketAddr> {
        self.inner.status.lock().server
    }

    /// Waits until a server is connected, or the session is over, or the time is; whether one is connected.
    #[must_use]
    pub fn wait_connected(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let (_, changed) = &*self.inner.status.shared;
        let mut known = self.inner.status.lock();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if known.state.is_connected() || known.state.is_over() || left.is_zero() {
                return known.state.is_connected();
            }
            known = changed.wait_timeout(known, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Breaks the connection. The session goes on, on the next one.
    pub fn disconnect(&self) {
        let _ = self.inner.mailbox.post(Command::Disconnect);
    }

    /// Ends the session: its ephemeral nodes go. Waits until the server has said so, at most two seconds.
    pub fn close(&self) {
        self.inner.leave(Command::Close);
    }

    /// Goes without ending the session: it lives until its timeout, or until somebody resumes it.
    pub fn abandon(&self) {
        self.inner.leave(Command::Abandon);
    }
}

impl Inner {
    fn leave(&self, command: Command) {
        let _ = self.mailbox.post(command);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A thread that panicked has nothing left to wait for.
            let _ = thread.join();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.leave(Command::Close);
    }
}
