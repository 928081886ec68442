//! A shard: the shipped event loop and frontend over simulated connections. A turn is one step.

use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;

use base::{MonoTime, Now};
use log_broker::lone_flush::{avoid_until_us, is_lone};
use log_broker::{
    Broker, BrokerDriver, Client, DiskCommand, DiskEvent, DiskExecutor, Front, Notice, Peer, Refusal,
    Response, SegmentFault, SegmentReader, Waiter,
};
use log_metadata::{Change, KeeperEvent};
use log_partition::{FoundTime, PartitionId, SegmentRead, TimeLookup};
use log_storage::{ReadError, ReaderConfig, SegmentRange};
use net_event_loop::{Broken, EventLoop, FilePart, ReadOutcome, Readiness, SocketDriver};
use sim_kit::disk::{SimDisk, SimFile};
use storage_disk::Disk as _;
use storage_wal::Fault;

use super::compaction::Compaction;
use super::peers::PeerPort;
use crate::wire::{WireId, Wires};

/// How long a shard sleeps at the most, milliseconds.
const TICK_MS: u64 = 50;

/// What another thread tells a shard.
pub(super) enum Mail {
    Accepted(WireId),
    Answer(Waiter, Response),
    Council(KeeperEvent),
    Drain,
}

/// What all threads of a broker share.
pub(super) struct Shared {
    pub(super) broker: RefCell<Broker>,
    pub(super) disk: RefCell<Disk>,
    pub(super) compaction: RefCell<Compaction>,
    /// What the broker asks of the council.
    pub(super) changes: RefCell<Vec<Change>>,
    /// What the operator is told.
    pub(super) notices: RefCell<Vec<Notice>>,
    pub(super) mail: RefCell<Vec<Vec<Mail>>>,
    pub(super) peers: RefCell<PeerPort>,
    /// How often a shard has flushed itself.
    pub(super) alone: RefCell<u64>,
}

impl Shared {
    /// Whether the disk or compaction has something to say to the broker.
    fn has_events(&self) -> bool {
        !self.disk.borrow().events.is_empty()
            || !self.compaction.borrow().events.is_empty()
            || self.peers.borrow().has_events()
    }

    fn give_events(&self, now: Now) {
        let events = std::mem::take(&mut self.disk.borrow_mut().events);
        events.into_iter().for_each(|event| self.broker.borrow_mut().disk_event(event, now));
        let events = std::mem::take(&mut self.compaction.borrow_mut().events);
        events.into_iter().for_each(|event| self.broker.borrow_mut().compaction_event(event, now));
        self.peers.borrow_mut().hear(&mut self.broker.borrow_mut(), now);
    }
}

/// The disk's executor and its mailboxes.
pub(super) struct Disk {
    pub(super) executor: DiskExecutor<SimDisk>,
    pub(super) reader: SimDisk,
    pub(super) commands: Vec<DiskCommand>,
    pub(super) events: Vec<DiskEvent>,
    pub(super) avoid_until_us: u64,
    pub(super) fault: Option<Fault>,
    /// The disk stands still: who flushes waits.
    pub(super) is_stalled: bool,
}

/// A connection at the shard.
#[derive(Default)]
struct Socket {
    input: Vec<u8>,
    token: Option<u32>,
    news: Readiness,
    /// The client has closed it.
    ended: bool,
}

/// See the module.
pub(super) struct Shard {
    number: u16,
    connections: EventLoop<WireId>,
    front: Front<SimFile>,
    sockets: BTreeMap<WireId, Socket>,
    /// Whether a socket has news.
    has_news: bool,
    answers: Vec<(Waiter, Response)>,
    wakes_at: MonoTime,
}

impl Shard {
    pub(super) fn new(number: u16, front: Front<SimFile>) -> Self {
        Self {
            number,
            connections: EventLoop::default(),
            front,
            sockets: BTreeMap::new(),
            has_news: false,
            answers: Vec::new(),
            wakes_at: MonoTime::ZERO,
        }
    }

    pub(super) fn has(&self, id: WireId) -> bool {
        self.sockets.contains_key(&id)
    }

    /// Bytes of a client arrive.
    pub(super) fn receive(&mut self, id: WireId, bytes: &[u8]) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.input.extend_from_slice(bytes);
            socket.news.readable = true;
            self.has_news = true;
        }
    }

    /// The client has closed the connection.
    pub(super) fn end(&mut self, id: WireId) {
        if let Some(socket) = self.sockets.get_mut(&id) {
            socket.ended = true;
            (socket.news.readable, socket.news.hung_up) = (true, true);
            self.has_news = true;
        }
    }

    pub(super) fn wires(&self) -> impl Iterator<Item = WireId> {
        self.sockets.keys().copied()
    }

    /// One turn, unless the shard sleeps. Gives whether it was one.
    pub(super) fn turn(&mut self, shared: &Shared, wires: &mut Wires, now: Now) -> bool {
        let mail = std::mem::take(&mut shared.mail.borrow_mut()[usize::from(self.number)]);
        let has_events = self.number == 0 && shared.has_events();
        if mail.is_empty() && !has_events && !self.has_news && now.mono() < self.wakes_at {
            return false;
        }
        let disk = shared.disk.borrow().reader.clone();
        let mut driver = Driver {
            number: self.number,
            shared,
            wires,
            sockets: &mut self.sockets,
            answers: &mut self.answers,
            reader: Reader(log_storage::SegmentReader::new(disk, ReaderConfig::default())),
            now,
        };
        for message in mail {
            match message {
                Mail::Accepted(id) => {
                    driver.sockets.insert(id, Socket::default());
                    self.connections.accept(&mut driver, &mut self.front, id, 0, now);
                }
                Mail::Answer(waiter, response) => driver.answers.push((waiter, response)),
                Mail::Council(event) => shared.broker.borrow_mut().keeper_event(event, now),
                Mail::Drain => shared.broker.borrow_mut().drain(now),
            }
        }
        if self.number == 0 {
            shared.give_events(now);
        }
        for socket in driver.sockets.values_mut() {
            if let Some(token) = socket.token {
                self.connections.announced(token, std::mem::take(&mut socket.news));
            }
        }
        self.connections.turn(&mut driver, &mut self.front, now);
        let most = self.connections.wait_max_ms(!self.answers.is_empty()).min(TICK_MS);
        self.wakes_at = now.mono().plus_ms(most);
        // One that is not watched yet keeps its own.
        self.has_news = self.sockets.values().any(|socket| socket.news != Readiness::default());
        true
    }
}

struct Driver<'d> {
    number: u16,
    shared: &'d Shared,
    wires: &'d mut Wires,
    sockets: &'d mut BTreeMap<WireId, Socket>,
    answers: &'d mut Vec<(Waiter, Response)>,
    reader: Reader,
    now: Now,
}

struct Reader(log_storage::SegmentReader<SimDisk>);

impl SegmentReader for Reader {
    type File = SimFile;

    fn range(
        &mut self,
        id: PartitionId,
        read: &SegmentRead,
    ) -> Result<Option<SegmentRange<SimFile>>, SegmentFault> {
        self.0.range(id, read).map_err(|error| fault(&error))
    }

    fn copy(&mut self, range: &SegmentRange<SimFile>, out: &mut Vec<u8>) -> Result<(), SegmentFault> {
        self.0.copy(range, out).map_err(|error| fault(&error))
    }

    fn find_time(&mut self, id: PartitionId, lookup: &TimeLookup) -> Result<Option<FoundTime>, SegmentFault> {
        self.0.find_time(id, lookup).map_err(|error| fault(&error))
    }
}

fn fault(error: &ReadError) -> SegmentFault {
    match error {
        ReadError::Gone => SegmentFault::Gone,
        ReadError::Damaged { .. } => SegmentFault::Damaged,
        ReadError::Disk(_) => SegmentFault::Failed,
    }
}

impl Driver<'_> {
    /// What is for other brokers goes to them, and what has to be read for them is read. Gives whether there may be more.
    fn tell_peers(&mut self, now: Now) -> bool {
        let mut broker = self.shared.broker.borrow_mut();
        let messages = broker.take_peer_messages(now);
        let read = broker.next_replica_read();
        let has_more = !messages.is_empty() || read.is_some();
        self.shared.peers.borrow_mut().take(&mut broker, messages);
        if let Some(read) = read {
            let bytes = read.read(&mut self.reader);
            broker.replica_was_read(&read, bytes, now);
        }
        has_more
    }

    /// Whether commands were carried out here, so that there may be more.
    fn give_to_disk(&mut self) -> bool {
        let mut broker = self.shared.broker.borrow_mut();
        let mut commands = broker.take_disk_commands();
        if commands.is_empty() {
            return false;
        }
        let disk = &mut *self.shared.disk.borrow_mut();
        let now_us = self.now.mono().ms() * 1_000;
        let is_free = disk.commands.is_empty() && !disk.executor.is_behind() && disk.fault.is_none();
        if disk.is_stalled || !is_free || !is_lone(&commands) || now_us < disk.avoid_until_us {
            disk.commands.append(&mut commands);
            return false;
        }
        *self.shared.alone.borrow_mut() += 1;
        let mut events = Vec::new();
        if let Err(fault) = disk.executor.short_turn(&mut commands, &mut events) {
            disk.fault = Some(fault);
            return false;
        }
        let until = avoid_until_us(now_us, now_us, disk.executor.is_behind());
        disk.avoid_until_us = until.unwrap_or(disk.avoid_until_us);
        events.into_iter().for_each(|event| broker.disk_event(event, self.now));
        true
    }
}

impl BrokerDriver for Driver<'_> {
    type Guard<'g>
        = RefMut<'g, Broker>
    where
        Self: 'g;

    fn broker(&mut self) -> Self::Guard<'_> {
        self.shared.broker.borrow_mut()
    }

    fn take_answers(&mut self, into: &mut Vec<(Waiter, Response)>) {
        into.append(self.answers);
    }

    fn hand_on(&mut self, now: Now) {
        while self.tell_peers(now) || self.give_to_disk() {}
        let (mut changes, done) = {
            let mut broker = self.shared.broker.borrow_mut();
            self.shared.notices.borrow_mut().append(&mut broker.take_notices());
            self.shared.compaction.borrow_mut().commands.append(&mut broker.take_compaction_commands());
            (broker.take_changes(), broker.take_done())
        };
        self.shared.changes.borrow_mut().append(&mut changes);
        for (waiter, response) in done {
            if waiter.shard == self.number {
                self.answers.push((waiter, response));
            } else if let Some(mail) = self.shared.mail.borrow_mut().get_mut(usize::from(waiter.shard)) {
                mail.push(Mail::Answer(waiter, response));
            }
        }
    }

    fn authenticated(&mut self, _: &WireId) {}

    fn refused(&mut self, _: &Client, _: Refusal, _: &'static str) {}

    fn segments(&mut self) -> &mut impl SegmentReader<File = SimFile> {
        &mut self.reader
    }
}

impl SocketDriver for Driver<'_> {
    type Socket = WireId;
    type Peer = Peer;
    type File = SimFile;

    fn watch(&mut self, socket: &mut WireId, token: u32) -> Result<(), Broken> {
        self.sockets.get_mut(socket).ok_or(Broken)?.token = Some(token);
        Ok(())
    }

    fn prepare(&mut self, _: &mut WireId) -> Result<bool, Broken> {
        Ok(true)
    }

    fn open(&mut self, _: &mut WireId) -> Result<Option<Peer>, Broken> {
        Ok(Some(Peer { ip: [10, 0, 0, 1].into(), listener: 0, certified: None }))
    }

    fn read(&mut self, socket: &mut WireId, buffer: &mut [u8]) -> Result<ReadOutcome, Broken> {
        let socket = self.sockets.get_mut(socket).ok_or(Broken)?;
        let length = socket.input.len().min(buffer.len());
        if length == 0 {
            return Ok(if socket.ended { ReadOutcome::End } else { ReadOutcome::Nothing });
        }
        buffer[..length].copy_from_slice(&socket.input[..length]);
        socket.input.drain(..length);
        Ok(ReadOutcome::Bytes { length, drained: socket.input.is_empty() })
    }

    fn write(&mut self, socket: &mut WireId, bytes: &[u8]) -> Result<usize, Broken> {
        self.wires.answer(*socket, bytes);
        Ok(bytes.len())
    }

    fn write_with_file(
        &mut self,
        socket: &mut WireId,
        bytes: &[u8],
        part: FilePart<'_, SimFile>,
    ) -> Result<usize, Broken> {
        let mut of_file = vec![0; part.length];
        let read = self.shared.disk.borrow_mut().reader.read_at(part.file, part.from, &mut of_file);
        if read != Ok(part.length) {
            return Err(Broken);
        }
        self.wires.answer(*socket, bytes);
        self.wires.answer(*socket, &of_file);
        Ok(bytes.len() + part.length)
    }

    fn wants_write(&self, _: &WireId) -> bool {
        false
    }

    fn say_goodbye(&mut self, _: &mut WireId) {}

    fn close(&mut self, socket: WireId, _: usize) {
        self.sockets.remove(&socket);
        self.wires.close(socket);
    }
}
