//! Changes that a Kafka does not judge as Diwan does, or that are bounded here, and the forms of responses.

use log_config::change::{self, OVERRIDES_BYTES_MAX, broker::Target};
use log_config::{BrokerLayers, Detail, Overrides, Refusal, TopicLayers, describe, kind, to_list};
use log_wire::ErrorCode;
use log_wire::messages::configs::{AlterConfigsResource, AlterableConfig, IncrementalAlterableConfig};

fn set(name: &str, value: &str) -> IncrementalAlterableConfig {
    IncrementalAlterableConfig { name: name.into(), config_operation: 0, value: Some(value.into()) }
}

fn layers(file: &Overrides) -> BrokerLayers<'_> {
    static NOTHING: Overrides = Overrides::new();
    BrokerLayers { broker: &NOTHING, cluster: &NOTHING, file }
}

fn refused(target: Target, file: &Overrides, name: &str, value: &str) -> Refusal {
    change::broker::alter(target, layers(file), &[set(name, value)]).expect_err(name)
}

#[test]
fn what_is_read_at_the_start_is_not_changed_while_the_broker_runs() {
    let file: Overrides =
        [("listeners", "PLAINTEXT://:1"), ("listener.name.plaintext.ssl.client.auth", "none")]
            .map(|(name, value)| (name.into(), value.into()))
            .into();
    for (name, value) in [
        ("listeners", "PLAINTEXT://:2"),
        ("sasl.enabled.mechanisms", "PLAIN"),
        ("listener.name.plaintext.ssl.client.auth", "required"),
        ("listener.name.plaintext.ssl.keystore.password", "hush"),
    ] {
        let refusal = refused(Target::Broker, &file, name, value);
        assert_eq!(refusal.code, ErrorCode::InvalidRequest);
        assert!(refusal.message.contains("is read when the broker starts"), "{refusal:?}");
    }
    for (name, value) in [("listeners", " PLAINTEXT://:1"), ("sasl.enabled.mechanisms", "GSSAPI")] {
        assert!(change::broker::alter(Target::Broker, layers(&file), &[set(name, value)]).is_ok(), "{name}");
    }
}

#[test]
fn default_for_topics_that_no_topic_could_have_is_refused() {
    let refusal = refused(Target::Cluster, &Overrides::new(), "log.flush.interval.ms", "-5");
    assert_eq!(refusal.code, ErrorCode::InvalidRequest);
}

#[test]
fn what_is_not_given_is_an_invalid_configuration() {
    for (name, value) in [("config.providers", "file"), ("principal.builder.class", "a.B")] {
        assert_eq!(refused(Target::Broker, &Overrides::new(), name, value).code, ErrorCode::InvalidConfig);
    }
}

#[test]
fn secrets_are_not_repeated_in_refusals() {
    let file = Overrides::new();
    for name in ["ssl.keystore.password", "listener.name.x.ssl.keystore.password", "sasl.jaas.config"] {
        let refusal = refused(Target::Broker, &file, name, "hush");
        assert!(!refusal.message.contains("hush"), "{refusal:?}");
    }
}

#[test]
fn long_value_is_cut_in_the_refusal() {
    let refusal = refused(Target::Broker, &Overrides::new(), "log.retention.ms", &"x".repeat(1 << 20));
    assert!(refusal.message.len() < 300, "{} bytes", refusal.message.len());
}

#[test]
fn names_and_values_of_a_resource_are_bounded() {
    let long = "0:1,".repeat(OVERRIDES_BYTES_MAX / 4 - 16);
    let throttled = "leader.replication.throttled.replicas";
    let nothing = Overrides::new();
    let current =
        change::topic::alter(&nothing, &[set(throttled, &long)], layers(&nothing)).expect("it fits");
    let more = set("follower.replication.throttled.replicas", "0:1,0:1,0:1,0:1,0:1,0:1,0:1");
    let refusal = change::topic::alter(&current, &[more], layers(&nothing)).expect_err("it is too much");
    assert_eq!(refusal.code, ErrorCode::InvalidConfig);
    let unknown: Vec<_> = (0..20_000).map(|number| set(&format!("unknown.{number}"), "1")).collect();
    assert!(change::broker::alter(Target::Broker, layers(&nothing), &unknown).is_err());
}

#[test]
fn resource_that_is_named_twice_is_refused_by_alter_configs_too() {
    let resource = |name: &str, configs: &[(&str, Option<&str>)]| AlterConfigsResource {
        resource_type: kind::TOPIC,
        resource_name: name.into(),
        configs: configs
            .iter()
            .map(|(name, value)| AlterableConfig { name: (*name).into(), value: value.map(String::from) })
            .collect(),
    };
    let resources = [
        resource("a", &[]),
        resource("b", &[]),
        resource("a", &[("segment.ms", Some("5"))]),
        resource("c", &[("segment.ms", None)]),
        resource("d", &[("segment.ms", Some("5")), ("segment.ms", Some("5"))]),
    ];
    let verdicts = change::replacing(&resources, 1);
    let are_taken: Vec<bool> = verdicts.iter().map(Result::is_ok).collect();
    assert_eq!(are_taken, [false, true, false, false, false]);
}

#[test]
fn kinds_of_resources_are_listed_as_they_are_asked_for() {
    assert_eq!(to_list(0, &[]), Ok(vec![kind::CLIENT_METRICS]));
    assert_eq!(to_list(1, &[]).map(|listed| listed.len()), Ok(5));
    assert_eq!(to_list(1, &[kind::BROKER, kind::TOPIC]), Ok(vec![kind::TOPIC, kind::BROKER]));
    assert_eq!(to_list(1, &[99]).map_err(|refusal| refusal.code), Err(ErrorCode::UnsupportedVersion));
}

#[test]
fn responses_have_what_the_request_asks_for() {
    let nothing = Overrides::new();
    let topic = TopicLayers { topic: &nothing, broker: layers(&nothing) };
    let asked = ["segment.bytes".into()];
    let entry = describe::topic(&topic, Some(&asked)).pop().expect("it is one");
    let plain = entry.clone().described(Detail::default());
    assert!(plain.synonyms.is_empty() && plain.documentation.is_none());
    let all = entry.clone().described(Detail { synonyms: true, documentation: true });
    assert_eq!((all.synonyms.len(), all.config_type, all.config_source), (1, 3, 5));
    assert!(all.documentation.is_some_and(|text| text.contains("in bytes")));
    let created = entry.created();
    assert_eq!((created.value.as_deref(), created.config_source), (Some("1073741824"), 5));
}

#[test]
fn durability_is_shown_where_it_is_set_or_asked_for() {
    let (own, nothing) = ([("diwan.durability".into(), "replicated".into())].into(), Overrides::new());
    let shown = |topic: &Overrides, asked: Option<&[String]>| {
        let entries = describe::topic(&TopicLayers { topic, broker: layers(&nothing) }, asked);
        let entry = entries.iter().find(|entry| entry.name == "diwan.durability");
        (entries.len(), entry.and_then(|entry| entry.value.clone()))
    };
    assert_eq!(shown(&nothing, None), (33, None));
    assert_eq!(shown(&own, None), (34, Some("replicated".into())));
    assert_eq!(shown(&nothing, Some(&["diwan.durability".into()])), (1, Some("flushed".into())));
}
