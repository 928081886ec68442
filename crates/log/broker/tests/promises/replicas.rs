//! What brokers promise together: three of them, with replicas of the same partitions, on one council. Messages, disks and the
//! council go on until nothing moves any more.

use std::collections::{BTreeMap, BTreeSet};

use base::Random;
use bytes::Bytes;
use kafka_protocol::messages::ProduceRequest;
use kafka_protocol::protocol::Request;
use log_broker::{BrokerConfig, DiskCommand, SegmentFault};
use log_metadata::{BrokerNode, Change, Decision, Ended, Found, KeeperEvent, TopicNode, paths};
use log_partition::{Damage, Offset};
use log_wire::{Attributes, Batch, BatchBuilder, Producer, Records};

use crate::bench::{Bench, NoSegments, decoded};
use crate::fetch::fetch;
use crate::produce::request;
use crate::stored;

const VERSION: i16 = 9;
const NOT_LEADER: i16 = 6;
/// How often a sign of life comes.
const HEARTBEAT_MS: u64 = 100;
const ID: [u8; 16] = [1; 16];
/// Without new requests, nothing moves any more after fewer turns.
const TURNS_MAX: usize = 1_000;

pub(crate) struct Cluster {
    brokers: BTreeMap<i32, Bench>,
    /// Processes that are not there, or cannot be reached.
    pub(crate) away: BTreeSet<i32>,
    /// Processes that are stopped, with what others have sent them meanwhile.
    asleep: BTreeMap<i32, Vec<(i32, Vec<u8>)>>,
    /// Brokers whose disks make nothing durable.
    stopped: BTreeSet<i32>,
    nodes: BTreeMap<String, Vec<u8>>,
    last_request: u64,
    /// What segments give to those who read for followers, instead of nothing; and how often they were read.
    pub(crate) segment: Option<Result<Vec<u8>, SegmentFault>>,
    pub(crate) segment_reads: usize,
    /// Nothing is read for followers.
    pub(crate) holds_reads: bool,
}

impl Cluster {
    /// Three brokers, and a topic whose partitions have these replicas, the leader first.
    pub(crate) fn new(replicas: &[&[i32]]) -> Self {
        Self::with(replicas, &[], |_| ())
    }

    /// The same with settings of the topic, and brokers with configurations of their own.
    pub(crate) fn with(
        replicas: &[&[i32]],
        settings: &[(&str, &str)],
        configure: impl Fn(&mut BrokerConfig),
    ) -> Self {
        let replicas: Vec<Vec<i32>> = replicas.iter().map(|of| of.to_vec()).collect();
        let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let topic = TopicNode::new(ID, settings, &replicas).bytes();
        let brokers = (1..=3).map(|node_id| {
            let mut config = BrokerConfig { node_id, ..BrokerConfig::default() };
            configure(&mut config);
            let mut bench = Bench::starting(config, Vec::new());
            for (path, data) in announced() {
                bench.council(KeeperEvent::Node { path, data: Some(data) });
            }
            bench.council(KeeperEvent::Node { path: paths::topic("t"), data: Some(topic.clone()) });
            bench.council(KeeperEvent::Joined);
            (node_id, bench)
        });
        let mut cluster = Self {
            brokers: brokers.collect(),
            away: BTreeSet::new(),
            asleep: BTreeMap::new(),
            stopped: BTreeSet::new(),
            nodes: announced().chain([(paths::topic("t"), topic)]).collect(),
            last_request: 0,
            segment: None,
            segment_reads: 0,
            holds_reads: false,
        };
        (1..=3).for_each(|id| cluster.connect(id));
        cluster.settle();
        cluster
    }

    pub(crate) fn here(&self) -> Vec<i32> {
        self.brokers.keys().filter(|id| !self.away.contains(id)).copied().collect()
    }

    pub(crate) fn broker(&mut self, id: i32) -> &mut Bench {
        self.brokers.get_mut(&id).expect("one of three")
    }

    pub(crate) fn connect(&mut self, id: i32) {
        for other in self.here().into_iter().filter(|other| *other != id) {
            for (one, other) in [(id, other), (other, id)] {
                let bench = self.broker(one);
                bench.broker.peer_connected(other, bench.now);
            }
        }
    }

    pub(crate) fn stop_disk(&mut self, id: i32) {
        self.stopped.insert(id);
    }

    pub(crate) fn start_disk(&mut self, id: i32) {
        self.stopped.remove(&id);
        self.settle();
    }

    /// Everybody loses the connections with this broker.
    pub(crate) fn lose(&mut self, id: i32) {
        self.away.insert(id);
        for other in self.here() {
            for (one, other) in [(id, other), (other, id)] {
                let bench = self.broker(one);
                bench.broker.peer_broken(other, bench.now);
            }
        }
    }

    /// The process is stopped. Its connections stay, and nothing is heard of it.
    pub(crate) fn fall_asleep(&mut self, id: i32) {
        self.away.insert(id);
        self.asleep.insert(id, Vec::new());
        for other in self.here() {
            let bench = self.broker(other);
            bench.broker.peer_silent(id, bench.now);
        }
    }

    /// The process goes on, with what has come meanwhile. What has changed in the council it is not told yet.
    pub(crate) fn wake(&mut self, id: i32) {
        self.away.remove(&id);
        for (from, bytes) in self.asleep.remove(&id).unwrap_or_default() {
            self.deliver(from, id, bytes);
        }
        for other in self.here().into_iter().filter(|other| *other != id) {
            let bench = self.broker(other);
            bench.broker.peer_heard(id, bench.now);
        }
    }

    /// The council tells a broker everything that it may have missed.
    pub(crate) fn catch_up(&mut self, id: i32) {
        for (path, data) in self.nodes.clone() {
            self.broker(id).council(KeeperEvent::Node { path, data: Some(data) });
        }
    }

    fn deliver(&mut self, from: i32, to: i32, bytes: Vec<u8>) {
        let bench = self.broker(to);
        let taken = bench.broker.peer_message(from, &Bytes::from(bytes), bench.now);
        assert_eq!(taken, Ok(()));
    }

    /// The process was cut off, and is not any more.
    pub(crate) fn come_back(&mut self, id: i32) {
        self.away.remove(&id);
        self.catch_up(id);
        self.connect(id);
    }

    /// The process dies, with what its disk had not done, and another begins.
    pub(crate) fn restart(&mut self, id: i32) {
        let nodes = self.nodes.clone();
        let bench = self.broker(id);
        for (path, data) in nodes {
            bench.council(KeeperEvent::Node { path, data: Some(data) });
        }
        bench.crash(0);
        self.away.remove(&id);
        self.connect(id);
    }

    /// All processes die. Others begin, one after the other in this order, with so much time before each.
    pub(crate) fn restart_all(&mut self, order: &[i32], gap_ms: u64) {
        let nodes = self.nodes.clone();
        self.away.extend(1..=3);
        for bench in self.brokers.values_mut() {
            for (path, data) in nodes.clone() {
                bench.council(KeeperEvent::Node { path, data: Some(data) });
            }
            bench.crash(0);
        }
        for id in order {
            self.pass(gap_ms);
            self.away.remove(id);
            self.connect(*id);
            self.settle();
        }
    }

    /// Time passes. Every now and then all that are connected hear of each other.
    pub(crate) fn pass(&mut self, ms: u64) {
        for step in 0..ms.div_ceil(HEARTBEAT_MS) {
            let long_ms = HEARTBEAT_MS.min(ms - step * HEARTBEAT_MS);
            for id in self.here() {
                let others = self.here();
                let bench = self.broker(id);
                for other in others.into_iter().filter(|other| *other != id) {
                    bench.broker.peer_heard(other, bench.now);
                }
                bench.pass(long_ms);
            }
            self.settle();
        }
    }

    /// Everything goes on until nothing moves.
    pub(crate) fn settle(&mut self) {
        for _ in 0..TURNS_MAX {
            let mut moved = false;
            for id in self.here() {
                moved |= self.turn(id);
            }
            if !moved {
                return;
            }
        }
        panic!("it does not come to rest");
    }

    /// A turn of a broker, of its disk, and of the council. Whether anything has happened.
    pub(crate) fn turn(&mut self, id: i32) -> bool {
        let commands = if self.stopped.contains(&id) { 0 } else { u64::MAX };
        self.partial_turn(id, commands)
    }

    /// The same, in which the disk does no more than so much.
    fn partial_turn(&mut self, id: i32, commands: u64) -> bool {
        let changes = self.broker(id).broker.take_changes();
        let mut moved = !changes.is_empty();
        changes.into_iter().for_each(|change| self.change(id, change));
        let (segment, reads_for_followers) = (self.segment.clone(), !self.holds_reads);
        let bench = self.broker(id);
        let before = bench.disk.durable();
        (0..2).for_each(|_| drop(bench.take()));
        bench.durable(before.saturating_add(commands).min(bench.disk.given));
        moved |= bench.disk.durable() > before;
        moved |= bench.broker.next_load().is_some();
        bench.load();
        let mut reads = 0;
        while reads_for_followers && let Some(read) = bench.broker.next_replica_read() {
            reads += 1;
            let bytes = segment.clone().unwrap_or_else(|| read.read(&mut NoSegments));
            bench.broker.replica_was_read(&read, bytes, bench.now);
        }
        let messages = bench.broker.take_peer_messages(bench.now);
        moved |= !messages.is_empty();
        self.segment_reads += reads;
        for message in messages {
            if let Some(waits) = self.asleep.get_mut(&message.to) {
                waits.push((id, message.bytes));
            } else if self.here().contains(&message.to) && !self.away.contains(&id) {
                self.deliver(id, message.to, message.bytes);
            }
        }
        moved
    }

    fn change(&mut self, id: i32, Change { path, mut compute, ticket, .. }: Change) {
        let data = self.nodes.get(&path).cloned();
        let ended = match compute(Found { data: data.as_deref(), may_be_done: false }) {
            Decision::Write(data) => {
                self.nodes.insert(path.clone(), data.clone());
                for other in self.here() {
                    let (path, data) = (path.clone(), Some(data.clone()));
                    self.broker(other).council(KeeperEvent::Node { path, data });
                }
                Ended::Done(Some(data))
            }
            Decision::Keep => Ended::Done(data),
            Decision::Refuse(error, why) => Ended::Refused(error, why),
            Decision::Delete => {
                self.nodes.remove(&path);
                for other in self.here() {
                    self.broker(other).council(KeeperEvent::Node { path: path.clone(), data: None });
                }
                Ended::Done(None)
            }
        };
        self.broker(id).council(KeeperEvent::Ended { ticket, ended });
    }

    /// The leader and its epoch, as the council says.
    pub(crate) fn leader(&self, partition: usize) -> (i32, i32) {
        let topic = TopicNode::read(&self.nodes[&paths::topic("t")]).expect("a topic");
        (topic.partitions[partition].leader, topic.partitions[partition].epoch.0)
    }

    /// The leader of a partition of any topic; nothing while there is no such topic.
    pub(crate) fn leader_of(&self, topic: &str, partition: usize) -> Option<i32> {
        let topic = TopicNode::read(self.nodes.get(&paths::topic(topic))?).expect("a topic");
        topic.partitions.get(partition).map(|partition| partition.leader)
    }

    /// The council tells everybody of a node.
    pub(crate) fn tell(&mut self, path: &str, data: Vec<u8>) {
        self.nodes.insert(path.into(), data.clone());
        for id in self.here() {
            let (path, data) = (path.into(), Some(data.clone()));
            self.broker(id).council(KeeperEvent::Node { path, data });
        }
    }

    /// Produces a batch. Gives the number of the request if it waits, or its error and offset.
    pub(crate) fn produce(&mut self, id: i32, partition: i32) -> Result<u64, (i16, i64)> {
        self.produce_with(id, partition, -1)
    }

    /// The same, where so many replicas are to acknowledge it.
    pub(crate) fn produce_with(&mut self, id: i32, partition: i32, acks: i16) -> Result<u64, (i16, i64)> {
        let batch = batch_of(self.last_request + 1);
        self.produce_batch(id, partition, &batch, acks)
    }

    /// The same from a client that waits for so long.
    pub(crate) fn produce_within(
        &mut self,
        id: i32,
        partition: i32,
        timeout_ms: i32,
    ) -> Result<u64, (i16, i64)> {
        let asked = request(partition, &batch_of(self.last_request + 1)).with_timeout_ms(timeout_ms);
        self.produce_request(id, &asked.with_acks(-1))
    }

    /// The same with a batch of the caller's.
    pub(crate) fn produce_batch(
        &mut self,
        id: i32,
        partition: i32,
        batch: &[u8],
        acks: i16,
    ) -> Result<u64, (i16, i64)> {
        self.produce_request(id, &request(partition, batch).with_acks(acks))
    }

    /// The same with a request of the caller's.
    pub(crate) fn produce_request(&mut self, id: i32, asked: &ProduceRequest) -> Result<u64, (i16, i64)> {
        self.last_request += 1;
        let number = self.last_request;
        match self.broker(id).ask(number, VERSION, asked) {
            Some(answer) => Err(outcome(&answer.responses[0].partition_responses[0])),
            None => Ok(number),
        }
    }

    pub(crate) fn answers(&mut self, id: i32) -> Vec<(u64, (i16, i64))> {
        let last = self.last_request;
        // Those of requests of other kinds have higher numbers.
        let answers = self.broker(id).take_answered_to(last).into_iter();
        let of = |(number, body): (u64, Option<Bytes>)| {
            let answer = decoded::<ProduceRequest>(body.expect("it has an answer"), VERSION);
            (number, outcome(&answer.responses[0].partition_responses[0]))
        };
        answers.map(of).collect()
    }

    /// The topic as the council has it.
    pub(crate) fn topic(&self) -> TopicNode {
        TopicNode::read(&self.nodes[&paths::topic("t")]).expect("a topic")
    }

    /// Asks a broker, and lets everything go on until the answer is there.
    pub(crate) fn call<R: Request>(&mut self, id: i32, version: i16, request: &R) -> R::Response {
        let number = match self.broker(id).begin(version, request) {
            Ok(answer) => return answer,
            Err(number) => number,
        };
        for _ in 0..20 {
            self.settle();
            if let Some(answer) = self.broker(id).end::<R>(number, version) {
                return answer;
            }
            self.pass(100);
        }
        panic!("it is not answered within two seconds");
    }

    /// The batches of a partition, as its leader gives them to a consumer.
    pub(crate) fn batches(&mut self, leader: i32, index: i32) -> Vec<u8> {
        let asked = fetch(&[(index, 0)]).with_session_epoch(-1);
        let answer = self.broker(leader).ask(u64::MAX, 12, &asked).expect("an answer at once");
        answer.responses[0].partitions[0].records.clone().unwrap_or_default().to_vec()
    }

    /// What a partition holds, as its leader gives it to a consumer: the number of a request at each offset.
    pub(crate) fn read(&mut self, leader: i32, index: i32) -> BTreeMap<i64, u64> {
        numbers_in(&self.batches(leader, index))
    }

    /// The topic sets this.
    pub(crate) fn configure(&mut self, name: &str, value: &str) {
        let mut topic = self.topic();
        topic.settings.insert(name.into(), value.into());
        self.nodes.insert(paths::topic("t"), topic.bytes());
        for id in self.here() {
            let (path, data) = (paths::topic("t"), Some(topic.bytes()));
            self.broker(id).council(KeeperEvent::Node { path, data });
        }
    }

    /// There is another topic, whose partitions have these replicas.
    pub(crate) fn add_topic(&mut self, name: &str, replicas: &[&[i32]]) {
        let replicas: Vec<Vec<i32>> = replicas.iter().map(|of| of.to_vec()).collect();
        let data = TopicNode::new([9; 16], BTreeMap::new(), &replicas).bytes();
        self.nodes.insert(paths::topic(name), data.clone());
        for id in self.here() {
            let (path, data) = (paths::topic(name), Some(data.clone()));
            self.broker(id).council(KeeperEvent::Node { path, data });
        }
        self.settle();
    }

    /// Another topic as the council has it.
    pub(crate) fn other_topic(&self, name: &str) -> TopicNode {
        TopicNode::read(&self.nodes[&paths::topic(name)]).expect("a topic")
    }

    /// Whether a broker has a copy of a partition.
    pub(crate) fn has(&mut self, id: i32, index: i32) -> bool {
        self.broker(id).broker.figures().partitions.iter().any(|of| of.index == index)
    }

    /// High watermark and end of a partition on a broker.
    pub(crate) fn ends(&mut self, id: i32, index: i32) -> (i64, i64) {
        let figures = self.broker(id).broker.figures();
        let of = figures.partitions.iter().find(|of| of.index == index).expect("it is here");
        (of.high_watermark, of.end)
    }
}

/// What the council holds of the brokers.
fn announced() -> impl Iterator<Item = (String, Vec<u8>)> {
    let node = BrokerNode { host: "h".into(), port: 9092, ..BrokerNode::default() };
    (1..=3).map(move |id| (paths::broker(id), node.bytes()))
}

/// A batch whose only record tells which request it came with.
fn batch_of(number: u64) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
    builder.push(1_000, None, Some(&number.to_be_bytes()), &[]);
    builder.finish()
}

/// Which request the record at each offset came with.
pub(crate) fn numbers_in(records: &[u8]) -> BTreeMap<i64, u64> {
    let (mut rest, mut found) = (records, BTreeMap::new());
    while !rest.is_empty() {
        let (batch, behind) = Batch::read(rest).expect("batches");
        let record = Records::new(batch.records(), batch.count()).next().expect("one").expect("a record");
        let number = record.value.and_then(|value| value.try_into().ok()).expect("a number");
        found.insert(batch.base_offset(), u64::from_be_bytes(number));
        rest = behind;
    }
    found
}

fn outcome(answer: &kafka_protocol::messages::produce_response::PartitionProduceResponse) -> (i16, i64) {
    (answer.error_code, answer.base_offset)
}

#[test]
fn copy_that_cannot_be_used_does_not_give_way_to_an_empty_one() {
    for damage in [None, Some(Damage::Missing(Offset(0)))] {
        let mut bench = Bench::starting(BrokerConfig::default(), vec![stored(damage)]);
        let topic = TopicNode::new(ID, BTreeMap::new(), &[vec![1, 2, 3]]).bytes();
        bench.council(KeeperEvent::Node { path: paths::topic("t"), data: Some(topic) });
        bench.council(KeeperEvent::Joined);
        let commands = bench.take();
        let makes =
            |command: &DiskCommand| matches!(command, DiskCommand::Create(..) | DiskCommand::Reset(..));
        // One that has promised nothing was being made when its process died.
        assert_eq!(commands.iter().any(makes), damage.is_none(), "{commands:?}");
    }
}

#[test]
fn batch_is_acknowledged_once_a_majority_has_it_durably() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    assert_eq!(cluster.produce(2, 0), Err((NOT_LEADER, -1)));
    let number = cluster.produce(1, 0).expect("it waits");
    // The leader's own disk is one of three.
    cluster.broker(1).flush();
    assert_eq!(cluster.answers(1), []);
    cluster.settle();
    assert_eq!(cluster.answers(1), [(number, (0, 0))]);
    assert_eq!([1, 2, 3].map(|id| cluster.ends(id, 0)), [(1, 1); 3]);
}

#[test]
fn batch_waits_while_only_the_leader_is_there() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    cluster.lose(2);
    cluster.lose(3);
    let number = cluster.produce(1, 0).expect("it waits");
    cluster.settle();
    assert_eq!(cluster.answers(1), []);
    cluster.restart(3);
    cluster.settle();
    assert_eq!(cluster.answers(1), [(number, (0, 0))]);
}

#[test]
fn another_leads_when_the_leader_is_lost_and_has_all_that_was_acknowledged() {
    let mut cluster = Cluster::new(&[&[1, 2, 3], &[2, 3, 1], &[3, 1, 2]]);
    for partition in 0..3 {
        let leader = cluster.leader(partition as usize).0;
        for _ in 0..3 {
            cluster.produce(leader, partition).expect("it waits");
        }
        cluster.settle();
        assert_eq!(cluster.answers(leader).len(), 3);
    }
    let epochs = [0, 1, 2].map(|partition| cluster.leader(partition).1);
    // Nobody waits for the end of a session: the connection is enough.
    cluster.lose(1);
    cluster.settle();
    cluster.pass(60);
    let (leader, epoch) = cluster.leader(0);
    assert!(leader != 1 && epoch > epochs[0], "{leader} {epoch}");
    assert_eq!([cluster.leader(1), cluster.leader(2)], [(2, epochs[1]), (3, epochs[2])], "they led already");
    let number = cluster.produce(leader, 0).expect("it waits");
    cluster.settle();
    assert_eq!(cluster.answers(leader), [(number, (0, 3))]);
}

#[test]
fn leader_that_was_cut_off_acknowledges_nothing_and_drops_what_nobody_else_has() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    cluster.produce(1, 0).expect("it waits");
    cluster.settle();
    assert_eq!(cluster.answers(1).len(), 1);
    cluster.lose(1);
    let lost = cluster.produce(1, 0).expect("it waits");
    cluster.broker(1).flush();
    cluster.settle();
    cluster.pass(60);
    let (leader, _) = cluster.leader(0);
    let number = cluster.produce(leader, 0).expect("it waits");
    cluster.settle();
    assert_eq!(cluster.answers(leader), [(number, (0, 1))]);
    assert_eq!(cluster.answers(1), []);
    // It is there again, without having died.
    cluster.come_back(1);
    cluster.settle();
    cluster.pass(1_100);
    assert_eq!(cluster.answers(1), [(lost, (NOT_LEADER, -1))]);
    assert_eq!([1, 2, 3].map(|id| cluster.ends(id, 0)), [(2, 2); 3]);
}

#[test]
fn everything_acknowledged_outlives_the_death_of_all_one_after_the_other() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    let mut acknowledged = 0;
    for round in 0..12 {
        let victim = 1 + round % 3;
        let leader = cluster.leader(0).0;
        cluster.produce(leader, 0).expect("it waits");
        cluster.settle();
        let answers = cluster.answers(leader);
        assert_eq!(answers.iter().map(|(_, answer)| *answer).collect::<Vec<_>>(), [(0, acknowledged)]);
        acknowledged += 1;
        cluster.lose(victim);
        cluster.settle();
        cluster.pass(60);
        cluster.restart(victim);
        cluster.settle();
        cluster.pass(1_100);
        cluster.pass(1_100);
        assert_eq!(
            [1, 2, 3].map(|id| cluster.ends(id, 0)),
            [(acknowledged, acknowledged); 3],
            "round {round}"
        );
    }
}

/// A world in which brokers die, are cut off, and come back, with disks that had done a part of what they were asked.
pub(crate) struct World {
    pub(crate) cluster: Cluster,
    pub(crate) random: Random,
    /// Offsets that were acknowledged, and the requests that were.
    pub(crate) acknowledged: BTreeMap<i64, u64>,
    pub(crate) deaths: usize,
}

impl World {
    pub(crate) fn new(seed: u64, replicas: &[i32]) -> Self {
        let cluster = Cluster::new(&[replicas]);
        Self { cluster, random: Random::new(seed), acknowledged: BTreeMap::new(), deaths: 0 }
    }

    pub(crate) fn act(&mut self) {
        let (any, often) = (1 + self.random.below(3) as i32, self.random.below(4));
        match self.random.below(16) {
            0..=5 => {
                let leader = self.cluster.leader(0).0;
                let _ = self.cluster.produce(leader, 0);
            }
            6..=10 if !self.cluster.away.contains(&any) => drop(self.cluster.partial_turn(any, often)),
            11 if self.cluster.away.is_empty() => {
                self.deaths += 1;
                self.cluster.lose(any);
            }
            12 | 13 => {
                if let Some(id) = self.cluster.away.first().copied() {
                    match self.random.below(2) {
                        0 => self.cluster.restart(id),
                        _ => self.cluster.come_back(id),
                    }
                }
            }
            14 => self.cluster.pass(60),
            _ => self.cluster.settle(),
        }
        self.hear();
    }

    /// What clients were told.
    fn hear(&mut self) {
        for id in 1..=3 {
            for (number, (error, offset)) in self.cluster.answers(id) {
                if error == 0 {
                    let before = self.acknowledged.insert(offset, number);
                    assert_eq!(before, None, "two requests were given the offset {offset}");
                }
            }
        }
    }

    /// All are there again, and time passes until there is a leader.
    pub(crate) fn heal(&mut self) -> i32 {
        while let Some(id) = self.cluster.away.first().copied() {
            self.cluster.restart(id);
        }
        for _ in 0..6 {
            self.cluster.pass(1_100);
        }
        self.hear();
        self.cluster.leader(0).0
    }
}

#[test]
fn nothing_acknowledged_is_lost_whoever_dies_and_whenever() {
    let (mut deaths, mut acknowledged) = (0, 0);
    for seed in 0..300 {
        let mut world = World::new(seed, &[1, 2, 3]);
        (0..200).for_each(|_| world.act());
        let leader = world.heal();
        let held = world.cluster.read(leader, 0);
        for (offset, number) in &world.acknowledged {
            assert_eq!(held.get(offset), Some(number), "seed {seed}: offset {offset} was acknowledged");
        }
        let ends = [1, 2, 3].map(|id| world.cluster.ends(id, 0));
        let end = held.last_key_value().map_or(0, |(offset, _)| offset + 1);
        assert_eq!(ends, [(end, end); 3], "seed {seed}");
        deaths += world.deaths;
        acknowledged += world.acknowledged.len();
    }
    assert!(deaths > 1_000 && acknowledged > 2_500, "{deaths} {acknowledged}");
}

#[test]
fn broker_that_does_not_lead_says_so_to_a_producer_whose_batch_it_has_refused() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    let send = |cluster: &mut Cluster, number, base_sequence| {
        let producer = Producer { id: 7, epoch: 0, base_sequence };
        let mut builder = BatchBuilder::new(Attributes(0), producer);
        builder.push(1_000, None, Some(b"value"), &[]);
        let asked = request(0, &builder.finish()).with_acks(-1);
        let answer = cluster.broker(2).ask(number, VERSION, &asked);
        answer.map(|answer| answer.responses[0].partition_responses[0].error_code)
    };
    // The first is acknowledged by the leader afterwards, and the second comes here again.
    assert_eq!(send(&mut cluster, 1, 0), Some(NOT_LEADER));
    assert_eq!(send(&mut cluster, 2, 1), Some(NOT_LEADER));
}
