//! What a broker promises, seen from outside: what it answers, and when, as its disk goes on or does not.

use std::collections::BTreeMap;

use base::{MonoTime, Now};
use log_broker::{
    Broker, BrokerConfig, CatalogCommand, DiskCommand, DiskEvent, PartitionImage, Response, StoredPartition,
    TopicImage, Waiter,
};
use log_partition::{LeaderEpoch, PartitionConfig, PartitionId, Tables};
use log_wire::{
    Attributes, BatchBuilder, FetchPartition, FetchRequest, MetadataRequest, MetadataTopic, ProducePartition,
    ProduceRequest, Producer, TopicName, Writer,
};
use net_event_loop::ConnId;
use storage_wal::LogId;

const NOW: Now = Now::of_ms(1_000, 1_000);
const TIMEOUT_MS: i32 = 500;
/// The version of Produce in these tests.
const VERSION: i16 = 3;

struct Bench {
    broker: Broker,
    /// Commands that the disk was given, and those of them that are durable.
    given: u64,
    next_log: u64,
}

fn topic(id: u8, epoch: i32) -> TopicImage {
    TopicImage {
        name: "t".into(),
        id: [id; 16],
        partitions: vec![PartitionImage { leader: 1, epoch: LeaderEpoch(epoch), replicas: vec![1] }],
        settings: BTreeMap::new(),
        config: PartitionConfig::default(),
    }
}

fn batch(producer: Producer) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Attributes(0), producer);
    builder.push(1_000, None, Some(b"value"), &[]);
    builder.finish()
}

fn waiter(request: u64) -> Waiter {
    Waiter { shard: 0, conn: ConnId { slot: 0, generation: 1 }, request }
}

/// The error and the base offset of an answer to one batch.
fn outcome(response: &Response) -> (i16, i64) {
    let Response::Produce(produce) = response else { panic!("no answer to Produce: {response:?}") };
    let mut body = Vec::new();
    produce.write(&mut Writer::new(&mut body, false), VERSION);
    let partition = &body[4 + 3 + 4 + 4..];
    let error = i16::from_be_bytes([partition[0], partition[1]]);
    (error, i64::from_be_bytes(partition[2..10].try_into().expect("eight bytes")))
}

impl Bench {
    fn new(stored: Vec<StoredPartition>) -> Self {
        let config = BrokerConfig { node_id: 1, ..BrokerConfig::default() };
        let mut broker = Broker::new(config, PartitionConfig::default(), "cluster".into(), stored);
        broker.disk_event(DiskEvent::Room(1 << 20), NOW);
        Self { broker, given: 0, next_log: 7 }
    }

    /// The disk takes what it is given, and makes the logs that are asked for.
    fn take(&mut self) -> Vec<DiskCommand> {
        let commands = self.broker.take_disk_commands();
        self.given += commands.len() as u64;
        for command in &commands {
            if let DiskCommand::Create(id, _) = command {
                self.next_log += 1;
                self.broker.disk_event(DiskEvent::Created(*id, LogId(self.next_log)), NOW);
            }
        }
        commands
    }

    /// Everything that was given is durable.
    fn flush(&mut self) {
        self.take();
        self.take();
        self.broker.disk_event(DiskEvent::Durable(self.given), NOW);
    }

    /// With a topic that is served.
    fn serving() -> Self {
        let mut bench = Self::new(Vec::new());
        bench.broker.topic_changed(topic(1, 0)).expect("there is nothing on the disk");
        bench.flush();
        bench
    }

    fn produce(&mut self, records: &[u8], request: u64) -> Option<Response> {
        let head = ProduceRequest { transactional_id: None, acks: 1, timeout_ms: TIMEOUT_MS };
        let partition =
            ProducePartition { topic: TopicName::Name("t"), partition: 0, records: Some(records) };
        self.broker.produce((&head, VERSION), &[partition], waiter(request), NOW)
    }

    fn fetch(&mut self, offset: i64, max_wait_ms: i32) -> Option<Response> {
        let head = FetchRequest {
            max_wait_ms,
            min_bytes: 1,
            max_bytes: 1 << 20,
            isolation_level: 0,
            session_id: 0,
            session_epoch: -1,
            rack: "",
        };
        let topic = TopicName::Name("t");
        let partition = FetchPartition {
            topic,
            partition: 0,
            current_leader_epoch: -1,
            offset,
            last_fetched_epoch: -1,
            max_bytes: 1 << 20,
        };
        self.broker.fetch(&head, &[partition], waiter(99), NOW)
    }

    fn answered(&mut self) -> Vec<(u64, Response)> {
        self.broker.take_done().into_iter().map(|(waiter, response)| (waiter.request, response)).collect()
    }
}

#[test]
fn batch_is_acknowledged_once_it_is_durable_and_not_before() {
    let mut bench = Bench::serving();
    assert!(
        bench.produce(&batch(Producer::NONE), 1).is_none()
            && bench.produce(&batch(Producer::NONE), 2).is_none()
    );
    let commands = bench.take();
    assert!(matches!(commands.as_slice(), [DiskCommand::Append(_), DiskCommand::Append(_)]), "{commands:?}");
    assert!(bench.answered().is_empty());
    bench.broker.disk_event(DiskEvent::Durable(bench.given - 1), NOW);
    let first = bench.answered();
    assert_eq!(
        first.iter().map(|(request, answer)| (*request, outcome(answer))).collect::<Vec<_>>(),
        [(1, (0, 0))]
    );
    bench.flush();
    let second = bench.answered();
    assert_eq!(
        second.iter().map(|(request, answer)| (*request, outcome(answer))).collect::<Vec<_>>(),
        [(2, (0, 1))]
    );
}

#[test]
fn partition_is_served_once_the_beginning_of_its_epoch_is_durable() {
    let mut bench = Bench::new(Vec::new());
    bench.broker.topic_changed(topic(1, 0)).expect("there is nothing on the disk");
    bench.take();
    let refused = bench.produce(&batch(Producer::NONE), 1).expect("an answer at once");
    assert_eq!(outcome(&refused), (6, -1), "NOT_LEADER_OR_FOLLOWER");
    bench.flush();
    assert!(bench.produce(&batch(Producer::NONE), 2).is_none());
}

#[test]
fn retry_of_a_batch_on_its_way_waits_for_it_and_gets_its_offset() {
    let mut bench = Bench::serving();
    let producer = Producer { id: 5, epoch: 0, base_sequence: 0 };
    assert!(bench.produce(&batch(producer), 1).is_none() && bench.produce(&batch(producer), 2).is_none());
    let commands = bench.take();
    assert_eq!(commands.len(), 1, "it is appended once");
    bench.flush();
    let answers = bench.answered();
    assert_eq!(answers.iter().map(|(_, answer)| outcome(answer)).collect::<Vec<_>>(), [(0, 0), (0, 0)]);
}

#[test]
fn batch_whose_time_is_over_is_told_with_its_offset() {
    let mut bench = Bench::serving();
    assert!(bench.produce(&batch(Producer::NONE), 1).is_none());
    bench.broker.tick(Now::of_ms(1_000 + TIMEOUT_MS as u64, 2_000));
    assert_eq!(bench.answered().iter().map(|(_, answer)| outcome(answer)).collect::<Vec<_>>(), [(7, 0)]);
    bench.flush();
    assert!(bench.answered().is_empty(), "it is answered once");
}

#[test]
fn full_disk_refuses_batches_and_appends_nothing() {
    let mut bench = Bench::serving();
    bench.broker.disk_event(DiskEvent::Room(10), NOW);
    let refused = bench.produce(&batch(Producer::NONE), 1).expect("an answer at once");
    assert_eq!(outcome(&refused), (56, -1), "KAFKA_STORAGE_ERROR");
    assert!(bench.take().is_empty());
    bench.broker.disk_event(DiskEvent::Room(1 << 20), NOW);
    assert!(bench.produce(&batch(Producer::NONE), 2).is_none(), "there is room again");
}

#[test]
fn damaged_batch_is_refused() {
    let mut bench = Bench::serving();
    for at in 16..batch(Producer::NONE).len() {
        let mut damaged = batch(Producer::NONE);
        damaged[at] ^= 1;
        let refused = bench.produce(&damaged, 1).expect("an answer at once");
        assert!(matches!(outcome(&refused), (2 | 87, -1)), "byte {at}: {:?}", outcome(&refused));
    }
    assert!(bench.take().is_empty());
}

#[test]
fn fetch_waits_for_what_is_durable_and_for_its_time_at_the_longest() {
    let mut bench = Bench::serving();
    assert!(bench.fetch(0, 100).is_none());
    bench.produce(&batch(Producer::NONE), 1);
    bench.take();
    assert!(bench.answered().is_empty(), "what is not durable is not there");
    bench.flush();
    let requests: Vec<u64> = bench.answered().iter().map(|(request, _)| *request).collect();
    assert_eq!(requests, [1, 99]);
    assert!(bench.fetch(1, 100).is_none());
    assert_eq!(bench.broker.next_deadline(), Some(MonoTime::of_ms(1_100)));
    bench.broker.tick(Now::of_ms(1_100, 1_100));
    assert_eq!(bench.answered().len(), 1);
    assert!(bench.fetch(5, 100).is_some(), "an error does not wait");
}

#[test]
fn topic_made_again_under_its_name_is_empty() {
    let mut bench = Bench::serving();
    bench.produce(&batch(Producer::NONE), 1);
    bench.flush();
    bench.broker.topic_deleted("t");
    assert!(matches!(bench.take().as_slice(), [DiskCommand::Drop(LogId(8))]));
    bench.broker.topic_changed(topic(2, 0)).expect("there is nothing on the disk");
    bench.flush();
    bench.answered();
    assert!(bench.produce(&batch(Producer::NONE), 2).is_none());
    bench.flush();
    assert_eq!(bench.answered().iter().map(|(_, answer)| outcome(answer)).collect::<Vec<_>>(), [(0, 0)]);
}

fn stored(state: Option<Vec<u8>>) -> StoredPartition {
    let id = PartitionId { topic: [1; 16], index: 0 };
    StoredPartition { log: LogId(3), id, start: None, state, segments: Vec::new(), batches: Vec::new() }
}

#[test]
fn damaged_partition_is_not_served_and_nothing_is_made_in_its_place() {
    let mut bench = Bench::new(vec![stored(Some(b"no tables".to_vec()))]);
    assert!(bench.broker.topic_changed(topic(1, 0)).is_err());
    bench.broker.topic_changed(topic(1, 1)).expect("it is known to be damaged");
    assert!(bench.take().is_empty());
    assert_eq!(outcome(&bench.produce(&batch(Producer::NONE), 1).expect("an answer at once")).0, 6);
}

#[test]
fn partition_that_the_council_does_not_know_is_kept() {
    let mut bench = Bench::new(vec![stored(None)]);
    assert_eq!(bench.broker.catalog_complete().len(), 1);
    assert!(bench.take().is_empty(), "nothing is dropped");
    bench.broker.disk_event(DiskEvent::StatesAsked(vec![LogId(3)]), NOW);
    let commands = bench.take();
    let [DiskCommand::State(LogId(3), state)] = commands.as_slice() else { panic!("{commands:?}") };
    assert!(Tables::of_bytes(state).is_ok());
}

#[test]
fn topics_of_one_request_are_made_by_and_by() {
    let mut bench = Bench::new(Vec::new());
    let names: Vec<String> = (0..5_000).map(|number| format!("topic-{number}")).collect();
    let topics: Vec<_> = names.iter().map(|name| MetadataTopic { id: [0; 16], name: Some(name) }).collect();
    let request = MetadataRequest {
        all_topics: false,
        may_create: true,
        cluster_operations: false,
        topic_operations: false,
    };
    bench.broker.metadata(&request, &topics, (&mut Writer::new(&mut Vec::new(), false), 4));
    let asked = bench.broker.take_catalog_commands();
    assert!((1..=100).contains(&asked.len()), "{}", asked.len());
    assert!(asked.iter().all(|command| matches!(command, CatalogCommand::Create(_, None))));
}
