//! Plays a script on one server and records all that the clients see, in an order that does not depend on timing.
//!
//! After each step every connected client sends a ping and reads until its reply: whatever events the step caused have
//! then arrived, because a server may not answer with a zxid whose events it still holds back. Nothing here sleeps.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use council_wire::OpCode;
use tools_testbed::wire::{Received, Wire, framed};

use super::encode::Body;
use super::keeper::Keeper;
use super::op::ZxidRef;
use super::page;
use super::script::{Action, Connect, Request, Script, SessionRef};

/// xid of a notification.
const NOTIFICATION: i32 = -1;
/// xid of a ping.
const PING: i32 = -2;
/// What a client says about a session that never existed.
const UNKNOWN_SESSION: i64 = 0x00de_ad00_beef_0001;

/// All that was seen while a script was played on one server.
#[derive(Clone, Debug)]
pub struct Record {
    /// The server's last zxid before the first step, and after each: what zxids are compared against.
    pub marks: Vec<i64>,
    /// Session ids in the order in which they were given out.
    pub sessions: Vec<i64>,
    /// What each step showed, in order; shorter than the script if the server stopped answering.
    pub steps: Vec<Vec<Seen>>,
}

/// Something one client saw.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The client.
    pub client: usize,
    /// What.
    pub what: What,
}

/// What a client can see.
#[derive(Clone, Debug)]
pub enum What {
    /// The reply to a request of this step, by its index.
    Reply(usize, Vec<u8>),
    /// A watch event.
    Event(Vec<u8>),
    /// The reply to the ping that ends a step.
    Barrier(Vec<u8>),
    /// The answer to a handshake.
    Handshake(Vec<u8>),
    /// The text after a four-letter word.
    Word(String),
    /// A page of the AdminServer.
    Page(String),
    /// The connection was closed.
    Gone,
    /// The connection ended within a frame.
    Broken,
    /// Nothing came before the deadline.
    Silence,
    /// The connection that a handshake was to replace: whether it was cut.
    Replaced(bool),
    /// There was no connection to act on.
    NotConnected,
}

#[derive(Debug, Default)]
struct Client {
    wire: Option<Wire>,
    session: Option<Ticket>,
}

/// What takes up a session again.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    pub(crate) session: i64,
    pub(crate) password: Vec<u8>,
}

/// Where a server listens.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// For clients.
    pub client: SocketAddr,
    /// For the AdminServer's pages.
    pub admin: SocketAddr,
}

struct Player {
    keeper: Keeper,
    address: SocketAddr,
    admin: SocketAddr,
    deadline: Duration,
    clients: Vec<Client>,
    tickets: Vec<Ticket>,
    newest: i64,
    seen: Vec<Seen>,
}

/// Plays `script` on the server at these addresses and leaves the server's tree and sessions as they were.
///
/// # Errors
/// The server cannot be reached, or cannot be put in order again: it must be started afresh.
pub fn play(script: &Script, addresses: Addresses, deadline: Duration) -> io::Result<Record> {
    let address = addresses.client;
    let mut keeper = Keeper::connect(address, deadline)?;
    let mut marks = vec![keeper.zxid()?];
    let mut player = Player {
        keeper,
        address,
        admin: addresses.admin,
        deadline,
        clients: Vec::new(),
        tickets: Vec::new(),
        newest: marks[0],
        seen: Vec::new(),
    };
    let mut steps = Vec::new();
    for step in script.blocks.iter().flat_map(|block| &block.steps) {
        player.step(step.client, &step.action);
        player.barrier();
        let seen = std::mem::take(&mut player.seen);
        marks.push(player.keeper.zxid()?);
        let hung = seen.iter().any(|seen| matches!(seen.what, What::Silence));
        steps.push(seen);
        if hung {
            break;
        }
    }
    let Player { keeper, tickets, clients, .. } = player;
    let mut sessions = vec![keeper.session()];
    sessions.extend(tickets.iter().map(|ticket| ticket.session));
    drop(clients);
    keeper.tidy(&tickets)?;
    Ok(Record { marks, sessions, steps })
}

impl Player {
    fn step(&mut self, client: usize, action: &Action) {
        if self.clients.len() <= client {
            self.clients.resize_with(client + 1, Client::default);
        }
        match action {
            Action::Connect(connect) => self.connect(client, connect),
            Action::Send(requests) => self.send(client, requests),
            Action::Reap(requests, gone) => {
                self.send(client, requests);
                if !gone.iter().all(|path| self.keeper.until_gone(path)) {
                    self.note(client, What::Silence);
                }
            }
            Action::Bytes(bytes) => self.bytes(client, bytes),
            Action::Drop => self.clients[client].wire = None,
            Action::Word(word) => self.word(client, word),
            Action::Page(name) => {
                let page = page::fetch(self.admin, name, self.deadline);
                self.note(client, page.map_or(What::Gone, What::Page));
            }
        }
    }

    #[expect(
        clippy::too_many_lines,
        reason = "one handshake with a server: what is sent, what may come back"
    )]
    fn connect(&mut self, client: usize, connect: &Connect) {
        let whose = if let SessionRef::Of(other) = connect.session { other } else { client };
        let ticket = self.clients.get(whose).and_then(|client| client.session.clone());
        let (session, password) = match (connect.session, ticket) {
            (SessionRef::Unknown, _) => (UNKNOWN_SESSION, vec![7; 16]),
            (SessionRef::Mine | SessionRef::Of(_), Some(ticket)) => (ticket.session, ticket.password),
            (SessionRef::WrongPassword, Some(ticket)) => (ticket.session, vec![0x55; 16]),
            _ => (0, vec![0; 16]),
        };
        let hello = Body::default()
            .int(connect.protocol_version)
            .long(connect.last_zxid_seen.resolve(self.newest))
            .int(connect.timeout_ms)
            .long(session)
            .buffer(Some(&password));
        let hello = connect.read_only.into_iter().fold(hello, Body::boolean).into_bytes();
        let old = if connect.session == SessionRef::New {
            None
        } else {
            self.clients.get_mut(whose).and_then(|c| c.wire.take())
        };
        let Ok(mut wire) = Wire::connect(self.address, self.deadline) else {
            return self.note(client, What::Gone);
        };
        let sent = wire.send(&framed(&hello));
        let received = if sent.is_ok() { wire.receive(self.deadline) } else { Received::Closed };
        self.clients[client].wire = None;
        if let Received::Frame(frame) = &received {
            if let Some(ticket) = ticket_in(frame) {
                if !self.tickets.iter().any(|known| known.session == ticket.session) {
                    self.tickets.push(ticket.clone());
                }
                self.clients[client].session = Some(ticket);
                self.clients[client].wire = Some(wire);
            } else {
                let end = wire.receive(self.deadline);
                self.note(client, What::Handshake(frame.clone()));
                self.note_end(client, end);
                self.see_replaced(whose, old);
                return;
            }
        }
        match received {
            Received::Frame(frame) => self.note(client, What::Handshake(frame)),
            other => self.note_end(client, other),
        }
        self.see_replaced(whose, old);
    }

    /// Whether the connection that had the session before is cut. It is gone for the script either way.
    fn see_replaced(&mut self, client: usize, old: Option<Wire>) {
        let Some(mut old) = old else { return };
        // A server that means to cut it has done so before it answered the new connection, or does so at once: a ping
        // shows it.
        let pinged =
            old.send(&framed(&Body::default().int(PING).int(OpCode::Ping.code()).into_bytes())).is_ok();
        let cut = !pinged || !matches!(old.receive(self.deadline), Received::Frame(_));
        self.note(client, What::Replaced(cut));
    }

    fn send(&mut self, client: usize, requests: &[Request]) {
        let mut bytes = Vec::new();
        for request in requests {
            let head = Body::default().int(request.xid).int(request.op.opcode());
            bytes.extend(framed(&head.raw(&request.op.body(self.newest)).into_bytes()));
        }
        let Some(mut wire) = self.clients[client].wire.take() else {
            return self.note(client, What::NotConnected);
        };
        if wire.send(&bytes).is_err() {
            return self.note(client, What::Gone);
        }
        for (index, request) in requests.iter().enumerate() {
            let Some(frame) = self.until_reply(client, &mut wire) else { return };
            self.note(client, What::Reply(index, frame));
            if request.op.closes() {
                let end = wire.receive(self.deadline);
                return self.note_end(client, end);
            }
        }
        self.clients[client].wire = Some(wire);
    }

    /// The next frame that is no event; events are noted. `None`: there is no connection any more.
    fn until_reply(&mut self, client: usize, wire: &mut Wire) -> Option<Vec<u8>> {
        loop {
            match wire.receive(self.deadline) {
                Received::Frame(frame) if int_at(&frame, 0) == Some(NOTIFICATION) => {
                    self.note(client, What::Event(frame))
                }
                Received::Frame(frame) => {
                    if let Some(zxid) = long_at(&frame, 4) {
                        self.newest = self.newest.max(zxid);
                    }
                    return Some(frame);
                }
                end => {
                    self.note_end(client, end);
                    return None;
                }
            }
        }
    }

    fn bytes(&mut self, client: usize, bytes: &[u8]) {
        let wire =
            self.clients[client].wire.take().map_or_else(|| Wire::connect(self.address, self.deadline), Ok);
        let Ok(mut wire) = wire else { return self.note(client, What::NotConnected) };
        if wire.send(bytes).is_err() {
            return self.note(client, What::Gone);
        }
        loop {
            match wire.receive(self.deadline) {
                Received::Frame(frame) => self.note(client, What::Reply(0, frame)),
                end => return self.note_end(client, end),
            }
        }
    }

    fn word(&mut self, client: usize, word: &str) {
        let Ok(mut wire) = Wire::connect(self.address, self.deadline) else {
            return self.note(client, What::Gone);
        };
        if wire.send(word.as_bytes()).is_err() {
            return self.note(client, What::Gone);
        }
        wire.half_close();
        let (bytes, end) = wire.receive_all(self.deadline);
        self.note(client, What::Word(String::from_utf8_lossy(&bytes).into_owned()));
        self.note_end(client, end);
    }

    fn barrier(&mut self) {
        let ping = framed(&Body::default().int(PING).int(OpCode::Ping.code()).into_bytes());
        for client in &mut self.clients {
            if let Some(wire) = &mut client.wire {
                // A connection that is gone shows when it is read.
                let _ = wire.send(&ping);
            }
        }
        for index in 0..self.clients.len() {
            let Some(mut wire) = self.clients[index].wire.take() else { continue };
            if let Some(frame) = self.until_reply(index, &mut wire) {
                self.note(index, What::Barrier(frame));
                self.clients[index].wire = Some(wire);
            }
        }
    }

    fn note_end(&mut self, client: usize, end: Received) {
        self.note(
            client,
            match end {
                Received::Closed => What::Gone,
                Received::Broken => What::Broken,
                Received::Silence => What::Silence,
                Received::Frame(frame) => What::Reply(usize::MAX, frame),
            },
        );
    }

    fn note(&mut self, client: usize, what: What) {
        self.seen.push(Seen { client, what });
    }
}

/// The session that an accepted handshake names.
pub(crate) fn ticket_in(response: &[u8]) -> Option<Ticket> {
    let timeout = int_at(response, 4)?;
    let session = long_at(response, 8)?;
    let password = response.get(20..36)?.to_vec();
    (timeout > 0).then_some(Ticket { session, password })
}

pub(crate) fn int_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn long_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl Connect {
    /// The handshake of a client that only resumes a session.
    pub(crate) fn plain(ticket: Option<&Ticket>) -> Vec<u8> {
        let (session, password) =
            ticket.map_or((0, vec![0; 16]), |ticket| (ticket.session, ticket.password.clone()));
        let hello = Body::default().int(0).long(ZxidRef::Zero.resolve(0)).int(40_000).long(session);
        hello.buffer(Some(&password)).boolean(false).into_bytes()
    }
}
