//! Settings of topics, brokers and groups.

use serde_json::{Value, json};

use super::body::with;
use crate::story::Story;

const TOPIC: i64 = 2;
const BROKER: i64 = 4;
const LOGGERS: i64 = 8;
const METRICS: i64 = 16;
const GROUP: i64 = 32;

fn resource(kind: i64, name: &str, keys: Value) -> Value {
    json!({"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": keys})
}

fn describe(resources: &[Value]) -> Value {
    json!({"Resources": resources})
}

/// Of IncrementalAlterConfigs: key, operation, value.
fn change(kind: i64, name: &str, changes: &[(&str, i64, Value)]) -> Value {
    let change = |(key, operation, value): &(&str, i64, Value)| json!({"Name": key, "ConfigOperation": operation, "Value": value});
    let configs: Vec<Value> = changes.iter().map(change).collect();
    json!({"ResourceType": kind, "ResourceName": name, "Configs": configs})
}

#[expect(clippy::too_many_lines, reason = "one story")]
pub(super) fn described(story: &mut Story<'_>) {
    story.topic_with("a", 1, &[("retention.ms", "3600000"), ("cleanup.policy", "compact,delete")]);
    let all = describe(&[resource(TOPIC, "@a", Value::Null)]);
    let full = json!({"IncludeSynonyms": true, "IncludeDocumentation": true});
    story.each("DescribeConfigs", |_| all.clone());
    story.call("DescribeConfigs", with(all, full.clone()));
    let some = json!(["retention.ms", "segment.bytes", "no.such.setting"]);
    let asked: [(i64, &str, Value); 16] = [
        (TOPIC, "@a", some.clone()),
        (TOPIC, "@a", json!([])),
        (TOPIC, "@missing", Value::Null),
        (TOPIC, "bad name", Value::Null),
        (TOPIC, "", Value::Null),
        (
            BROKER,
            "1",
            json!([
                "num.partitions",
                "log.retention.hours",
                "auto.create.topics.enable",
                "message.max.bytes"
            ]),
        ),
        (BROKER, "", json!(["num.partitions"])),
        (BROKER, "7", json!(["num.partitions"])),
        (BROKER, "x", json!(["num.partitions"])),
        (BROKER, "1", json!(["no.such.setting"])),
        (GROUP, "@g", Value::Null),
        (GROUP, "", Value::Null),
        (METRICS, "@m", Value::Null),
        (LOGGERS, "7", Value::Null),
        (0, "x", Value::Null),
        (99, "x", Value::Null),
    ];
    for (kind, name, keys) in asked {
        let only = describe(&[resource(kind, name, keys)]);
        story.call("DescribeConfigs", only.clone());
        if story.dice.once_in(3) {
            story.call("DescribeConfigs", with(only, full.clone()));
        }
    }
    let twice = [
        resource(TOPIC, "@a", some.clone()),
        resource(TOPIC, "@a", some),
        resource(TOPIC, "@missing", Value::Null),
    ];
    story.call("DescribeConfigs", describe(&twice));
    story.call("DescribeConfigs", describe(&[]));
}

#[expect(clippy::too_many_lines, reason = "one story")]
pub(super) fn changed_bit_by_bit(story: &mut Story<'_>) {
    story.topic("a", 1).topic("b", 1);
    let (set, delete, append, subtract) = (0, 1, 2, 3);
    let wanted = json!(["retention.ms", "cleanup.policy", "max.message.bytes", "message.timestamp.type"]);
    let look = |story: &mut Story<'_>| {
        story.call("DescribeConfigs", describe(&[resource(TOPIC, "@a", wanted.clone())]));
    };
    let changes: Vec<Vec<(&str, i64, Value)>> = vec![
        vec![("retention.ms", set, json!("1000"))],
        vec![("retention.ms", delete, Value::Null), ("max.message.bytes", set, json!("2000"))],
        vec![("cleanup.policy", append, json!("compact"))],
        vec![("cleanup.policy", append, json!("compact"))],
        vec![("cleanup.policy", subtract, json!("delete"))],
        vec![("cleanup.policy", subtract, json!("delete"))],
        vec![("cleanup.policy", delete, json!("ignored"))],
        vec![("retention.ms", append, json!("1"))],
        vec![("retention.ms", subtract, json!("1"))],
        vec![("retention.ms", set, json!("x"))],
        vec![("retention.ms", set, Value::Null)],
        vec![("retention.ms", 7, json!("1"))],
        vec![("no.such.setting", set, json!("1"))],
        vec![("no.such.setting", delete, Value::Null)],
        vec![("", set, json!("1"))],
        vec![("retention.ms", set, json!("1")), ("retention.ms", set, json!("2"))],
        vec![("retention.ms", set, json!("5000")), ("max.message.bytes", set, json!("-5"))],
        vec![("message.timestamp.type", set, json!("LogAppendTime"))],
        vec![("segment.bytes", set, json!("100"))],
        vec![],
    ];
    for changes in changes {
        let body =
            json!({"Resources": [change(TOPIC, "@a", &changes)], "ValidateOnly": story.dice.once_in(5)});
        story.call("IncrementalAlterConfigs", body);
        story.settle();
        look(story);
    }
    story.each("IncrementalAlterConfigs", |_| {
        let one = change(TOPIC, "@b", &[("retention.ms", set, json!("7000"))]);
        json!({"Resources": [one, change(TOPIC, "@missing", &[("retention.ms", set, json!("1"))])]})
    });
    let value = [("retention.ms", set, json!("1"))];
    for (kind, name) in
        [(TOPIC, "bad name"), (TOPIC, ""), (BROKER, "7"), (BROKER, "x"), (0, "x"), (99, "x"), (METRICS, "")]
    {
        story.call("IncrementalAlterConfigs", json!({"Resources": [change(kind, name, &value)]}));
    }
    let twice = [change(TOPIC, "@a", &value), change(TOPIC, "@a", &value), change(TOPIC, "@b", &value)];
    story.call("IncrementalAlterConfigs", json!({"Resources": twice}));
    story.call("IncrementalAlterConfigs", json!({"Resources": []}));
    story.settle();
    look(story);
}

pub(super) fn replaced(story: &mut Story<'_>) {
    story.topic_with("a", 1, &[("retention.ms", "3600000")]);
    let replace = |name: &str, settings: &[(&str, Value)]| {
        let set = |(key, value): &(&str, Value)| json!({"Name": key, "Value": value});
        let settings: Vec<Value> = settings.iter().map(set).collect();
        json!({"ResourceType": TOPIC, "ResourceName": name, "Configs": settings})
    };
    let look = json!(["retention.ms", "segment.ms", "max.message.bytes"]);
    for settings in [
        vec![("segment.ms", json!("5000"))],
        vec![("retention.ms", json!("-1")), ("max.message.bytes", json!("2000"))],
        vec![("retention.ms", json!("x"))],
        vec![("no.such.setting", json!("1"))],
        vec![("retention.ms", Value::Null)],
        vec![("retention.ms", json!("1")), ("retention.ms", json!("2"))],
        vec![],
    ] {
        let body = json!({"Resources": [replace("@a", &settings)], "ValidateOnly": story.dice.once_in(4)});
        story.call("AlterConfigs", body);
        story.settle();
        story.call("DescribeConfigs", describe(&[resource(TOPIC, "@a", look.clone())]));
    }
    story.each(
        "AlterConfigs",
        |_| json!({"Resources": [replace("@a", &[("segment.ms", json!("9000"))]), replace("@missing", &[])]}),
    );
    story.call("AlterConfigs", json!({"Resources": []}));
}

pub(super) fn of_groups(story: &mut Story<'_>) {
    for (key, value) in [
        ("consumer.session.timeout.ms", "50000"),
        ("consumer.session.timeout.ms", "1"),
        ("consumer.heartbeat.interval.ms", "6000"),
        ("consumer.heartbeat.interval.ms", "0"),
        ("share.auto.offset.reset", "earliest"),
        ("share.auto.offset.reset", "never"),
        ("no.such.setting", "1"),
    ] {
        let set = change(GROUP, "@g", &[(key, 0, json!(value))]);
        story.call("IncrementalAlterConfigs", json!({"Resources": [set]}));
        story.settle();
        story.call(
            "DescribeConfigs",
            describe(&[resource(
                GROUP,
                "@g",
                json!(["consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"]),
            )]),
        );
    }
    story.call(
        "IncrementalAlterConfigs",
        json!({"Resources": [change(GROUP, "", &[("consumer.session.timeout.ms", 0, json!("50000"))])]}),
    );
    story.settle();
    story.each("ListConfigResources", |_| json!({"ResourceTypes": [GROUP]}));
    story.call_in(1..=i16::MAX, "ListConfigResources", json!({"ResourceTypes": [TOPIC, GROUP, BROKER]}));
    story.call_in(1..=i16::MAX, "ListConfigResources", json!({"ResourceTypes": []}));
    for kind in [0, 99, -1, METRICS, LOGGERS] {
        story.call_in(1..=i16::MAX, "ListConfigResources", json!({"ResourceTypes": [kind]}));
    }
}

/// Those of the broker are seen by all: this scene is played alone, and puts back what it changes.
pub(super) fn of_the_broker(story: &mut Story<'_>) {
    let look = |story: &mut Story<'_>| {
        let keys = json!(["message.max.bytes", "log.retention.ms", "num.partitions", "min.insync.replicas"]);
        for name in ["1", ""] {
            let asked = describe(&[resource(BROKER, name, keys.clone())]);
            story.call("DescribeConfigs", with(asked, json!({"IncludeSynonyms": true})));
        }
    };
    look(story);
    for (name, key, operation, value) in [
        ("", "message.max.bytes", 0, json!("2000000")),
        ("1", "message.max.bytes", 0, json!("3000000")),
        ("", "log.retention.ms", 0, json!("x")),
        ("1", "num.partitions", 0, json!("5")),
        ("", "no.such.setting", 0, json!("5")),
        ("1", "node.id", 0, json!("5")),
        ("1", "message.max.bytes", 1, Value::Null),
        ("", "message.max.bytes", 1, Value::Null),
    ] {
        let body = json!({"Resources": [change(BROKER, name, &[(key, operation, value)])]});
        story.call("IncrementalAlterConfigs", body);
        story.settle();
        look(story);
    }
    story.call("DescribeConfigs", describe(&[resource(BROKER, "1", Value::Null)]));
}
