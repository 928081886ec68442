//! What each broker shows of the cluster, and who may change the settings of which broker.

use serde_json::{Value, json};

use super::{IDS, metadata, placed};
use crate::story::Story;

const BROKER: i64 = 4;
const TOPIC: i64 = 2;

pub(super) fn of_brokers(story: &mut Story<'_>) {
    let change = |kind: i64, name: &str, key: &str, value: Value| {
        let config = json!({"Name": key, "ConfigOperation": i64::from(value.is_null()), "Value": value});
        json!({"Resources": [{"ResourceType": kind, "ResourceName": name, "Configs": [config]}]})
    };
    let shown = |kind: i64, name: &str, key: &str| {
        json!({"Resources": [
            {"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": [key]},
        ]})
    };
    placed(story, "a", &[&[1, 2]], &[]);
    for broker in IDS {
        story.at(broker);
        for name in ["1", "2", "3", "7", "-1", "x"] {
            let set = change(BROKER, name, "log.cleaner.threads", json!("2"));
            story.call("IncrementalAlterConfigs", set);
            let call = story.call("DescribeConfigs", shown(BROKER, name, "log.cleaner.threads"));
            if name == broker.to_string() {
                call.until("/Results/0/Configs/0/Value", json!("2"));
            }
            story.call("IncrementalAlterConfigs", change(BROKER, name, "log.cleaner.threads", Value::Null));
        }
    }
    // Settings of a topic, and of all brokers, are taken and shown by each of them.
    for (kind, name, key, value) in
        [(TOPIC, "@a", "retention.ms", "12345"), (BROKER, "", "log.cleaner.threads", "2")]
    {
        let broker = story.dice.pick(&IDS);
        story.at(broker).call("IncrementalAlterConfigs", change(kind, name, key, json!(value)));
        for broker in IDS {
            let call = story.at(broker).call("DescribeConfigs", shown(kind, name, key));
            call.until("/Results/0/Configs/0/Value", json!(value));
        }
        story.at(1).call("IncrementalAlterConfigs", change(kind, name, key, Value::Null));
    }
}

pub(super) fn cluster(story: &mut Story<'_>) {
    placed(story, "a", &[&[3, 2]], &[]);
    for broker in IDS {
        story.at(broker).each("DescribeCluster", |_| json!({"IncludeFencedBrokers": true}));
        story.each("Metadata", |_| metadata("a"));
        let logs = json!({"Topics": [{"Topic": "@a", "Partitions": [0]}]});
        story.each("DescribeLogDirs", |_| logs.clone());
        let to =
            json!({"Dirs": [{"Path": "/no/such/folder", "Topics": [{"Name": "@a", "Partitions": [0]}]}]});
        story.each("AlterReplicaLogDirs", |_| to.clone());
    }
}
