//! The client as a state machine: one session over one connection at a time. The driver reports events and the time,
//! and carries out the actions.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use council_wire::{FRAME_HEADER, Frame, WatcherType, next_frame};

use crate::attempt::{Attempt, ConnectFailure, TLS_ALERT};
use crate::handler::{Handler, Notice};
use crate::hosts::{Hosts, Next, Target};
use crate::operation::Asked;
use crate::path::Chroot;
use crate::session::Session;
use crate::settings::Settings;
use crate::state::Ticket;
use crate::{Error, refusal};
use base::Random;

/// How long the server may take to say that the session is closed.
const CLOSE_TIME: Duration = Duration::from_secs(2);
/// A ping is sent at least this often.
const PING_MAX: Duration = Duration::from_secs(10);
/// A connection that was lost sooner counts as one more failure, so that a server that closes every connection is not asked
/// without a pause.
const LASTING: Duration = Duration::from_secs(1);
/// The shortest time that a server may take to open a session.
const CONNECT_TIME_MIN: Duration = Duration::from_secs(1);

/// What the driver is to do with connections, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Find the addresses of a name, and call [`ClientMachine::resolved`].
    Resolve {
        /// The name.
        host: String,
        /// The port, which stands in the addresses.
        port: u16,
    },
    /// Connect, and call [`ClientMachine::connected`] or [`ClientMachine::disconnected`].
    Connect(Target),
    /// Close the connection, or give up connecting.
    Close,
}

/// One connection.
struct Link {
    target: Target,
    /// Whether it was made.
    open: bool,
    /// Bytes of frames that have not arrived whole.
    input: Vec<u8>,
    since: Duration,
    heard: Duration,
    sent: Duration,
}

/// How long a server may be silent: at first, and after those that were given up in a row.
#[derive(Clone, Copy)]
struct Silence {
    shortest: Duration,
    present: Duration,
}

impl Silence {
    /// What a client begins with.
    fn of(settings: &Settings) -> Option<Self> {
        let several = settings.hosts.len() > 1;
        settings.server_silence.filter(|_| several).map(|time| Self { shortest: time, present: time })
    }

    /// A server was given up for its silence. If that happens to one after the other, they are slow, and not one of them dead.
    fn over(&mut self, lasted: bool) {
        self.present = if lasted { self.shortest } else { self.present.saturating_mul(2) };
    }
}

/// See the crate. `T` comes back with the reply to the request it was submitted with; `W` names a watcher.
///
/// `now` is a time since some moment, never going back. After each call the driver takes the [actions](Self::action), sends
/// [what is to be sent](Self::output), and calls [`Self::tick`] no later than at the [deadline](Self::deadline).
pub struct ClientMachine<T, W> {
    session: Session<T, W>,
    hosts: Hosts,
    connect_time: Duration,
    silence: Option<Silence>,
    frame_bytes_max: usize,
    encrypted: bool,
    link: Option<Link>,
    /// The name that is being resolved.
    resolving: Option<(String, u16)>,
    actions: VecDeque<Action>,
    /// When a server is looked for again.
    retry_at: Duration,
    close_at: Option<Duration>,
}

impl<T, W: Clone + PartialEq> ClientMachine<T, W> {
    /// A client that begins to connect at once.
    #[must_use]
    pub fn new(settings: Settings, now: Duration) -> Self {
        let servers = u32::try_from(settings.hosts.len()).unwrap_or(u32::MAX).max(1);
        Self {
            session: Session::new(&settings),
            connect_time: (settings.session_timeout / servers).max(CONNECT_TIME_MIN),
            silence: Silence::of(&settings),
            hosts: Hosts::new(settings.hosts, settings.first_host, Random::new(settings.seed)),
            frame_bytes_max: settings.frame_bytes_max,
            encrypted: settings.encrypted,
            link: None,
            resolving: None,
            actions: VecDeque::new(),
            retry_at: now,
            close_at: None,
        }
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Duration, to: &mut impl Handler<T, W>) {
        if self.session.over().is_some() {
            return;
        }
        if self.close_at.is_some_and(|at| now >= at || self.link.is_none()) {
            return self.session.end(Error::Closed, to);
        }
        match &self.link {
            None if self.resolving.is_none() && now >= self.retry_at => self.find(now, to),
            Some(link) if now >= self.link_deadline(link) => {
                let lasted = link.heard >= link.since + LASTING;
                self.silence.iter_mut().for_each(|silence| silence.over(lasted));
                self.lose(now, ConnectFailure::TimedOut, to);
            }
            Some(link) if self.session.is_up() && now >= link.sent + self.ping_time() => self.session.ping(),
            _ => {}
        }
    }

    /// Begins to connect to the next server.
    fn find(&mut self, now: Duration, to: &mut impl Handler<T, W>) {
        match self.hosts.next() {
            Next::RoundOver => {
                self.session.unreachable(to);
                to.notice(Notice::RoundOver);
                self.retry_at = now + self.hosts.new_round();
            }
            Next::Resolve(host, port) => {
                self.resolving = Some((host.clone(), port));
                self.actions.push_back(Action::Resolve { host, port });
            }
            Next::Connect(target) => {
                self.actions.push_back(Action::Connect(target.clone()));
                self.link =
                    Some(Link { target, open: false, input: Vec::new(), since: now, heard: now, sent: now });
            }
        }
    }

    /// The addresses of the name that was to be resolved, or why there is none.
    pub fn resolved(&mut self, addresses: Result<Vec<SocketAddr>, String>, to: &mut impl Handler<T, W>) {
        let Some((host, port)) = self.resolving.take() else { return };
        let why = match addresses {
            Ok(addresses) if !addresses.is_empty() => return self.hosts.resolved(&host, port, addresses),
            Ok(_) => String::from("it has no address"),
            Err(why) => why,
        };
        let failure = ConnectFailure::UnknownHost(why);
        to.notice(Notice::Failed(Attempt { host, port, address: None, failure }));
    }

    /// The connection is made. `entropy` must not be guessable, and new each time.
    pub fn connected(&mut self, now: Duration, entropy: [u8; 16]) {
        let Some(link) = &mut self.link else { return };
        (link.open, link.sent) = (true, now);
        self.session.begin(entropy);
    }

    /// The connection broke, was closed by the server, or was not made.
    pub fn disconnected(&mut self, now: Duration, failure: ConnectFailure, to: &mut impl Handler<T, W>) {
        self.part(now, failure, to);
    }

    /// Bytes from the server, cut anywhere.
    pub fn received(&mut self, now: Duration, bytes: &[u8], to: &mut impl Handler<T, W>) {
        let Some(link) = self.link.as_mut().filter(|link| link.open) else { return };
        link.heard = now;
        link.input.extend_from_slice(bytes);
        if !self.encrypted && !self.session.is_up() && link.input.starts_with(&TLS_ALERT) {
            return self.lose(now, ConnectFailure::ExpectsTls, to);
        }
        let mut input = std::mem::take(&mut link.input);
        let consumed = self.consume(&input, to);
        match consumed {
            Ok(used) => {
                input.drain(..used);
                if let Some(link) = &mut self.link {
                    link.input = input;
                }
            }
            Err(failure) => return self.lose(now, failure, to),
        }
        if self.session.is_up() {
            self.hosts.found();
        } else if self.session.is_down() && self.session.over().is_none() {
            // The server has said that the session has expired; the next one needs a connection of its own.
            self.lose(now, ConnectFailure::NoSession, to);
        }
    }

    /// Hands all whole frames to the session; how many bytes they have.
    fn consume(&mut self, input: &[u8], to: &mut impl Handler<T, W>) -> Result<usize, ConnectFailure> {
        let mut used = 0;
        loop {
            match next_frame(input.get(used..).unwrap_or_default(), self.frame_bytes_max) {
                Frame::Whole(frame) => {
                    used += FRAME_HEADER + frame.len();
                    self.session.receive(frame, to).map_err(|_| ConnectFailure::Malformed)?;
                }
                Frame::Partial(_) => return Ok(used),
                Frame::Refused(_) => return Err(ConnectFailure::Malformed),
            }
        }
    }

    /// Breaks the connection. The session goes on, on the next one, with the next server.
    pub fn disconnect(&mut self, now: Duration, to: &mut impl Handler<T, W>) {
        self.lose(now, ConnectFailure::Closed, to);
    }

    /// Ends the session: asks the server to, and waits for its reply a short time.
    pub fn close(&mut self, now: Duration, to: &mut impl Handler<T, W>) {
        if !self.session.is_up() {
            return self.session.end(Error::Closed, to);
        }
        if self.close_at.is_none() {
            self.close_at = Some(now + CLOSE_TIME);
            self.session.close();
        }
    }

    /// Leaves without ending the session: it lasts until its timeout, or until a client resumes it.
    pub fn abandon(&mut self, to: &mut impl Handler<T, W>) {
        self.session.end(Error::Closed, to);
    }

    /// Sends a request, or keeps it until a server is connected. If the limits are reached, it is refused at once.
    pub fn submit(&mut self, asked: Asked<W>, tag: T, to: &mut impl Handler<T, W>) {
        self.session.submit(asked, tag, to);
    }

    /// Adds an identity to this connection and every later one. A server that does not accept it ends the session.
    pub fn add_auth(&mut self, scheme: String, credentials: Vec<u8>, tag: T, to: &mut impl Handler<T, W>) {
        self.session.add_auth(scheme, credentials, tag, to);
    }

    /// Takes all watchers of these kinds off a node, here only. The server may still send events, which are dropped.
    ///
    /// # Errors
    /// When the path is not one, or there is no such watcher.
    pub fn forget_watches(
        &mut self,
        path: &str,
        kind: WatcherType,
        to: &mut impl Handler<T, W>,
    ) -> Result<(), Error> {
        let full = self.session.chroot().to_server(path)?;
        if self.session.forget(kind, &full, to) {
            return Ok(());
        }
        Err(refusal(council_wire::ErrorCode::NoWatcher.code(), path))
    }

    /// Reports each change of the connection's state to a watcher from now on, and the state now if a server is
    /// connected.
    pub fn listen(&mut self, listener: W, to: &mut impl Handler<T, W>) {
        self.session.listen(listener, to);
    }

    /// Undoes [`Self::listen`], and takes the watcher off all nodes. The server does not know of it: it may send
    /// events, which are dropped.
    pub fn unlisten(&mut self, listener: &W) {
        self.session.unlisten(listener);
    }

    /// So many bytes of the [output](Self::output) were sent.
    pub fn sent(&mut self, now: Duration, count: usize) {
        if count > 0
            && let Some(link) = &mut self.link
        {
            let out = self.session.out();
            out.drain(..count.min(out.len()));
            link.sent = now;
        }
    }

    /// What the driver is to do next with connections.
    pub fn action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn lose(&mut self, now: Duration, failure: ConnectFailure, to: &mut impl Handler<T, W>) {
        if self.part(now, failure, to) {
            self.actions.push_back(Action::Close);
        }
    }

    /// There is no connection any more; whether there was one.
    fn part(&mut self, now: Duration, failure: ConnectFailure, to: &mut impl Handler<T, W>) -> bool {
        let Some(link) = self.link.take() else { return false };
        let was_up = self.session.is_up();
        self.session.lost(to);
        let lasted = now >= link.since + LASTING;
        self.retry_at = if link.open && !lasted { now + self.hosts.pause() } else { now };
        if lasted {
            self.hosts.lasted();
        }
        if !was_up {
            let Target { host, port, address } = link.target;
            to.notice(Notice::Failed(Attempt { host, port, address: Some(address), failure }));
        }
        true
    }

    /// The bytes to be sent on the connection.
    pub fn output(&mut self) -> &[u8] {
        match &self.link {
            Some(link) if link.open => self.session.out(),
            _ => &[],
        }
    }

    /// When [`Self::tick`] is to be called; `None` while an answer of the driver is waited for, and at the end.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        if self.session.over().is_some() {
            return None;
        }
        let next = match &self.link {
            None if self.resolving.is_some() => None,
            None => Some(self.retry_at),
            Some(link) if self.session.is_up() => {
                Some(self.link_deadline(link).min(link.sent + self.ping_time()))
            }
            Some(link) => Some(self.link_deadline(link)),
        };
        match (next, self.close_at) {
            (Some(next), Some(at)) => Some(next.min(at)),
            (next, at) => next.or(at),
        }
    }

    /// When a silent connection is given up: before a session is there, and while it is.
    fn link_deadline(&self, link: &Link) -> Duration {
        if self.session.is_up() {
            link.heard + self.silence_time()
        } else {
            link.since + self.silence.map_or(self.connect_time, |of| of.present.min(self.connect_time))
        }
    }

    /// How long a server that is connected may be silent.
    fn silence_time(&self) -> Duration {
        let longest = self.session_time() * 2 / 3;
        self.silence.map_or(longest, |silence| silence.present.min(longest))
    }

    fn session_time(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.session.timeout_ms()).unwrap_or(0))
    }

    fn ping_time(&self) -> Duration {
        // Three within the silence that is permitted, and two within that which the session timeout permits.
        let often = self.silence.map_or(PING_MAX, |silence| silence.present / 3);
        (self.session_time() / 3).min(PING_MAX).min(often)
    }

    /// Why nothing more will happen, once that is so.
    #[must_use]
    pub fn over(&self) -> Option<&Error> {
        self.session.over()
    }

    /// Whether a server is connected under an open session.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.session.is_up()
    }

    /// The server that is connected, or that a connection is being made to.
    #[must_use]
    pub fn server(&self) -> Option<&Target> {
        self.link.as_ref().map(|link| &link.target)
    }

    /// What it takes to go on with the session from elsewhere.
    #[must_use]
    pub fn ticket(&self) -> &Ticket {
        self.session.ticket()
    }

    /// The client's root.
    #[must_use]
    pub fn chroot(&self) -> &Chroot {
        self.session.chroot()
    }
}
