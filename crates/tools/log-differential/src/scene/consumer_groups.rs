//! Groups of KIP-848.

use serde_json::{Value, json};

use super::body::with;
use crate::story::Story;

/// The first heartbeat of a member.
fn join(group: &str, member: &str, topics: &[&str]) -> Value {
    let topics: Vec<String> = topics.iter().map(|topic| format!("@{topic}")).collect();
    json!({
        "GroupId": format!("@{group}"), "MemberId": member, "MemberEpoch": 0, "RebalanceTimeoutMs": 60_000,
        "SubscribedTopicNames": topics, "TopicPartitions": [],
    })
}

/// A heartbeat in which nothing changes.
fn beat(group: &str, member: &str, epoch: Value) -> Value {
    json!({"GroupId": format!("@{group}"), "MemberId": member, "MemberEpoch": epoch})
}

fn describe(groups: &[&str]) -> Value {
    let names: Vec<String> = groups.iter().map(|group| format!("@{group}")).collect();
    json!({"GroupIds": names, "IncludeAuthorizedOperations": true})
}

/// A topic that the coordinators know, too: they learn of it after the brokers do.
fn topic(story: &mut Story<'_>, name: &str, partitions: i32) {
    story.topic(name, partitions).settle();
    let call = story.call_in(1..=i16::MAX, "ConsumerGroupHeartbeat", join("probe", "@probe", &[name]));
    call.until("/Assignment/TopicPartitions/0/TopicId", json!(format!("$id-{name}")));
}

pub(super) fn two_members(story: &mut Story<'_>) {
    topic(story, "a", 4);
    story
        .call_in(1..=i16::MAX, "ConsumerGroupHeartbeat", join("g", "@m1", &["a"]))
        .bind("e1", "/MemberEpoch");
    story.call("ConsumerGroupHeartbeat", beat("g", "@m1", json!("$e1")));
    story.each("ConsumerGroupDescribe", |_| describe(&["g", "missing"]));
    let owned =
        |partitions: &[i32]| json!({"TopicPartitions": [{"TopicId": "$id-a", "Partitions": partitions}]});
    story.call("ConsumerGroupHeartbeat", with(beat("g", "@m1", json!("$e1")), owned(&[0, 1, 2, 3])));
    story
        .on(1)
        .call_in(1..=i16::MAX, "ConsumerGroupHeartbeat", join("g", "@m2", &["a"]))
        .bind("e2", "/MemberEpoch");
    story.call("ConsumerGroupDescribe", describe(&["g"]));
    // The first one is told what to give up, gives it up, and the second one gets it.
    story.on(0).call("ConsumerGroupHeartbeat", with(beat("g", "@m1", json!("$e1")), owned(&[0, 1, 2, 3])));
    story
        .on(0)
        .call("ConsumerGroupHeartbeat", with(beat("g", "@m1", json!("$e1")), owned(&[0, 1])))
        .bind("e1", "/MemberEpoch");
    story.on(1).call("ConsumerGroupHeartbeat", beat("g", "@m2", json!("$e2"))).bind("e2", "/MemberEpoch");
    story
        .on(1)
        .call("ConsumerGroupHeartbeat", with(beat("g", "@m2", json!("$e2")), owned(&[2, 3])))
        .bind("e2", "/MemberEpoch");
    story.call("ConsumerGroupDescribe", describe(&["g"]));
    story.call("ListGroups", json!({}));
    story.call("DescribeGroups", json!({"Groups": ["@g"]}));
    story.call("DeleteGroups", json!({"GroupsNames": ["@g"]}));
    // One leaves, the other gets everything.
    story.on(0).call("ConsumerGroupHeartbeat", beat("g", "@m1", json!(-1)));
    story
        .on(1)
        .call("ConsumerGroupHeartbeat", with(beat("g", "@m2", json!("$e2")), owned(&[2, 3])))
        .bind("e2", "/MemberEpoch");
    story.call("ConsumerGroupDescribe", describe(&["g"]));
    story.on(1).call("ConsumerGroupHeartbeat", beat("g", "@m2", json!(-1)));
    story.call("ConsumerGroupDescribe", describe(&["g"]));
    story.call("DeleteGroups", json!({"GroupsNames": ["@g"]}));
    story.call("ConsumerGroupDescribe", describe(&["g"]));
}

/// A group gets no new assignment for a while after the last one.
pub(super) fn assignments_wait(story: &mut Story<'_>) {
    let longest =
        json!([{"Name": "consumer.assignment.interval.ms", "ConfigOperation": 0, "Value": "15000"}]);
    let group = json!({"ResourceType": 32, "ResourceName": "@g", "Configs": longest});
    story.call("IncrementalAlterConfigs", json!({"Resources": [group]}));
    // Whoever knows the topic knows what was set before it was made.
    topic(story, "a", 4);
    for (connection, member) in [(0, "@m1"), (1, "@m2"), (2, "@m3")] {
        story.on(connection).call_in(1..=i16::MAX, "ConsumerGroupHeartbeat", join("g", member, &["a"]));
        story.call("ConsumerGroupDescribe", describe(&["g"]));
    }
    story.on(0).call("ConsumerGroupHeartbeat", beat("g", "@m1", json!(-1)));
    story.call("ConsumerGroupDescribe", describe(&["g"]));
}

#[expect(clippy::too_many_lines, reason = "one story")]
pub(super) fn refused(story: &mut Story<'_>) {
    topic(story, "a", 2);
    let mut ask = |change: Value| {
        let first = join("g", "@m", &["a"]);
        story.call_in(1..=i16::MAX, "ConsumerGroupHeartbeat", with(first.clone(), change.clone()));
        story.call_in(0..=0, "ConsumerGroupHeartbeat", with(first, change));
    };
    ask(json!({"GroupId": ""}));
    ask(json!({"MemberId": ""}));
    ask(json!({"RebalanceTimeoutMs": -1}));
    ask(json!({"RebalanceTimeoutMs": 0}));
    ask(json!({"SubscribedTopicNames": null}));
    ask(json!({"TopicPartitions": null}));
    ask(json!({"TopicPartitions": [{"TopicId": super::body::STRANGE_ID, "Partitions": [0]}]}));
    ask(json!({"InstanceId": ""}));
    ask(json!({"RackId": ""}));
    ask(json!({"ServerAssignor": "nonsense"}));
    ask(json!({"MemberEpoch": -3}));
    ask(json!({"MemberEpoch": 5}));
    ask(json!({"MemberEpoch": -1}));
    ask(json!({"MemberEpoch": -2}));
    ask(json!({"MemberEpoch": -2, "InstanceId": "i"}));
    story.call_in(
        1..=i16::MAX,
        "ConsumerGroupHeartbeat",
        with(join("r", "@m", &[]), json!({"SubscribedTopicRegex": "("})),
    );
    story.call_in(1..=i16::MAX, "ConsumerGroupHeartbeat", join("h", "@m", &["a"])).bind("e", "/MemberEpoch");
    for (member, epoch) in [("@m", "$e+1"), ("@m", "$e-1"), ("@m", "$e-2"), ("@other", "$e"), ("", "$e")] {
        story.call("ConsumerGroupHeartbeat", beat("h", member, json!(epoch)));
    }
    story.call("ConsumerGroupHeartbeat", beat("missing", "@m", json!(3)));
    story.call("ConsumerGroupHeartbeat", beat("missing", "@m", json!(-1)));
    // A member that joins again with epoch 0.
    story.call_in(1..=i16::MAX, "ConsumerGroupHeartbeat", join("h", "@m", &["a"]));
    story.each("ConsumerGroupHeartbeat", |_| beat("h", "@m", json!("$e")));
    // By the classic protocol.
    let classic = json!({
        "GroupId": "@h", "SessionTimeoutMs": 30_000, "RebalanceTimeoutMs": 6_000, "MemberId": "", "ProtocolType": "consumer",
        "Protocols": [{"Name": "range", "Metadata": {"ConsumerProtocolSubscription": {"version": 0, "Topics": ["@a"]}}}],
    });
    story.call_in(4..=i16::MAX, "JoinGroup", classic);
    story.call("Heartbeat", json!({"GroupId": "@h", "GenerationId": 1, "MemberId": "@m"}));
    story.call("ConsumerGroupDescribe", json!({"GroupIds": ["@h", "", "@h"]}));
    story.call("ConsumerGroupDescribe", json!({"GroupIds": []}));
    super::groups::alone(story, &["classic"]);
    story.on(0).call("ConsumerGroupDescribe", describe(&["classic"]));
    story.call_in(1..=i16::MAX, "ConsumerGroupHeartbeat", join("classic", "@m", &["a"]));
}

pub(super) fn static_members(story: &mut Story<'_>) {
    topic(story, "a", 2);
    let of = |member: &str, instance: &str| with(join("g", member, &["a"]), json!({"InstanceId": instance}));
    story.call_in(1..=i16::MAX, "ConsumerGroupHeartbeat", of("@m1", "i")).bind("e", "/MemberEpoch");
    story.call_in(1..=i16::MAX, "ConsumerGroupHeartbeat", of("@m2", "i"));
    story.call("ConsumerGroupHeartbeat", with(beat("g", "@m1", json!("$e")), json!({"InstanceId": "other"})));
    story.call("ConsumerGroupHeartbeat", with(beat("g", "@m2", json!("$e")), json!({"InstanceId": "i"})));
    story.call("ConsumerGroupHeartbeat", with(beat("g", "@m1", json!(-2)), json!({"InstanceId": "i"})));
    story.call("ConsumerGroupDescribe", describe(&["g"]));
    story.call_in(1..=i16::MAX, "ConsumerGroupHeartbeat", of("@m3", "i")).bind("e3", "/MemberEpoch");
    story.call("ConsumerGroupHeartbeat", with(beat("g", "@m1", json!("$e")), json!({"InstanceId": "i"})));
    story.call("ConsumerGroupHeartbeat", with(beat("g", "@m3", json!("$e3")), json!({"InstanceId": "i"})));
    story.call("ConsumerGroupHeartbeat", with(beat("g", "@m3", json!(-1)), json!({"InstanceId": "i"})));
    story.call("ConsumerGroupDescribe", describe(&["g"]));
}

pub(super) fn offsets(story: &mut Story<'_>) {
    topic(story, "a", 2);
    story.call_in(1..=i16::MAX, "ConsumerGroupHeartbeat", join("g", "@m", &["a"])).bind("e", "/MemberEpoch");
    let commit = |epoch: &str, member: &str| {
        let epoch = epoch.parse::<i64>().map_or_else(|_| json!(epoch), |epoch| json!(epoch));
        let part = json!({"PartitionIndex": 0, "CommittedOffset": 3, "CommittedMetadata": ""});
        let topic = json!({"Name": "@a", "TopicId": "$id-a", "Partitions": [part]});
        json!({"GroupId": "@g", "GenerationIdOrMemberEpoch": epoch, "MemberId": member, "Topics": [topic]})
    };
    for (epoch, member) in
        [("$e", "@m"), ("$e+1", "@m"), ("$e-1", "@m"), ("-1", ""), ("$e", "@other"), ("-1", "@m")]
    {
        story.call_in(9..=i16::MAX, "OffsetCommit", commit(epoch, member));
        story.call_in(2..=8, "OffsetCommit", commit(epoch, member));
    }
    let asked = |epoch: &str, member: Value| {
        let epoch = epoch.parse::<i64>().map_or_else(|_| json!(epoch), |epoch| json!(epoch));
        json!({"Groups": [{"GroupId": "@g", "MemberId": member, "MemberEpoch": epoch, "Topics": null}]})
    };
    for (epoch, member) in
        [("$e", json!("@m")), ("$e+1", json!("@m")), ("-1", Value::Null), ("$e", json!("@other"))]
    {
        story.call_in(9..=i16::MAX, "OffsetFetch", asked(epoch, member));
    }
    if story.serves("OffsetDelete") {
        story.call(
            "OffsetDelete",
            json!({"GroupId": "@g", "Topics": [{"Name": "@a", "Partitions": [{"PartitionIndex": 0}]}]}),
        );
    }
}

/// Topics by a pattern.
pub(super) fn patterns(story: &mut Story<'_>) {
    story.topic("p-one", 1).topic("q-two", 1).settle();
    let join =
        with(join("g", "@m", &[]), json!({"SubscribedTopicNames": null, "SubscribedTopicRegex": "@p-.*"}));
    story.call_in(1..=i16::MAX, "ConsumerGroupHeartbeat", join).bind("e", "/MemberEpoch");
    let all = json!([{"TopicId": "$id-p-one", "Partitions": [0]}]);
    // The pattern is resolved behind the reply's back.
    story.call("ConsumerGroupDescribe", describe(&["g"])).until("/Groups/0/GroupEpoch", json!(2));
    story
        .call("ConsumerGroupHeartbeat", with(beat("g", "@m", json!("$e")), json!({"TopicPartitions": []})))
        .bind("e", "/MemberEpoch");
    story.call("ConsumerGroupHeartbeat", with(beat("g", "@m", json!("$e")), json!({"TopicPartitions": all})));
    let call = story.call("ConsumerGroupDescribe", describe(&["g"]));
    call.until("/Groups/0/GroupState", json!("Stable"));
    story.call_in(
        1..=i16::MAX,
        "ConsumerGroupHeartbeat",
        with(beat("g", "@m", json!("$e")), json!({"SubscribedTopicRegex": "["})),
    );
}
