//! Configurations: what is shown, what a change does, and that all of a change is done or none.

use kafka_protocol::messages::alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::DescribeConfigsResult;
use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource as ChangedResource, AlterableConfig as Change,
};
use kafka_protocol::messages::{
    AlterConfigsRequest, DescribeConfigsRequest, IncrementalAlterConfigsRequest, ListConfigResourcesRequest,
    ProduceRequest,
};
use log_broker::Notice;
use log_metadata::TopicNode;
use log_wire::{ErrorCode, Producer};

use super::council::World;
use crate::bench::{text, topic};
use crate::produce;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const LOGGERS: i8 = 8;
const CLIENT_METRICS: i8 = 16;
const GROUP: i8 = 32;

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;

/// With a topic `t`.
fn with_topic(mut world: World) -> World {
    let log_metadata::KeeperEvent::Node { path, data } = topic("t", 1, 1, 0) else { panic!("a topic") };
    world.write(&path, data.as_deref());
    world.settle();
    world
}

/// A configuration, what is done to it, and the value.
type Changed<'c> = (&'c str, i8, Option<&'c str>);

fn changes(resources: &[(i8, &str, &[Changed<'_>])]) -> IncrementalAlterConfigsRequest {
    let resources = resources.iter().map(|(kind, name, changes)| {
        let changes = changes.iter().map(|(name, operation, value)| {
            Change::default()
                .with_name(text(name))
                .with_config_operation(*operation)
                .with_value(value.map(text))
        });
        ChangedResource::default()
            .with_resource_type(*kind)
            .with_resource_name(text(name))
            .with_configs(changes.collect())
    });
    IncrementalAlterConfigsRequest::default().with_resources(resources.collect())
}

/// Sets one configuration. Gives the error.
fn set(world: &mut World, kind: i8, resource: &str, name: &str, value: &str) -> i16 {
    let answer = world.call(1, &changes(&[(kind, resource, &[(name, SET, Some(value))])]));
    answer.responses[0].error_code
}

fn described(world: &mut World, kind: i8, name: &str, keys: Option<&[&str]>) -> DescribeConfigsResult {
    let resource = DescribeConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_configuration_keys(keys.map(|keys| keys.iter().map(|key| text(key)).collect()));
    let request = DescribeConfigsRequest::default().with_resources(vec![resource]);
    world.ask(4, &request).expect("an answer at once").results.remove(0)
}

/// The value and the source of one configuration.
fn value(world: &mut World, kind: i8, resource: &str, name: &str) -> (String, i8) {
    let shown = described(world, kind, resource, Some(&[name]));
    let config = shown.configs.first().unwrap_or_else(|| panic!("{name} is not shown: {shown:?}"));
    (config.value.as_ref().map(ToString::to_string).unwrap_or_default(), config.config_source)
}

fn pair(value: &str, source: i8) -> (String, i8) {
    (value.into(), source)
}

#[test]
fn topic_has_what_is_nearest_to_it() {
    let mut world = with_topic(World::of_file(&[("log.retention.hours", "1")]));
    let of_topic = |world: &mut World| value(world, TOPIC, "t", "retention.ms");
    // A value in hours of the file; then of all brokers, of this one, of the topic, and back.
    assert_eq!(of_topic(&mut world).0, "3600000");
    for (kind, resource, name, shown, source) in [
        (BROKER, "", "log.retention.ms", "7000", 3),
        (BROKER, "1", "log.retention.ms", "8000", 2),
        (TOPIC, "t", "retention.ms", "9000", 1),
    ] {
        assert_eq!(set(&mut world, kind, resource, name, shown), 0, "{name}");
        assert_eq!(of_topic(&mut world), pair(shown, source));
    }
    let unset = changes(&[(TOPIC, "t", &[("retention.ms", DELETE, None)])]);
    assert_eq!(world.call(1, &unset).responses[0].error_code, 0);
    assert_eq!(of_topic(&mut world), pair("8000", 2));
}

#[test]
fn partition_acts_on_a_change_as_soon_as_it_is_answered() {
    let mut world = with_topic(World::new());
    let records = produce::batch(Producer::NONE);
    let request: ProduceRequest = produce::request(0, &records);
    let produce = |world: &mut World| {
        let answer = world.call(9, &request);
        answer.responses[0].partition_responses[0].error_code
    };
    assert_eq!(produce(&mut world), 0);
    // Of all topics that do not say otherwise, of the topic, and not of it any more.
    assert_eq!(set(&mut world, BROKER, "", "message.max.bytes", "10"), 0);
    assert_eq!(produce(&mut world), ErrorCode::MessageTooLarge.code());
    assert_eq!(set(&mut world, TOPIC, "t", "max.message.bytes", "1000"), 0);
    assert_eq!(produce(&mut world), 0);
    let unset = changes(&[(TOPIC, "t", &[("max.message.bytes", DELETE, None)])]);
    assert_eq!(world.call(1, &unset).responses[0].error_code, 0);
    assert_eq!(produce(&mut world), ErrorCode::MessageTooLarge.code());
}

#[test]
fn change_is_not_answered_before_the_broker_acts_on_it() {
    let mut world = with_topic(World::new());
    let request = changes(&[(TOPIC, "t", &[("retention.ms", SET, Some("5"))])]);
    assert!(world.ask(1, &request).is_none());
    assert_eq!(value(&mut world, TOPIC, "t", "retention.ms").1, 5);
    world.settle();
    assert_eq!(world.answer::<IncrementalAlterConfigsRequest>().expect("now").responses[0].error_code, 0);
    assert_eq!(value(&mut world, TOPIC, "t", "retention.ms"), pair("5", 1));
}

#[test]
fn changes_of_a_resource_are_made_all_or_none_and_each_resource_has_its_own_result() {
    let mut world = with_topic(World::new());
    let request = changes(&[
        (TOPIC, "t", &[("retention.ms", SET, Some("5")), ("segment.bytes", SET, Some("1"))]),
        (TOPIC, "nowhere", &[("retention.ms", SET, Some("5"))]),
        (TOPIC, "nowhere.either", &[("retention.ms", SET, Some("x"))]),
        (GROUP, "g", &[("consumer.session.timeout.ms", SET, Some("50000"))]),
        (BROKER, "2", &[("log.retention.ms", SET, Some("5"))]),
    ]);
    let answer = world.call(1, &request);
    let codes: Vec<i16> = answer.responses.iter().map(|response| response.error_code).collect();
    assert_eq!(codes, [40, 3, 40, 0, 42]);
    assert_eq!(value(&mut world, TOPIC, "t", "retention.ms").1, 5);
    assert_eq!(value(&mut world, GROUP, "g", "consumer.session.timeout.ms"), pair("50000", 8));
}

#[test]
fn what_is_only_to_be_validated_changes_nothing() {
    let mut world = with_topic(World::new());
    let request = changes(&[
        (TOPIC, "t", &[("retention.ms", SET, Some("5"))]),
        (LOGGERS, "1", &[("root", SET, Some("DEBUG"))]),
        (GROUP, "g", &[("share.record.lock.duration.ms", SET, Some("1"))]),
    ]);
    let answer = world.ask(1, &request.with_validate_only(true)).expect("an answer at once");
    let codes: Vec<i16> = answer.responses.iter().map(|response| response.error_code).collect();
    assert_eq!(codes, [0, 0, 40]);
    assert!(world.bench.broker.take_changes().is_empty());
    assert_eq!(value(&mut world, LOGGERS, "1", "root").0, "INFO");
}

#[test]
fn alter_configs_replaces_everything_that_is_set() {
    let mut world = with_topic(World::new());
    assert_eq!(set(&mut world, TOPIC, "t", "retention.ms", "5"), 0);
    let config = AlterableConfig::default().with_name(text("segment.ms")).with_value(Some(text("77")));
    let resource = AlterConfigsResource::default()
        .with_resource_type(TOPIC)
        .with_resource_name(text("t"))
        .with_configs(vec![config]);
    let answer = world.call(2, &AlterConfigsRequest::default().with_resources(vec![resource]));
    assert_eq!(answer.responses[0].error_code, 0);
    assert_eq!(value(&mut world, TOPIC, "t", "retention.ms").1, 5);
    assert_eq!(value(&mut world, TOPIC, "t", "segment.ms"), pair("77", 1));
}

#[test]
fn change_that_may_be_done_already_is_done_once() {
    let mut world = with_topic(World::new());
    assert_eq!(set(&mut world, TOPIC, "t", "cleanup.policy", "compact"), 0);
    let request = changes(&[(TOPIC, "t", &[("cleanup.policy", APPEND, Some("delete"))])]);
    assert!(world.ask(1, &request).is_none());
    let change = world.bench.broker.take_changes().remove(0);
    world.carry_out(change, true);
    let answer = world.answer::<IncrementalAlterConfigsRequest>().expect("an answer");
    assert_eq!(answer.responses[0].error_code, 0);
    assert_eq!(value(&mut world, TOPIC, "t", "cleanup.policy"), pair("compact,delete", 1));
}

#[test]
fn change_of_what_another_broker_has_changed_meanwhile_loses_nothing() {
    let mut world = with_topic(World::new());
    let request = changes(&[(TOPIC, "t", &[("retention.ms", SET, Some("5"))])]);
    assert!(world.ask(1, &request).is_none());
    let change = world.bench.broker.take_changes().remove(0);
    let mut node = TopicNode::read(&world.nodes["/log/topics/t"]).expect("a topic");
    node.settings.insert("segment.ms".into(), "77".into());
    world.nodes.insert("/log/topics/t".into(), node.bytes());
    world.carry_out(change, false);
    assert_eq!(value(&mut world, TOPIC, "t", "retention.ms"), pair("5", 1));
    assert_eq!(value(&mut world, TOPIC, "t", "segment.ms"), pair("77", 1));
}

#[test]
fn change_of_a_topic_does_not_reach_its_namesake() {
    let mut world = with_topic(World::new());
    let request = changes(&[(TOPIC, "t", &[("retention.ms", SET, Some("5"))])]);
    assert!(world.ask(1, &request).is_none());
    let change = world.bench.broker.take_changes().remove(0);
    let log_metadata::KeeperEvent::Node { path, data } = topic("t", 2, 1, 0) else { panic!("a topic") };
    world.write(&path, data.as_deref());
    world.carry_out(change, false);
    let answer = world.answer::<IncrementalAlterConfigsRequest>().expect("an answer");
    assert_eq!(answer.responses[0].error_code, 3);
    assert_eq!(value(&mut world, TOPIC, "t", "retention.ms").1, 5);
}

#[test]
fn what_is_unset_leaves_no_node_and_is_not_listed() {
    let mut world = with_topic(World::new());
    let names = [(GROUP, "a/b ü"), (CLIENT_METRICS, ".."), (BROKER, "1"), (BROKER, "")];
    let configs = [
        ("consumer.heartbeat.interval.ms", "6000"),
        ("interval.ms", "1000"),
        ("log.retention.ms", "1"),
        ("message.max.bytes", "2"),
    ];
    for ((kind, name), (config, value)) in names.iter().zip(configs) {
        assert_eq!(set(&mut world, *kind, name, config, value), 0, "{name}");
    }
    assert_eq!(world.nodes.len(), 5, "{:?}", world.nodes.keys());
    assert_eq!(
        listed(&mut world),
        [(GROUP, "a/b ü"), (CLIENT_METRICS, ".."), (LOGGERS, "1"), (BROKER, "1"), (TOPIC, "t")]
            .map(|(kind, name)| (kind, String::from(name)))
    );
    for ((kind, name), (config, _)) in names.iter().zip(configs) {
        let unset = changes(&[(*kind, name, &[(config, DELETE, None)])]);
        assert_eq!(world.call(1, &unset).responses[0].error_code, 0, "{name}");
    }
    assert_eq!(world.nodes.keys().collect::<Vec<_>>(), ["/log/topics/t"]);
    assert_eq!(listed(&mut world).len(), 3);
}

fn listed(world: &mut World) -> Vec<(i8, String)> {
    let answer = world.ask(1, &ListConfigResourcesRequest::default()).expect("an answer at once");
    assert_eq!(answer.error_code, 0);
    let resources = answer.config_resources.into_iter();
    resources.map(|resource| (resource.resource_type, resource.resource_name.to_string())).collect()
}

#[test]
fn node_that_cannot_be_read_is_told_and_what_was_before_stays() {
    let mut world = with_topic(World::new());
    assert_eq!(set(&mut world, BROKER, "", "log.retention.ms", "7000"), 0);
    world.write("/log/configs/brokers/default", Some(b"no JSON"));
    let notices = world.bench.broker.take_notices();
    assert!(notices.iter().any(|notice| matches!(notice, Notice::BadConfigs(..))), "{notices:?}");
    assert_eq!(value(&mut world, TOPIC, "t", "retention.ms"), pair("7000", 3));
    assert_eq!(set(&mut world, BROKER, "", "log.retention.ms", "8000"), -1);
}

#[test]
fn levels_of_loggers_are_set_at_once_and_only_here() {
    let mut world = World::new();
    let request = changes(&[(LOGGERS, "1", &[("root", SET, Some("DEBUG"))])]);
    // The driver is told of a level once.
    for told in [1, 0] {
        let answer = world.ask(1, &request).expect("an answer at once");
        assert_eq!(answer.responses[0].error_code, 0);
        assert_eq!(value(&mut world, LOGGERS, "1", "root"), pair("DEBUG", 6));
        let notices = world.bench.broker.take_notices();
        assert!(notices.iter().all(|notice| matches!(notice, Notice::LogLevel(level) if level == "DEBUG")));
        assert_eq!(notices.len(), told, "{notices:?}");
    }
    assert!(world.nodes.is_empty());
}

#[test]
fn one_resource_of_an_unknown_type_refuses_the_whole_description() {
    let mut world = with_topic(World::new());
    let resources = [(TOPIC, "t"), (3, "x"), (BROKER, "1")].map(|(kind, name)| {
        DescribeConfigsResource::default().with_resource_type(kind).with_resource_name(text(name))
    });
    let request = DescribeConfigsRequest::default().with_resources(resources.to_vec());
    let answer = world.ask(4, &request).expect("an answer at once");
    assert!(answer.results.iter().all(|result| result.error_code == 42 && result.configs.is_empty()));
}

#[test]
fn every_configuration_is_shown_by_default_as_kafka_shows_it() {
    let mut world = with_topic(World::new());
    for (kind, name, count) in [(TOPIC, "t", 33), (BROKER, "1", 340), (GROUP, "g", 17)] {
        assert_eq!(described(&mut world, kind, name, None).configs.len(), count, "{name}");
    }
    assert_eq!(described(&mut world, TOPIC, "nowhere", None).error_code, 3);
    assert_eq!(described(&mut world, TOPIC, "no topic", None).error_code, 17);
}

#[test]
fn group_whose_name_is_too_long_for_the_council_is_refused() {
    let mut world = World::new();
    let name = "ü".repeat(1_000);
    let code = set(&mut world, GROUP, &name, "consumer.heartbeat.interval.ms", "6000");
    assert_eq!(code, ErrorCode::InvalidRequest.code());
    assert!(world.nodes.is_empty());
}
