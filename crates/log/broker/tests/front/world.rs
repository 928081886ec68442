//! A thread's connections over pipes in memory: what clients send, what they take, and time, are what the test says.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use base::{MonoTime, Now};
use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestHeader};
use kafka_protocol::protocol::{Decodable, Encodable, Request, StrBytes};
use log_access::Principal;
use log_broker::{
    Broker, BrokerConfig, BrokerDriver, Client, DiskCommand, DiskEvent, Front, Peer, Refusal, Response,
    SegmentFault, SegmentReader, StoredPartition, Waiter,
};
use log_metadata::{Decision, Ended, Found, KeeperEvent, TopicNode, paths};
use log_partition::{FoundTime, PartitionId, SegmentRead, TimeLookup};
use log_storage::SegmentRange;
use net_event_loop::{Broken, EventLoop, FilePart, ReadOutcome, Readiness, SocketDriver};
use storage_wal::LogId;

pub(crate) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// What lies between a client and the broker.
#[derive(Debug, Default)]
struct Pipe {
    to_broker: VecDeque<u8>,
    from_broker: Vec<u8>,
    /// How many bytes the client still takes.
    room: usize,
    token: Option<u32>,
    is_closed: bool,
}

/// A socket: the number of its client.
pub(crate) struct Socket(usize);

/// See the module.
pub(crate) struct Pipes {
    pub(crate) broker: Broker,
    pipes: BTreeMap<usize, Pipe>,
    peers: BTreeMap<usize, Peer>,
    answers: Vec<(Waiter, Response)>,
    pub(crate) refused: Vec<Refusal>,
    /// What the council holds.
    pub(crate) nodes: BTreeMap<String, Vec<u8>>,
    /// Clients that have proved who they are.
    pub(crate) authenticated: Vec<usize>,
    given: u64,
    next_log: u64,
    pub(crate) segments: Segments,
}

/// What the disk holds of every partition: one segment of batches with a record each, all of that length. Nothing is found if there is
/// none.
#[derive(Default)]
pub(crate) struct Segments {
    pub(crate) bytes: Rc<Vec<u8>>,
    pub(crate) batch_bytes: usize,
}

/// Such a segment.
type File = Rc<Vec<u8>>;

impl SegmentReader for Segments {
    type File = File;

    fn range(
        &mut self,
        _: PartitionId,
        read: &SegmentRead,
    ) -> Result<Option<SegmentRange<File>>, SegmentFault> {
        let length = self.batch_bytes as u64;
        let position = read.from.0 as u64 * length;
        let is_there = length > 0 && position + length <= self.bytes.len() as u64;
        let range = SegmentRange { file: Rc::clone(&self.bytes), position, length };
        if is_there { Ok(Some(range)) } else { Err(SegmentFault::Gone) }
    }

    fn copy(&mut self, range: &SegmentRange<File>, out: &mut Vec<u8>) -> Result<(), SegmentFault> {
        let from = range.position as usize;
        out.extend_from_slice(&range.file[from..from + range.length as usize]);
        Ok(())
    }

    fn find_time(&mut self, _: PartitionId, lookup: &TimeLookup) -> Result<Option<FoundTime>, SegmentFault> {
        Ok(lookup.find_in_memory())
    }
}

impl Pipes {
    /// The council does what it is asked for, at once.
    fn do_changes(&mut self, now: Now) -> bool {
        let changes = self.broker.take_changes();
        let any = !changes.is_empty();
        for mut change in changes {
            let data = self.nodes.get(&change.path).map(Vec::as_slice);
            let ended = match (change.compute)(Found { data, may_be_done: false }) {
                Decision::Write(data) => {
                    self.write(&change.path, Some(data.clone()), now);
                    Ended::Done(Some(data))
                }
                Decision::Delete => {
                    self.write(&change.path, None, now);
                    Ended::Done(None)
                }
                Decision::Keep => Ended::Done(self.nodes.get(&change.path).cloned()),
                Decision::Refuse(error, why) => Ended::Refused(error, why),
            };
            self.broker.keeper_event(KeeperEvent::Ended { ticket: change.ticket, ended }, now);
        }
        any
    }

    /// A node has this data from now on, or is gone.
    pub(crate) fn write(&mut self, path: &str, data: Option<Vec<u8>>, now: Now) {
        match data.clone() {
            Some(data) => drop(self.nodes.insert(path.into(), data)),
            None => drop(self.nodes.remove(path)),
        }
        self.broker.keeper_event(KeeperEvent::Node { path: path.into(), data }, now);
    }
}

impl BrokerDriver for Pipes {
    type Guard<'g> = &'g mut Broker;

    fn broker(&mut self) -> &mut Broker {
        &mut self.broker
    }

    fn take_answers(&mut self, into: &mut Vec<(Waiter, Response)>) {
        into.append(&mut self.answers);
    }

    fn hand_on(&mut self, now: Now) {
        loop {
            let has_changed = self.do_changes(now);
            let commands = self.broker.take_disk_commands();
            if commands.is_empty() && !has_changed {
                break;
            }
            self.given += commands.len() as u64;
            for command in commands {
                if let DiskCommand::Create(id, _) = command {
                    self.next_log += 1;
                    self.broker.disk_event(DiskEvent::Created(id, LogId(self.next_log)), now);
                }
            }
            self.broker.disk_event(DiskEvent::Durable(self.given), now);
        }
        self.answers.append(&mut self.broker.take_done());
    }

    fn authenticated(&mut self, socket: &Socket) {
        self.authenticated.push(socket.0);
    }

    fn refused(&mut self, _: &Client, refusal: Refusal, _: &'static str) {
        self.refused.push(refusal);
    }

    fn segments(&mut self) -> &mut impl SegmentReader<File = File> {
        &mut self.segments
    }
}

impl SocketDriver for Pipes {
    type Socket = Socket;
    type Peer = Peer;
    type File = File;

    fn watch(&mut self, socket: &mut Socket, token: u32) -> Result<(), Broken> {
        self.pipes.get_mut(&socket.0).expect("there is a pipe").token = Some(token);
        Ok(())
    }

    fn prepare(&mut self, _: &mut Socket) -> Result<bool, Broken> {
        Ok(true)
    }

    fn open(&mut self, socket: &mut Socket) -> Result<Option<Peer>, Broken> {
        Ok(self.peers.get(&socket.0).cloned())
    }

    fn read(&mut self, socket: &mut Socket, buffer: &mut [u8]) -> Result<ReadOutcome, Broken> {
        let pipe = self.pipes.get_mut(&socket.0).expect("there is a pipe");
        let length = buffer.len().min(pipe.to_broker.len());
        if length == 0 {
            return Ok(ReadOutcome::Nothing);
        }
        for (place, byte) in buffer.iter_mut().zip(pipe.to_broker.drain(..length)) {
            *place = byte;
        }
        Ok(ReadOutcome::Bytes { length, drained: pipe.to_broker.is_empty() })
    }

    fn write(&mut self, socket: &mut Socket, bytes: &[u8]) -> Result<usize, Broken> {
        let pipe = self.pipes.get_mut(&socket.0).expect("there is a pipe");
        let taken = bytes.len().min(pipe.room);
        pipe.room -= taken;
        pipe.from_broker.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn write_with_file(
        &mut self,
        socket: &mut Socket,
        bytes: &[u8],
        part: FilePart<'_, File>,
    ) -> Result<usize, Broken> {
        let from = part.from as usize;
        SocketDriver::write(self, socket, &[bytes, &part.file[from..from + part.length]].concat())
    }

    fn wants_write(&self, _: &Socket) -> bool {
        false
    }

    fn say_goodbye(&mut self, _: &mut Socket) {}

    fn close(&mut self, socket: Socket, _: usize) {
        self.pipes.get_mut(&socket.0).expect("there is a pipe").is_closed = true;
    }
}

/// A thread with its connections.
pub(crate) struct World {
    pub(crate) pipes: Pipes,
    pub(crate) front: Front<File>,
    event_loop: EventLoop<Socket>,
    pub(crate) now_ms: u64,
    next_client: usize,
}

impl World {
    pub(crate) fn new(config: BrokerConfig) -> Self {
        Self::with(config, Vec::new(), &[])
    }

    /// The same, with what is on the disk, and its topics; of segments nothing is found there.
    pub(crate) fn with(
        config: BrokerConfig,
        stored: Vec<StoredPartition>,
        topics: &[(&str, TopicNode)],
    ) -> Self {
        let front = Front::new(0, 1, &config);
        let mut broker = Broker::new(config, "cluster".into(), stored);
        broker.disk_event(DiskEvent::Room(1 << 30), Now::of_ms(1, 1));
        let pipes = Pipes {
            broker,
            pipes: BTreeMap::new(),
            peers: BTreeMap::new(),
            answers: Vec::new(),
            refused: Vec::new(),
            nodes: BTreeMap::new(),
            authenticated: Vec::new(),
            given: 0,
            next_log: 7,
            segments: Segments::default(),
        };
        let mut world =
            Self { pipes, front, event_loop: EventLoop::default(), now_ms: 1_000, next_client: 0 };
        let now = world.now();
        let topic = TopicNode::new([1; 16], BTreeMap::new(), &[vec![1]]);
        for (name, topic) in [("t", topic)].iter().chain(topics) {
            world.pipes.write(&paths::topic(name), Some(topic.bytes()), now);
        }
        world.pipes.broker.keeper_event(KeeperEvent::Joined, now);
        world.turns(3);
        world
    }

    pub(crate) fn now(&self) -> Now {
        Now::of_ms(self.now_ms, 1_700_000_000_000 + self.now_ms as i64)
    }

    /// A client connects at a listener. It takes everything that it is sent.
    pub(crate) fn connect(&mut self, listener: u16) -> usize {
        self.connect_as(listener, None)
    }

    /// A client connects with a certificate.
    pub(crate) fn connect_as(&mut self, listener: u16, certified: Option<Principal>) -> usize {
        self.next_client += 1;
        let client = self.next_client;
        let peer = Peer { ip: [10, 0, 0, 1].into(), listener, certified };
        self.pipes.pipes.insert(client, Pipe { room: usize::MAX, ..Pipe::default() });
        self.pipes.peers.insert(client, peer);
        let now = self.now();
        self.event_loop.accept(&mut self.pipes, &mut self.front, Socket(client), 1_000, now);
        client
    }

    /// The client takes so many bytes more, and no others.
    pub(crate) fn takes(&mut self, client: usize, bytes: usize) {
        let pipe = self.pipes.pipes.get_mut(&client).expect("there is a pipe");
        pipe.room = bytes;
        if let Some(token) = pipe.token.filter(|_| !pipe.is_closed) {
            self.event_loop.announced(token, Readiness { writable: true, ..Readiness::default() });
        }
    }

    pub(crate) fn send(&mut self, client: usize, bytes: &[u8]) {
        let pipe = self.pipes.pipes.get_mut(&client).expect("there is a pipe");
        pipe.to_broker.extend(bytes);
        if let Some(token) = pipe.token.filter(|_| !pipe.is_closed) {
            self.event_loop.announced(token, Readiness { readable: true, ..Readiness::default() });
        }
    }

    pub(crate) fn turns(&mut self, count: usize) {
        for _ in 0..count {
            let now = self.now();
            self.event_loop.turn(&mut self.pipes, &mut self.front, now);
        }
    }

    /// Time passes, in steps as short as those of a thread.
    pub(crate) fn pass_ms(&mut self, ms: u64) {
        for _ in 0..ms.div_ceil(50) {
            self.now_ms += 50;
            self.turns(1);
        }
    }

    pub(crate) fn is_closed(&self, client: usize) -> bool {
        self.pipes.pipes[&client].is_closed
    }

    /// How much the broker has not read yet of what the client has sent.
    pub(crate) fn unread(&self, client: usize) -> usize {
        self.pipes.pipes[&client].to_broker.len()
    }

    /// Whole frames that the client has got.
    pub(crate) fn frames(&mut self, client: usize) -> Vec<Vec<u8>> {
        let bytes = &mut self.pipes.pipes.get_mut(&client).expect("there is a pipe").from_broker;
        let mut frames = Vec::new();
        while let Some(length) = bytes.first_chunk::<4>().map(|length| i32::from_be_bytes(*length) as usize) {
            if bytes.len() < length + 4 {
                break;
            }
            frames.push(bytes[4..length + 4].to_vec());
            bytes.drain(..length + 4);
        }
        frames
    }

    /// Asks, and gives the answer if it comes within a few turns.
    pub(crate) fn ask<R: Request>(
        &mut self,
        client: usize,
        version: i16,
        request: &R,
    ) -> Option<R::Response> {
        self.send(client, &frame(version, request));
        let mut frames = Vec::new();
        for _ in 0..40 {
            self.turns(1);
            frames.extend(self.frames(client));
        }
        assert!(frames.len() <= 1, "one answer");
        frames.pop().map(|frame| decode::<R>(version, &frame))
    }

    pub(crate) fn deadline(&self) -> Option<MonoTime> {
        self.front.next_deadline()
    }
}

pub(crate) fn frame<R: Request>(version: i16, request: &R) -> Vec<u8> {
    frame_of("client", version, request)
}

/// The same, of a client that calls itself so.
pub(crate) fn frame_of<R: Request>(client_id: &str, version: i16, request: &R) -> Vec<u8> {
    let mut frame = BytesMut::from(&[0; 4][..]);
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(7)
        .with_client_id(Some(text(client_id)));
    let key = ApiKey::try_from(R::KEY).expect("it is an API");
    header.encode(&mut frame, key.request_header_version(version)).expect("they can encode it");
    request.encode(&mut frame, version).expect("they can encode it");
    let length = frame.len() as i32 - 4;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame.to_vec()
}

pub(crate) fn decode<R: Request>(version: i16, frame: &[u8]) -> R::Response {
    let key = ApiKey::try_from(R::KEY).expect("it is an API");
    let header = if key.response_header_version(version) > 0 { 5 } else { 4 };
    let mut body = Bytes::copy_from_slice(&frame[header..]);
    R::Response::decode(&mut body, version).expect("they can decode it")
}
