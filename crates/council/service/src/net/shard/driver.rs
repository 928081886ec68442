//! What the shard's thread does for a round: system calls on sockets, locks, mailboxes, and the log.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use base::Now;
use council_frontend::{FromCore, FrontEvent, Peer, ShardDriver, ToCore, View};
use council_tree::Tree;
use council_wire::SessionId;
use net_event_loop::{Broken, ConnId, FilePart, NoFile, ReadOutcome, SocketDriver};
use net_reactor::{ClientSocket, Sockets};
use net_tls::TlsSession;
use node_threads::RateLimit;
use parking_lot::RwLockReadGuard;

use super::troubles::Troubles;
use super::{ShardConfig, ShardLinks};
use crate::audit::{self, SessionEnds};
use crate::messages::WordRequest;

/// Refusals of writes that cost too much are logged so often at the most.
const COSTLY_LOG_INTERVAL: Duration = Duration::from_secs(10);

/// A command of so many bytes may be handed on to another member on this thread.
const LONE_BYTES_MAX: usize = 16 << 10;

/// See the module.
pub(super) struct Driver {
    number: u16,
    config: ShardConfig,
    pub(super) links: ShardLinks,
    pub(super) sockets: Sockets,
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
    pub(super) fn new(number: u16, config: ShardConfig, links: ShardLinks, sockets: Sockets) -> Self {
        Self {
            number,
            session_ends: (config.audit && number == 0).then(SessionEnds::default),
            config,
            links,
            sockets,
            costly: RateLimit::default(),
            troubles: Troubles::default(),
        }
    }

    /// Whether there is something to be done that no socket announces.
    pub(super) fn has_mail(&self) -> bool {
        !self.links.mail.is_empty() || self.has_stream()
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
    type Socket = ClientSocket;
    type Peer = Peer;
    type File = NoFile;

    fn watch(&mut self, socket: &mut ClientSocket, token: u32) -> Result<(), Broken> {
        self.sockets.watch(socket, token)
    }

    fn prepare(&mut self, socket: &mut ClientSocket) -> Result<bool, Broken> {
        self.sockets.prepare(socket)
    }

    fn open(&mut self, socket: &mut ClientSocket) -> Result<Option<Peer>, Broken> {
        Ok(self.sockets.open(socket)?.then(|| peer(socket)))
    }

    #[inline]
    fn read(&mut self, socket: &mut ClientSocket, buffer: &mut [u8]) -> Result<ReadOutcome, Broken> {
        self.sockets.read(socket, buffer)
    }

    #[inline]
    fn write(&mut self, socket: &mut ClientSocket, bytes: &[u8]) -> Result<usize, Broken> {
        self.sockets.write(socket, bytes)
    }

    fn write_with_file(
        &mut self,
        _: &mut ClientSocket,
        _: &[u8],
        part: FilePart<'_, NoFile>,
    ) -> Result<usize, Broken> {
        match *part.file {}
    }

    #[inline]
    fn wants_write(&self, socket: &ClientSocket) -> bool {
        self.sockets.wants_write(socket)
    }

    fn say_goodbye(&mut self, socket: &mut ClientSocket) {
        self.sockets.say_goodbye(socket);
    }

    fn close(&mut self, socket: ClientSocket, unsent_bytes: usize) {
        self.sockets.close(socket, unsent_bytes);
    }
}

/// Who is at the other end of an open socket.
fn peer(socket: &ClientSocket) -> Peer {
    let (at, tls) = (socket.peer(), socket.tls());
    Peer {
        ip: at.ip(),
        port: at.port(),
        secure: tls.is_some(),
        certificate_subject: tls.and_then(TlsSession::subject).map(String::into_boxed_str),
    }
}

impl View for Locked<'_> {
    fn tree(&self) -> &Tree {
        &self.tree
    }

    fn take_stream(&mut self, into: &mut Vec<FromCore>) {
        self.links.stream.take_all(into);
    }

    fn set_watches(&mut self, any: bool) {
        // The tree's lock orders this before what is applied next.
        if self.links.watches.load(Ordering::Relaxed) != any {
            self.links.watches.store(any, Ordering::Relaxed);
        }
    }

    fn may_answer(&self) -> bool {
        self.links.standing.may_answer(|| self.links.clock.mono())
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
        match &messages[..] {
            [ToCore::Command { command, .. }] if command.len() <= LONE_BYTES_MAX => {
                self.links.to_core.put_all_quietly_at(messages, now.mono_us);
                self.links.core_turns.relay_or_wake();
            }
            _ => self.links.to_core.put_all_at(messages, now.mono_us),
        }
    }

    fn delivered(&mut self, stream: &[FromCore]) {
        if let Some(ends) = &mut self.session_ends {
            stream.iter().for_each(|item| ends.observe(item));
        }
    }

    /// The log names the client's address when its session expires.
    fn connected(&mut self, _: ConnId, session: SessionId, _: u32, socket: &ClientSocket) {
        self.links.session_clients.note(session, socket.peer());
    }

    fn word(&mut self, conn: ConnId, word: [u8; 4], argument: Option<i64>) -> Option<Vec<u8>> {
        if let Some(refusal) = self.config.words.refusal(word) {
            return Some(refusal.into_bytes());
        }
        let request = WordRequest { shard: self.number, conn, word, argument };
        if self.links.word_queue.ask(request) { None } else { Some(Vec::new()) }
    }

    fn note(&mut self, event: &FrontEvent, socket: Option<&ClientSocket>) {
        match event {
            FrontEvent::Close { reason, .. } => {
                if let Some(socket) = socket {
                    self.troubles.closing(socket.peer(), *reason);
                }
            }
            FrontEvent::AuthFailed { scheme, .. } => {
                if let Some(socket) = socket {
                    self.troubles.not_authenticated(socket.peer(), scheme.as_deref());
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
