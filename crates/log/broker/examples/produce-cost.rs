//! What a Produce request costs a shard's thread and the disk's thread, in instructions: no kernel, no clock, and the same number
//! on a busy machine. Idempotent producers with a connection and a partition each; the topic has one replica and
//! `diwan.durability=replicated`, and the disk is memory.
//!
//! `cargo build --release -p log-broker --example produce-cost`, then
//! `valgrind --tool=callgrind --toggle-collect='*shard_turn*' target/release/examples/produce-cost 80 10`, where 80 is the number
//! of messages in a request, and 10 that of requests in a turn. The number that is collected, divided by the number of requests
//! that is printed, is the cost of one; `*disk_turn*` gives that of the disk's thread. With
//! `GLIBC_TUNABLES=glibc.cpu.x86_rep_movsb_threshold=1000000000` long copies are not counted byte by byte.

use std::collections::{BTreeMap, VecDeque};

use base::Now;
use log_broker::{
    Broker, BrokerConfig, BrokerDriver, Client, DiskCommand, DiskEvent, DiskExecutor, Front, Peer, Refusal,
    Response, SegmentFault, SegmentReader, Waiter,
};
use log_metadata::{KeeperEvent, TopicNode, paths};
use log_partition::{FoundTime, PartitionId, SegmentRead, TimeLookup};
use log_storage::{SegmentRange, StoreConfig};
use log_wire::{Attributes, BatchBuilder, Producer, Writer};
use net_event_loop::{Broken, EventLoop, FilePart, NoFile, ReadOutcome, Readiness, SocketDriver};
use storage_disk::sim::SimDisk;

const PRODUCERS: usize = 100;
const ROUNDS: usize = 100;
const MESSAGE_BYTES: usize = 200;
const TOPIC: &str = "measured";
/// The bytes of an answer to a request of one partition, and where it has its error.
const ANSWER_BYTES: usize = 52 + TOPIC.len();
const ERROR_AT: usize = 22 + TOPIC.len();
const WALL_MS: i64 = 1_700_000_000_000;

/// What lies between a producer and the broker.
#[derive(Default)]
struct Pipe {
    to_broker: Vec<u8>,
    from_broker: Vec<u8>,
    token: u32,
}

/// What a shard's thread has besides its connections.
struct Shard {
    broker: Broker,
    pipes: Vec<Pipe>,
    answers: Vec<(Waiter, Response)>,
    commands: Vec<DiskCommand>,
    /// Room for them.
    taken: Vec<DiskCommand>,
    segments: NoSegments,
}

/// Nothing is read.
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

impl BrokerDriver for Shard {
    type Guard<'g> = &'g mut Broker;

    fn broker(&mut self) -> &mut Broker {
        &mut self.broker
    }

    fn take_answers(&mut self, into: &mut Vec<(Waiter, Response)>) {
        into.append(&mut self.answers);
    }

    fn hand_on(&mut self, _: Now) {
        self.broker.swap_disk_commands(&mut self.taken);
        self.commands.append(&mut self.taken);
        self.broker.append_done(&mut self.answers);
    }

    fn authenticated(&mut self, _: &usize) {}

    fn refused(&mut self, _: &Client, refusal: Refusal, _: &'static str) {
        panic!("a producer is refused: {refusal:?}");
    }

    fn segments(&mut self) -> &mut impl SegmentReader<File = NoFile> {
        &mut self.segments
    }
}

impl SocketDriver for Shard {
    type Socket = usize;
    type Peer = Peer;
    type File = NoFile;

    fn watch(&mut self, socket: &mut usize, token: u32) -> Result<(), Broken> {
        self.pipes[*socket].token = token;
        Ok(())
    }

    fn prepare(&mut self, _: &mut usize) -> Result<bool, Broken> {
        Ok(true)
    }

    fn open(&mut self, _: &mut usize) -> Result<Option<Peer>, Broken> {
        Ok(Some(Peer { ip: [10, 0, 0, 1].into(), listener: 0, certified: None }))
    }

    fn read(&mut self, socket: &mut usize, buffer: &mut [u8]) -> Result<ReadOutcome, Broken> {
        let sent = &mut self.pipes[*socket].to_broker;
        let length = sent.len();
        if length == 0 {
            return Ok(ReadOutcome::Nothing);
        }
        buffer[..length].copy_from_slice(sent);
        sent.clear();
        Ok(ReadOutcome::Bytes { length, drained: true })
    }

    fn write(&mut self, socket: &mut usize, bytes: &[u8]) -> Result<usize, Broken> {
        self.pipes[*socket].from_broker.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn write_with_file(
        &mut self,
        _: &mut usize,
        _: &[u8],
        part: FilePart<'_, NoFile>,
    ) -> Result<usize, Broken> {
        match *part.file {}
    }

    fn wants_write(&self, _: &usize) -> bool {
        false
    }

    fn say_goodbye(&mut self, _: &mut usize) {}

    fn close(&mut self, _: usize, _: usize) {}
}

/// A broker with one shard, and its disk.
struct World {
    shard: Shard,
    front: Front<NoFile>,
    event_loop: EventLoop<usize>,
    disk: DiskExecutor<SimDisk>,
    events: Vec<DiskEvent>,
    now: Now,
}

impl World {
    fn new() -> Self {
        let config = BrokerConfig::default();
        let (disk, stored) =
            DiskExecutor::open(SimDisk::new(1), StoreConfig::default(), ([1; 16], "cluster"))
                .expect("an empty directory can be opened");
        let front = Front::new(0, 1, &config);
        let broker = Broker::new(config, "cluster".into(), stored);
        let (answers, commands, taken) = (Vec::new(), Vec::new(), Vec::new());
        let shard = Shard { broker, pipes: Vec::new(), answers, commands, taken, segments: NoSegments };
        let now = Now::of_ms(1_000, WALL_MS);
        let mut world =
            Self { shard, front, event_loop: EventLoop::default(), disk, events: Vec::new(), now };
        let settings = BTreeMap::from([("diwan.durability".into(), "replicated".into())]);
        let topic = TopicNode::new([1; 16], settings, &vec![vec![1]; PRODUCERS]);
        let node = KeeperEvent::Node { path: paths::topic(TOPIC), data: Some(topic.bytes()) };
        world.shard.broker.keeper_event(KeeperEvent::Joined, now);
        world.shard.broker.keeper_event(node, now);
        world
    }

    fn connect(&mut self, producer: usize) {
        self.shard.pipes.push(Pipe::default());
        self.event_loop.accept(&mut self.shard, &mut self.front, producer, 1_000, self.now);
    }

    fn send(&mut self, producer: usize, request: Vec<u8>) {
        let pipe = &mut self.shard.pipes[producer];
        pipe.to_broker = request;
        self.event_loop.announced(pipe.token, Readiness { readable: true, ..Readiness::default() });
    }

    fn pass_ms(&mut self, ms: u64) {
        self.now.advance_ms(ms);
        self.now.wall = self.now.wall.plus_ms(ms.cast_signed());
    }

    /// The shard hears what became of what it gave to the disk, and serves its connections.
    #[inline(never)]
    fn shard_turn(&mut self) {
        for event in self.events.drain(..) {
            self.shard.broker.disk_event(event, self.now);
        }
        self.event_loop.turn(&mut self.shard, &mut self.front, self.now);
    }

    /// The disk does what it was given.
    #[inline(never)]
    fn disk_turn(&mut self) {
        let Self { shard, disk, events, now, .. } = self;
        disk.turn(&mut shard.commands, events, now.mono()).expect("the disk is well");
        disk.work(events).expect("the disk is well");
    }
}

/// A request of a producer for its own partition.
fn request(producer: usize, base_sequence: usize, messages: usize) -> Vec<u8> {
    let id = Producer { id: 1_000 + producer as i64, epoch: 0, base_sequence: base_sequence as i32 };
    let mut batch = BatchBuilder::new(Attributes(0), id);
    (0..messages).for_each(|_| batch.push(WALL_MS, None, Some(&[b'x'; MESSAGE_BYTES]), &[]));
    let mut frame = vec![0; 4];
    let mut writer = Writer::new(&mut frame, false);
    // Produce of version 7, its correlation id and the name of the client.
    writer.i16(0).i16(7).i32(1).text("producer");
    // No transaction, all replicas, the time.
    writer.nullable_text(None).i16(-1).i32(30_000);
    writer.count(1).text(TOPIC).count(1).i32(producer as i32).bytes(&batch.finish());
    let length = frame.len() as i32 - 4;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame
}

fn main() {
    let argument = |at| std::env::args().nth(at).map(|number| number.parse().expect("a number"));
    let (messages, requests_per_turn) = (argument(1).unwrap_or(5), argument(2).unwrap_or(10));
    let mut world = World::new();
    (0..PRODUCERS).for_each(|producer| world.connect(producer));
    for _ in 0..10 {
        world.shard_turn();
        world.disk_turn();
        world.pass_ms(1);
    }
    let mut waiting: VecDeque<(usize, usize)> =
        (0..ROUNDS).flat_map(|round| (0..PRODUCERS).map(move |producer| (round, producer))).collect();
    while !waiting.is_empty() {
        for (round, producer) in waiting.drain(..requests_per_turn.min(waiting.len())) {
            world.send(producer, request(producer, round * messages, messages));
        }
        world.shard_turn();
        world.disk_turn();
        world.pass_ms(1);
    }
    world.shard_turn();
    for pipe in &world.shard.pipes {
        let errors: Vec<&[u8]> =
            pipe.from_broker.chunks(ANSWER_BYTES).map(|answer| &answer[ERROR_AT..][..2]).collect();
        assert_eq!(errors, [[0, 0]; ROUNDS], "each request is answered, without an error");
    }
    println!("{} requests", PRODUCERS * ROUNDS);
}
