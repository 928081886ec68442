//! One shard's thread: a poll, its sockets, and the front that understands what they say.
//!
//! A round: wait; take mail; read from every ready socket once, without any lock; then under the tree's read guard
//! pass on the core's stream and the bytes that were read, and do a piece of what takes long; then, without the guard, send the core its messages,
//! write to each socket with output once, and do what the front asks for. The clock is read once a round.

mod farewell;
mod input;
mod output;
mod socket;
mod troubles;

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use council_frontend::{ConnId, FromCore, Front, FrontEvent, ToCore};
use council_tree::Tree;
use mio::{Events, Interest, Poll, Token, Waker};
use parking_lot::RwLock;

use self::farewell::Farewell;
use self::socket::{Socket, Sockets, Stage};
use self::troubles::Troubles;
use super::listener::Accepted;
use super::tls::context::TlsContext;
use super::tls::session::TlsSession;
use super::transport::{Speech, Transport};
use crate::audit::SessionEnds;
use crate::clerk::{Clerk, WordRequest};
use crate::clock::{Clock, Moment};
use crate::config::WordConfig;
use crate::mailbox::{Doorbell, Mailbox};
use crate::metrics::network::NetworkMetrics;
use crate::rate_limit::RateLimit;
use crate::session_clients::SessionClients;
use crate::standing::Standing;
use crate::words;

/// The token of the bell; sockets count up from 0.
const BELL: Token = Token(usize::MAX);
/// Bytes read in a round before anything is looked at.
const ARENA_BYTES: usize = 512 << 10;
/// Bytes read from one socket in a round.
const READ_BYTES_MAX: usize = 64 << 10;
/// Bytes written to one socket in a round.
const WRITE_BYTES_MAX: usize = 256 << 10;
/// The longest sleep: the front's deadlines are looked at this often.
const TICK_MS: u64 = 250;
/// The longest sleep during a stop.
const FAREWELL_TICK_MS: u64 = 5;
/// How long a connection may take to take its last bytes.
const CLOSING_MS: u64 = 10_000;
/// How long the peer of a finished connection may take to close its side.
const LINGER_MS: u64 = 1_000;
/// Refusals of writes that cost too much are logged so often at the most.
const COSTLY_LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Something for a shard to do, besides the core's stream.
pub(crate) enum ShardMail {
    /// A new connection.
    Accepted(Accepted),
    /// A piece of the answer to a four-letter word.
    Word { conn: ConnId, text: Vec<u8>, last: bool },
    /// A question of another thread, to be answered from the front.
    Ask(Box<dyn FnOnce(&mut Front) + Send>),
    /// Answer what was asked, then close everything: this member was removed.
    Part,
    /// The same, and end.
    Stop,
}

/// What a shard shares with the other threads.
pub(crate) struct ShardLinks {
    pub(crate) mail: Arc<Mailbox<ShardMail>>,
    pub(crate) stream: Arc<Mailbox<FromCore>>,
    pub(crate) to_core: Arc<Mailbox<ToCore>>,
    pub(crate) tree: Arc<RwLock<Tree>>,
    pub(crate) session_clients: Arc<SessionClients>,
    pub(crate) standing: Arc<Standing>,
    pub(crate) clerk: Arc<Clerk>,
    pub(crate) tls: Option<Arc<TlsContext>>,
    pub(crate) clock: Clock,
    pub(crate) metrics: Arc<NetworkMetrics>,
}

/// How a shard treats its connections.
#[derive(Clone, Debug)]
pub(crate) struct ShardConfig {
    pub(crate) words: WordConfig,
    /// Whether plain connections may turn out to be encrypted.
    pub(crate) plain_takes_tls: bool,
    /// Whether what goes with its session is written to the audit log; the first shard does it for all.
    pub(crate) audit: bool,
}

/// Bytes that were read in this round.
struct Input {
    token: u32,
    /// Where in the arena; `None` when they stand in the socket's own buffer.
    arena: Option<Range<usize>>,
}

/// See the module.
pub(crate) struct Shard {
    number: u16,
    config: ShardConfig,
    links: ShardLinks,
    poll: Poll,
    bell: Arc<Doorbell>,
    front: Front,
    sockets: Sockets,
    ready: VecDeque<u32>,
    inputs: Vec<Input>,
    /// Sockets whose peer ended in this round.
    ended: Vec<u32>,
    arena: Box<[u8]>,
    /// Deadlines of sockets that open or close.
    timers: BTreeSet<(u64, u32, u32)>,
    session_ends: Option<SessionEnds>,
    ticked_ms: u64,
    /// Whether the front has leftovers to work off.
    sweeping: bool,
    farewell: Farewell,
    /// How often it is said that writes are refused for their cost.
    costly: RateLimit,
    troubles: Troubles,
    mail: Vec<ShardMail>,
    stream: Vec<FromCore>,
    writable: Vec<ConnId>,
    /// Those that may have had room for more than they were given in this round.
    unfinished: Vec<ConnId>,
    events: Vec<FrontEvent>,
}

impl Shard {
    /// A poll and its bell, made before the mailboxes that ring it.
    pub(crate) fn poll() -> io::Result<(Poll, Arc<Doorbell>)> {
        let poll = Poll::new()?;
        let bell = Doorbell::of_poll(Waker::new(poll.registry(), BELL)?);
        Ok((poll, bell))
    }

    pub(crate) fn new(
        number: u16,
        config: ShardConfig,
        links: ShardLinks,
        (poll, bell): (Poll, Arc<Doorbell>),
        front: Front,
    ) -> Self {
        Self {
            number,
            session_ends: (config.audit && number == 0).then(SessionEnds::default),
            config,
            links,
            poll,
            bell,
            front,
            sockets: Sockets::default(),
            ready: VecDeque::new(),
            inputs: Vec::new(),
            ended: Vec::new(),
            arena: vec![0; ARENA_BYTES].into_boxed_slice(),
            timers: BTreeSet::new(),
            ticked_ms: 0,
            sweeping: false,
            farewell: Farewell::No,
            costly: RateLimit::default(),
            troubles: Troubles::default(),
            mail: Vec::new(),
            stream: Vec::new(),
            writable: Vec::new(),
            unfinished: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Runs until [`ShardMail::Stop`].
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        while self.farewell != Farewell::Done {
            self.wait(&mut events)?;
            let now = self.links.clock.now();
            self.writable.append(&mut self.unfinished);
            for event in &events {
                if event.token() != BELL {
                    self.announced(event);
                }
            }
            self.read_mail(now);
            if self.farewell.reads() {
                self.gather(now);
            }
            self.evaluate(now);
            self.links.to_core.put_all_at(self.front.to_core(), now.mono_us);
            self.write_all(now);
            self.close_ended();
            self.obey(now);
            self.sweeping = self.front.sweep();
            if now.mono_ms() >= self.ticked_ms + TICK_MS {
                self.tick(now);
            }
            self.go_on_with_farewell(now);
        }
        self.close_all();
        Ok(())
    }

    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        self.bell.fall_asleep();
        let reads = self.farewell.reads() && !self.ready.is_empty();
        let goes_on = self.sweeping || self.front.has_long() || !self.unfinished.is_empty();
        let timeout = if reads || goes_on || self.has_mail() {
            Duration::ZERO
        } else if self.farewell != Farewell::No {
            Duration::from_millis(FAREWELL_TICK_MS)
        } else {
            Duration::from_millis(TICK_MS)
        };
        let polled = self.poll.poll(events, Some(timeout));
        self.bell.wake_up();
        match polled {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                events.clear();
                Ok(())
            }
            other => other,
        }
    }

    fn has_mail(&self) -> bool {
        !self.links.mail.is_empty() || !self.links.stream.is_empty()
    }

    /// The poll has news of a socket.
    fn announced(&mut self, event: &mio::event::Event) {
        let Ok(token) = u32::try_from(event.token().0) else { return };
        let Some(socket) = self.sockets.get(token) else { return };
        if event.is_writable() {
            if socket.blocked
                && let Some(conn) = socket.conn
            {
                self.writable.push(conn);
            }
            socket.blocked = false;
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() || event.is_write_closed() {
            socket.readable = true;
            socket.hung_up |= event.is_read_closed();
        }
        if socket.readable || socket.stage == Stage::Opening {
            enqueue(&mut self.ready, token, socket);
        }
    }

    fn read_mail(&mut self, now: Moment) {
        let mut mail = std::mem::take(&mut self.mail);
        self.links.mail.take_all(&mut mail);
        for letter in mail.drain(..) {
            match letter {
                ShardMail::Accepted(accepted) => self.take_in(accepted, now),
                ShardMail::Word { conn, text, last } => self.front.word_reply(conn, &text, last),
                ShardMail::Ask(question) => question(&mut self.front),
                ShardMail::Part => self.begin_farewell(false, now),
                ShardMail::Stop => self.begin_farewell(true, now),
            }
        }
        self.mail = mail;
    }

    fn take_in(&mut self, accepted: Accepted, now: Moment) {
        let Accepted { stream, peer, secure, place } = accepted;
        let speech = match (&self.links.tls, secure) {
            (Some(context), true) => match TlsSession::new(context.current()) {
                Ok(session) => Speech::Tls(Box::new(session)),
                Err(error) => {
                    tracing::warn!(%peer, %error, "an encrypted connection could not begin");
                    return;
                }
            },
            (Some(_), false) if self.config.plain_takes_tls => Speech::Undecided,
            _ => Speech::Plain,
        };
        let opens = matches!(speech, Speech::Plain);
        let token = self.sockets.insert(Socket::new(Transport::new(stream, speech), peer, place));
        let Some(socket) = self.sockets.get(token) else { return };
        if socket.transport.is_encrypted() {
            socket.handshake = Some(self.links.metrics.handshake());
        }
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registered =
            self.poll.registry().register(socket.transport.stream(), Token(token as usize), interest);
        if let Err(error) = registered {
            tracing::warn!(%peer, %error, "a connection could not be polled");
            self.sockets.remove(token);
            return;
        }
        if opens {
            self.open(token, now);
        } else {
            let timeout_ms =
                self.links.tls.as_ref().map_or(CLOSING_MS, |context| context.handshake_timeout_ms());
            self.set_timer(token, now.mono_ms() + timeout_ms);
        }
    }

    /// Makes a socket known to the front.
    fn open(&mut self, token: u32, now: Moment) {
        let Some(socket) = self.sockets.get(token) else { return };
        socket.stage = Stage::Open;
        match socket.handshake.take() {
            Some(handshake) => handshake.done(),
            None => self.links.metrics.plain(socket.peer.ip()),
        }
        let session = socket.transport.session();
        let peer = council_frontend::Peer {
            ip: socket.peer.ip(),
            port: socket.peer.port(),
            secure: session.is_some(),
            certificate_subject: session.and_then(TlsSession::subject).map(String::into_boxed_str),
        };
        let conn = self.front.accept(peer, now.for_front());
        self.sockets.name(token, conn);
    }

    /// Under the tree's read guard: first the stream, so that no read sees a state whose events are not queued, then
    /// what was read from sockets.
    fn evaluate(&mut self, now: Moment) {
        if self.inputs.is_empty() && self.links.stream.is_empty() && !self.front.has_long() {
            return;
        }
        let mut stream = std::mem::take(&mut self.stream);
        let links_tree = Arc::clone(&self.links.tree);
        let tree = links_tree.read();
        self.links.stream.take_all(&mut stream);
        for item in &stream {
            self.front.deliver(item, &tree, now.for_front());
        }
        if !self.links.standing.may_answer(|| self.links.clock.mono_us() / 1000) {
            // The core may not have noticed yet: this whole process may have stood still.
            self.front.deliver(&FromCore::Serving(false), &tree, now.for_front());
        }
        self.receive_inputs(&tree, now);
        self.front.go_on(&tree, now.for_front());
        drop(tree);
        self.remember_clients(&stream);
        if let Some(ends) = &mut self.session_ends {
            stream.iter().for_each(|item| ends.observe(item));
        }
        // Freed without the guard: the last reference to a batch of changes may be here.
        stream.clear();
        self.stream = stream;
    }

    /// Notes where the clients are whose sessions were opened or taken up: the log names it when they expire.
    fn remember_clients(&mut self, stream: &[FromCore]) {
        for item in stream {
            if let FromCore::Connected { conn, session, .. } = item
                && let Some(token) = self.sockets.token_of(*conn)
                && let Some(socket) = self.sockets.get(token)
            {
                self.links.session_clients.note(*session, socket.peer);
            }
        }
    }

    /// Does what the front asks for.
    fn obey(&mut self, now: Moment) {
        let mut events = std::mem::take(&mut self.events);
        loop {
            events.extend(self.front.events());
            if events.is_empty() {
                break;
            }
            for event in events.drain(..) {
                self.obey_one(event, now);
            }
            // A refused word or a resumed connection may have produced output.
            self.write_all(now);
        }
        self.events = events;
        self.links.to_core.put_all_at(self.front.to_core(), now.mono_us);
    }

    fn obey_one(&mut self, event: FrontEvent, now: Moment) {
        match event {
            FrontEvent::Close { conn, reason, after_output } => {
                let Some(token) = self.sockets.token_of(conn) else { return };
                if let Some(socket) = self.sockets.get(token) {
                    self.troubles.closing(socket.peer, reason);
                }
                self.close(token, after_output, now);
            }
            FrontEvent::Word { conn, word } => self.word(conn, word),
            FrontEvent::PauseReading(conn) => {
                if let Some(token) = self.sockets.token_of(conn)
                    && let Some(socket) = self.sockets.get(token)
                {
                    socket.paused = true;
                }
            }
            FrontEvent::ResumeReading(conn) => {
                if let Some(token) = self.sockets.token_of(conn)
                    && let Some(socket) = self.sockets.get(token)
                {
                    socket.paused = false;
                    socket.backlog = !socket.partial.is_empty();
                    enqueue(&mut self.ready, token, socket);
                }
            }
            FrontEvent::Audit(record) => crate::audit::record(&record),
            FrontEvent::WriteTooCostly { session, ip, excess } => {
                if self.costly.allow(Instant::now(), COSTLY_LOG_INTERVAL) {
                    let unlogged = self.costly.refused();
                    tracing::warn!(
                        %session,
                        client = %ip,
                        unlogged,
                        "a write was refused because every member would have to apply it: it needs {excess}"
                    );
                }
            }
            FrontEvent::AuthFailed { conn, scheme } => {
                if let Some(token) = self.sockets.token_of(conn)
                    && let Some(socket) = self.sockets.get(token)
                {
                    self.troubles.not_authenticated(socket.peer, scheme.as_deref());
                }
            }
            FrontEvent::SuperRefused { ip, wait_ms } => self.troubles.not_super(ip, wait_ms),
            FrontEvent::HistoryTooShort { session, seen, since } => {
                tracing::warn!(
                    %session,
                    %seen,
                    %since,
                    "a client with persistent watches was away for longer than the history of changes reaches back"
                );
            }
        }
    }

    fn word(&mut self, conn: ConnId, word: [u8; 4]) {
        if let Some(refusal) = words::refusal(&self.config.words, word) {
            self.front.word_reply(conn, refusal.as_bytes(), true);
            return;
        }
        let Some(token) = self.sockets.token_of(conn) else { return };
        let Some(socket) = self.sockets.get(token) else { return };
        socket.asked = true;
        let request = WordRequest { shard: self.number, conn, word, argument: socket.argument };
        if !self.links.clerk.ask(request) {
            self.front.word_reply(conn, b"", true);
        }
    }

    fn tick(&mut self, now: Moment) {
        self.ticked_ms = now.mono_ms();
        self.front.tick(now.for_front());
        while let Some((deadline, token, generation)) = self.timers.first().copied() {
            if deadline > now.mono_ms() {
                break;
            }
            self.timers.pop_first();
            if let Some(socket) = self.sockets.get(token)
                && socket.generation == generation
                && socket.stage != Stage::Open
            {
                self.drop_socket(token);
            }
        }
        self.obey(now);
    }

    fn set_timer(&mut self, token: u32, deadline_ms: u64) {
        if let Some(socket) = self.sockets.get(token) {
            self.timers.insert((deadline_ms, token, socket.generation));
        }
    }

    fn close_all(&mut self) {
        for token in self.sockets.tokens() {
            if let Some(socket) = self.sockets.get(token) {
                socket.transport.say_goodbye();
            }
            self.drop_socket(token);
        }
        self.links.to_core.put_all(self.front.to_core());
    }
}

fn enqueue(ready: &mut VecDeque<u32>, token: u32, socket: &mut Socket) {
    if !socket.queued {
        socket.queued = true;
        ready.push_back(token);
    }
}
