//! A shard's thread: `server`'s round over a front, without sockets. What it refuses to know: what anything costs, and when
//! it is over.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use front::{FromCore, Front, FrontEvent, Peer, ToCore};
use jute::{FRAME_HEADER, Frame, next_frame};
use tree::Tree;

use super::count::{Came, Count, of};
use super::member::{Told, Turn};
use super::request::Heard;

/// Bytes read in a round, and of one socket: `server`'s.
const ARENA_BYTES: usize = 512 << 10;
const READ_BYTES_MAX: usize = 64 << 10;
/// How often a front's deadlines are looked at.
const TICK_MS: u64 = 250;

/// One connection, by the place of its front's slot.
#[derive(Debug)]
struct Socket {
    conn: front::ConnId,
    client: usize,
    /// What came and was not understood yet, and how much of it was not even read.
    input: Vec<u8>,
    unread: usize,
    paused: bool,
    queued: bool,
    greeted: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Shard {
    number: u16,
    front: Front,
    sockets: Vec<Socket>,
    ready: VecDeque<usize>,
    stream: Vec<FromCore>,
    ticked_ms: u64,
    /// Clients whose connection was closed.
    pub(super) cut_off: usize,
}

impl Shard {
    pub(super) const fn new(front: Front, number: u16) -> Self {
        Self {
            number,
            front,
            sockets: Vec::new(),
            ready: VecDeque::new(),
            stream: Vec::new(),
            ticked_ms: 0,
            cut_off: 0,
        }
    }

    /// A client's connection; gives its place.
    pub(super) fn connect(&mut self, client: usize, now: front::Now) -> usize {
        let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let peer = Peer { ip, port: 40_000, secure: false, certificate_subject: None };
        let conn = self.front.accept(peer, now);
        assert_eq!(conn.slot as usize, self.sockets.len(), "no connection ever ends");
        self.sockets.push(Socket {
            conn,
            client,
            input: Vec::new(),
            unread: 0,
            paused: false,
            queued: false,
            greeted: false,
        });
        self.sockets.len() - 1
    }

    /// Bytes of a client have arrived.
    pub(super) fn arrive<'a>(&mut self, socket: usize, requests: impl Iterator<Item = &'a [u8]>) {
        let place = socket;
        let socket = &mut self.sockets[place];
        for bytes in requests {
            socket.input.extend_from_slice(bytes);
            socket.unread += bytes.len();
        }
        self.enqueue(place);
    }

    /// The core says something.
    pub(super) fn tell(&mut self, items: Vec<FromCore>) {
        self.stream.extend(items);
    }

    pub(super) fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.stream.is_empty() || self.front.has_long()
    }

    /// One round.
    pub(super) fn turn(&mut self, came: Came, tree: &Tree, now: front::Now) -> Turn {
        let mut turn = Turn::begin(came);
        for item in std::mem::take(&mut self.stream) {
            match &item {
                FromCore::Changes(_) => turn.count.add(of::shard::CHANGE, 1),
                FromCore::ReadDone { .. } => turn.count.add(of::shard::WAITED, 1),
                _ => {}
            }
            self.front.deliver(&item, tree, now);
        }
        self.gather(&mut turn.count, tree, now);
        self.front.go_on(tree, now);
        self.pass_on(&mut turn);
        self.write_all(&mut turn);
        self.obey(&mut turn);
        self.front.sweep();
        if now.mono_ms() >= self.ticked_ms + TICK_MS {
            self.ticked_ms = now.mono_ms();
            self.front.tick(now);
            self.obey(&mut turn);
        }
        turn
    }

    fn enqueue(&mut self, place: usize) {
        let socket = &mut self.sockets[place];
        if !socket.queued && !socket.paused {
            socket.queued = true;
            self.ready.push_back(place);
        }
    }

    /// Reads once from each socket that was ready when the round began, as far as the arena reaches.
    fn gather(&mut self, count: &mut Count, tree: &Tree, now: front::Now) {
        let mut used = 0;
        for _ in 0..self.ready.len() {
            if ARENA_BYTES - used < READ_BYTES_MAX {
                break;
            }
            let Some(place) = self.ready.pop_front() else { break };
            used += self.read_one(place, count, tree, now);
        }
    }

    fn read_one(&mut self, place: usize, count: &mut Count, tree: &Tree, now: front::Now) -> usize {
        let socket = &mut self.sockets[place];
        socket.queued = false;
        if socket.paused {
            return 0;
        }
        let read = socket.unread.min(READ_BYTES_MAX);
        socket.unread -= read;
        count.add(of::shard::SOCKET, usize::from(read > 0));
        count.add_bytes(of::shard::KIB, read);
        let known = socket.input.len() - socket.unread;
        let commands_before = self.front.to_core().len();
        let consumed = self.front.receive(socket.conn, &socket.input[..known], tree, now);
        let frames = frames(&socket.input[..consumed]);
        let commands = self.front.to_core()[commands_before..].iter().filter(|message| is_write(message));
        let commands = commands.count();
        count.add(of::shard::WRITE, commands);
        count.add(of::shard::READ, frames.saturating_sub(commands));
        socket.input.drain(..consumed);
        if socket.unread > 0 {
            self.enqueue(place);
        }
        read
    }

    /// Writes to each connection that has something to say.
    fn write_all(&mut self, turn: &mut Turn) {
        for conn in self.front.dirty().collect::<Vec<_>>() {
            while self.front.unsent(conn) > 0 {
                let bytes = self.front.output(conn);
                let length = bytes.len();
                let socket = &mut self.sockets[conn.slot as usize];
                let heard = Heard::of(bytes, !std::mem::replace(&mut socket.greeted, true));
                let client = socket.client;
                self.front.sent(conn, length);
                turn.count.add(of::shard::SOCKET, 1);
                turn.count.add_bytes(of::shard::KIB, length);
                turn.count.add(of::shard::EVENT, heard.events);
                turn.tell(Told::Client { client, heard });
            }
        }
    }

    fn obey(&mut self, turn: &mut Turn) {
        loop {
            let events: Vec<_> = self.front.events().collect();
            if events.is_empty() {
                break;
            }
            for event in events {
                self.obey_one(event);
            }
            self.write_all(turn);
        }
        self.pass_on(turn);
    }

    fn pass_on(&mut self, turn: &mut Turn) {
        let shard = self.number;
        let messages: Vec<ToCore> = self.front.to_core().drain(..).collect();
        turn.tell_unless_empty(messages, |messages| Told::Core { shard, messages });
    }

    fn obey_one(&mut self, event: FrontEvent) {
        match event {
            FrontEvent::PauseReading(conn) => self.sockets[conn.slot as usize].paused = true,
            FrontEvent::ResumeReading(conn) => {
                let place = conn.slot as usize;
                self.sockets[place].paused = false;
                if !self.sockets[place].input.is_empty() {
                    self.enqueue(place);
                }
            }
            FrontEvent::Close { conn, .. } => {
                // A member that cannot keep up serves nobody: what this client still waits for is never answered.
                self.front.disconnected(conn);
                self.cut_off += 1;
            }
            other => panic!("nothing of a load leads to {other:?}"),
        }
    }
}

fn is_write(message: &ToCore) -> bool {
    matches!(message, ToCore::Command { .. } | ToCore::Connect { .. })
}

fn frames(mut bytes: &[u8]) -> usize {
    let mut frames = 0;
    while let Frame::Whole(frame) = next_frame(bytes, usize::MAX) {
        bytes = &bytes[FRAME_HEADER + frame.len()..];
        frames += 1;
    }
    frames
}
