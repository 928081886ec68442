//! One shard of a member: its rounds, which are the shipped ones, over sockets whose other ends are simulated clients.
//! What is on its way between the shard and its core is kept here as well. A round is one step: where another thread
//! could come in between, it finds the shard's messages on their way.

use base::{MonoTime, Now};
use net_event_loop::{Broken, ConnId, FilePart, NoFile, ReadOutcome, Readiness, SocketDriver};
use std::collections::BTreeMap;
use std::net::IpAddr;

use council_frontend::{
    CloseReason, FromCore, Front, FrontEvent, Peer, ShardDriver, ShardRound, ToCore, View,
};
use council_tree::Tree;
use council_wire::SessionId;

use crate::random::Random;

/// How often, of a hundred reads or writes, a socket gives or takes only a part.
const IN_PARTS: u64 = 5;

/// A client's connection to a member, in one life of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId {
    /// To which of its shards.
    pub shard: u16,
    /// Which of all connections to this member.
    pub number: u32,
}

/// What happened at shards.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShardCounts {
    /// The most bytes that were kept for a client that reads nothing.
    pub unsent_bytes_max: usize,
    /// How many clients were cut off for that.
    pub slow_clients: u64,
    /// How many were cut off because the lease was past.
    pub past_lease: u64,
    /// How often a socket gave or took a part of what there was.
    pub in_parts: u64,
}

/// See the module.
pub(super) struct Shard {
    round: ShardRound<u32>,
    link: Link,
    /// Connections that wait to be taken in.
    accepted: Vec<(u32, IpAddr)>,
    /// The core has woken it.
    woken: bool,
    /// When it wakes by itself.
    wakes_at: MonoTime,
    /// Whether the clients are to be parted from, for this member was removed.
    parts: bool,
}

/// What lies on both sides of a shard: its sockets, by the numbers of their connections, and the mailboxes.
#[derive(Default)]
struct Link {
    number: u16,
    wires: BTreeMap<u32, Wire>,
    by_front: BTreeMap<ConnId, u32>,
    stream: Vec<FromCore>,
    /// Whether a client watches anything, as the shard has said last.
    watches: bool,
    to_core: Vec<ToCore>,
    sequences: Vec<(SocketId, i32, u64)>,
    counts: ShardCounts,
    /// What decides how much a socket gives or takes at a time; everything if there is nothing.
    chance: Option<Random>,
}

/// A connection: what its client has sent and the shard has not read, and the other way round.
struct Wire {
    ip: IpAddr,
    input: Vec<u8>,
    output: Vec<u8>,
    token: Option<u32>,
    conn: Option<ConnId>,
    /// Which of its session's connections it is.
    generation: Option<u32>,
    /// What the poll has to announce.
    news: Readiness,
    /// Its client reads nothing.
    asleep: bool,
    /// Its client has closed it.
    left: bool,
    /// The shard has said that nothing more comes.
    closed: bool,
}

/// The driver of one round.
struct Driver<'a> {
    link: &'a mut Link,
    tree: &'a Tree,
    may_answer: bool,
}

/// See [`View`].
struct Seen<'v> {
    tree: &'v Tree,
    stream: &'v mut Vec<FromCore>,
    watches: &'v mut bool,
    may_answer: bool,
}

impl Shard {
    pub(super) fn new(number: u16, front: Front) -> Self {
        let link = Link { number, ..Link::default() };
        Self {
            round: ShardRound::new(front),
            link,
            accepted: Vec::new(),
            woken: true,
            wakes_at: MonoTime::ZERO,
            parts: false,
        }
    }

    /// Sockets give and take in parts from now on, as this decides.
    pub(super) fn read_in_parts(&mut self, chance: Random) {
        self.link.chance = Some(chance);
    }

    /// A client connects from that address.
    pub(super) fn connect(&mut self, number: u32, ip: IpAddr) {
        self.accepted.push((number, ip));
        let wire = Wire {
            ip,
            input: Vec::new(),
            output: Vec::new(),
            token: None,
            conn: None,
            generation: None,
            news: Readiness::default(),
            asleep: false,
            left: false,
            closed: false,
        };
        self.link.wires.insert(number, wire);
    }

    /// A client sends.
    pub(super) fn send(&mut self, number: u32, bytes: &[u8]) {
        if let Some(wire) = self.link.wires.get_mut(&number).filter(|wire| !wire.closed && !wire.left) {
            wire.input.extend_from_slice(bytes);
            wire.news.readable = true;
        }
    }

    /// A client reads what was answered.
    pub(super) fn take(&mut self, number: u32) -> Vec<u8> {
        self.link.wires.get_mut(&number).map(|wire| std::mem::take(&mut wire.output)).unwrap_or_default()
    }

    /// A client reads nothing from now on, or reads again.
    pub(super) fn sleep(&mut self, number: u32, sleeps: bool) {
        if let Some(wire) = self.link.wires.get_mut(&number) {
            wire.asleep = sleeps;
            wire.news.writable |= !sleeps;
        }
    }

    /// A client closes its socket.
    pub(super) fn disconnect(&mut self, number: u32) {
        if let Some(wire) = self.link.wires.get_mut(&number) {
            wire.left = true;
            (wire.news.readable, wire.news.hung_up) = (true, true);
            self.link.forget_if_over(number);
        }
    }

    pub(super) fn is_closed(&self, number: u32) -> bool {
        self.link.wires.get(&number).is_none_or(|wire| wire.closed)
    }

    pub(super) fn generation(&self, number: u32) -> Option<u32> {
        self.link.wires.get(&number)?.generation
    }

    /// The core's stream to this shard goes on, which may wake it.
    pub(super) fn hear(&mut self, items: &mut Vec<FromCore>) {
        if !items.is_empty() {
            self.woken |= FromCore::wake_for(items, self.link.watches, self.link.stream.len());
            self.link.stream.append(items);
        }
    }

    /// What this shard has sent to the core.
    pub(super) fn take_messages(&mut self) -> Vec<ToCore> {
        std::mem::take(&mut self.link.to_core)
    }

    pub(super) fn take_sequences(&mut self) -> Vec<(SocketId, i32, u64)> {
        std::mem::take(&mut self.link.sequences)
    }

    pub(super) fn take_counts(&mut self) -> ShardCounts {
        std::mem::take(&mut self.link.counts)
    }

    /// The member was removed.
    pub(super) const fn part(&mut self) {
        self.parts = true;
    }

    /// Whether nothing is left to do before time passes or a message comes.
    pub(super) fn is_quiet(&self) -> bool {
        self.link.to_core.is_empty() && self.sleeps()
    }

    /// Whether it sleeps on, as far as only time can pass.
    fn sleeps(&self) -> bool {
        let has_news = |wire: &Wire| wire.token.is_some() && wire.news != Readiness::default();
        self.accepted.is_empty()
            && !self.woken
            && !self.parts
            && !self.link.wires.values().any(has_news)
            && self.round.wait_max_ms() > 0
    }

    /// One round, with what there is, unless the shard sleeps.
    pub(super) fn round(&mut self, tree: &Tree, may_answer: bool, now: Now) {
        if self.sleeps() && now.mono() < self.wakes_at {
            return;
        }
        self.woken = false;
        if std::mem::take(&mut self.parts) {
            self.round.begin_shutdown(false, now);
        }
        let mut driver = Driver { link: &mut self.link, tree, may_answer };
        for (number, _) in self.accepted.drain(..) {
            self.round.accept(&mut driver, number, 0, now);
        }
        for wire in driver.link.wires.values_mut() {
            if let Some(token) = wire.token {
                self.round.announced(token, std::mem::take(&mut wire.news));
            }
        }
        self.round.turn(&mut driver, now);
        self.wakes_at = now.mono().plus_ms(self.round.wait_max_ms());
        let asleep = self.link.wires.values().filter(|wire| wire.asleep);
        let unsent = asleep.filter_map(|wire| Some(self.round.front().unsent(wire.conn?)));
        unsent.for_each(|bytes| self.link.counts.keeps(bytes));
    }
}

impl ShardCounts {
    fn keeps(&mut self, unsent_bytes: usize) {
        self.unsent_bytes_max = self.unsent_bytes_max.max(unsent_bytes);
    }

    /// These and those of another shard.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.keeps(other.unsent_bytes_max);
        self.slow_clients += other.slow_clients;
        self.past_lease += other.past_lease;
        self.in_parts += other.in_parts;
        self
    }
}

impl Link {
    /// Where both sides have closed, nobody asks for anything any more.
    fn forget_if_over(&mut self, number: u32) {
        let is_over = |wire: &Wire| wire.left && wire.closed && wire.token.is_none();
        if self.wires.get(&number).is_some_and(is_over) {
            self.wires.remove(&number);
        }
    }

    /// How much of so much is given or taken now.
    fn part_of(&mut self, whole: usize, least: usize) -> usize {
        let Some(chance) = &mut self.chance else { return whole };
        if whole <= least || !chance.chance(IN_PARTS) {
            return whole;
        }
        self.counts.in_parts += 1;
        least + chance.below((whole - least) as u64) as usize
    }
}

impl SocketDriver for Driver<'_> {
    type Socket = u32;
    type Peer = Peer;
    type File = NoFile;

    fn watch(&mut self, socket: &mut u32, token: u32) -> Result<(), Broken> {
        let wire = self.link.wires.get_mut(socket).ok_or(Broken)?;
        wire.token = Some(token);
        Ok(())
    }

    fn prepare(&mut self, _: &mut u32) -> Result<bool, Broken> {
        Ok(true)
    }

    fn open(&mut self, socket: &mut u32) -> Result<Option<Peer>, Broken> {
        let wire = self.link.wires.get(socket).ok_or(Broken)?;
        Ok(Some(Peer { ip: wire.ip, port: 40_000, secure: false, certificate_subject: None }))
    }

    fn read(&mut self, socket: &mut u32, buffer: &mut [u8]) -> Result<ReadOutcome, Broken> {
        let there = self.link.wires.get(socket).map_or(0, |wire| wire.input.len()).min(buffer.len());
        let length = self.link.part_of(there, 1);
        let wire = self.link.wires.get_mut(socket).ok_or(Broken)?;
        if length == 0 {
            return Ok(if wire.left { ReadOutcome::End } else { ReadOutcome::Nothing });
        }
        buffer[..length].copy_from_slice(&wire.input[..length]);
        wire.input.drain(..length);
        Ok(ReadOutcome::Bytes { length, drained: wire.input.is_empty() })
    }

    fn write(&mut self, socket: &mut u32, bytes: &[u8]) -> Result<usize, Broken> {
        let taken = self.link.part_of(bytes.len(), 0);
        let wire = self.link.wires.get_mut(socket).ok_or(Broken)?;
        if wire.asleep && !wire.left {
            return Ok(0);
        }
        wire.output.extend_from_slice(&bytes[..taken]);
        // What was not taken finds room before the next round.
        wire.news.writable |= taken < bytes.len();
        Ok(taken)
    }

    fn write_with_file(
        &mut self,
        _: &mut u32,
        _: &[u8],
        part: FilePart<'_, NoFile>,
    ) -> Result<usize, Broken> {
        match *part.file {}
    }

    fn wants_write(&self, _: &u32) -> bool {
        false
    }

    fn say_goodbye(&mut self, socket: &mut u32) {
        if let Some(wire) = self.link.wires.get_mut(socket) {
            wire.closed = true;
        }
    }

    fn close(&mut self, socket: u32, unsent_bytes: usize) {
        let Some(wire) = self.link.wires.get_mut(&socket) else { return };
        if wire.asleep {
            self.link.counts.keeps(unsent_bytes);
        }
        (wire.closed, wire.token, wire.asleep) = (true, None, false);
        wire.input.clear();
        wire.conn = None;
        self.link.forget_if_over(socket);
    }
}

impl View for Seen<'_> {
    fn tree(&self) -> &Tree {
        self.tree
    }

    fn take_stream(&mut self, into: &mut Vec<FromCore>) {
        std::mem::swap(self.stream, into);
    }

    fn set_watches(&mut self, any: bool) {
        *self.watches = any;
    }

    fn may_answer(&self) -> bool {
        self.may_answer
    }
}

impl ShardDriver for Driver<'_> {
    type View<'v>
        = Seen<'v>
    where
        Self: 'v;

    fn has_stream(&self) -> bool {
        !self.link.stream.is_empty()
    }

    fn view(&mut self) -> Seen<'_> {
        let Link { stream, watches, .. } = &mut *self.link;
        Seen { tree: self.tree, stream, watches, may_answer: self.may_answer }
    }

    fn send(&mut self, messages: &mut Vec<ToCore>, _: Now) {
        for message in messages.drain(..) {
            if let ToCore::Command { conn, xid, sequence, .. } = &message
                && let Some(number) = self.link.by_front.get(conn)
            {
                let socket = SocketId { shard: self.link.number, number: *number };
                self.link.sequences.push((socket, *xid, *sequence));
            }
            self.link.to_core.push(message);
        }
    }

    fn delivered(&mut self, _: &[FromCore]) {}

    fn connected(&mut self, conn: ConnId, _: SessionId, generation: u32, socket: &u32) {
        if let Some(wire) = self.link.wires.get_mut(socket) {
            (wire.conn, wire.generation) = (Some(conn), Some(generation));
            self.link.by_front.insert(conn, *socket);
        }
    }

    fn word(&mut self, _: ConnId, _: [u8; 4], _: Option<i64>) -> Option<Vec<u8>> {
        None
    }

    fn note(&mut self, event: &FrontEvent, _: Option<&u32>) {
        let FrontEvent::Close { reason, .. } = event else { return };
        let counts = &mut self.link.counts;
        counts.slow_clients += u64::from(*reason == CloseReason::SlowClient);
        counts.past_lease += u64::from(*reason == CloseReason::NotServing && !self.may_answer);
    }
}
