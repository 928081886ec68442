//! Scripts for a cluster of three brokers: what replicas, the brokers that do not lead, and those that ended show.
//!
//! Every comparison is made at rest. Where replicas lie, and who leads, is said by the script: topics have assignments, and a
//! script waits at each broker until it shows the leader and the replicas in sync that are expected.

mod coordinators;
mod deaths;
mod drawn;
mod followers;
mod moves;
mod placement;
mod settings;

use serde_json::{Value, json};

use super::Scene;
use super::body::{create, produce, with};
use crate::script::BROKERS;
use crate::story::{LEADER_EARLY, Story};

/// All of them, each once for a seed.
pub(super) const ALL: &[Scene] = &[
    Scene::of_a_cluster("replicas of new topics", placement::made),
    Scene::of_a_cluster("replicas that cannot be given", placement::refused),
    Scene::of_a_cluster("replicas of more partitions", placement::more_partitions),
    Scene::of_a_cluster("produce at brokers that do not lead", followers::produce),
    Scene::of_a_cluster("fetch at brokers that do not lead", followers::fetch),
    Scene::of_a_cluster("offsets at brokers that do not lead", followers::offsets),
    Scene::of_a_cluster("epochs after a change of leaders", followers::epochs),
    Scene::of_a_cluster("racks", followers::racks),
    Scene::of_a_cluster("reassignments among brokers", moves::reassignments),
    Scene::of_a_cluster("refused reassignments among brokers", moves::refused),
    Scene::of_a_cluster("elections among brokers", moves::elections),
    Scene::of_a_cluster("groups at brokers that do not coordinate", coordinators::of_groups),
    Scene::of_a_cluster("transactions at brokers that do not coordinate", coordinators::of_transactions),
    Scene::of_a_cluster("share groups at brokers that do not coordinate", coordinators::of_share_groups),
    Scene::of_a_cluster("settings of another broker", settings::of_brokers),
    Scene::of_a_cluster("the cluster as each broker shows it", settings::cluster),
    Scene::of_a_cluster("drawn requests to three brokers", drawn::peaceful),
    Scene { alone: true, ..Scene::of_a_cluster("a broker is stopped", deaths::stopped) },
    Scene { alone: true, ..Scene::of_a_cluster("two brokers are stopped", deaths::two) },
    Scene { alone: true, ..Scene::of_a_cluster("a leader is killed", deaths::killed) },
    Scene { alone: true, ..Scene::of_a_cluster("drawn requests while a broker is gone", drawn::without_one) },
];

/// What a broker that does not lead says.
const NOT_LEADER: i64 = 6;
/// The ids of all brokers.
const IDS: [usize; BROKERS] = [1, 2, 3];

/// A topic whose partitions have these replicas, the first of each leading, which all brokers know.
fn placed(story: &mut Story<'_>, name: &str, partitions: &[&[i32]], settings: &[(&str, &str)]) {
    let broker = story.dice.pick(&IDS);
    story.at(broker).call("CreateTopics", create(json!([assigned(name, partitions, settings)])));
    for (index, replicas) in partitions.iter().enumerate() {
        rests(story, &IDS, (name, index), replicas[0], replicas);
    }
}

/// A topic of CreateTopics with these replicas.
fn assigned(name: &str, partitions: &[&[i32]], settings: &[(&str, &str)]) -> Value {
    let part = |(index, brokers): (usize, &&[i32])| json!({"PartitionIndex": index, "BrokerIds": brokers});
    let parts: Vec<Value> = partitions.iter().enumerate().map(part).collect();
    let config = |(name, value): &(&str, &str)| json!({"Name": name, "Value": value});
    let configs: Vec<Value> = settings.iter().map(config).collect();
    json!({
        "Name": format!("@{name}"), "NumPartitions": -1, "ReplicationFactor": -1,
        "Assignments": parts, "Configs": configs,
    })
}

/// Waits at these brokers until they show that leader and those replicas in sync, and until the leader, if there is one, serves.
/// `$id-NAME` is the topic's id then, `$epoch-NAME-PARTITION` the leader's epoch.
fn rests(story: &mut Story<'_>, brokers: &[usize], partition: (&str, usize), leader: i32, in_sync: &[i32]) {
    let known = [("LeaderId", json!(leader)), ("IsrNodes", json!(in_sync))];
    brokers.iter().for_each(|broker| shows(story, *broker, partition, &known));
    serves(story, brokers, partition, leader);
}

/// The same at every broker for all replicas, in this order: neither the leader nor who is in sync tells of another order.
fn lies(story: &mut Story<'_>, partition: (&str, usize), replicas: &[i32]) {
    let leads = json!(replicas[0]);
    let known = [("LeaderId", leads), ("IsrNodes", json!(replicas)), ("ReplicaNodes", json!(replicas))];
    IDS.into_iter().for_each(|broker| shows(story, broker, partition, &known));
    serves(story, &IDS, partition, replicas[0]);
}

/// Waits at one broker until it shows all replicas in sync, in this order; who leads may change yet.
fn has_moved(story: &mut Story<'_>, broker: usize, partition: (&str, usize), replicas: &[i32]) {
    shows(story, broker, partition, &[("IsrNodes", json!(replicas)), ("ReplicaNodes", json!(replicas))]);
}

/// Waits until the broker's Metadata has these fields of the partition.
fn shows(
    story: &mut Story<'_>,
    broker: usize,
    (name, partition): (&str, usize),
    known: &[(&'static str, Value)],
) {
    let place = |field: &str| format!("/Topics/0/Partitions/{partition}/{field}");
    let call = story.at(broker).call_in(10..=i16::MAX, "Metadata", metadata(name));
    for (field, value) in known {
        call.until(&place(field), value.clone());
    }
    call.bind(&format!("id-{name}"), "/Topics/0/TopicId");
    call.bind(&format!("epoch-{name}-{partition}"), &place("LeaderEpoch"));
}

/// Waits until the leader, if it is one of these brokers, serves, and the others know that they do not lead.
fn serves(story: &mut Story<'_>, brokers: &[usize], (name, partition): (&str, usize), leader: i32) {
    for broker in brokers {
        let latest = super::body::offsets(name, &[(index(partition), json!(-1))]);
        let call = story.at(*broker).call("ListOffsets", latest);
        // A broker learns that a topic is there, and who leads, before it takes up its part in it.
        match usize::try_from(leader) == Ok(*broker) {
            // A new leader may not know yet what is committed.
            true => call.retry(&LEADER_EARLY).retry(&[78]),
            false => call.until("/Topics/0/Partitions/0/ErrorCode", json!(NOT_LEADER)),
        };
    }
}

/// The epoch that is the leader's now is `$former-epoch-NAME-PARTITION`.
fn becomes_former(story: &mut Story<'_>, (name, partition): (&str, usize)) {
    let place = format!("/Topics/0/Partitions/{partition}/LeaderEpoch");
    let call = story.at(1).call_in(10..=i16::MAX, "Metadata", metadata(name));
    call.bind(&format!("former-epoch-{name}-{partition}"), &place);
}

/// All replicas are in sync, in another order: the leader becomes the first of it.
fn reordered(story: &mut Story<'_>, (name, partition): (&str, usize), replicas: &[i32]) {
    story.call("AlterPartitionReassignments", reassign(name, &[(partition, json!(replicas))]));
    for broker in IDS {
        let place = format!("/Topics/0/Partitions/{partition}/ReplicaNodes/0");
        story.at(broker).call_in(10..=i16::MAX, "Metadata", metadata(name)).until(&place, json!(replicas[0]));
    }
    story.at(1).call("ElectLeaders", elect(0, name, &[partition]));
    rests(story, &IDS, (name, partition), replicas[0], replicas);
}

fn metadata(name: &str) -> Value {
    json!({"Topics": [{"Name": format!("@{name}")}], "AllowAutoTopicCreation": false})
}

fn described(name: &str) -> Value {
    json!({"Topics": [{"Name": format!("@{name}")}], "ResponsePartitionLimit": 100})
}

/// Of AlterPartitionReassignments.
fn reassign(name: &str, partitions: &[(usize, Value)]) -> Value {
    reassign_topic(&format!("@{name}"), partitions)
}

fn reassign_topic(name: &str, partitions: &[(usize, Value)]) -> Value {
    let part = |(index, replicas): &(usize, Value)| json!({"PartitionIndex": index, "Replicas": replicas});
    let parts: Vec<Value> = partitions.iter().map(part).collect();
    json!({"TimeoutMs": 30_000, "Topics": [{"Name": name, "Partitions": parts}]})
}

/// Of ElectLeaders: the preferred ones by kind 0, any by kind 1.
fn elect(kind: i64, name: &str, partitions: &[usize]) -> Value {
    elect_topic(kind, &format!("@{name}"), partitions)
}

fn elect_topic(kind: i64, name: &str, partitions: &[usize]) -> Value {
    let topics = json!([{"Topic": name, "Partitions": partitions}]);
    json!({"ElectionType": kind, "TopicPartitions": topics, "TimeoutMs": 3_000})
}

/// Of Produce.
fn produced(name: &str, partition: usize, acks: i16, values: &[&str]) -> Value {
    let body = produce(name, index(partition), super::body::batch(values));
    with(body, json!({"Acks": acks}))
}

fn index(partition: usize) -> i32 {
    i32::try_from(partition).unwrap_or(i32::MAX)
}

/// What every script takes for granted: the brokers know each other, the internal topics are there, and partition 0 of each
/// is led by broker 1, 1 by 2, 2 by 3.
pub(crate) fn first_answers(story: &mut Story<'_>) {
    story.call("CreateTopics", create(json!([assigned("ready", &[&[1, 2, 3]], &[])]))).retry(&[38, 39, 41]);
    rests(story, &IDS, ("ready", 0), 1, &[1, 2, 3]);
    for broker in IDS {
        let id = json!({"TransactionalId": null, "TransactionTimeoutMs": 60_000});
        story.at(broker).call("InitProducerId", id);
    }
    let topics = ["__consumer_offsets", "__transaction_state", "__share_group_state"];
    for (kind, topic) in topics.into_iter().enumerate() {
        let key = if kind == 2 { "g:0123456789abcdefghijkw:0" } else { "g" };
        let asked = json!({"Key": key, "CoordinatorKeys": [key], "KeyType": kind});
        story.at(1).call_in(6..=i16::MAX, "FindCoordinator", asked);
        let replicas = |first: usize| json!((0..3).map(|more| (first + more) % 3 + 1).collect::<Vec<_>>());
        let all = [0, 1, 2].map(|partition| (partition, replicas(partition)));
        story.call("AlterPartitionReassignments", reassign_topic(topic, &all)).retry(&[3]);
        story.call("ElectLeaders", elect_topic(0, topic, &[0, 1, 2])).retry(&[80]);
        for broker in IDS {
            let asked = json!({"Topics": [{"Name": topic}], "AllowAutoTopicCreation": false});
            let call = story.at(broker).call_in(10..=i16::MAX, "Metadata", asked);
            for partition in 0..3 {
                let place = |field: &str| format!("/Topics/0/Partitions/{partition}/{field}");
                call.until(&place("LeaderId"), json!(partition + 1));
                call.until(&place("IsrNodes"), json!([1, 2, 3]));
            }
        }
    }
}
