//! Topics: how they are made, extended, described and deleted.

use kafka_protocol::messages::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    BrokerId, CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest,
    DescribeTopicPartitionsRequest, MetadataRequest, TopicName,
};
use log_broker::BrokerConfig;
use log_wire::ErrorCode;
use uuid::Uuid;

use super::council::World;
use crate::bench::text;

const TIMEOUT_MS: i32 = 1_000;

fn name(name: &str) -> TopicName {
    TopicName(text(name))
}

fn new(topic: &str, partitions: i32, replicas: i16) -> CreatableTopic {
    CreatableTopic::default()
        .with_name(name(topic))
        .with_num_partitions(partitions)
        .with_replication_factor(replicas)
}

fn create(topics: Vec<CreatableTopic>) -> CreateTopicsRequest {
    CreateTopicsRequest::default().with_topics(topics).with_timeout_ms(TIMEOUT_MS)
}

fn with_config(topic: CreatableTopic, key: &str, value: Option<&str>) -> CreatableTopic {
    let config = CreatableTopicConfig::default().with_name(text(key)).with_value(value.map(text));
    topic.with_configs(vec![config])
}

fn assigned(topic: &str, assignments: &[(i32, &[i32])]) -> CreatableTopic {
    let assignments = assignments.iter().map(|(index, brokers)| {
        CreatableReplicaAssignment::default()
            .with_partition_index(*index)
            .with_broker_ids(brokers.iter().map(|id| BrokerId(*id)).collect())
    });
    new(topic, -1, -1).with_assignments(assignments.collect())
}

fn codes(world: &mut World, request: &CreateTopicsRequest) -> Vec<i16> {
    world.call(7, request).topics.iter().map(|topic| topic.error_code).collect()
}

/// A world with these topics.
fn world(topics: &[(&str, i32)]) -> World {
    let mut world = World::new();
    let topics = topics.iter().map(|(topic, partitions)| new(topic, *partitions, 1)).collect();
    assert!(codes(&mut world, &create(topics)).iter().all(|code| *code == 0));
    world
}

#[test]
fn topic_is_answered_with_all_its_configurations() {
    let mut world = World::of_file(&[("num.partitions", "4")]);
    let answer = world.call(7, &create(vec![with_config(new("t", -1, -1), "retention.ms", Some("5"))]));
    let topic = &answer.topics[0];
    assert_eq!((topic.error_code, topic.num_partitions, topic.replication_factor), (0, 4, 1));
    let configs = topic.configs.as_ref().expect("configurations");
    assert_eq!(configs.len(), 33);
    let set: Vec<_> = configs.iter().filter(|config| config.config_source == 1).collect();
    assert!(matches!(set[..], [only] if &*only.name == "retention.ms"), "{set:?}");
    assert!(!topic.topic_id.is_nil());
}

#[test]
fn mistakes_have_the_codes_of_kafka_in_its_order() {
    let mut world = world(&[("t.a", 1)]);
    for (topic, code) in [
        (with_config(new("t.a", 0, 0), "nix", Some("1")), 36),
        (with_config(new("bad name", 0, 0), "nix", Some("1")), 17),
        (new("t_a", 1, 1), 17),
        (new("__cluster_metadata", 1, 1), 42),
        (with_config(new("a", 0, 9), "nix", Some("1")), 40),
        (with_config(new("a", 0, 9), "retention.ms", None), 40),
        (new("a", -2, 0), 38),
        (new("a", 0, 1), 37),
        (new("a", 1, 2), 38),
        (new("a", 1, -3), 38),
        (assigned("a", &[(0, &[1])]).with_num_partitions(1), 42),
        (assigned("a", &[(0, &[1])]).with_replication_factor(1), 42),
        (assigned("a", &[(0, &[1]), (2, &[1])]), 39),
        (assigned("a", &[(0, &[1]), (0, &[1])]), 39),
        (assigned("a", &[(0, &[2])]), 39),
        (assigned("a", &[(0, &[1, 1])]), 39),
        (assigned("a", &[(0, &[])]), 39),
        (assigned("a", &[(1, &[1]), (0, &[1])]), 0),
    ] {
        let request = create(vec![topic.clone()]).with_validate_only(true);
        let answer = world.ask(7, &request).expect("an answer at once");
        assert_eq!(answer.topics[0].error_code, code, "{topic:?}");
        assert_eq!(answer.topics[0].configs.as_ref().map(Vec::len), Some(if code == 0 { 33 } else { 0 }));
    }
    assert!(world.bench.broker.take_changes().is_empty());
}

#[test]
fn name_that_is_there_twice_is_refused_once_and_the_others_are_made() {
    let mut world = World::new();
    let answer = world.call(7, &create(vec![new("a", 1, 1), new("b", 1, 1), new("a", 2, 1)]));
    let told: Vec<_> = answer.topics.iter().map(|topic| (topic.name.to_string(), topic.error_code)).collect();
    assert_eq!(told, [("a".into(), 42), ("b".into(), 0)]);
    assert_eq!(world.nodes.keys().collect::<Vec<_>>(), ["/log/topics/b"]);
}

#[test]
fn request_makes_ten_thousand_partitions_at_most() {
    let mut world = world(&[("t", 2)]);
    assert_eq!(codes(&mut world, &create(vec![new("a", 10_000, 1), new("b", 1, 1)])), [44, 44]);
    assert_eq!(codes(&mut world, &create(vec![new("a", i32::MAX, 1)])), [44]);
    assert_eq!(codes(&mut world, &create(vec![new("a", 10_000, 1)])), [0]);
    assert_eq!(more(&mut world, &[("t", 10_003, None)]), [44]);
    assert_eq!(more(&mut world, &[("t", i32::MAX, None), ("a", 10_001, None)]), [44, 44]);
}

#[test]
fn topic_that_grows_too_large_for_the_council_is_refused() {
    let mut world = world(&[("t", 1)]);
    let mut codes = Vec::new();
    for count in (1..15).map(|round| round * 10_000) {
        codes.extend(more(&mut world, &[("t", count, None)]));
    }
    let grown = codes.iter().take_while(|code| **code == 0).count();
    assert!((5..14).contains(&grown) && codes.iter().skip(grown).all(|code| *code == 44), "{codes:?}");
    assert!(world.nodes["/log/topics/t"].len() <= 1_000_000);
}

#[test]
fn request_without_time_does_nothing() {
    let mut world = world(&[("t", 1)]);
    for timeout_ms in [0, -1] {
        let request = create(vec![new("a", 1, 1), new("t", 1, 1), new("a", 1, 1)]);
        assert_eq!(codes(&mut world, &request.with_timeout_ms(timeout_ms)), [7, 7, 7]);
        let request = deletion(&[Some("t"), Some("nowhere")]).with_timeout_ms(timeout_ms);
        assert_eq!(deleted(&mut world, &request), [7, 7]);
    }
    assert!(world.bench.broker.take_changes().is_empty());
}

#[test]
fn creation_that_takes_too_long_says_so_and_goes_on() {
    let mut world = World::new();
    assert!(world.ask(7, &create(vec![new("a", 1, 1)])).is_none());
    let changes = world.bench.broker.take_changes();
    world.bench.now.advance_ms(u64::from(TIMEOUT_MS.unsigned_abs()));
    world.bench.broker.tick(world.bench.now);
    let answer = world.answer::<CreateTopicsRequest>().expect("an answer");
    assert_eq!((answer.topics[0].error_code, answer.topics[0].num_partitions), (7, -1));
    changes.into_iter().for_each(|change| world.carry_out(change, false));
    assert!(world.answer::<CreateTopicsRequest>().is_none());
    assert_eq!(codes(&mut world, &create(vec![new("a", 1, 1)])), [36]);
}

/// A topic, how many partitions it is to have, and the brokers of each new one.
type More<'m> = (&'m str, i32, Option<&'m [&'m [i32]]>);

fn more(world: &mut World, topics: &[More<'_>]) -> Vec<i16> {
    let topics = topics.iter().map(|(topic, count, assignments)| {
        let assignments = assignments.map(|all| {
            let of = |brokers: &&[i32]| {
                let brokers = brokers.iter().map(|id| BrokerId(*id)).collect();
                CreatePartitionsAssignment::default().with_broker_ids(brokers)
            };
            all.iter().map(of).collect()
        });
        CreatePartitionsTopic::default()
            .with_name(name(topic))
            .with_count(*count)
            .with_assignments(assignments)
    });
    let request =
        CreatePartitionsRequest::default().with_topics(topics.collect()).with_timeout_ms(TIMEOUT_MS);
    world.call(3, &request).results.iter().map(|result| result.error_code).collect()
}

#[test]
fn topic_gets_more_partitions_and_never_fewer() {
    let mut world = world(&[("t", 2), ("u", 1)]);
    let none: Option<&[&[i32]]> = None;
    assert_eq!(more(&mut world, &[("t", 2, none), ("u", 0, none), ("nowhere", 3, none)]), [37, 37, 3]);
    assert_eq!(more(&mut world, &[("t", 4, Some(&[&[1]])), ("u", 2, Some(&[&[2]]))]), [39, 39]);
    assert_eq!(more(&mut world, &[("t", 3, Some(&[&[]])), ("u", 2, Some(&[]))]), [39, 39]);
    assert_eq!(more(&mut world, &[("t", 4, none), ("u", 2, Some(&[&[1]])), ("t", 5, none)]), [42, 0]);
    assert_eq!(more(&mut world, &[("t", 4, none)]), [0]);
    world.settle();
    assert_eq!(partitions(&mut world, "t"), [(0, 0), (1, 0), (2, 0), (3, 0)]);
}

/// The partitions of a topic, each with its error.
fn partitions(world: &mut World, topic: &str) -> Vec<(i32, i16)> {
    let asked = MetadataRequestTopic::default().with_name(Some(name(topic)));
    let answer = world.ask(9, &MetadataRequest::default().with_topics(Some(vec![asked])));
    let topics = answer.expect("an answer at once").topics;
    topics[0].partitions.iter().map(|of| (of.partition_index, of.error_code)).collect()
}

#[test]
fn partitions_that_may_have_been_added_already_are_added_once() {
    let mut world = world(&[("t", 1)]);
    let topic = CreatePartitionsTopic::default().with_name(name("t")).with_count(3).with_assignments(None);
    let request = CreatePartitionsRequest::default().with_topics(vec![topic]).with_timeout_ms(TIMEOUT_MS);
    assert!(world.ask(3, &request).is_none());
    let change = world.bench.broker.take_changes().remove(0);
    world.carry_out(change, true);
    world.bench.flush();
    assert_eq!(world.answer::<CreatePartitionsRequest>().expect("an answer").results[0].error_code, 0);
    assert_eq!(partitions(&mut world, "t").len(), 3);
}

fn deletion(names: &[Option<&str>]) -> DeleteTopicsRequest {
    let topics = names.iter().map(|topic| DeleteTopicState::default().with_name(topic.map(name))).collect();
    DeleteTopicsRequest::default().with_topics(topics).with_timeout_ms(TIMEOUT_MS)
}

fn deleted(world: &mut World, request: &DeleteTopicsRequest) -> Vec<i16> {
    world.call(6, request).responses.iter().map(|response| response.error_code).collect()
}

#[test]
fn topic_is_deleted_by_its_name_or_its_id_but_not_by_both() {
    let mut world = world(&[("a", 1), ("b", 1), ("c", 1)]);
    let id_of = |world: &World, topic: &str| {
        let node = &world.nodes[&format!("/log/topics/{topic}")];
        Uuid::from_bytes(log_metadata::TopicNode::read(node).expect("a topic").id)
    };
    let by_id = |id| DeleteTopicState::default().with_name(None).with_topic_id(id);
    let (b, c) = (id_of(&world, "b"), id_of(&world, "c"));
    let mut request = deletion(&[Some("a"), Some("nowhere"), None]);
    request.topics.push(by_id(b));
    request.topics.push(by_id(Uuid::from_bytes([7; 16])));
    request.topics.push(DeleteTopicState::default().with_name(Some(name("c"))).with_topic_id(c));
    assert_eq!(deleted(&mut world, &request), [0, 3, 42, 0, 100, 42]);
    assert_eq!(world.nodes.keys().collect::<Vec<_>>(), ["/log/topics/c"]);
    let mut request = deletion(&[Some("c"), Some("x"), Some("x")]);
    request.topics.push(by_id(c));
    // Named by its name and by its id, it is answered once, with both, and stays.
    let answer = world.call(6, &request).responses;
    let told: Vec<_> = answer.iter().map(|one| (one.error_code, one.topic_id == c)).collect();
    assert_eq!(told, [(42, true), (42, false)]);
    assert_eq!(world.nodes.keys().collect::<Vec<_>>(), ["/log/topics/c"]);
}

#[test]
fn topics_are_not_deleted_where_that_is_disabled_and_internal_ones_never() {
    let mut world = World::with(BrokerConfig { delete_topics: false, ..BrokerConfig::default() });
    assert_eq!(codes(&mut world, &create(vec![new("a", 1, 1)])), [0]);
    assert_eq!(deleted(&mut world, &deletion(&[Some("a"), Some("nowhere")])), [73, 73]);
    let mut world = self::world(&[("__consumer_offsets", 1)]);
    assert_eq!(deleted(&mut world, &deletion(&[Some("__consumer_offsets")])), [17]);
}

#[test]
fn topic_that_a_client_names_is_made_as_the_broker_is_configured() {
    let mut world = World::of_file(&[("num.partitions", "3"), ("offsets.topic.num.partitions", "5")]);
    let ask = |world: &mut World, topics: &[&str]| {
        let topics =
            topics.iter().map(|topic| MetadataRequestTopic::default().with_name(Some(name(topic)))).collect();
        let request = MetadataRequest::default().with_topics(Some(topics));
        let answer = world.ask(9, &request.with_allow_auto_topic_creation(true)).expect("an answer at once");
        world.settle();
        answer.topics.iter().map(|topic| topic.error_code).collect::<Vec<_>>()
    };
    assert_eq!(ask(&mut world, &["a.b", "__consumer_offsets", "no name", "a.b"]), [3, 3, 17]);
    assert_eq!(partitions(&mut world, "a.b").len(), 3);
    assert_eq!(partitions(&mut world, "__consumer_offsets").len(), 5);
    // It would collide with the first, and is not made.
    assert_eq!(ask(&mut world, &["a_b"]), [3]);
    assert_eq!(world.nodes.len(), 2);
    let mut world = World::of_file(&[("auto.create.topics.enable", "false")]);
    assert_eq!(ask(&mut world, &["a"]), [3]);
    let mut world2 = World::of_file(&[("default.replication.factor", "3")]);
    assert_eq!(ask(&mut world2, &["a"]), [3]);
    assert!(world.nodes.is_empty() && world2.nodes.is_empty());
    assert_eq!(
        codes(&mut world2, &create(vec![new("a", -1, -1)])),
        [ErrorCode::InvalidReplicationFactor.code()]
    );
}

/// Topics of an answer with their errors and partitions, and where the next one begins.
type Page = (Vec<(String, i16, Vec<i32>)>, Option<(String, i32)>);

fn page(world: &mut World, topics: &[&str], limit: i32, cursor: Option<(&str, i32)>) -> Page {
    let topics = topics.iter().map(|topic| TopicRequest::default().with_name(name(topic))).collect();
    let cursor = cursor
        .map(|(topic, index)| Cursor::default().with_topic_name(name(topic)).with_partition_index(index));
    let request = DescribeTopicPartitionsRequest::default()
        .with_topics(topics)
        .with_response_partition_limit(limit)
        .with_cursor(cursor);
    let answer = world.ask(0, &request).expect("an answer at once");
    let topics = answer.topics.iter().map(|topic| {
        let indexes = topic.partitions.iter().map(|partition| partition.partition_index);
        (
            topic.name.as_ref().map(|name| name.0.to_string()).unwrap_or_default(),
            topic.error_code,
            indexes.collect(),
        )
    });
    let next = answer.next_cursor.map(|next| (next.topic_name.to_string(), next.partition_index));
    (topics.collect(), next)
}

fn listed(topic: &str, error: i16, partitions: &[i32]) -> (String, i16, Vec<i32>) {
    (topic.into(), error, partitions.into())
}

#[test]
fn partitions_are_described_page_by_page_until_all_are_told() {
    let mut world = world(&[("a", 2), ("b", 3), ("c", 1)]);
    world.settle();
    assert_eq!(
        page(&mut world, &["c", "x", "a", "b b", "a"], 100, None),
        (
            vec![listed("a", 0, &[0, 1]), listed("b b", 17, &[]), listed("c", 0, &[0]), listed("x", 3, &[])],
            None
        )
    );
    // Each page leads to the next.
    let mut told: Vec<(String, i32)> = Vec::new();
    let mut cursor: Option<(String, i32)> = None;
    for _ in 0..10 {
        let from = cursor.as_ref().map(|(topic, index)| (topic.as_str(), *index));
        let (topics, next) = page(&mut world, &[], 2, from);
        assert!(topics.iter().map(|(.., indexes)| indexes.len()).sum::<usize>() <= 2);
        told.extend(
            topics
                .into_iter()
                .flat_map(|(topic, _, indexes)| indexes.into_iter().map(move |index| (topic.clone(), index))),
        );
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    let all = [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("c", 0)];
    assert_eq!(told, all.map(|(topic, index)| (String::from(topic), index)));
    assert_eq!(cursor, None);
}

#[test]
fn cursor_has_to_be_one_of_what_is_asked_for() {
    let mut world = world(&[("a", 1), ("b", 3)]);
    world.settle();
    for cursor in [("x", 0), ("a", -1), ("", 0)] {
        let (topics, next) = page(&mut world, &["b", "a"], 100, Some(cursor));
        assert_eq!((topics, next), (vec![listed("b", 42, &[]), listed("a", 42, &[])], None), "{cursor:?}");
    }
    // Of all topics, one that is gone is passed over.
    assert_eq!(page(&mut world, &[], 100, Some(("aa", 0))), (vec![listed("b", 0, &[0, 1, 2])], None));
    let (topics, next) = page(&mut world, &["a", "b", "nowhere"], 0, Some(("b", 1)));
    assert_eq!((topics, next), (vec![listed("b", 0, &[1])], Some(("b".into(), 2))));
    let (topics, next) = page(&mut world, &["a", "nowhere"], 1, None);
    assert_eq!((topics, next), (vec![listed("a", 0, &[0])], Some(("nowhere".into(), 0))));
}

/// Carries out what the council is asked for, while the disk does nothing.
fn only_council(world: &mut World) {
    for change in world.bench.broker.take_changes() {
        world.carry_out(change, false);
    }
}

#[test]
fn topic_is_answered_once_its_partitions_are_served() {
    let mut world = World::new();
    assert!(world.ask(7, &create(vec![new("a", 3, 1), new("a", 1, 1), new("b", 1, 1)])).is_none());
    only_council(&mut world);
    assert!(world.answer::<CreateTopicsRequest>().is_none(), "the logs are not made");
    world.bench.take();
    assert!(world.answer::<CreateTopicsRequest>().is_none(), "the epochs are not durable");
    world.bench.flush();
    let answer = world.answer::<CreateTopicsRequest>().expect("an answer");
    assert_eq!(answer.topics.iter().map(|topic| topic.error_code).collect::<Vec<_>>(), [42, 0]);
}

#[test]
fn partitions_are_answered_once_they_are_served() {
    let mut world = world(&[("t", 1)]);
    let topic = CreatePartitionsTopic::default().with_name(name("t")).with_count(3).with_assignments(None);
    let request = CreatePartitionsRequest::default().with_topics(vec![topic]).with_timeout_ms(TIMEOUT_MS);
    assert!(world.ask(3, &request).is_none());
    only_council(&mut world);
    assert!(world.answer::<CreatePartitionsRequest>().is_none());
    world.bench.flush();
    let answer = world.answer::<CreatePartitionsRequest>().expect("an answer");
    assert_eq!(answer.results[0].error_code, 0);
}

#[test]
fn topic_is_answered_as_made_though_the_disk_is_slow() {
    let mut world = World::new();
    assert!(world.ask(7, &create(vec![new("a", 1, 1)]).with_timeout_ms(60_000)).is_none());
    only_council(&mut world);
    world.bench.pass(999);
    assert!(world.answer::<CreateTopicsRequest>().is_none());
    world.bench.pass(1);
    let answer = world.answer::<CreateTopicsRequest>().expect("an answer");
    assert_eq!(answer.topics[0].error_code, 0);
    world.bench.flush();
    assert!(world.answer::<CreateTopicsRequest>().is_none(), "it is answered once");
}

#[test]
fn topic_is_answered_if_it_is_deleted_before_it_is_served() {
    let mut world = World::new();
    assert!(world.ask(7, &create(vec![new("a", 1, 1)])).is_none());
    only_council(&mut world);
    world.bench.take();
    world.write("/log/topics/a", None);
    assert_eq!(world.answer::<CreateTopicsRequest>().expect("an answer").topics[0].error_code, 0);
}
