//! Offsets of groups.

use serde_json::{Value, json};

use super::body::{STRANGE_ID, ZERO_ID, with};
use super::groups;
use crate::story::Story;

/// Of OffsetCommit, by nobody.
fn commit(group: &str, topic: &str, offsets: &[(i32, i64)]) -> Value {
    let offset = |(partition, offset): &(i32, i64)| json!({"PartitionIndex": partition, "CommittedOffset": offset, "CommittedLeaderEpoch": 0, "CommittedMetadata": "meta"});
    let offsets: Vec<Value> = offsets.iter().map(offset).collect();
    let topic =
        json!({"Name": format!("@{topic}"), "TopicId": format!("$id-{topic}"), "Partitions": offsets});
    json!({"GroupId": format!("@{group}"), "GenerationIdOrMemberEpoch": -1, "MemberId": "", "Topics": [topic]})
}

/// Of OffsetFetch, for partitions of one topic; all if there are none.
fn fetch(group: &str, topic: &str, partitions: Option<&[i32]>) -> Value {
    let (group, name, id) = (format!("@{group}"), format!("@{topic}"), format!("$id-{topic}"));
    let of_one = partitions.map(|all| json!([{"Name": name, "PartitionIndexes": all}]));
    let of_many = partitions.map(|all| json!([{"Name": name, "TopicId": id, "PartitionIndexes": all}]));
    json!({"GroupId": group, "Topics": of_one, "Groups": [{"GroupId": group, "Topics": of_many}]})
}

pub(super) fn every_version(story: &mut Story<'_>) {
    story.topic("a", 3);
    story.each("OffsetCommit", |version| {
        let version = i64::from(version);
        commit("g", "a", &[(0, version), (1, 100 + version)])
    });
    story.each("OffsetCommit", |_| commit("h", "a", &[(2, 7), (9, 1)]));
    story.each("OffsetFetch", |_| fetch("g", "a", Some(&[0, 1, 2, 9])));
    story.each("OffsetFetch", |version| fetch("g", "a", if version < 2 { Some(&[]) } else { None }));
    story.each("OffsetFetch", |_| fetch("nobody", "a", Some(&[0])));
    story.call_in(2..=i16::MAX, "OffsetFetch", fetch("nobody", "a", None));
    story.call_in(
        7..=i16::MAX,
        "OffsetFetch",
        with(fetch("g", "a", Some(&[0])), json!({"RequireStable": true})),
    );
}

pub(super) fn without_membership(story: &mut Story<'_>) {
    story.topic("a", 2).topic("b", 1);
    for offset in [0, -1, -2, i64::MAX, i64::MIN, 5] {
        story.call("OffsetCommit", commit("g", "a", &[(0, offset)]));
        story.call("OffsetFetch", fetch("g", "a", Some(&[0])));
    }
    let metadata = |text: Value, epoch: i64| {
        let part = json!({"PartitionIndex": 0, "CommittedOffset": 9, "CommittedLeaderEpoch": epoch, "CommittedMetadata": text});
        let topic = json!({"Name": "@a", "TopicId": "$id-a", "Partitions": [part]});
        with(commit("g", "a", &[]), json!({"Topics": [topic]}))
    };
    for text in [Value::Null, json!(""), json!("é"), json!("m".repeat(4_096)), json!("m".repeat(4_097))] {
        story.call("OffsetCommit", metadata(text, 0));
        story.call("OffsetFetch", fetch("g", "a", Some(&[0])));
    }
    for epoch in [-1, 5, -2] {
        story.call_in(6..=i16::MAX, "OffsetCommit", metadata(json!("e"), epoch));
        story.call_in(5..=i16::MAX, "OffsetFetch", fetch("g", "a", Some(&[0])));
    }
    story.call("OffsetCommit", commit("g", "a", &[(0, 1), (0, 2), (7, 3), (-1, 4)]));
    story.call("OffsetFetch", fetch("g", "a", Some(&[0, 0, 7, -1])));
    strangers(story);
    gone(story);
}

/// The group without a name, which all scripts share.
pub(super) fn without_name(story: &mut Story<'_>) {
    story.topic("a", 1);
    let nameless = json!({"GroupId": ""});
    let many = json!({"GroupId": "", "Groups": [{"GroupId": "", "Topics": null}, {"GroupId": "@g", "Topics": null}]});
    let look = |story: &mut Story<'_>| {
        story.call_in(1..=7, "OffsetFetch", with(fetch("g", "a", Some(&[0])), nameless.clone()));
        story.call_in(8..=i16::MAX, "OffsetFetch", many.clone());
        story.call("ListGroups", json!({}));
        story.call("DescribeGroups", json!({"Groups": ["", "@missing"]}));
    };
    look(story);
    story.call("OffsetCommit", with(commit("g", "a", &[(0, 1)]), nameless.clone()));
    look(story);
    story.each("DeleteGroups", |_| json!({"GroupsNames": ["", "@missing"]}));
    look(story);
}

/// Topics, generations and members that a group without members does not have.
fn strangers(story: &mut Story<'_>) {
    let other = |name: &str, id: &str| json!([{"Name": name, "TopicId": id, "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 1}]}]);
    for topics in [other("@missing", STRANGE_ID), other("bad name", ZERO_ID), json!([])] {
        story.call("OffsetCommit", with(commit("g", "a", &[]), json!({"Topics": topics})));
    }
    // Generations and members of a group that has none.
    for (generation, member) in [(0, ""), (1, "nobody"), (-1, "nobody"), (5, ""), (-2, "")] {
        let identity = json!({"GenerationIdOrMemberEpoch": generation, "MemberId": member});
        story.call("OffsetCommit", with(commit("g", "a", &[(1, 1)]), identity.clone()));
        story.call("OffsetCommit", with(commit("new", "a", &[(1, 1)]), identity));
    }
    story.call_in(
        7..=i16::MAX,
        "OffsetCommit",
        with(commit("g", "a", &[(1, 2)]), json!({"GroupInstanceId": "i"})),
    );
    let several = json!({"Groups": [
        {"GroupId": "@g", "Topics": null},
        {"GroupId": "@nobody", "Topics": null},
        {"GroupId": "@g", "Topics": [{"Name": "@b", "TopicId": "$id-b", "PartitionIndexes": [0]}]},
    ]});
    story.call_in(8..=i16::MAX, "OffsetFetch", several);
    story.call_in(8..=i16::MAX, "OffsetFetch", json!({"Groups": []}));
    let unknown = json!([{"GroupId": "@g", "Topics": [{"TopicId": STRANGE_ID, "PartitionIndexes": [0]}]}]);
    story.call_in(10..=i16::MAX, "OffsetFetch", json!({"Groups": unknown}));
    let member = json!([{"GroupId": "@g", "MemberId": "nobody", "MemberEpoch": 1, "Topics": null}]);
    story.call_in(9..=i16::MAX, "OffsetFetch", json!({"Groups": member}));
}

/// A topic goes, and its offsets with it.
fn gone(story: &mut Story<'_>) {
    story.call("OffsetCommit", commit("g", "b", &[(0, 3)]));
    story
        .call("DeleteTopics", json!({"TopicNames": ["@b"], "Topics": [{"Name": "@b"}], "TimeoutMs": 30_000}));
    let all = json!({"GroupId": "@g", "Topics": [{"Name": "@b", "PartitionIndexes": [0]}], "Groups": [
        {"GroupId": "@g", "Topics": [{"Name": "@b", "PartitionIndexes": [0]}]},
    ]});
    for place in ["/Topics/0/Partitions/0/CommittedOffset", "/Groups/0/Topics/0/Partitions/0/CommittedOffset"]
    {
        let versions = if place.starts_with("/Groups") { 8..=9 } else { 1..=7 };
        story.call_in(versions, "OffsetFetch", all.clone()).until(place, json!(-1));
    }
}

pub(super) fn of_members(story: &mut Story<'_>) {
    story.topic("a", 2);
    groups::alone(story, &["g"]);
    story.on(0);
    let by = |generation: i64, member: &str, instance: Option<&str>| {
        let identity =
            json!({"GenerationIdOrMemberEpoch": generation, "MemberId": member, "GroupInstanceId": instance});
        with(commit("g", "a", &[(0, generation)]), identity)
    };
    for (generation, member) in
        [(1, "$m-g"), (0, "$m-g"), (2, "$m-g"), (-1, "$m-g"), (1, "nobody"), (1, ""), (-1, "")]
    {
        story.call("OffsetCommit", by(generation, member, None));
        story.call("OffsetFetch", fetch("g", "a", Some(&[0])));
    }
    story.call_in(7..=i16::MAX, "OffsetCommit", by(1, "$m-g", Some("i")));
    story.each("OffsetCommit", |_| by(1, "$m-g", None));
    let asks = |member: &str, epoch: i64| json!({"Groups": [{"GroupId": "@g", "MemberId": member, "MemberEpoch": epoch, "Topics": null}]});
    for (member, epoch) in [("$m-g", 1), ("$m-g", 2), ("nobody", 1)] {
        story.call_in(9..=i16::MAX, "OffsetFetch", asks(member, epoch));
    }
    let leave = json!({"GroupId": "@g", "MemberId": "$m-g", "Members": [{"MemberId": "$m-g"}]});
    story.call("LeaveGroup", leave);
    story.call("OffsetCommit", by(1, "$m-g", None));
    story.call("OffsetCommit", by(-1, "", None));
    story.call_in(2..=i16::MAX, "OffsetFetch", fetch("g", "a", None));
}

/// Of a member that has joined, before its group has assignments.
pub(super) fn before_assignments(story: &mut Story<'_>) {
    story.topic("a", 1);
    groups::arrive(story, 0, "g", "m");
    story.on(0).wait();
    for (member, generation) in [("$m", 1), ("$m", 0), ("nobody", 1)] {
        let who = json!({"GenerationIdOrMemberEpoch": generation, "MemberId": member});
        story.each("OffsetCommit", |_| with(commit("g", "a", &[(0, 5)]), who.clone()));
    }
    story.each("OffsetFetch", |_| fetch("g", "a", Some(&[0])));
}
