//! A broker and the connections of one thread over pipes in memory. Its disk keeps everything at once, and the council does what
//! it is asked for.

use std::collections::{BTreeMap, VecDeque};

use base::{Now, Secret};
use log_broker::{
    Broker, BrokerConfig, BrokerDriver, BrokerListener, Client, DiskCommand, DiskEvent, Front, Peer, Refusal,
    Response, SaslConfig, SaslMechanism, SecurityProtocol, SegmentFault, SegmentReader, Waiter,
};
use log_metadata::{Decision, Ended, Found, KeeperEvent, TopicNode, paths};
use log_partition::{FoundTime, PartitionId, SegmentRead, TimeLookup};
use log_storage::SegmentRange;
use net_auth::sasl::plain;
use net_event_loop::{Broken, EventLoop, FilePart, NoFile, ReadOutcome, Readiness, SocketDriver};
use storage_wal::LogId;

/// What lies between a client and the broker.
#[derive(Default)]
struct Pipe {
    to_broker: VecDeque<u8>,
    from_broker: Vec<u8>,
    token: Option<u32>,
    is_closed: bool,
}

/// A socket: the number of its client.
pub(crate) struct Socket(usize);

struct NoSegments;

impl SegmentReader for NoSegments {
    type File = NoFile;

    fn range(
        &mut self,
        _: PartitionId,
        _: &SegmentRead,
    ) -> Result<Option<SegmentRange<NoFile>>, SegmentFault> {
        Err(SegmentFault::Gone)
    }

    fn copy(&mut self, range: &SegmentRange<NoFile>, _: &mut Vec<u8>) -> Result<(), SegmentFault> {
        match range.file {}
    }

    fn find_time(&mut self, _: PartitionId, lookup: &TimeLookup) -> Result<Option<FoundTime>, SegmentFault> {
        Ok(lookup.find_in_memory())
    }
}

struct Pipes {
    broker: Broker,
    pipes: Vec<Pipe>,
    peers: Vec<Peer>,
    answers: Vec<(Waiter, Response)>,
    nodes: BTreeMap<String, Vec<u8>>,
    given: u64,
    next_log: u64,
    segments: NoSegments,
}

impl Pipes {
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

    fn write(&mut self, path: &str, data: Option<Vec<u8>>, now: Now) {
        match data.clone() {
            Some(data) => drop(self.nodes.insert(path.into(), data)),
            None => drop(self.nodes.remove(path)),
        }
        self.broker.keeper_event(KeeperEvent::Node { path: path.into(), data }, now);
    }

    fn pipe(&mut self, socket: &Socket) -> &mut Pipe {
        &mut self.pipes[socket.0]
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

    fn authenticated(&mut self, _: &Socket) {}

    fn refused(&mut self, _: &Client, _: Refusal, _: &'static str) {}

    fn segments(&mut self) -> &mut impl SegmentReader<File = NoFile> {
        &mut self.segments
    }
}

impl SocketDriver for Pipes {
    type Socket = Socket;
    type Peer = Peer;
    type File = NoFile;

    fn watch(&mut self, socket: &mut Socket, token: u32) -> Result<(), Broken> {
        self.pipe(socket).token = Some(token);
        Ok(())
    }

    fn prepare(&mut self, _: &mut Socket) -> Result<bool, Broken> {
        Ok(true)
    }

    fn open(&mut self, socket: &mut Socket) -> Result<Option<Peer>, Broken> {
        Ok(self.peers.get(socket.0).cloned())
    }

    fn read(&mut self, socket: &mut Socket, buffer: &mut [u8]) -> Result<ReadOutcome, Broken> {
        let pipe = self.pipe(socket);
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
        self.pipe(socket).from_broker.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn write_with_file(
        &mut self,
        _: &mut Socket,
        _: &[u8],
        part: FilePart<'_, NoFile>,
    ) -> Result<usize, Broken> {
        match *part.file {}
    }

    fn wants_write(&self, _: &Socket) -> bool {
        false
    }

    fn say_goodbye(&mut self, _: &mut Socket) {}

    fn close(&mut self, socket: Socket, _: usize) {
        self.pipe(&socket).is_closed = true;
    }
}

/// See the module.
pub(crate) struct World {
    pipes: Pipes,
    front: Front<NoFile>,
    event_loop: EventLoop<Socket>,
    now_ms: u64,
}

/// How long a turn of a thread takes, milliseconds.
const TURN_MS: u64 = 50;
/// The partitions of the topic `t`.
const PARTITIONS: usize = 2;

impl World {
    /// A broker with a topic `t`, whose second listener asks for a password.
    pub(crate) fn new() -> Self {
        let sasl = SaslConfig {
            mechanisms: SaslMechanism::ALL.to_vec(),
            plain: plain::Server::new([("bob", Secret("secret".into()))].into_iter().collect()),
            ..SaslConfig::default()
        };
        let open = BrokerListener::default();
        let secured = BrokerListener { protocol: SecurityProtocol::SaslPlaintext, sasl, ..open.clone() };
        let config = BrokerConfig { listeners: vec![open, secured], ..BrokerConfig::default() };
        let front = Front::new(0, 1, &config);
        let mut broker = Broker::new(config, "cluster".into(), Vec::new());
        broker.disk_event(DiskEvent::Room(1 << 30), Now::of_ms(1, 1));
        let pipes = Pipes {
            broker,
            pipes: Vec::new(),
            peers: Vec::new(),
            answers: Vec::new(),
            nodes: BTreeMap::new(),
            given: 0,
            next_log: 7,
            segments: NoSegments,
        };
        let mut world = Self { pipes, front, event_loop: EventLoop::default(), now_ms: 1_000 };
        let now = world.now();
        let topic = TopicNode::new([1; 16], BTreeMap::new(), &vec![vec![1]; PARTITIONS]);
        world.pipes.write(&paths::topic("t"), Some(topic.bytes()), now);
        world.pipes.broker.keeper_event(KeeperEvent::Joined, now);
        world.turns(3);
        world
    }

    fn now(&self) -> Now {
        Now::of_ms(self.now_ms, 1_700_000_000_000 + self.now_ms as i64)
    }

    pub(crate) fn connect(&mut self, listener: u16) -> usize {
        let client = self.pipes.pipes.len();
        self.pipes.pipes.push(Pipe::default());
        self.pipes.peers.push(Peer { ip: [10, 0, 0, 1].into(), listener, certified: None });
        let now = self.now();
        self.event_loop.accept(&mut self.pipes, &mut self.front, Socket(client), 1_000, now);
        client
    }

    pub(crate) fn send(&mut self, client: usize, bytes: &[u8]) {
        let pipe = &mut self.pipes.pipes[client];
        pipe.to_broker.extend(bytes);
        if let Some(token) = pipe.token.filter(|_| !pipe.is_closed) {
            self.event_loop.announced(token, Readiness { readable: true, ..Readiness::default() });
        }
    }

    /// Time passes.
    pub(crate) fn turns(&mut self, count: usize) {
        for _ in 0..count {
            self.now_ms += TURN_MS;
            let now = self.now();
            self.event_loop.turn(&mut self.pipes, &mut self.front, now);
        }
    }

    /// How many whole frames a client has got.
    pub(crate) fn frames(&self, client: usize) -> usize {
        let (mut rest, mut frames) = (&self.pipes.pipes[client].from_broker[..], 0);
        while let Some((length, behind)) = rest.split_first_chunk::<4>() {
            let length = usize::try_from(i32::from_be_bytes(*length)).expect("a length is not negative");
            let Some(behind) = behind.get(length..) else { break };
            (rest, frames) = (behind, frames + 1);
        }
        frames
    }
}
