//! The handle that users hold, and what it shares with the thread that owns the connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use council_client_core::operation::{Answer, Asked, Operation, Reading};
use council_client_core::{
    Attempt, Chroot, Replied, Reply, Request, SessionId, SessionState, Ticket, WatcherType, Zxid,
};
use mio::{Poll, Waker};

use crate::delivery::{Delivery, Machine, Sink};
use crate::driver::{Driver, WAKE};
use crate::event::Watcher;
use crate::mailbox::{Command, Mailbox};
use crate::options::Options;
use crate::pending::{Pending, pending};
use crate::status::{Status, Unreachable};
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
        let mailbox = Arc::new(Mailbox::new(options.limits.requests_max, waker));
        let status = Status::default();
        let chroot = Chroot::new(&servers.chroot);
        let (watcher, tls) = (options.watcher.clone(), options.access.tls.clone());
        let mut delivery = Delivery { status: status.clone() };
        let mut machine = Machine::new(options.settings(servers)?, Duration::ZERO);
        if let Some(watcher) = watcher {
            machine.listen(watcher, &mut delivery);
        }
        let driver = Driver::new(poll, Arc::clone(&mailbox), machine, delivery, tls);
        let thread = std::thread::Builder::new().name(String::from("client")).spawn(move || driver.run())?;
        let thread = Mutex::new(Some(thread));
        Ok(Self { inner: Arc::new(Inner { mailbox, status, chroot, thread }) })
    }

    pub(crate) fn chroot(&self) -> &Chroot {
        &self.inner.chroot
    }

    /// Submits an operation; one that leaves a watch leaves it for `watcher`.
    pub(crate) fn perform<R: Send + 'static>(
        &self,
        operation: Result<Operation<R>, Error>,
        watcher: Option<&Watcher>,
    ) -> Pending<R> {
        let operation = match operation {
            Ok(operation) => operation,
            Err(error) => return Pending::done(Err(error)),
        };
        let (completer, pending) = pending();
        let (asked, reading) = operation.into_parts(watcher.cloned());
        self.submit(
            asked,
            Box::new(move |answer, chroot| completer.complete(reading.result(answer, chroot))),
        );
        pending
    }

    fn submit(&self, asked: Asked<Watcher>, sink: Sink) {
        if let Some((Command::Submit(_, sink), error)) = self.inner.mailbox.post(Command::Submit(asked, sink))
        {
            sink(Err(error), self.chroot());
        }
    }

    /// Submits a request that is data; one that leaves a watch leaves it for `watcher`.
    pub fn request(&self, request: &Request, watcher: Option<&Watcher>) -> Pending<Reply> {
        self.perform(request.operation(self.chroot()), watcher)
    }

    /// As [`Self::request`], but instead of letting the caller wait, calls `done`: in the client's thread, which must not
    /// wait, or in the caller's if the request is refused at once. Replies and events of one client come in one order.
    pub fn request_then(
        &self,
        request: &Request,
        watcher: Option<&Watcher>,
        done: impl FnOnce(Replied) + Send + 'static,
    ) {
        match request.operation(self.chroot()) {
            Err(error) => done(Replied { zxid: Zxid(-1), result: Err(error) }),
            Ok(operation) => {
                let (asked, reading): (_, Reading<Reply>) = operation.into_parts(watcher.cloned());
                let sink = |answer: Answer<'_>, chroot: &Chroot| done(Replied::of(reading, answer, chroot));
                self.submit(asked, Box::new(sink));
            }
        }
    }

    /// Takes watchers off a node, without asking the server.
    pub(crate) fn forget(&self, path: &str, kind: WatcherType) -> Pending<()> {
        let (completer, pending) = pending();
        // A session that is over cannot be changed any more: dropping the completer reports that.
        let _ = self.inner.mailbox.post(Command::Forget { path: String::from(path), kind, completer });
        pending
    }

    /// Reports each change of the connection's state to a watcher from now on, and the state now if a server is
    /// connected.
    ///
    /// # Errors
    /// When the session is over: then the state changes no more.
    pub(crate) fn listen_or_end(&self, watcher: &Watcher) -> Result<(), Error> {
        match self.inner.mailbox.post(Command::Listen(watcher.clone())) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Undoes [`Self::listen_or_end`], and takes the watcher off all nodes, without asking the server.
    pub(crate) fn unlisten(&self, watcher: &Watcher) {
        let _ = self.inner.mailbox.post(Command::Unlisten(watcher.clone()));
    }

    /// Adds an identity to this connection and every later one. A server that does not accept it ends the session.
    pub fn add_auth(&self, scheme: &str, credentials: &[u8]) -> Pending<()> {
        let (completer, pending) = pending();
        let (scheme, credentials) = (String::from(scheme), credentials.to_vec());
        let sink = |answer: Answer<'_>, _: &Chroot| completer.complete(answer.map(|_| ()));
        let command = Command::AddAuth { scheme, credentials, sink: Box::new(sink) };
        if let Some((Command::AddAuth { sink, .. }, error)) = self.inner.mailbox.post(command) {
            sink(Err(error), self.chroot());
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
        Duration::from_millis(u64::try_from(self.inner.status.timeout_ms()).unwrap_or(0))
    }

    /// What it takes to go on with this session from elsewhere: see [`Options::resume`].
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        self.inner.status.ticket()
    }

    /// The session's id, 0 before there is one.
    #[must_use]
    pub fn session_id(&self) -> SessionId {
        self.inner.status.ticket().session
    }

    /// The server that is connected.
    #[must_use]
    pub fn server(&self) -> Option<SocketAddr> {
        self.inner.status.connected_server()
    }

    /// Waits until a server is connected, or the session is over, or the time is; whether one is connected.
    #[must_use]
    pub fn wait_connected(&self, time: Duration) -> bool {
        self.inner.status.wait(time, |_| false).is_ok()
    }

    /// The same, but it does not wait for what waiting does not change: it ends as soon as every server was tried and
    /// each refused the connection, has no address, or does not agree on TLS.
    ///
    /// # Errors
    /// When no server is connected: what became of each attempt.
    pub fn wait_reached(&self, time: Duration) -> Result<(), Unreachable> {
        let lasting =
            |round: &[Attempt]| !round.is_empty() && round.iter().all(|attempt| attempt.failure.is_lasting());
        self.inner.status.wait(time, lasting)
    }

    /// Breaks the connection. The session goes on, on the next one.
    pub fn disconnect(&self) {
        let _ = self.inner.mailbox.post(Command::Disconnect);
    }

    /// Ends the session: its ephemeral nodes go. Waits until the server has said so, at most two seconds.
    pub fn close(&self) {
        self.inner.leave(Command::Close);
    }

    /// Leaves without ending the session: it lasts until its timeout, or until a client resumes it.
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
