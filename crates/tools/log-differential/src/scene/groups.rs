//! Classic groups: joining, syncing, heartbeats, leaving.

use serde_json::{Value, json};

use super::body::with;
use crate::story::Story;

const REBALANCE_MS: i64 = 6_000;

/// Of JoinGroup.
fn join(group: &str, member: &str) -> Value {
    json!({
        "GroupId": format!("@{group}"),
        "SessionTimeoutMs": 30_000,
        "RebalanceTimeoutMs": REBALANCE_MS,
        "MemberId": member,
        "ProtocolType": "consumer",
        "Protocols": [{"Name": "range", "Metadata": "r"}, {"Name": "roundrobin", "Metadata": "rr"}],
    })
}

/// Of SyncGroup.
fn sync(group: &str, member: &str, generation: Value, assignments: &[(&str, &str)]) -> Value {
    let assignment = |(member, bytes): &(&str, &str)| json!({"MemberId": member, "Assignment": bytes});
    json!({
        "GroupId": format!("@{group}"),
        "GenerationId": generation,
        "MemberId": member,
        "ProtocolType": "consumer",
        "ProtocolName": "range",
        "Assignments": assignments.iter().map(assignment).collect::<Vec<Value>>(),
    })
}

/// Of Heartbeat.
fn beat(group: &str, member: &str, generation: Value) -> Value {
    json!({"GroupId": format!("@{group}"), "GenerationId": generation, "MemberId": member})
}

/// Of LeaveGroup.
fn leave(group: &str, members: &[(&str, Option<&str>)]) -> Value {
    let identity = |(member, instance): &(&str, Option<&str>)| json!({"MemberId": member, "GroupInstanceId": instance, "Reason": "because"});
    let first = members.first().map_or("", |(member, _)| *member);
    json!({
        "GroupId": format!("@{group}"),
        "MemberId": first,
        "Members": members.iter().map(identity).collect::<Vec<Value>>(),
    })
}

/// Of DescribeGroups.
fn describe(groups: &[&str]) -> Value {
    let names: Vec<String> = groups.iter().map(|group| format!("@{group}")).collect();
    json!({"Groups": names, "IncludeAuthorizedOperations": true})
}

/// A member with an id of its own, which its first join tells it: the group waits for more of them.
pub(super) fn arrive(story: &mut Story<'_>, connection: usize, group: &str, member: &str) {
    story.on(connection).call_in(4..=i16::MAX, "JoinGroup", join(group, "")).bind(member, "/MemberId");
    story.on(connection).send("JoinGroup", join(group, &format!("${member}")));
    let preparing = json!("PreparingRebalance");
    story.on(9).call("DescribeGroups", describe(&[group])).until("/Groups/0/GroupState", preparing);
    story.on(connection);
}

/// A group of one member that is stable, in generation `$g-GROUP`, the member being `$m-GROUP`.
pub(super) fn alone(story: &mut Story<'_>, groups: &[&str]) {
    for (index, group) in groups.iter().enumerate() {
        arrive(story, 10 + index, group, &format!("m-{group}"));
    }
    for (index, group) in groups.iter().enumerate() {
        story.on(10 + index).wait();
        let member = format!("$m-{group}");
        story.call("SyncGroup", sync(group, &member, json!(1), &[(&member, "all")]));
    }
}

pub(super) fn two_members(story: &mut Story<'_>) {
    let group = "g";
    arrive(story, 0, group, "m1");
    story.on(1).call_in(4..=i16::MAX, "JoinGroup", join(group, "")).bind("m2", "/MemberId");
    let second = with(
        join(group, "$m2"),
        json!({"Protocols": [{"Name": "roundrobin", "Metadata": "2"}, {"Name": "sticky", "Metadata": "s"}]}),
    );
    story.send("JoinGroup", second);
    story.on(0).wait().on(1).wait();
    story.on(2).call("DescribeGroups", describe(&[group]));
    story.on(2).call("Heartbeat", beat(group, "$m1", json!(1)));
    // The follower waits for the leader's assignments.
    let sync = |member: &str, assignments: &[(&str, &str)]| {
        with(sync(group, member, json!(1), assignments), json!({"ProtocolName": "roundrobin"}))
    };
    story.on(1).send("SyncGroup", sync("$m2", &[]));
    story.on(0).call("SyncGroup", sync("$m1", &[("$m1", "one"), ("$m2", "two"), ("stranger", "x")]));
    story.on(1).wait();
    for member in ["$m1", "$m2"] {
        story.on(2).call("Heartbeat", beat(group, member, json!(1)));
        story.on(2).call("SyncGroup", sync(member, &[]));
    }
    story.on(2).call("DescribeGroups", describe(&[group]));
    // A follower that joins again with the same protocols stays in its generation.
    story.on(1).call("JoinGroup", with(
        join(group, "$m2"),
        json!({"Protocols": [{"Name": "roundrobin", "Metadata": "2"}, {"Name": "sticky", "Metadata": "s"}]}),
    ));
    // One leaves: the other learns of the rebalance by its heartbeat.
    story.on(1).call("LeaveGroup", leave(group, &[("$m2", None)]));
    story.on(1).call("Heartbeat", beat(group, "$m2", json!(1)));
    story.on(0).call("Heartbeat", beat(group, "$m1", json!(1)));
    story.on(0).call("SyncGroup", sync("$m1", &[]));
    story.on(0).call("JoinGroup", join(group, "$m1"));
    story.on(2).call("DescribeGroups", describe(&[group]));
    story.on(0).call("Heartbeat", beat(group, "$m1", json!(2)));
    story.on(0).call("SyncGroup", sync("$m1", &[]));
    story.on(0).call("SyncGroup", self::sync(group, "$m1", json!(2), &[("$m1", "all")]));
    story.on(0).call("Heartbeat", beat(group, "$m1", json!(2)));
    // The leader joins again: a new generation at once, for it is alone.
    story.on(0).call("JoinGroup", join(group, "$m1"));
    story.on(0).call("LeaveGroup", leave(group, &[("$m1", None)]));
    story.on(2).call("DescribeGroups", describe(&[group]));
}

pub(super) fn every_version(story: &mut Story<'_>) {
    let versions = story.versions("JoinGroup");
    let name = |version: i16| format!("v{version}");
    for version in versions.clone() {
        let (group, connection) = (name(version), usize::try_from(version).unwrap_or(0));
        story.on(connection);
        let mut member = String::new();
        if version >= 4 {
            member = format!("$m{version}");
            story.call_in(version..=version, "JoinGroup", join(&group, "")).bind(&member[1..], "/MemberId");
        }
        let call = story.send_in(version..=version, "JoinGroup", join(&group, &member));
        call.bind(&format!("m{version}"), "/MemberId").bind(&format!("g{version}"), "/GenerationId");
    }
    for version in versions.clone() {
        story.on(usize::try_from(version).unwrap_or(0)).wait();
    }
    // Each group is synced, kept alive and left in other versions.
    let modulo = |all: std::ops::RangeInclusive<i16>, version: i16| {
        let one = all.start() + version % (all.end() - all.start() + 1);
        one..=one
    };
    let [syncs, beats, leaves, describes] =
        ["SyncGroup", "Heartbeat", "LeaveGroup", "DescribeGroups"].map(|api| story.versions(api));
    for version in versions {
        let (group, member) = (name(version), format!("$m{version}"));
        let generation = json!(format!("$g{version}"));
        story.on(usize::try_from(version).unwrap_or(0));
        let body = sync(&group, &member, generation.clone(), &[(&member, "assigned")]);
        story.call_in(modulo(syncs.clone(), version), "SyncGroup", body);
        story.call_in(modulo(beats.clone(), version), "Heartbeat", beat(&group, &member, generation));
        story.call_in(modulo(describes.clone(), version), "DescribeGroups", describe(&[&group]));
        story.call_in(modulo(leaves.clone(), version), "LeaveGroup", leave(&group, &[(&member, None)]));
        story.call_in(modulo(describes.clone(), version), "DescribeGroups", describe(&[&group]));
    }
    story.each("DescribeGroups", |_| describe(&["nobody", "v0"]));
}

pub(super) fn refused_joins(story: &mut Story<'_>) {
    for timeout in [0, 1, 5_999, 1_800_001, -1, i64::from(i32::MAX)] {
        story.call("JoinGroup", with(join("a", ""), json!({"SessionTimeoutMs": timeout})));
    }
    story.call("JoinGroup", with(join("", ""), json!({"GroupId": ""})));
    story.call("JoinGroup", join("a", "nobody"));
    story.call("JoinGroup", with(join("a", "nobody"), json!({"GroupInstanceId": "i"})));
    story.call_in(4..=i16::MAX, "JoinGroup", with(join("a", ""), json!({"Protocols": []})));
    story.call_in(4..=i16::MAX, "JoinGroup", with(join("a", ""), json!({"ProtocolType": ""})));
    story.call_in(4..=i16::MAX, "JoinGroup", join("b", "")).bind("pending", "/MemberId");
    story.call("Heartbeat", beat("b", "$pending", json!(0)));
    story.call("SyncGroup", sync("b", "$pending", json!(0), &[]));
    story.call("DescribeGroups", describe(&["b"]));
    // A member that has been told its id and leaves.
    story.call("LeaveGroup", leave("b", &[("$pending", None)]));
    story.call("JoinGroup", join("b", "$pending"));
    alone(story, &["c"]);
    for protocols in [json!([{"Name": "other", "Metadata": ""}]), json!([])] {
        story.call("JoinGroup", with(join("c", ""), json!({"Protocols": protocols})));
    }
    story.call("JoinGroup", with(join("c", ""), json!({"ProtocolType": "connect"})));
    story.call("JoinGroup", with(join("c", "$m-c"), json!({"ProtocolType": "connect"})));
    story.call("JoinGroup", join("c", "nobody"));
    story.call("Heartbeat", beat("c", "$m-c", json!(1)));
}

#[expect(clippy::too_many_lines, reason = "one story")]
pub(super) fn refused_members(story: &mut Story<'_>) {
    alone(story, &["a"]);
    story.on(0);
    for (group, member, generation) in [
        ("a", "nobody", 1),
        ("a", "$m-a", 0),
        ("a", "$m-a", 2),
        ("a", "$m-a", -1),
        ("a", "", 1),
        ("missing", "nobody", 1),
        ("missing", "", -1),
    ] {
        story.call("Heartbeat", beat(group, member, json!(generation)));
        story.call("SyncGroup", sync(group, member, json!(generation), &[]));
    }
    story.call("Heartbeat", with(beat("", "x", json!(1)), json!({"GroupId": ""})));
    story.call("SyncGroup", with(sync("", "x", json!(1), &[]), json!({"GroupId": ""})));
    story.call("LeaveGroup", with(leave("", &[("x", None)]), json!({"GroupId": ""})));
    for others in [
        json!({"ProtocolName": "roundrobin"}),
        json!({"ProtocolType": "connect"}),
        json!({"ProtocolName": null}),
    ] {
        story.call_in(5..=i16::MAX, "SyncGroup", with(sync("a", "$m-a", json!(1), &[]), others));
    }
    story.call_in(
        3..=i16::MAX,
        "Heartbeat",
        with(beat("a", "$m-a", json!(1)), json!({"GroupInstanceId": "i"})),
    );
    story.call_in(
        3..=i16::MAX,
        "SyncGroup",
        with(sync("a", "$m-a", json!(1), &[]), json!({"GroupInstanceId": "i"})),
    );
    for members in [
        &[("nobody", None)][..],
        &[("", Some("i"))],
        &[("$m-a", Some("i"))],
        &[("nobody", None), ("nobody", None), ("", None)],
        &[],
        &[("$m-a", None), ("$m-a", None)],
    ] {
        story.call_in(3..=i16::MAX, "LeaveGroup", leave("a", members));
    }
    story.call("LeaveGroup", leave("missing", &[("nobody", None)]));
    story.call("LeaveGroup", leave("a", &[("nobody", None)]));
    story.call("DescribeGroups", describe(&["a"]));
}

#[expect(clippy::too_many_lines, reason = "one story")]
pub(super) fn static_members(story: &mut Story<'_>) {
    let group = "s";
    let join = |member: &str, instance: &str| with(join(group, member), json!({"GroupInstanceId": instance}));
    story.on(0).send_in(5..=i16::MAX, "JoinGroup", join("", "i1")).bind("m1", "/MemberId");
    let preparing = json!("PreparingRebalance");
    story.on(9).call("DescribeGroups", describe(&[group])).until("/Groups/0/GroupState", preparing);
    story.on(1).send_in(5..=i16::MAX, "JoinGroup", join("", "i2")).bind("m2", "/MemberId");
    story.on(0).wait().on(1).wait();
    story.on(1).send("SyncGroup", sync(group, "$m2", json!(1), &[]));
    story.on(0).call("SyncGroup", sync(group, "$m1", json!(1), &[("$m1", "one"), ("$m2", "two")]));
    story.on(1).wait();
    story.on(0).call_in(4..=i16::MAX, "DescribeGroups", describe(&[group]));
    let beat = |member: &str, instance: &str| {
        with(beat(group, member, json!(1)), json!({"GroupInstanceId": instance}))
    };
    for (member, instance) in [("$m1", "i1"), ("$m1", "i2"), ("$m1", "i3"), ("nobody", "i1"), ("$m2", "i2")] {
        story.on(0).call_in(3..=i16::MAX, "Heartbeat", beat(member, instance));
    }
    // The same instance again, as after a restart: no rebalance, and the old member is fenced.
    story.on(2).call_in(9..=i16::MAX, "JoinGroup", join("", "i2")).bind("m2b", "/MemberId");
    story.on(2).call_in(3..=i16::MAX, "Heartbeat", beat("$m2", "i2"));
    story.on(2).call_in(3..=i16::MAX, "Heartbeat", beat("$m2b", "i2"));
    story.on(2).call_in(
        3..=i16::MAX,
        "SyncGroup",
        with(sync(group, "$m2", json!(1), &[]), json!({"GroupInstanceId": "i2"})),
    );
    story.on(2).call_in(
        3..=i16::MAX,
        "SyncGroup",
        with(sync(group, "$m2b", json!(1), &[]), json!({"GroupInstanceId": "i2"})),
    );
    story.on(2).call_in(5..=i16::MAX, "JoinGroup", join("$m2", "i2"));
    // The leader's instance: below version 9 it cannot be told to skip the assignment.
    story.on(3).call_in(9..=i16::MAX, "JoinGroup", join("", "i1")).bind("m1b", "/MemberId");
    story.on(3).call_in(4..=i16::MAX, "DescribeGroups", describe(&[group]));
    // Leaving by instance.
    story.on(3).call_in(
        3..=i16::MAX,
        "LeaveGroup",
        leave(group, &[("", Some("i2")), ("", Some("i9")), ("$m1", Some("i1"))]),
    );
    story.on(3).call_in(3..=i16::MAX, "Heartbeat", beat("$m1b", "i1"));
    story.on(3).call_in(3..=i16::MAX, "LeaveGroup", leave(group, &[("", Some("i1"))]));
    story.on(3).call("DescribeGroups", describe(&[group]));
}

#[expect(clippy::too_many_lines, reason = "one story")]
pub(super) fn administration(story: &mut Story<'_>) {
    let commit = |group: &str| {
        json!({"GroupId": format!("@{group}"), "Topics": [
            {"Name": "@t", "TopicId": "$id-t", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 5, "CommittedMetadata": "m"}]},
        ]})
    };
    story.topic("t", 1);
    alone(story, &["live"]);
    story.on(0).call("OffsetCommit", commit("offsets"));
    story.call("OffsetCommit", commit("gone"));
    story.each("ListGroups", |_| json!({}));
    for states in [
        json!(["Empty"]),
        json!(["stable"]),
        json!(["Stable", "Empty"]),
        json!(["Nonsense"]),
        json!(["Dead"]),
    ] {
        story.call_in(4..=i16::MAX, "ListGroups", json!({"StatesFilter": states}));
    }
    for types in [
        json!(["classic"]),
        json!(["Consumer"]),
        json!(["share"]),
        json!(["nonsense"]),
        json!(["classic", "consumer"]),
    ] {
        story.call_in(5..=i16::MAX, "ListGroups", json!({"TypesFilter": types}));
    }
    story.call_in(
        5..=i16::MAX,
        "ListGroups",
        json!({"TypesFilter": ["classic"], "StatesFilter": ["Stable"]}),
    );
    story.each("DescribeGroups", |_| describe(&["live", "offsets", "missing"]));
    story.call("DescribeGroups", describe(&[]));
    story.call("DescribeGroups", describe(&["live", "live"]));
    story.each("DeleteGroups", |_| json!({"GroupsNames": ["@live", "@missing", "@gone"]}));
    story.call("DeleteGroups", json!({"GroupsNames": ["@offsets", "@offsets"]}));
    story.call("DeleteGroups", json!({"GroupsNames": []}));
    story.call("DescribeGroups", describe(&["live", "offsets", "gone"]));
    story.call("LeaveGroup", leave("live", &[("$m-live", None)]));
    story.call("ListGroups", json!({}));
    story.call("DeleteGroups", json!({"GroupsNames": ["@live"]}));
    story.call("Heartbeat", beat("live", "$m-live", json!(1)));
    story.call("ListGroups", json!({}));
}

pub(super) fn coordinators(story: &mut Story<'_>) {
    story.each("FindCoordinator", |_| json!({"Key": "@g", "CoordinatorKeys": ["@g", "@h"]}));
    story.call("FindCoordinator", json!({"Key": "", "CoordinatorKeys": [""]}));
    story.call_in(4..=i16::MAX, "FindCoordinator", json!({"CoordinatorKeys": []}));
    story.call_in(4..=i16::MAX, "FindCoordinator", json!({"CoordinatorKeys": ["@g", "@g"]}));
    for kind in [3, -1, 99] {
        let body = json!({"Key": "@g", "CoordinatorKeys": ["@g"], "KeyType": kind});
        story.call_in(1..=i16::MAX, "FindCoordinator", body).at_once();
    }
}
