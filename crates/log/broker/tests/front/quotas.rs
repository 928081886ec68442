//! Quotas of clients: how they are shown and changed, and that whoever uses more must wait.
#![expect(clippy::too_many_lines, reason = "tables of filters and changes")]

use std::cell::Cell;

use bytes::Bytes;
use kafka_protocol::messages::alter_client_quotas_request::{EntityData, EntryData, OpData};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::describe_client_quotas_request::ComponentData;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    AlterClientQuotasRequest, CreateTopicsRequest, DescribeClientQuotasRequest, FetchRequest,
    ListGroupsRequest, ProduceRequest, TopicName,
};
use log_broker::BrokerConfig;
use log_wire::{Attributes, BatchBuilder, Producer};

use crate::world::{World, frame, frame_of, text};

const INVALID: i16 = 42;
const UNSUPPORTED: i16 = 35;

fn world() -> World {
    World::new(BrokerConfig::default())
}

/// `user=bob&client-id` is bob with the default of clients.
fn entity(text_of: &str) -> Vec<EntityData> {
    let part = |part: &str| {
        let (kind, name) = part.split_once('=').map_or((part, None), |(kind, name)| (kind, Some(name)));
        EntityData::default().with_entity_type(text(kind)).with_entity_name(name.map(text))
    };
    text_of.split('&').filter(|part| !part.is_empty()).map(part).collect()
}

/// Sets a quota, or removes it.
fn entry(of: &str, key: &str, value: Option<f64>) -> EntryData {
    let op =
        OpData::default().with_key(text(key)).with_value(value.unwrap_or(0.0)).with_remove(value.is_none());
    EntryData::default().with_entity(entity(of)).with_ops(vec![op])
}

fn alter(world: &mut World, entries: Vec<EntryData>) -> Vec<i16> {
    let client = world.connect(0);
    let request = AlterClientQuotasRequest::default().with_entries(entries);
    let answer = world.ask(client, 1, &request).expect("an answer");
    answer.entries.into_iter().map(|entry| entry.error_code).collect()
}

/// Of `user=bob&client-id&ip*`: bob, the default, any address. The error, or entities with their quotas.
fn describe(world: &mut World, filter: &str, strict: bool) -> Result<Vec<String>, i16> {
    let component = |part: &str| {
        let (kind, how, name) = match (part.split_once('='), part.strip_suffix('*')) {
            (Some((kind, name)), _) => (kind, 0, Some(name)),
            (None, Some(kind)) => (kind, 2, None),
            (None, None) => (part, 1, None),
        };
        ComponentData::default().with_entity_type(text(kind)).with_match_type(how).with_match(name.map(text))
    };
    let components = filter.split('&').filter(|part| !part.is_empty()).map(component).collect();
    let request = DescribeClientQuotasRequest::default().with_components(components).with_strict(strict);
    let client = world.connect(0);
    let answer = world.ask(client, 1, &request).expect("an answer");
    if answer.error_code != 0 {
        assert!(answer.entries.is_none());
        return Err(answer.error_code);
    }
    let shown = answer.entries.unwrap_or_default().into_iter().map(|entry| {
        let mut parts: Vec<String> = entry
            .entity
            .iter()
            .map(|part| match &part.entity_name {
                Some(name) => format!("{}={name}", &*part.entity_type),
                None => part.entity_type.to_string(),
            })
            .collect();
        parts.sort();
        let values = entry.values.iter().map(|value| format!("{}={}", &*value.key, value.value));
        format!("{} {}", parts.join("&"), values.collect::<Vec<_>>().join(","))
    });
    let mut shown: Vec<String> = shown.collect();
    shown.sort();
    Ok(shown)
}

#[test]
fn quotas_that_were_set_are_found_by_each_kind_of_filter() {
    let mut world = world();
    let entries = vec![
        entry("user=bob", "producer_byte_rate", Some(1_000.0)),
        entry("user", "consumer_byte_rate", Some(2_000.0)),
        entry("user=bob&client-id=c", "request_percentage", Some(12.5)),
        entry("client-id", "controller_mutation_rate", Some(0.5)),
        entry("ip=10.0.0.9", "connection_creation_rate", Some(3.0)),
    ];
    assert_eq!(alter(&mut world, entries), [0; 5]);
    let bob = "user=bob producer_byte_rate=1000";
    let pair = "client-id=c&user=bob request_percentage=12.5";
    let users = "user consumer_byte_rate=2000";
    let clients = "client-id controller_mutation_rate=0.5";
    let ip = "ip=10.0.0.9 connection_creation_rate=3";
    for (filter, strict, expected) in [
        ("", false, vec![clients, pair, ip, users, bob]),
        ("user=bob", false, vec![pair, bob]),
        ("user=bob", true, vec![bob]),
        ("user", false, vec![users]),
        ("user*", true, vec![users, bob]),
        ("user*&client-id*", true, vec![pair]),
        ("client-id*", false, vec![clients, pair]),
        ("ip*", false, vec![ip]),
        ("ip", false, vec![]),
        ("user=nobody", false, vec![]),
    ] {
        let shown = describe(&mut world, filter, strict).expect("it is shown");
        assert_eq!(shown, expected, "{filter} {strict}");
    }
    let gone =
        vec![entry("user=bob", "producer_byte_rate", None), entry("user=eve", "producer_byte_rate", None)];
    assert_eq!(alter(&mut world, gone), [0, 0]);
    assert_eq!(describe(&mut world, "user=bob", true), Ok(vec![]));
}

#[test]
fn filters_and_changes_that_mean_nothing_are_refused() {
    let mut world = world();
    for (filter, error) in [
        ("host*", UNSUPPORTED),
        ("=x", INVALID),
        ("user*&user=bob", INVALID),
        ("ip*&user*", INVALID),
        ("client-id&ip=1.2.3.4", INVALID),
    ] {
        assert_eq!(describe(&mut world, filter, false), Err(error), "{filter}");
    }
    let client = world.connect(0);
    for (how, name) in [(0, None), (1, Some("x")), (2, Some("x")), (3, None), (-1, None)] {
        let component = ComponentData::default().with_entity_type(text("user")).with_match_type(how);
        let request = DescribeClientQuotasRequest::default()
            .with_components(vec![component.with_match(name.map(text))]);
        let answer = world.ask(client, 1, &request).expect("an answer");
        assert_eq!(answer.error_code, INVALID, "{how} {name:?}");
    }
    let long = format!("user={}", "x".repeat(2_000));
    for (of, key, value) in [
        ("", "producer_byte_rate", Some(1.0)),
        ("host=x", "producer_byte_rate", Some(1.0)),
        ("user=", "producer_byte_rate", Some(1.0)),
        ("user=a&ip=1.2.3.4", "producer_byte_rate", Some(1.0)),
        ("ip=1.2.3.4", "producer_byte_rate", Some(1.0)),
        ("ip=nowhere", "connection_creation_rate", Some(1.0)),
        ("user=a", "connection_creation_rate", Some(1.0)),
        ("user=a", "no_such_rate", Some(1.0)),
        ("user=a", "producer_byte_rate", Some(0.0)),
        ("user=a", "producer_byte_rate", Some(-5.0)),
        ("user=a", "producer_byte_rate", Some(0.5)),
        ("user=a", "producer_byte_rate", Some(f64::NAN)),
        (&long, "producer_byte_rate", Some(1.0)),
    ] {
        assert_eq!(alter(&mut world, vec![entry(of, key, value)]), [INVALID], "{of} {key} {value:?}");
    }
    let twice = vec![entry("user=a", "producer_byte_rate", Some(1.0)); 2];
    assert_eq!(alter(&mut world, twice), [INVALID, INVALID]);
    assert_eq!(describe(&mut world, "", false), Ok(vec![]), "nothing was changed");
    let odd =
        vec![entry("user=a&user=b", "producer_byte_rate", Some(1.0)), entry("user=c", "no_such_rate", None)];
    assert_eq!(alter(&mut world, odd), [0, 0], "Kafka takes them");
    assert_eq!(describe(&mut world, "", false), Ok(vec![String::from("user=b producer_byte_rate=1")]));
}

#[test]
fn change_that_is_only_validated_is_not_made() {
    let mut world = world();
    let entries = vec![entry("user=a", "producer_byte_rate", Some(1.0)), entry("", "x", None)];
    let request = AlterClientQuotasRequest::default().with_entries(entries).with_validate_only(true);
    let client = world.connect(0);
    let answer = world.ask(client, 1, &request).expect("an answer");
    let codes: Vec<i16> = answer.entries.iter().map(|entry| entry.error_code).collect();
    assert_eq!((codes, describe(&mut world, "", false)), (vec![0, INVALID], Ok(vec![])));
}

fn produce(acks: i16, bytes: usize) -> ProduceRequest {
    let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
    builder.push(1_000, None, Some(&vec![7; bytes]), &[]);
    let partition = PartitionProduceData::default().with_records(Some(Bytes::from(builder.finish())));
    let data = TopicProduceData::default().with_name(TopicName(text("t")));
    ProduceRequest::default()
        .with_acks(acks)
        .with_timeout_ms(500)
        .with_topic_data(vec![data.with_partition_data(vec![partition])])
}

/// Whether a client is answered at once.
fn is_served(world: &mut World, client: usize) -> bool {
    world.send(client, &frame(4, &ListGroupsRequest::default()));
    world.turns(5);
    !world.frames(client).is_empty()
}

#[test]
fn producer_beyond_its_quota_is_told_to_wait_and_is_not_read_meanwhile() {
    let mut world = world();
    let client = world.connect(0);
    let other = world.connect(0);
    assert_eq!(alter(&mut world, vec![entry("client-id=client", "producer_byte_rate", Some(1_000.0))]), [0]);
    let answer = world.ask(client, 9, &produce(1, 2_000)).expect("it is written");
    assert_eq!(answer.throttle_time_ms, 0, "a burst within the windows is free");
    let answer = world.ask(client, 9, &produce(1, 20_000)).expect("it is written");
    let wait_ms = u64::try_from(answer.throttle_time_ms).expect("a time");
    assert!((9_000..15_000).contains(&wait_ms), "{wait_ms}");
    assert_eq!(answer.responses[0].partition_responses[0].error_code, 0);
    assert!(!is_served(&mut world, client), "it waits");
    world.pass_ms(wait_ms - 500);
    assert!(world.frames(client).is_empty() && world.unread(client) > 0, "it still waits");
    world.pass_ms(1_000);
    assert_eq!(world.frames(client).len(), 1, "what it has sent meanwhile is answered");
    assert!(is_served(&mut world, client) && is_served(&mut world, other));
}

thread_local! {
    static WORKED_NS: Cell<u64> = const { Cell::new(0) };
}

/// Each request takes 100 ms.
fn worked_ns() -> u64 {
    WORKED_NS.replace(WORKED_NS.get() + 100_000_000)
}

#[test]
fn client_that_takes_more_time_than_its_quota_waits_for_one_window_at_a_time() {
    let mut world = World::new(BrokerConfig { worked_ns, ..BrokerConfig::default() });
    let (client, other) = (world.connect(0), world.connect(0));
    assert!(is_served(&mut world, client));
    assert_eq!(WORKED_NS.get(), 0, "without a quota requests are not timed");
    let quotas = vec![
        entry("client-id=client", "request_percentage", Some(1.0)),
        entry("client-id=else", "request_percentage", Some(1e9)),
    ];
    assert_eq!(alter(&mut world, quotas), [0; 2]);
    // One percent of a thread for ten seconds is 100 ms.
    assert!(is_served(&mut world, client) && is_served(&mut world, client));
    assert!(!is_served(&mut world, client), "it has taken 200 ms");
    world.pass_ms(900);
    assert!(world.frames(client).is_empty(), "it still waits");
    world.pass_ms(200);
    assert_eq!(world.frames(client).len(), 1);
    world.send(other, &frame_of("else", 4, &ListGroupsRequest::default()));
    world.turns(5);
    assert_eq!(world.frames(other).len(), 1, "that of others is their own");
    assert_eq!(alter(&mut world, vec![entry("client-id=client", "request_percentage", None)]), [0]);
    world.pass_ms(1_100);
    assert!((0..5).all(|_| is_served(&mut world, client)));
}

#[test]
fn producer_that_waits_for_no_answers_waits_for_its_quota() {
    let mut world = world();
    let client = world.connect(0);
    assert_eq!(alter(&mut world, vec![entry("user", "producer_byte_rate", Some(1_000.0))]), [0]);
    world.send(client, &frame(9, &produce(0, 30_000)));
    world.turns(5);
    assert!(!is_served(&mut world, client));
    world.pass_ms(60_000);
    assert_eq!(world.frames(client).len(), 1);
}

#[test]
fn fetch_gives_at_once_what_may_be_used_at_once_and_then_the_client_waits() {
    let mut world = world();
    let (writer, reader) = (world.connect(0), world.connect(0));
    for _ in 0..10 {
        world.ask(writer, 9, &produce(1, 5_000)).expect("it is written");
    }
    assert_eq!(alter(&mut world, vec![entry("user&client-id", "consumer_byte_rate", Some(1_000.0))]), [0]);
    let partition = FetchPartition::default().with_partition_max_bytes(1 << 20);
    let asked = FetchTopic::default().with_topic(TopicName(text("t"))).with_partitions(vec![partition]);
    let fetch = FetchRequest::default().with_max_bytes(1 << 20).with_topics(vec![asked]);
    let answer = world.ask(reader, 11, &fetch).expect("an answer");
    let bytes = answer.responses[0].partitions[0].records.as_ref().map_or(0, Bytes::len);
    assert!((5_000..=10_000).contains(&bytes), "{bytes} of 50,000");
    let answer = world.ask(reader, 11, &fetch).expect("an answer");
    let wait_ms = u64::try_from(answer.throttle_time_ms).expect("a time");
    assert!(wait_ms > 0);
    assert!(!is_served(&mut world, reader));
    world.pass_ms(wait_ms + 100);
    assert_eq!(world.frames(reader).len(), 1);
    assert_eq!(alter(&mut world, vec![entry("user&client-id", "consumer_byte_rate", None)]), [0]);
    let answer = world.ask(reader, 11, &fetch).expect("an answer");
    let bytes = answer.responses[0].partitions[0].records.as_ref().map_or(0, Bytes::len);
    assert!(bytes > 50_000 && answer.throttle_time_ms == 0, "{bytes} without a quota");
}

fn create(name: &str, partitions: i32) -> CreateTopicsRequest {
    let topic = CreatableTopic::default().with_name(TopicName(text(name))).with_num_partitions(partitions);
    CreateTopicsRequest::default().with_timeout_ms(500).with_topics(vec![topic.with_replication_factor(1)])
}

#[test]
fn whoever_creates_too_many_partitions_is_refused_or_held_up_as_its_version_says() {
    let mut world = world();
    let quota = entry("client-id=client", "controller_mutation_rate", Some(1.0));
    assert_eq!(alter(&mut world, vec![quota]), [0]);
    let client = world.connect(0);
    let first = world.ask(client, 7, &create("a", 20)).expect("an answer");
    assert_eq!((first.topics[0].error_code, first.throttle_time_ms), (0, 0));
    let second = world.ask(client, 7, &create("b", 1)).expect("an answer");
    assert_eq!(second.topics[0].error_code, 89);
    assert!(second.throttle_time_ms > 0 && !is_served(&mut world, client));
    let old = world.connect(0);
    let third = world.ask(old, 5, &create("c", 1)).expect("an answer");
    assert_eq!(third.topics[0].error_code, 0);
    assert!(third.throttle_time_ms > 0 && !is_served(&mut world, old));
}
