//! Metadata.

use serde_json::{Value, json};

use super::body::{STRANGE_ID, ZERO_ID};
use crate::story::{LEADER_EARLY, Story};

pub(super) fn topics(story: &mut Story<'_>) {
    let partitions = 1 + story.dice.below(4) as i32;
    story.topic("a", partitions).topic("b", 1);
    let names = |names: &[&str]| -> Value { names.iter().map(|name| json!({"Name": name})).collect() };
    let long = "l".repeat(250);
    let asked: [Value; 9] = [
        names(&["@a", "@b"]),
        names(&["@b", "@missing", "@a"]),
        names(&["@a", "@a"]),
        names(&["", "@a"]),
        names(&["."]),
        names(&["..", "with space", "with/slash", "é"]),
        names(&[&long]),
        json!([]),
        names(&["@missing"]),
    ];
    for topics in asked {
        let body = json!({"Topics": topics, "AllowAutoTopicCreation": false, "IncludeTopicAuthorizedOperations": story.dice.once_in(2)});
        // Earlier versions always make a topic, and one that has been made shows in the next answer, or not yet.
        story.call_in(4..=i16::MAX, "Metadata", body);
    }
    let ids: [Value; 6] = [
        json!([{"TopicId": "$id-a", "Name": null}]),
        json!([{"TopicId": STRANGE_ID, "Name": null}, {"TopicId": "$id-b", "Name": null}]),
        json!([{"TopicId": ZERO_ID, "Name": null}]),
        json!([{"TopicId": "$id-a", "Name": "@a"}]),
        json!([{"TopicId": "$id-a", "Name": "@b"}]),
        json!([{"TopicId": STRANGE_ID, "Name": "@b"}]),
    ];
    for topics in ids {
        let body = json!({"Topics": topics, "AllowAutoTopicCreation": false});
        story.call_in(10..=i16::MAX, "Metadata", body);
    }
}

pub(super) fn every_version(story: &mut Story<'_>) {
    story.topic("a", 2).topic("b", 1);
    let named = json!([{"Name": "@a"}, {"Name": "@b"}]);
    let asked = |topics: &Value, operations: bool| {
        json!({
            "Topics": topics,
            "AllowAutoTopicCreation": false,
            "IncludeClusterAuthorizedOperations": operations,
            "IncludeTopicAuthorizedOperations": operations,
        })
    };
    story.each("Metadata", |_| asked(&named, true));
    story.each("Metadata", |_| asked(&json!([]), false));
    // All topics: what belongs to others is not compared.
    story.each("Metadata", |version| asked(&if version == 0 { json!([]) } else { Value::Null }, true));
}

pub(super) fn made_on_demand(story: &mut Story<'_>) {
    for (name, versions) in [("old", 0..=3), ("new", 4..=i16::MAX)] {
        let topic = format!("@{name}");
        let body = json!({"Topics": [{"Name": topic}], "AllowAutoTopicCreation": true});
        story.call_in(versions, "Metadata", body).retry(&LEADER_EARLY);
        story.known(name, 1);
    }
    let body = json!({"Topics": [{"Name": "bad name"}, {"Name": "@both"}], "AllowAutoTopicCreation": true});
    story.call("Metadata", body).retry(&LEADER_EARLY);
    // Names that collide with one that is there once dots are underlines.
    story.topic("dot.ted", 1);
    let body = json!({"Topics": [{"Name": "@dot_ted"}], "AllowAutoTopicCreation": true});
    story.call_in(4..=i16::MAX, "Metadata", body);
    let body = json!({"Topics": [{"TopicId": STRANGE_ID, "Name": null}], "AllowAutoTopicCreation": true});
    story.call_in(12..=i16::MAX, "Metadata", body);
}
