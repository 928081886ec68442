//! A client that speaks raw bytes to real members, as the simulator's clients do to simulated ones, and writes down what it
//! sent and what it read, and when. It leaves with and without a word, comes back elsewhere, and judges nothing.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use council_wire::{Reader, WatcherEvent, xid};
use sim_council::client::{Reply, Speech};
use sim_council::history::{Answer, Ask, Call, Connection, Delivery, Grant, History};
use sim_council::load::{Features, Watches, Wishes};
use sim_council::random::Random;

/// The session that it asks for.
const TIMEOUT_MS: u64 = 8_000;
/// Requests under way at most.
const OUTSTANDING_MAX: usize = 8;
/// How long it waits for bytes at a time: how much it asks, not a synchronisation.
const LISTENS: Duration = Duration::from_millis(5);
/// Between two connections, milliseconds: who serves nobody yet lets go of them at once.
const DIALS_EVERY_MS: u64 = 20;
/// How long a member may take to accept a connection.
const DIAL_MAX: Duration = Duration::from_secs(1);
/// An answer that was longer under way shows no more than what stood when it was asked for.
const LATE_MS: u64 = 1_000;
/// Connections that it left without a word and that stay open, at most.
const LEFT_MAX: usize = 4;
/// What it makes use of: no containers, of which none would be removed in so short a time, and nothing large.
const FEATURES: Features =
    Features { watches: true, access: true, batches: true, numbers: true, ..Features::NONE };

/// A connection that stands.
struct Standing {
    stream: TcpStream,
    /// Its place in the history.
    number: usize,
}

/// See the module.
pub(super) struct Witness {
    name: usize,
    began: Instant,
    members: Vec<(u64, SocketAddr)>,
    random: Random,
    wishes: Wishes,
    speech: Speech,
    watches: Watches,
    /// Who it says it is, on every connection.
    credentials: Vec<String>,
    standing: Option<Standing>,
    left: VecDeque<TcpStream>,
    asked: VecDeque<(i32, usize)>,
    pinged_ms: u64,
    heard_ms: u64,
    away_until_ms: u64,
    dialled_ms: u64,
    /// What it saw.
    pub(super) history: History,
}

impl Witness {
    /// One of so many, who knows these members. Times are counted from `began`.
    pub(super) fn new(
        name: usize,
        count: usize,
        members: Vec<(u64, SocketAddr)>,
        began: Instant,
        seed: u64,
    ) -> Self {
        let mut random = Random::new(seed);
        let mut speech = Speech::default();
        // Shortly before the last number there is, or before those that are reserved.
        speech.number_from([1, i32::MAX - 100, -30][random.below(3) as usize]);
        Self {
            name,
            began,
            members,
            wishes: Wishes::new(name, count, FEATURES, random.fork()),
            random,
            speech,
            watches: Watches::default(),
            credentials: Vec::new(),
            standing: None,
            left: VecDeque::new(),
            asked: VecDeque::new(),
            pinged_ms: 0,
            heard_ms: 0,
            away_until_ms: 0,
            dialled_ms: 0,
            history: History::default(),
        }
    }

    /// Hears what there is, and sometimes asks for something or leaves.
    pub(super) fn work(&mut self) {
        self.attend();
        if self.is_served() && self.asked.len() < OUTSTANDING_MAX && self.random.chance(40) {
            let asks = self.wishes.draw();
            self.ask_all(asks);
        }
        if self.random.below(400) == 0 {
            self.wander();
        }
    }

    /// Waits for what is still to come, and asks for nothing. Whether nothing is.
    pub(super) fn wait(&mut self) -> bool {
        self.away_until_ms = 0;
        self.attend();
        self.is_served() && self.asked.is_empty()
    }

    /// Writes and reads once more.
    pub(super) fn ask_last(&mut self) {
        let asks = self.wishes.last();
        self.ask_all(asks);
    }

    /// Milliseconds since the beginning.
    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn is_served(&self) -> bool {
        self.standing.is_some() && self.speech.is_connected()
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        let number = self.standing.as_ref()?.number;
        self.history.connections.get_mut(number)
    }

    /// Connects if it has no server, hears, pings, and leaves a server that is silent for too long.
    fn attend(&mut self) {
        let dials_ms = self.away_until_ms.max(self.dialled_ms + DIALS_EVERY_MS);
        if self.standing.is_none() && (self.now_ms() < dials_ms || !self.open()) {
            std::thread::sleep(LISTENS);
            return;
        }
        self.hear();
        let now_ms = self.now_ms();
        if self.is_served() && now_ms >= self.pinged_ms + TIMEOUT_MS / 3 {
            self.pinged_ms = now_ms;
            self.ask(Ask::Ping);
        }
        let waits = !self.is_served() || !self.asked.is_empty();
        if waits && now_ms >= self.heard_ms + TIMEOUT_MS * 2 / 3 {
            let heard_ms = self.heard_ms;
            if let Some(connection) = self.connection() {
                connection.silent_since_ms = Some(heard_ms);
            }
            self.part(true);
        }
    }

    /// Connects, and asks for the session it had.
    fn open(&mut self) -> bool {
        self.dialled_ms = self.now_ms();
        let (member, address) = self.members[self.random.below(self.members.len() as u64) as usize];
        let Ok(mut stream) = TcpStream::connect_timeout(&address, DIAL_MAX) else { return false };
        let ready = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(LISTENS)));
        if ready.and_then(|()| stream.set_write_timeout(Some(DIAL_MAX))).is_err() {
            return false;
        }
        // What this socket is bound to is what the member sees: nothing between them translates addresses.
        let Ok(own) = stream.local_addr() else { return false };
        let (asked, seen_zxid) = (self.speech.session.0, self.speech.last_zxid);
        let opened_ms = self.now_ms();
        let greeting = self.speech.greet(TIMEOUT_MS as i32);
        self.history.connections.push(Connection {
            asked,
            seen_zxid,
            ..Connection::opened(self.name, own.ip(), member, opened_ms)
        });
        (self.pinged_ms, self.heard_ms) = (opened_ms, opened_ms);
        let sent = stream.write_all(&greeting);
        self.standing = Some(Standing { stream, number: self.history.connections.len() - 1 });
        if sent.is_err() {
            self.part(true);
        }
        true
    }

    /// Leaves its server; what was not answered never will be. If it leaves without a word, the server takes the connection
    /// to stand.
    fn part(&mut self, says_so: bool) {
        let now_ms = self.now_ms();
        if let Some(connection) = self.connection() {
            connection.ended_ms = Some(now_ms);
        }
        let Some(Standing { stream, .. }) = self.standing.take() else { return };
        if !says_so {
            self.left.push_back(stream);
        }
        if self.left.len() > LEFT_MAX {
            self.left.pop_front();
        }
        self.asked.clear();
    }

    fn wander(&mut self) {
        if self.standing.is_none() {
            return;
        }
        let says_so = self.random.chance(60);
        if self.is_served() && self.random.chance(30) {
            // What it sends now may come long after it has gone elsewhere.
            let asks = self.wishes.draw();
            self.ask_all(asks);
        }
        self.part(says_so);
        match self.random.below(10) {
            // Its session is left to expire.
            0 | 1 => self.forget(),
            2 | 3 => self.away_until_ms = self.now_ms() + self.random.below(2_000),
            4 => self.speech.last_zxid = 0,
            _ => {}
        }
    }

    fn forget(&mut self) {
        self.speech.forget();
        self.watches = Watches::default();
        self.credentials.clear();
    }

    fn ask_all(&mut self, asks: Vec<Ask>) {
        for ask in asks {
            if let Ask::Auth { credentials } = &ask
                && !self.credentials.contains(credentials)
            {
                self.credentials.push(credentials.clone());
            }
            self.ask(ask);
        }
    }

    fn ask(&mut self, ask: Ask) {
        let Some(Standing { stream, number }) = &mut self.standing else { return };
        let (xid, frame) = self.speech.ask(ask.opcode(), |writer| ask.write(writer));
        let sent_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        if self.asked.is_empty() {
            self.heard_ms = sent_ms;
        }
        let (call, connection) = (self.history.calls.len(), *number);
        let sent = stream.write_all(&frame);
        self.history.calls.push(Call { began_zxid: i64::MAX, ..Call::sent(connection, ask, sent_ms, xid) });
        self.history.connections[connection].calls.push(call);
        self.asked.push_back((xid, call));
        if sent.is_err() {
            self.part(true);
        }
    }

    /// Reads what came.
    fn hear(&mut self) {
        let Some(Standing { stream, .. }) = &mut self.standing else { return };
        let mut bytes = [0; 64 << 10];
        let count = match stream.read(&mut bytes) {
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return,
            Err(error) if error.kind() == ErrorKind::Interrupted => return,
            Err(_) => 0,
        };
        if count == 0 {
            return self.part(true);
        }
        let was_connected = self.speech.is_connected();
        let replies = self.speech.hear(&bytes[..count]);
        if !was_connected && self.speech.is_connected() && !self.greeted() {
            return;
        }
        for reply in replies {
            self.note(reply);
        }
    }

    /// The first answer came. False if there is no such session any more.
    fn greeted(&mut self) -> bool {
        let now_ms = self.now_ms();
        self.heard_ms = now_ms;
        let (session, timeout_ms) = (self.speech.session.0, self.speech.timeout_ms);
        let Some(connection) = self.connection() else { return false };
        if timeout_ms <= 0 {
            connection.refused_ms = Some(now_ms);
            self.part(true);
            self.forget();
            return false;
        }
        let timeout_ms = timeout_ms as u64;
        // Which of the session's connections it is the log will say.
        connection.grant = Some(Grant { at_ms: now_ms, session, timeout_ms, generation: 0 });
        for credentials in self.credentials.clone() {
            self.ask(Ask::Auth { credentials });
        }
        if let Some(ask) = self.watches.anew(self.speech.last_zxid) {
            self.ask(ask);
        }
        true
    }

    fn note(&mut self, Reply { xid, zxid, err, body }: Reply) {
        let now_ms = self.now_ms();
        self.heard_ms = now_ms;
        let Some(Standing { number, .. }) = &self.standing else { return };
        let connection = &mut self.history.connections[*number];
        if xid == xid::NOTIFICATION {
            let event = WatcherEvent::read(&mut Reader::new(&body)).expect("an event");
            let (kind, path) = (event.event, event.path.to_owned());
            self.watches.fired(kind, &path);
            connection.deliveries.push((now_ms, Delivery::Event { zxid, kind, path }));
            return;
        }
        let Some(at) = self.asked.iter().position(|(asked, _)| *asked == xid) else {
            connection.deliveries.push((now_ms, Delivery::Stray { xid }));
            return;
        };
        let Some((_, call)) = self.asked.remove(at) else { return };
        connection.deliveries.push((now_ms, Delivery::Reply(call)));
        let call = &mut self.history.calls[call];
        call.overslept = now_ms > call.sent_ms + LATE_MS;
        call.fresh_ms = if call.overslept { call.sent_ms } else { now_ms };
        self.watches.note(&call.ask, err);
        if err == 0 {
            self.wishes.hear(&call.ask, &body);
        }
        call.answer = Some(Answer { at_ms: now_ms, zxid, err, body });
    }
}
