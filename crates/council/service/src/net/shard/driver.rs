//! What the shard's thread does for a round: system calls on sockets, locks, mailboxes, and the log.

use base::Now;
use net_event_loop::{Arrival, Broken, ConnId, SocketDriver};
use node_threads::RateLimit;
use std::time::{Duration, Instant};

use council_frontend::{FromCore, FrontEvent, Peer, ShardDriver, ToCore, View};
use council_tree::Tree;
use council_wire::SessionId;
use mio::{Interest, Poll, Token};
use parking_lot::RwLockReadGuard;

use super::client::Client;
use super::troubles::Troubles;
use super::{ShardConfig, ShardLinks};
use crate::audit::{self, SessionEnds};
use crate::clerk::WordRequest;
use crate::net::listener::Accepted;
use crate::words;
use net_tls::{Speech, Transport};

/// Refusals of writes that cost too much are logged so often at the most.
const COSTLY_LOG_INTERVAL: Duration = Duration::from_secs(10);

/// See the module.
pub(super) struct Driver {
    number: u16,
    config: ShardConfig,
    pub(super) links: ShardLinks,
    pub(super) poll: Poll,
    session_ends: Option<SessionEnds>,
    /// How often it is said that writes are refused for their cost.
    costly: RateLimit,
    troubles: Troubles,
}

/// The tree under its read guard, and the mailbox of the stream.
pub(super) struct Locked<'v> {
    tree: RwLockReadGuard<'v, Tree>,
    links: &'v ShardLinks,
}

impl Driver {
    pub(super) fn new(number: u16, config: ShardConfig, links: ShardLinks, poll: Poll) -> Self {
        Self {
            number,
            session_ends: (config.audit && number == 0).then(SessionEnds::default),
            config,
            links,
            poll,
            costly: RateLimit::default(),
            troubles: Troubles::default(),
        }
    }

    /// Whether there is something to be done that no socket announces.
    pub(super) fn has_mail(&self) -> bool {
        !self.links.mail.is_empty() || self.has_stream()
    }

    /// The socket of a connection that was accepted; nothing if it could not begin.
    pub(super) fn client(&self, accepted: Accepted) -> Option<Client> {
        let Accepted { stream, peer, secure, place } = accepted;
        let speech = match (&self.links.tls, secure) {
            (Some(context), true) => match context.session() {
                Ok(session) => Speech::Tls(Box::new(session)),
                Err(error) => {
                    tracing::warn!(%peer, %error, "an encrypted connection could not begin");
                    return None;
                }
            },
            (Some(_), false) if self.config.plain_takes_tls => Speech::Undecided,
            _ => Speech::Plain,
        };
        let transport = Transport::new(stream, speech);
        let handshake = transport.is_encrypted().then(|| self.links.metrics.handshake());
        Some(Client::new(transport, peer, handshake, place))
    }

    fn costs_too_much(&self, session: SessionId, client: std::net::IpAddr, excess: council_tree::Excess) {
        if self.costly.allow(Instant::now(), COSTLY_LOG_INTERVAL) {
            let unlogged = self.costly.refused();
            tracing::warn!(
                %session,
                %client,
                unlogged,
                "a write was refused because every member would have to apply it: it needs {excess}"
            );
        }
    }
}

impl SocketDriver for Driver {
    type Socket = Client;
    type Peer = Peer;

    fn watch(&mut self, client: &mut Client, token: u32) -> Result<(), Broken> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        let token = Token(token as usize);
        self.poll.registry().register(client.transport.stream(), token, interest).map_err(|error| {
            tracing::warn!(peer = %client.peer, %error, "a connection could not be polled");
            Broken
        })
    }

    fn prepare(&mut self, client: &mut Client) -> Result<bool, Broken> {
        let Some(context) = &self.links.tls else { return Ok(true) };
        let decided = client.transport.decide(context).map_err(|_| Broken)?;
        if decided && client.transport.is_encrypted() {
            client.handshake.get_or_insert_with(|| self.links.metrics.handshake());
        }
        Ok(decided)
    }

    fn open(&mut self, client: &mut Client) -> Result<Option<Peer>, Broken> {
        if client.transport.is_encrypted() {
            // The handshake's own answers.
            client.transport.write(&[]).map_err(|_| Broken)?;
        }
        if client.transport.is_opening() {
            return Ok(None);
        }
        let ip = client.peer.ip();
        let verifies = self.links.tls.as_ref().is_some_and(|context| context.verifies_hostname());
        if verifies && client.transport.session().is_some_and(|session| !session.names(ip)) {
            tracing::warn!(peer = %client.peer, "a client's certificate does not name the client's address");
            return Err(Broken);
        }
        client.is_open = true;
        match client.handshake.take() {
            Some(handshake) => handshake.done(),
            None => self.links.metrics.plain(ip),
        }
        Ok(Some(client.for_front()))
    }

    #[inline]
    fn read(&mut self, client: &mut Client, buffer: &mut [u8]) -> Result<Arrival, Broken> {
        client.transport.read(buffer).map_err(|error| {
            self.troubles.broke(client.peer, !client.is_open, &error);
            Broken
        })
    }

    #[inline]
    fn write(&mut self, client: &mut Client, bytes: &[u8]) -> Result<usize, Broken> {
        client.transport.write(bytes).map_err(|error| {
            tracing::debug!(peer = %client.peer, %error, "a connection broke");
            Broken
        })
    }

    #[inline]
    fn wants_write(&self, client: &Client) -> bool {
        client.transport.wants_write()
    }

    fn say_goodbye(&mut self, client: &mut Client) {
        client.transport.say_goodbye();
    }

    fn close(&mut self, client: Client, unsent_bytes: usize) {
        if unsent_bytes > 0 {
            tracing::debug!(peer = %client.peer, unsent_bytes, "a connection ends before all was sent");
        }
    }
}

impl View for Locked<'_> {
    fn tree(&self) -> &Tree {
        &self.tree
    }

    fn take_stream(&mut self, into: &mut Vec<FromCore>) {
        self.links.stream.take_all(into);
    }

    fn may_answer(&self) -> bool {
        self.links.standing.may_answer(|| self.links.clock.mono_us() / 1000)
    }
}

impl ShardDriver for Driver {
    type View<'v> = Locked<'v>;

    fn has_stream(&self) -> bool {
        !self.links.stream.is_empty()
    }

    fn view(&mut self) -> Locked<'_> {
        Locked { tree: self.links.tree.read(), links: &self.links }
    }

    fn send(&mut self, messages: &mut Vec<ToCore>, now: Now) {
        self.links.to_core.put_all_at(messages, now.mono_us);
    }

    fn delivered(&mut self, stream: &[FromCore]) {
        if let Some(ends) = &mut self.session_ends {
            stream.iter().for_each(|item| ends.observe(item));
        }
    }

    /// The log names the client's address when its session expires.
    fn connected(&mut self, _: ConnId, session: SessionId, _: u32, client: &Client) {
        self.links.session_clients.note(session, client.peer);
    }

    fn word(&mut self, conn: ConnId, word: [u8; 4], argument: Option<i64>) -> Option<Vec<u8>> {
        if let Some(refusal) = words::refusal(&self.config.words, word) {
            return Some(refusal.into_bytes());
        }
        let request = WordRequest { shard: self.number, conn, word, argument };
        if self.links.clerk.ask(request) { None } else { Some(Vec::new()) }
    }

    fn note(&mut self, event: &FrontEvent, client: Option<&Client>) {
        match event {
            FrontEvent::Close { reason, .. } => {
                if let Some(client) = client {
                    self.troubles.closing(client.peer, *reason);
                }
            }
            FrontEvent::AuthFailed { scheme, .. } => {
                if let Some(client) = client {
                    self.troubles.not_authenticated(client.peer, scheme.as_deref());
                }
            }
            FrontEvent::Audit(record) => audit::record(record),
            FrontEvent::WriteTooCostly { session, ip, excess } => {
                self.costs_too_much(*session, *ip, *excess);
            }
            FrontEvent::SuperRefused { ip, wait_ms } => self.troubles.not_super(*ip, *wait_ms),
            FrontEvent::HistoryTooShort { session, seen, since } => {
                tracing::warn!(
                    %session,
                    %seen,
                    %since,
                    "a client with persistent watches was away for longer than the history of changes reaches back"
                );
            }
            FrontEvent::Word { .. } | FrontEvent::PauseReading(_) | FrontEvent::ResumeReading(_) => {}
        }
    }
}
