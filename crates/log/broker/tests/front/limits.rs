//! Limits of connections: clients that send or take slowly, too much or nothing.

use base::MonoTime;
use bytes::Bytes;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    ApiVersionsRequest, DescribeGroupsRequest, FetchRequest, GroupId, ListGroupsRequest, MetadataRequest,
    OffsetFetchRequest, ProduceRequest, TopicName,
};
use log_broker::{BrokerConfig, Refusal};
use log_wire::{Attributes, BatchBuilder, Producer};

use crate::world::{World, frame, text};

const VERSION: i16 = 9;

fn produce(value_bytes: usize) -> ProduceRequest {
    let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
    builder.push(1_000, None, Some(&vec![7; value_bytes]), &[]);
    let data = PartitionProduceData::default().with_records(Some(Bytes::from(builder.finish())));
    let topic = TopicProduceData::default().with_name(TopicName(text("t"))).with_partition_data(vec![data]);
    ProduceRequest::default().with_acks(1).with_timeout_ms(500).with_topic_data(vec![topic])
}

fn fetch() -> FetchRequest {
    let partition = FetchPartition::default().with_partition_max_bytes(i32::MAX);
    let topic = FetchTopic::default().with_topic(TopicName(text("t"))).with_partitions(vec![partition]);
    FetchRequest::default().with_max_bytes(i32::MAX).with_session_epoch(-1).with_topics(vec![topic])
}

/// Whether a client that just came is served.
fn serves(world: &mut World) -> bool {
    let client = world.connect(0);
    let small = world.ask(client, VERSION, &produce(10)).is_some();
    let listed = world.ask(client, 4, &ListGroupsRequest::default()).is_some();
    // Longer than what is read at once under pressure.
    let large = world.ask(client, VERSION, &produce(20_000)).is_some();
    small && listed && large
}

#[test]
fn unfinished_requests_are_bounded_in_all_and_others_are_served() {
    let config =
        BrokerConfig { unfinished_bytes_max: 2 << 20, request_bytes_max: 2 << 20, ..BrokerConfig::default() };
    let mut world = World::new(config);
    let whole = frame(VERSION, &produce(1_500_000));
    let clients: Vec<usize> = (0..50).map(|_| world.connect(0)).collect();
    for client in &clients {
        world.send(*client, &whole[..500_000]);
    }
    world.turns(200);
    let unread: usize = clients.iter().map(|client| world.unread(*client)).sum();
    assert!(unread > 50 * 500_000 - 3_500_000, "little more than the limit is read: {unread}");
    assert!(serves(&mut world));
    // What others hold is taken from them one after the other, so that each comes to its turn.
    world.send(clients[49], &whole[500_000..]);
    world.pass_ms(60_000);
    assert_eq!(world.frames(clients[49]).len(), 1, "one that goes on is served in the end");
    assert!(world.pipes.refused.iter().all(|why| *why == Refusal::SlowRequest));
    assert!(clients.iter().filter(|client| world.is_closed(**client)).count() >= 47);
}

#[test]
fn many_large_requests_at_once_all_arrive() {
    let config =
        BrokerConfig { unfinished_bytes_max: 2 << 20, request_bytes_max: 2 << 20, ..BrokerConfig::default() };
    let mut world = World::new(config);
    let whole = frame(VERSION, &produce(900_000));
    let clients: Vec<usize> = (0..30).map(|_| world.connect(0)).collect();
    clients.iter().for_each(|client| world.send(*client, &whole));
    world.turns(1_000);
    for client in clients {
        assert_eq!(world.frames(client).len(), 1);
    }
    assert_eq!(world.pipes.refused, []);
}

#[test]
fn client_that_takes_nothing_holds_one_answer_and_is_closed_when_others_need_the_room() {
    let config =
        BrokerConfig { unsent_bytes_max: 3 << 20, fetch_bytes_max: 1 << 20, ..BrokerConfig::default() };
    let mut world = World::new(config);
    let producer = world.connect(0);
    for _ in 0..2 {
        world.ask(producer, VERSION, &produce(600_000)).expect("it is taken");
    }
    let slow: Vec<usize> = (0..30).map(|_| world.connect(0)).collect();
    for client in &slow {
        world.takes(*client, 0);
        (0..20).for_each(|_| world.send(*client, &frame(12, &fetch())));
    }
    world.turns(20);
    assert!(serves(&mut world));
    // Six or so answers fill the room; the others wait, and those that hold them are closed for them.
    world.pass_ms(30_000);
    assert!(world.pipes.refused.len() >= 20, "{:?}", world.pipes.refused);
    assert!(world.pipes.refused.iter().all(|why| *why == Refusal::SlowReader));
    let reader = world.connect(0);
    let answer = world.ask(reader, 12, &fetch()).expect("there is room");
    assert!(
        answer.responses[0].partitions[0].records.as_ref().is_some_and(|records| records.len() > 600_000)
    );
}

#[test]
fn client_that_takes_its_answers_slowly_is_served_one_after_the_other() {
    let mut world = World::new(BrokerConfig::default());
    let producer = world.connect(0);
    world.ask(producer, VERSION, &produce(600_000)).expect("it is taken");
    let client = world.connect(0);
    world.takes(client, 0);
    (0..20).for_each(|_| world.send(client, &frame(12, &fetch())));
    let mut answers = 0;
    for _ in 0..2_000 {
        world.takes(client, 10_000);
        world.turns(1);
        answers += world.frames(client).len();
    }
    assert_eq!((answers, world.pipes.refused.len()), (20, 0));
}

#[test]
fn silent_client_is_closed_after_a_while_unless_it_waits_for_an_answer() {
    let config = BrokerConfig { idle_ms_max: Some(10_000), ..BrokerConfig::default() };
    let mut world = World::new(config);
    let (silent, waiting, active) = (world.connect(0), world.connect(0), world.connect(0));
    let wait = fetch().with_max_wait_ms(30_000).with_min_bytes(1_000_000);
    assert!(world.ask(waiting, 12, &wait).is_none());
    for _ in 0..5 {
        world.pass_ms(4_000);
        assert!(world.ask(active, 4, &ListGroupsRequest::default()).is_some());
    }
    assert_eq!([silent, waiting, active].map(|client| world.is_closed(client)), [true, false, false]);
    assert_eq!(world.pipes.refused, [Refusal::Idle]);
    world.pass_ms(21_000);
    assert_eq!(world.frames(waiting).len(), 1);
    world.pass_ms(12_000);
    assert!(world.is_closed(waiting) && world.is_closed(active));
    assert_eq!(world.deadline(), None, "nothing is left of connections that are gone");
}

#[test]
fn fetch_that_waits_is_answered_when_its_time_is_over_and_not_at_the_next_tick() {
    let mut world = World::new(BrokerConfig::default());
    let client = world.connect(0);
    let wait = fetch().with_max_wait_ms(7).with_min_bytes(1_000_000);
    assert!(world.ask(client, 12, &wait).is_none());
    assert_eq!(world.deadline(), Some(MonoTime::of_ms(world.now_ms + 7)));
    world.now_ms += 6;
    world.turns(1);
    assert_eq!(world.frames(client).len(), 0);
    world.now_ms += 1;
    world.turns(1);
    assert_eq!(world.frames(client).len(), 1);
}

#[test]
fn frame_that_is_no_request_ends_its_connection_alone() {
    let mut world = World::new(BrokerConfig::default());
    for bad in [&[0xff; 8][..], &[0x7f, 0xff, 0xff, 0xff], &[0, 0, 0, 0], &[0, 0, 0, 4, 0, 3, 0, 99]] {
        let client = world.connect(0);
        world.send(client, bad);
        world.turns(2);
        world.pass_ms(3_000);
        assert!(world.is_closed(client), "{bad:?}");
    }
    assert!(serves(&mut world));
    assert_eq!(world.pipes.refused.len(), 4);
}

#[test]
fn answer_names_the_listener_that_was_asked() {
    let config = BrokerConfig::default();
    let mut listeners = vec![config.listeners[0].clone(), config.listeners[0].clone()];
    listeners[1].advertised_host = String::from("outside.example");
    listeners[1].advertised_port = 443;
    let mut world = World::new(BrokerConfig { listeners, ..config });
    let mut ask = |listener| {
        let client = world.connect(listener);
        assert!(world.ask(client, 0, &ApiVersionsRequest::default()).is_some());
        let answer = world.ask(client, 9, &MetadataRequest::default()).expect("an answer");
        (answer.brokers[0].host.to_string(), answer.brokers[0].port)
    };
    assert_eq!(ask(0), ("127.0.0.1".into(), 9092));
    assert_eq!(ask(1), ("outside.example".into(), 443));
}

#[test]
fn topic_or_group_that_is_named_very_often_is_answered_once() {
    let mut world = World::new(BrokerConfig::default());
    let client = world.connect(0);
    let topic = MetadataRequestTopic::default().with_name(Some(TopicName(text("t"))));
    let request = MetadataRequest::default().with_topics(Some(vec![topic; 10_000]));
    assert_eq!(world.ask(client, 9, &request).expect("an answer").topics.len(), 1);
    let request = DescribeGroupsRequest::default().with_groups(vec![GroupId(text("g")); 10_000]);
    assert_eq!(world.ask(client, 4, &request).expect("an answer").groups.len(), 1);
    let group = OffsetFetchRequestGroup::default().with_group_id(GroupId(text("g")));
    let request = OffsetFetchRequest::default().with_groups(vec![group; 10_000]);
    assert_eq!(world.ask(client, 8, &request).expect("an answer").groups.len(), 1);
}
