//! Fronts, a toy core and named clients around them, joined without sockets.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test uses its part of the support")]

pub mod core;
pub mod rounds;
pub mod wire;

use base::{Now, WallTime};
use net_event_loop::ConnId;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use council_frontend::{FromCore, Front, FrontConfig, FrontEvent, Peer, ToCore};
use council_wire::{ConnectRequest, OpCode, SessionId};

use self::core::{Stream, ToyCore};

/// One client's side of a connection.
#[derive(Debug, Default)]
pub struct Client {
    pub shard: usize,
    pub conn: Option<ConnId>,
    /// Bytes that the front has not consumed.
    kept: Vec<u8>,
    /// Bytes from the front that are no whole frame yet.
    received: Vec<u8>,
    handshaken: bool,
    /// Whether it has been paused once: every connection is, while the core opens its session.
    paused: bool,
    /// Whether it does not read its replies.
    pub stalled: bool,
    asked: BTreeMap<i32, VecDeque<OpCode>>,
    pub session: SessionId,
    pub password: [u8; 16],
    next_xid: i32,
}

/// A server without sockets.
pub struct House {
    pub fronts: Vec<Front>,
    pub core: ToyCore,
    pub clients: BTreeMap<String, Client>,
    pub now: Now,
    /// What has happened since it was last looked at.
    pub log: String,
}

impl House {
    pub fn new(config: &FrontConfig, shards: usize) -> Self {
        Self {
            fronts: (0..shards).map(|shard| Front::new(config.clone(), shard as u16)).collect(),
            core: ToyCore::new(shards),
            clients: BTreeMap::new(),
            now: Now { mono_us: 1_000_000, wall: WallTime::of_ms(1_700_000_000_000) },
            log: String::new(),
        }
    }

    pub fn take_log(&mut self) -> String {
        std::mem::take(&mut self.log)
    }

    /// Connects a socket.
    pub fn open(&mut self, name: &str, shard: usize, peer: Peer) -> ConnId {
        let conn = self.fronts[shard].accept(peer, self.now);
        let old = self.clients.remove(name).unwrap_or_default();
        let client = Client {
            shard,
            conn: Some(conn),
            session: old.session,
            password: old.password,
            ..Client::default()
        };
        self.clients.insert(name.to_owned(), client);
        self.pump();
        conn
    }

    /// Opens a socket and a new session on it.
    pub fn connect(&mut self, name: &str) {
        self.open(name, 0, peer());
        let request = ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: 0,
            timeout_ms: 10_000,
            session_id: 0,
            password: Some(&[0; 16]),
            read_only: Some(false),
        };
        self.send(name, &wire::connect(&request));
    }

    /// Sends bytes.
    pub fn send(&mut self, name: &str, bytes: &[u8]) {
        let client = self.clients.get_mut(name).expect("a client of that name");
        client.kept.extend_from_slice(bytes);
        self.feed(name);
        self.pump();
    }

    /// Sends a request under the next xid.
    pub fn ask(&mut self, name: &str, opcode: OpCode, body: &[u8]) {
        let client = self.clients.get_mut(name).expect("a client of that name");
        let xid = match opcode {
            OpCode::Ping => -2,
            OpCode::Auth => -4,
            OpCode::SetWatches | OpCode::SetWatches2 => -8,
            _ => {
                client.next_xid += 1;
                client.next_xid
            }
        };
        client.asked.entry(xid).or_default().push_back(opcode);
        self.send(name, &wire::request(xid, opcode.code(), body));
    }

    fn feed(&mut self, name: &str) {
        let client = self.clients.get_mut(name).expect("a client of that name");
        let Some(conn) = client.conn else { return };
        let consumed = self.fronts[client.shard].receive(conn, &client.kept, &self.core.tree, self.now);
        assert!(consumed <= client.kept.len());
        client.kept.drain(..consumed);
    }

    /// Lets everything happen that can.
    pub fn pump(&mut self) {
        loop {
            self.collect();
            let mut moved = false;
            if !self.core.held
                && let Some(stream) = self.core.step()
            {
                self.deliver(stream);
                moved = true;
            }
            moved |= self.go_on();
            moved |= self.flush();
            moved |= self.events();
            if !moved && (self.core.held || self.core.queue.is_empty()) {
                return;
            }
        }
    }

    /// Lets a held core look at so many messages, and hold again.
    pub fn release(&mut self, count: usize) {
        self.core.held = true;
        for _ in 0..count {
            if let Some(stream) = self.core.step() {
                self.deliver(stream);
            }
        }
        self.pump();
    }

    fn collect(&mut self) {
        for (shard, front) in self.fronts.iter_mut().enumerate() {
            for message in front.to_core().drain(..) {
                self.core.queue.push_back((shard, message));
            }
        }
    }

    pub fn deliver(&mut self, stream: Stream) {
        for (shard, item) in stream {
            let shards = shard.map_or(0..self.fronts.len(), |shard| shard..shard + 1);
            for shard in shards {
                self.fronts[shard].deliver(&item, &self.core.tree, self.now);
            }
        }
    }

    pub fn deliver_to_all(&mut self, item: FromCore) {
        self.deliver(vec![(None, item)]);
        self.pump();
    }

    /// Gives a turn to requests that take more than one.
    fn go_on(&mut self) -> bool {
        let mut moved = false;
        for front in &mut self.fronts {
            moved |= front.has_long();
            front.go_on(&self.core.tree, self.now);
        }
        moved
    }

    fn flush(&mut self) -> bool {
        for front in &mut self.fronts {
            front.dirty().for_each(drop);
        }
        let names: Vec<_> = self.clients.keys().cloned().collect();
        let mut moved = false;
        for name in names {
            let client = self.clients.get_mut(&name).expect("a client of that name");
            let Some(conn) = client.conn.filter(|_| !client.stalled) else { continue };
            let front = &mut self.fronts[client.shard];
            let bytes = front.output(conn).to_vec();
            front.sent(conn, bytes.len());
            moved |= !bytes.is_empty();
            client.received.extend_from_slice(&bytes);
            self.read(&name);
        }
        moved
    }

    fn read(&mut self, name: &str) {
        let client = self.clients.get_mut(name).expect("a client of that name");
        while let Some((length, rest)) = client.received.split_first_chunk::<4>() {
            let Some(frame) = rest.get(..u32::from_be_bytes(*length) as usize).map(<[u8]>::to_vec) else {
                break;
            };
            client.received.drain(..4 + frame.len());
            let text = if frame == b"word!" {
                String::from("word!")
            } else if client.handshaken {
                wire::describe(&frame, |xid| client.asked.get_mut(&xid)?.pop_front())
            } else {
                client.handshaken = true;
                let (text, response) = wire::describe_connect(&frame);
                client.session = SessionId(response.session_id);
                client.password =
                    response.password.and_then(|password| password.try_into().ok()).unwrap_or_default();
                text
            };
            writeln!(self.log, "{name} <- {text}").unwrap();
        }
    }

    #[expect(clippy::too_many_lines, reason = "one story, told in order")]
    fn events(&mut self) -> bool {
        let mut events = Vec::new();
        for (shard, front) in self.fronts.iter_mut().enumerate() {
            events.extend(front.events().map(|event| (shard, event)));
        }
        let moved = !events.is_empty();
        for (shard, event) in events {
            match event {
                FrontEvent::Close { conn, reason, after_output } => {
                    self.closed(shard, conn, reason.name(), after_output)
                }
                FrontEvent::ResumeReading(conn) => {
                    if let Some(name) = self.name_of(shard, conn) {
                        self.feed(&name);
                    }
                }
                FrontEvent::PauseReading(conn) => {
                    let Some(name) = self.name_of(shard, conn) else { continue };
                    let client = self.clients.get_mut(&name).expect("a client of that name");
                    if std::mem::replace(&mut client.paused, true) {
                        writeln!(self.log, "{name} paused").unwrap();
                    }
                }
                FrontEvent::Word { conn, word, .. } => {
                    let name = self.name_of(shard, conn).unwrap_or_default();
                    writeln!(self.log, "{name} asks {}", String::from_utf8_lossy(&word)).unwrap();
                    self.fronts[shard].word_reply(conn, b"\0\0\0\x05word!", true);
                }
                FrontEvent::Audit(record) => {
                    let (user, operation) = (&record.user, record.operation);
                    let znode = record.znode.as_deref().unwrap_or("-");
                    let kind = record.znode_type.or(record.acl.as_deref()).unwrap_or("-");
                    let result = if record.success { "success" } else { "failure" };
                    writeln!(self.log, "audit user={user} {operation} {znode} {kind} {result}").unwrap();
                }
                FrontEvent::WriteTooCostly { session, ip, excess } => {
                    writeln!(self.log, "write of {session} at {ip} refused: {excess}").unwrap();
                }
                // The reply and the end of the connection say the rest.
                FrontEvent::AuthFailed { conn, scheme } => {
                    let name = self.name_of(shard, conn).unwrap_or_default();
                    let scheme = scheme.as_deref().unwrap_or("-");
                    writeln!(self.log, "{name} not authenticated by {scheme}").unwrap();
                }
                FrontEvent::SuperRefused { ip, wait_ms } => {
                    let why = wait_ms.map_or(String::from("wrong"), |ms| format!("unheard for {ms} ms"));
                    writeln!(self.log, "super user's password from {ip}: {why}").unwrap();
                }
                FrontEvent::HistoryTooShort { session, seen, since } => {
                    writeln!(self.log, "history too short for {session}: seen {}, since {}", seen.0, since.0)
                        .unwrap();
                }
            }
        }
        moved
    }

    fn closed(&mut self, shard: usize, conn: ConnId, reason: &str, after_output: bool) {
        let name = self.name_of(shard, conn).unwrap_or_default();
        if !after_output && !self.fronts[shard].output(conn).is_empty() {
            writeln!(self.log, "{name} output dropped").unwrap();
        }
        self.fronts[shard].disconnected(conn);
        writeln!(self.log, "{name} closed: {reason}").unwrap();
        if let Some(client) = self.clients.get_mut(&name) {
            client.conn = None;
        }
    }

    /// The client's socket breaks.
    pub fn disconnect(&mut self, name: &str) {
        let client = self.clients.get_mut(name).expect("a client of that name");
        if let Some(conn) = client.conn.take() {
            self.fronts[client.shard].disconnected(conn);
        }
        self.pump();
    }

    fn name_of(&self, shard: usize, conn: ConnId) -> Option<String> {
        let mut clients = self.clients.iter();
        clients
            .find(|(_, client)| client.shard == shard && client.conn == Some(conn))
            .map(|(name, _)| name.clone())
    }

    /// Messages for the core that it has not looked at, in words.
    pub fn waiting(&self) -> String {
        let word = |(_, message): &(usize, ToCore)| match message {
            ToCore::Connect { session, timeout_ms, .. } => format!("connect {session} {timeout_ms}"),
            ToCore::Command { sequence, .. } => format!("command {sequence}"),
            ToCore::Read { opcode, after, .. } => format!("{} after {after}", opcode.name()),
            ToCore::Touched { round, .. } => format!("touched {round}"),
            ToCore::Disconnected { session, generation, .. } => {
                format!("disconnected {session} {generation}")
            }
        };
        self.core.queue.iter().map(word).collect::<Vec<_>>().join(", ")
    }
}

/// A client on this machine.
pub fn peer() -> Peer {
    Peer { ip: [127, 0, 0, 1].into(), port: 40_000, secure: false, certificate_subject: None }
}
