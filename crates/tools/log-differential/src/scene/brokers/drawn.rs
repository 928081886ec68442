//! Requests about replicas whose broker, epochs and values are drawn.

use serde_json::{Value, json};

use super::super::body::{fetch, offsets, part, with};
use super::deaths::{ends, in_sync, starts};
use super::{IDS, described, elect, lies, metadata, placed, produced, reassign, rests};
use crate::script::End;
use crate::story::Story;

/// Some brokers, all different, in some order.
fn replicas(story: &mut Story<'_>) -> Vec<i32> {
    let mut left = vec![1, 2, 3];
    let count = 1 + story.dice.below(3);
    (0..count).map(|_| left.remove(story.dice.below(left.len()))).collect()
}

/// A topic with drawn replicas; returns them.
fn topic(story: &mut Story<'_>, name: &str) -> Vec<i32> {
    let replicas = replicas(story);
    placed(story, name, &[&replicas], &[]);
    produced_by(story, name, &replicas);
    replicas
}

fn produced_by(story: &mut Story<'_>, name: &str, replicas: &[i32]) {
    let leader = usize::try_from(replicas[0]).unwrap_or(1);
    story.at(leader).call("Produce", produced(name, 0, -1, &["x", "y"]));
}

/// An epoch that is right, unknown or old, or none.
fn epoch(story: &mut Story<'_>, name: &str) -> Value {
    let choices = [-1, 0, 1, 0, 2, 0];
    match story.dice.pick(&choices) {
        -1 => json!(-1),
        0 => json!(format!("$epoch-{name}-0")),
        more => json!(format!("$epoch-{name}-0+{more}")),
    }
}

/// One request at a broker.
fn ask(story: &mut Story<'_>, broker: usize, name: &str) {
    story.at(broker);
    let current = epoch(story, name);
    let offset = story.dice.pick(&[0, 0, 1, 2]);
    match story.dice.below(6) {
        0 => drop_call(story.call_in(4..=i16::MAX, "Metadata", metadata(name))),
        1 => drop_call(story.call("DescribeTopicPartitions", described(name))),
        2 => {
            let acks = story.dice.pick(&[-1, 1]);
            drop_call(story.call("Produce", produced(name, 0, acks, &["z"])));
        }
        3 => {
            let part = with(part(0, offset), json!({"CurrentLeaderEpoch": current}));
            drop_call(story.call_in(4..=10, "Fetch", fetch(name, vec![part])));
        }
        4 => {
            let body = with(
                offsets(name, &[]),
                json!({"Topics": [{"Name": format!("@{name}"), "Partitions": [
                    {"PartitionIndex": 0, "CurrentLeaderEpoch": current, "Timestamp": -2},
                ]}]}),
            );
            drop_call(story.call("ListOffsets", body));
        }
        _ => {
            let part = json!({"Partition": 0, "CurrentLeaderEpoch": current, "LeaderEpoch": format!("$epoch-{name}-0")});
            let topics = json!([{"Topic": format!("@{name}"), "Partitions": [part]}]);
            drop_call(story.call("OffsetForLeaderEpoch", json!({"ReplicaId": -1, "Topics": topics})));
        }
    }
}

fn drop_call(_: &mut crate::script::Call) {}

pub(super) fn peaceful(story: &mut Story<'_>) {
    let mut all: Vec<(String, Vec<i32>)> = Vec::new();
    for name in ["a", "b", "c"] {
        let replicas = topic(story, name);
        all.push((name.to_owned(), replicas));
    }
    for _ in 0..4 {
        for _ in 0..8 {
            let (name, _) = story.dice.pick(&all);
            let broker = story.dice.pick(&IDS);
            ask(story, broker, &name);
        }
        let index = story.dice.below(all.len());
        let (name, to) = (all[index].0.clone(), replicas(story));
        // What only a leader has acknowledged may be lost with it, and the ends are compared.
        produced_by(story, &name, &all[index].1);
        let broker = story.dice.pick(&IDS);
        story.at(broker).call("AlterPartitionReassignments", reassign(&name, &[(0, json!(to))]));
        let asked = json!({"Topics": [{"Name": format!("@{name}"), "PartitionIndexes": [0]}]});
        for broker in IDS {
            story.at(broker).call("ListPartitionReassignments", asked.clone()).until("/Topics", json!([]));
        }
        // A new order of the same replicas is no reassignment, and our brokers may see it a moment later.
        let is_needed = all[index].1[0] != to[0];
        let elected = story.at(1).call("ElectLeaders", elect(0, &name, &[0]));
        elected.retry(if is_needed { &[80, 84] } else { &[80] });
        lies(story, (&name, 0), &to);
        all[index].1 = to;
    }
}

pub(super) fn without_one(story: &mut Story<'_>) {
    let gone = story.dice.pick(&[2, 3]);
    let gone_id = i32::try_from(gone).unwrap_or(2);
    let mut all: Vec<(String, Vec<i32>)> = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let replicas = topic(story, name);
        all.push((name.to_owned(), replicas));
    }
    let how = if story.dice.once_in(2) { End::Stopped } else { End::Killed };
    let left: Vec<usize> = IDS.into_iter().filter(|id| *id != gone).collect();
    ends(story, gone, how, &left);
    for (name, replicas) in &all {
        let there: Vec<i32> = replicas.iter().copied().filter(|id| *id != gone_id).collect();
        match there.first() {
            Some(first) => rests(story, &left, (name, 0), *first, &there),
            None => {
                for broker in &left {
                    let call = story.at(*broker).call_in(10..=i16::MAX, "Metadata", metadata(name));
                    call.until("/Topics/0/Partitions/0/LeaderId", json!(-1));
                }
            }
        }
    }
    for _ in 0..24 {
        let (name, _) = story.dice.pick(&all);
        let broker = story.dice.pick(&left);
        ask(story, broker, &name);
    }
    starts(story, gone);
    for (name, replicas) in &all {
        in_sync(story, name, replicas);
        story.at(1).call("ElectLeaders", elect(0, name, &[0]));
        rests(story, &IDS, (name, 0), replicas[0], replicas);
    }
    for broker in IDS {
        for (name, _) in &all {
            ask(story, broker, name);
            story.at(broker).call("Metadata", metadata(name));
        }
    }
}
