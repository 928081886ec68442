//! Transactions, by the old protocol (partitions are added) and by the new one (KIP-890).

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::body::{fetch, part, produce, records, with};
use crate::story::Story;

/// "Not yet" of a transaction whose end is still written.
const ENDING: [i64; 1] = [51];
/// The same, as Produce has it in old versions.
const BUSY: [i64; 1] = [19];
const OLD_PRODUCE: RangeInclusive<i16> = 3..=11;
const NEW_PRODUCE: RangeInclusive<i16> = 12..=i16::MAX;
const OLD_END: RangeInclusive<i16> = 0..=4;
const NEW_END: RangeInclusive<i16> = 5..=i16::MAX;
const OLD_COMMIT: RangeInclusive<i16> = 0..=4;
const NEW_COMMIT: RangeInclusive<i16> = 5..=i16::MAX;

/// Of InitProducerId.
fn init(id: &str, timeout_ms: i64) -> Value {
    json!({"TransactionalId": id, "TransactionTimeoutMs": timeout_ms})
}

/// A producer of that transactional id: `$p-ID` and `$e-ID` are its id and its epoch.
pub(super) fn producer(story: &mut Story<'_>, id: &str) {
    let body = json!({"Key": format!("@{id}"), "CoordinatorKeys": [format!("@{id}")], "KeyType": 1});
    story.call_in(1..=i16::MAX, "FindCoordinator", body);
    again(story, id);
}

pub(super) fn again(story: &mut Story<'_>, id: &str) {
    let call = story.call("InitProducerId", init(&format!("@{id}"), 60_000));
    call.retry(&ENDING).bind(&format!("p-{id}"), "/ProducerId").bind(&format!("e-{id}"), "/ProducerEpoch");
}

/// One batch of a transaction.
pub(super) fn batch(id: &str, sequence: i64, values: &[&str]) -> Value {
    json!([{
        "records": records(values), "producer": format!("$p-{id}"), "epoch": format!("$e-{id}"),
        "sequence": sequence, "transactional": true,
    }])
}

/// Of Produce, in a transaction.
fn send(id: &str, topic: &str, partition: i32, batch: Value) -> Value {
    with(produce(topic, partition, batch), json!({"TransactionalId": format!("@{id}")}))
}

/// Of AddPartitionsToTxn as clients send it.
fn add(id: &str, topic: &str, partitions: &[i32]) -> Value {
    let topics = json!([{"Name": format!("@{topic}"), "Partitions": partitions}]);
    let (id, producer, epoch) = (format!("@{id}"), format!("$p-{id}"), format!("$e-{id}"));
    json!({
        "V3AndBelowTransactionalId": id, "V3AndBelowProducerId": producer, "V3AndBelowProducerEpoch": epoch,
        "V3AndBelowTopics": topics,
        "Transactions": [{"TransactionalId": id, "ProducerId": producer, "ProducerEpoch": epoch, "Topics": topics}],
    })
}

/// The steps of a transaction, on the connection of somebody who may be refused any of them.
pub(super) fn as_somebody(story: &mut Story<'_>, id: &str) {
    story.call("InitProducerId", init(&format!("@{id}"), 60_000)).retry(&ENDING);
    for other in ["@other", "@t"] {
        let body = json!({"Key": other, "CoordinatorKeys": [other], "KeyType": 1});
        story.call_in(1..=i16::MAX, "FindCoordinator", body);
    }
    // The epoch that the owner knows; somebody who may has raised it.
    story.call("InitProducerId", init(&format!("@{id}"), 60_000)).retry(&ENDING);
    story.each("AddPartitionsToTxn", |_| add(id, "a", &[0]));
    story.each("AddOffsetsToTxn", |_| offsets(id, "live"));
    story.each("TxnOffsetCommit", |_| commit(id, "live", 3));
    story.call_in(OLD_PRODUCE, "Produce", send(id, "a", 0, batch(id, 0, &["x"]))).retry(&BUSY);
    story.call_in(NEW_PRODUCE, "Produce", send(id, "a", 0, batch(id, 0, &["x"]))).retry(&ENDING);
    story.call("Produce", send(id, "b", 0, batch(id, 0, &["x"])));
    story.each("EndTxn", |_| end(id, true));
    story.call("DescribeTransactions", json!({"TransactionalIds": [format!("@{id}"), "@other"]}));
    story.call("ListTransactions", json!({}));
}

/// Begins one by the new protocol.
pub(super) fn begin_new(story: &mut Story<'_>, id: &str, topic: &str, records: Value) {
    story.call_in(NEW_PRODUCE, "Produce", send(id, topic, 0, records)).retry(&ENDING);
}

/// Begins one by the old protocol.
pub(super) fn begin_old(story: &mut Story<'_>, id: &str, topic: &str, records: Value) {
    story.call_in(0..=3, "AddPartitionsToTxn", add(id, topic, &[0])).retry(&ENDING);
    story.call_in(OLD_PRODUCE, "Produce", send(id, topic, 0, records)).retry(&BUSY);
}

/// Of EndTxn.
fn end(id: &str, committed: bool) -> Value {
    let (id, producer, epoch) = (format!("@{id}"), format!("$p-{id}"), format!("$e-{id}"));
    json!({"TransactionalId": id, "ProducerId": producer, "ProducerEpoch": epoch, "Committed": committed})
}

/// Ends it by the new protocol: the producer goes on with the epoch that it is given.
fn end_new(story: &mut Story<'_>, id: &str, committed: bool) {
    let call = story.call_in(NEW_END, "EndTxn", end(id, committed));
    call.retry(&ENDING).bind(&format!("p-{id}"), "/ProducerId").bind(&format!("e-{id}"), "/ProducerEpoch");
}

/// Reads a partition in which no transaction is open as a consumer of committed records, once all of it is stable. Kafka takes
/// the high watermark before the last stable offset, so that a reply may have an older one of it.
fn read(story: &mut Story<'_>, topic: &str, partition: i32, stable: i64) {
    let body = with(fetch(topic, vec![part(partition, 0)]), json!({"IsolationLevel": 1}));
    story
        .call("Fetch", body.clone())
        .until("/Responses/0/Partitions/0/LastStableOffset", json!(stable))
        .until("/Responses/0/Partitions/0/HighWatermark", json!(stable));
    story.call("Fetch", with(body, json!({"IsolationLevel": 0})));
}

pub(super) fn old(story: &mut Story<'_>) {
    story.topic("a", 2);
    producer(story, "t");
    for (round, committed) in [true, false, true].into_iter().enumerate() {
        let sequence = 2 * round as i64;
        story.call_in(0..=3, "AddPartitionsToTxn", add("t", "a", &[0, 1])).retry(&ENDING);
        story.call_in(OLD_PRODUCE, "Produce", send("t", "a", 0, batch("t", sequence, &["x", "y"])));
        story.call_in(OLD_PRODUCE, "Produce", send("t", "a", 1, batch("t", sequence, &["x", "y"])));
        story.call(
            "ListOffsets",
            with(super::body::offsets("a", &[(0, json!(-1))]), json!({"IsolationLevel": 1})),
        );
        story.call("Fetch", with(fetch("a", vec![part(0, 0)]), json!({"IsolationLevel": 1})));
        story.call_in(OLD_END, "EndTxn", end("t", committed)).retry(&ENDING);
        for partition in 0..2 {
            read(story, "a", partition, 3 * (round as i64 + 1));
        }
        // Told again: the same once more, then the opposite.
        story.call_in(OLD_END, "EndTxn", end("t", committed)).retry(&ENDING);
        story.call_in(OLD_END, "EndTxn", end("t", !committed)).retry(&ENDING);
    }
    story.call_in(
        7..=i16::MAX,
        "ListOffsets",
        with(super::body::offsets("a", &[(0, json!(-3))]), json!({"IsolationLevel": 1})),
    );
}

pub(super) fn new(story: &mut Story<'_>) {
    story.topic("a", 2);
    producer(story, "t");
    let mut stable = 0;
    for committed in [true, false, true, false] {
        story.call_in(NEW_PRODUCE, "Produce", send("t", "a", 0, batch("t", 0, &["x", "y"]))).retry(&ENDING);
        if story.dice.once_in(2) {
            story.call_in(NEW_PRODUCE, "Produce", send("t", "a", 0, batch("t", 2, &["z"]))).retry(&ENDING);
            stable += 1;
        }
        stable += 3;
        story.call("Fetch", with(fetch("a", vec![part(0, 0)]), json!({"IsolationLevel": 1})));
        end_new(story, "t", committed);
        read(story, "a", 0, stable);
    }
    // Nothing begun.
    story.call_in(NEW_END, "EndTxn", end("t", true)).retry(&ENDING);
    end_new(story, "t", false);
    story.call_in(NEW_PRODUCE, "Produce", send("t", "a", 1, batch("t", 0, &["after"]))).retry(&ENDING);
    story.call_in(NEW_PRODUCE, "Produce", send("t", "a", 1, batch("t", 0, &["after"])));
    story.call_in(NEW_PRODUCE, "Produce", send("t", "a", 1, batch("t", 5, &["gap"])));
    end_new(story, "t", true);
    read(story, "a", 1, 2);
}

pub(super) fn every_version(story: &mut Story<'_>) {
    story.topic("a", 1);
    let mut round = 0;
    for version in story.versions("EndTxn") {
        let id = format!("v{version}");
        producer(story, &id);
        let produce = if version < 5 { OLD_PRODUCE } else { NEW_PRODUCE };
        if version < 5 {
            let asked = version % 4;
            story.call_in(asked..=asked, "AddPartitionsToTxn", add(&id, "a", &[0]));
        }
        story.call_in(produce, "Produce", send(&id, "a", 0, batch(&id, 0, &["x"]))).retry(&ENDING);
        story.call_in(version..=version, "EndTxn", end(&id, version % 2 == 0)).retry(&ENDING);
        round += 2;
        read(story, "a", 0, round);
    }
    story.each("InitProducerId", |_| init("@again", 60_000));
    producer(story, "add");
    story.each("AddPartitionsToTxn", |_| add("add", "a", &[0]));
    story.each("AddOffsetsToTxn", |_| offsets("add", "g"));
    story.call_in(OLD_END, "EndTxn", end("add", false));
}

/// Of AddOffsetsToTxn.
fn offsets(id: &str, group: &str) -> Value {
    let (id, producer, epoch) = (format!("@{id}"), format!("$p-{id}"), format!("$e-{id}"));
    json!({"TransactionalId": id, "ProducerId": producer, "ProducerEpoch": epoch, "GroupId": format!("@{group}")})
}

/// Of TxnOffsetCommit, by nobody.
fn commit(id: &str, group: &str, offset: i64) -> Value {
    let (id, producer, epoch) = (format!("@{id}"), format!("$p-{id}"), format!("$e-{id}"));
    let part = json!({"PartitionIndex": 0, "CommittedOffset": offset, "CommittedMetadata": "m"});
    json!({
        "TransactionalId": id, "GroupId": format!("@{group}"), "ProducerId": producer, "ProducerEpoch": epoch,
        "Topics": [{"Name": "@a", "Partitions": [part]}],
    })
}

pub(super) fn of_offsets(story: &mut Story<'_>) {
    story.topic("a", 1);
    producer(story, "t");
    let fetched = |stable: bool| {
        let one = json!([{"Name": "@a", "PartitionIndexes": [0]}]);
        let many = json!([{"Name": "@a", "TopicId": "$id-a", "PartitionIndexes": [0]}]);
        json!({"GroupId": "@g", "Topics": one, "Groups": [{"GroupId": "@g", "Topics": many}], "RequireStable": stable})
    };
    story.each("TxnOffsetCommit", |version| {
        let unknown = json!({"GenerationId": if version < 3 { -1 } else { 5 }});
        with(commit("t", "refused", 1), unknown)
    });
    for (offset, committed) in [(5, true), (9, false)] {
        story.call("AddOffsetsToTxn", offsets("t", "g")).retry(&ENDING);
        story.call_in(OLD_COMMIT, "TxnOffsetCommit", commit("t", "g", offset)).retry(&ENDING);
        story.call_in(7..=i16::MAX, "OffsetFetch", fetched(true));
        story.call_in(7..=i16::MAX, "OffsetFetch", fetched(false));
        story.call_in(OLD_END, "EndTxn", end("t", committed)).retry(&ENDING);
        story.call_in(7..=i16::MAX, "OffsetFetch", fetched(true)).retry(&[88]);
    }
    producer(story, "n");
    for (offset, committed) in [(15, true), (19, false)] {
        story.call_in(NEW_COMMIT, "TxnOffsetCommit", commit("n", "g", offset)).retry(&ENDING);
        end_new(story, "n", committed);
        story.call_in(7..=i16::MAX, "OffsetFetch", fetched(true)).retry(&[88]);
    }
    // Of a group with members.
    super::groups::alone(story, &["live"]);
    story.on(0);
    for (generation, member) in [(-1, ""), (1, "$m-live"), (0, "$m-live"), (7, "$m-live"), (1, "nobody")] {
        let identity = json!({"GenerationId": generation, "MemberId": member});
        story.call_in(NEW_COMMIT, "TxnOffsetCommit", with(commit("n", "live", 1), identity)).retry(&ENDING);
    }
    end_new(story, "n", true);
    story.call_in(7..=i16::MAX, "OffsetFetch", json!({"RequireStable": true, "GroupId": "@live", "Topics": [{"Name": "@a", "PartitionIndexes": [0]}], "Groups": [
        {"GroupId": "@live", "Topics": [{"Name": "@a", "TopicId": "$id-a", "PartitionIndexes": [0]}]},
    ]})).retry(&[88]);
}

pub(super) fn refused(story: &mut Story<'_>) {
    story.topic("a", 2);
    for timeout in [0, -1, 900_001, i64::from(i32::MAX)] {
        story.call("InitProducerId", init("@t", timeout));
    }
    story.call("InitProducerId", init("", 60_000));
    // Nobody knows this one.
    let stranger = |body: Value| {
        with(body, json!({"TransactionalId": "@stranger", "ProducerId": 1_000_000, "ProducerEpoch": 0}))
    };
    story.call("EndTxn", stranger(end("t", true)));
    story.call("AddOffsetsToTxn", stranger(offsets("t", "g")));
    let unknown = json!({
        "V3AndBelowTransactionalId": "@stranger", "V3AndBelowProducerId": 1_000_000, "V3AndBelowProducerEpoch": 0,
        "V3AndBelowTopics": [{"Name": "@a", "Partitions": [0]}],
    });
    story.call_in(0..=3, "AddPartitionsToTxn", unknown);
    producer(story, "t");
    // Wrong epochs and ids.
    for (producer, epoch) in [("$p-t", "$e-t+1"), ("$p-t", "$e-t-1"), ("$p-t+1000", "$e-t")] {
        let identity = json!({"ProducerId": producer, "ProducerEpoch": epoch});
        for versions in [0..=1, OLD_END, NEW_END] {
            story.call_in(versions, "EndTxn", with(end("t", true), identity.clone())).retry(&ENDING);
        }
        story.call("AddOffsetsToTxn", with(offsets("t", "g"), identity.clone()));
        story.call("TxnOffsetCommit", with(commit("t", "g", 1), identity));
        let identity = json!({"V3AndBelowProducerId": producer, "V3AndBelowProducerEpoch": epoch});
        story.call_in(0..=3, "AddPartitionsToTxn", with(add("t", "a", &[0]), identity));
    }
    refused_steps(story);
}

/// The steps of a transaction that has no name.
fn without_an_id(story: &mut Story<'_>) {
    let nameless = json!({"TransactionalId": ""});
    let added = with(add("t", "a", &[0]), json!({"V3AndBelowTransactionalId": ""}));
    story.call_in(0..=3, "AddPartitionsToTxn", added);
    story.call("AddOffsetsToTxn", with(offsets("t", "g"), nameless.clone()));
    story.call("TxnOffsetCommit", with(commit("t", "g", 1), nameless.clone()));
    story.call("EndTxn", with(end("t", true), nameless));
}

/// What a producer with the right id and epoch may not do.
fn refused_steps(story: &mut Story<'_>) {
    // Partitions that are not there, none, and one twice.
    story.call_in(0..=3, "AddPartitionsToTxn", add("t", "a", &[0, 9]));
    story.call_in(0..=3, "AddPartitionsToTxn", add("t", "missing", &[0]));
    story.call_in(0..=3, "AddPartitionsToTxn", add("t", "a", &[]));
    without_an_id(story);
    // Nothing begun.
    story.call_in(OLD_END, "EndTxn", end("t", true)).retry(&ENDING);
    story.call_in(OLD_END, "EndTxn", end("t", false)).retry(&ENDING);
    // Produced without being added, or without an id, or plainly while a transaction is open.
    story.call_in(11..=11, "Produce", send("t", "a", 0, batch("t", 0, &["x"]))).retry(&BUSY);
    story.call_in(3..=10, "Produce", send("t", "a", 0, batch("t", 0, &["x"]))).retry(&BUSY);
    story.call("Produce", produce("a", 0, batch("t", 0, &["x"])));
    story.call("AddOffsetsToTxn", with(offsets("t", "g"), json!({"GroupId": ""})));
    story.call_in(0..=3, "AddPartitionsToTxn", add("t", "a", &[0]));
    story.call_in(OLD_PRODUCE, "Produce", send("t", "a", 0, batch("t", 0, &["x"])));
    let plain = json!([{"records": records(&["plain"]), "producer": "$p-t", "epoch": "$e-t", "sequence": 1}]);
    story.call("Produce", produce("a", 0, plain));
    // Below epoch, above epoch, and one that another initialisation has fenced.
    for epoch in ["$e-t-1", "$e-t+1"] {
        let other = json!([{
            "records": records(&["x"]), "producer": "$p-t", "epoch": epoch, "sequence": 1, "transactional": true,
        }]);
        story.call("Produce", send("t", "a", 0, other));
    }
    story
        .call("InitProducerId", init("@t", 60_000))
        .retry(&ENDING)
        .bind("p-t2", "/ProducerId")
        .bind("e-t2", "/ProducerEpoch");
    story.call("Produce", send("t", "a", 0, batch("t", 1, &["zombie"])));
    for versions in [0..=1, OLD_END, NEW_END] {
        story.call_in(versions, "EndTxn", end("t", true)).retry(&ENDING);
    }
    read(story, "a", 0, 2);
}

pub(super) fn initialised_again(story: &mut Story<'_>) {
    // Without it, a coordinator of transactions is not served.
    story.needs("EndTxn");
    producer(story, "t");
    let known = |producer: &str, epoch: &str| {
        with(init("@t", 60_000), json!({"ProducerId": producer, "ProducerEpoch": epoch}))
    };
    // The epoch is raised by a producer that knows its id and epoch; its retry gets the same answer.
    story.call_in(3..=i16::MAX, "InitProducerId", known("$p-t", "$e-t"));
    story.call_in(3..=i16::MAX, "InitProducerId", known("$p-t", "$e-t"));
    for (producer, epoch) in [("$p-t", "$e-t+7"), ("$p-t", "$e-t-1"), ("$p-t+1000", "$e-t")] {
        story.call_in(3..=i16::MAX, "InitProducerId", known(producer, epoch));
    }
    for (producer, epoch) in [(5, -1), (-1, 5)] {
        let body = with(init("@t", 60_000), json!({"ProducerId": producer, "ProducerEpoch": epoch}));
        story.call_in(3..=i16::MAX, "InitProducerId", body);
    }
    let strange = with(init("@new", 60_000), json!({"ProducerId": 1_000_000, "ProducerEpoch": 3}));
    story.call_in(3..=i16::MAX, "InitProducerId", strange);
    for _ in 0..3 {
        again(story, "t");
    }
}

pub(super) fn described(story: &mut Story<'_>) {
    story.topic("a", 2);
    producer(story, "open");
    producer(story, "idle");
    story.call_in(NEW_PRODUCE, "Produce", send("open", "a", 0, batch("open", 0, &["x"]))).retry(&ENDING);
    story.call_in(NEW_PRODUCE, "Produce", send("open", "a", 1, batch("open", 0, &["x"]))).retry(&ENDING);
    let plain =
        json!([{"records": records(&["plain"]), "producer": "$p-idle", "epoch": "$e-idle", "sequence": 3}]);
    story.call("Produce", produce("a", 1, plain));
    story.each("DescribeTransactions", |_| json!({"TransactionalIds": ["@open", "@idle", "@missing", ""]}));
    story.call("DescribeTransactions", json!({"TransactionalIds": []}));
    story.each("ListTransactions", |_| json!({}));
    for states in [
        json!(["Ongoing"]),
        json!(["Empty"]),
        json!(["Nonsense"]),
        json!(["ongoing"]),
        json!(["Ongoing", "Nonsense"]),
    ] {
        story.call("ListTransactions", json!({"StateFilters": states}));
    }
    story.call("ListTransactions", json!({"ProducerIdFilters": ["$p-open", 123_456]}));
    for duration in [0, 3_600_000, -1, -2] {
        story.call_in(1..=i16::MAX, "ListTransactions", json!({"DurationFilter": duration}));
    }
    for pattern in [".*-open", "(", "", ".*"] {
        story.call_in(2..=i16::MAX, "ListTransactions", json!({"TransactionalIdPattern": pattern}));
    }
    let of = |topic: &str, partitions: &[i32]| json!({"Name": format!("@{topic}"), "PartitionIndexes": partitions});
    story.each("DescribeProducers", |_| json!({"Topics": [of("a", &[0, 1, 9]), of("missing", &[0])]}));
    story.call("DescribeProducers", json!({"Topics": [{"Name": "bad name", "PartitionIndexes": [0]}]}));
    story.call("DescribeProducers", json!({"Topics": []}));
    end_new(story, "open", true);
    read(story, "a", 0, 2);
    story.call("DescribeProducers", json!({"Topics": [of("a", &[0])]}));
    story
        .call("DescribeTransactions", json!({"TransactionalIds": ["@open"]}))
        .until("/TransactionStates/0/TransactionState", json!("CompleteCommit"));
}

/// As an administrator ends a transaction whose coordinator is gone.
pub(super) fn markers(story: &mut Story<'_>) {
    story.topic("a", 3);
    producer(story, "t");
    let write = |epoch: &str, committed: bool, coordinator: i64, partitions: &[i32]| {
        json!({"Markers": [{
            "ProducerId": "$p-t", "ProducerEpoch": epoch, "TransactionResult": committed,
            "Topics": [{"Name": "@a", "PartitionIndexes": partitions}], "CoordinatorEpoch": coordinator,
        }]})
    };
    story.call_in(0..=3, "AddPartitionsToTxn", add("t", "a", &[0, 1]));
    for partition in 0..2 {
        story.call_in(OLD_PRODUCE, "Produce", send("t", "a", partition, batch("t", 0, &["x"])));
    }
    story.each("WriteTxnMarkers", |version| {
        let partition = i32::from(version) - 1;
        write("$e-t", partition == 0, 5, &[partition])
    });
    for partition in 0..2 {
        read(story, "a", partition, 2);
    }
    // No transaction is open there; an older coordinator; an older producer; partitions that are not there.
    story.call("WriteTxnMarkers", write("$e-t", true, 5, &[0, 2]));
    story.call("WriteTxnMarkers", write("$e-t", true, 4, &[0]));
    story.call("WriteTxnMarkers", write("$e-t-1", true, 6, &[0]));
    story.call("WriteTxnMarkers", write("$e-t+1", false, 6, &[0, 9]));
    story.call("WriteTxnMarkers", json!({"Markers": []}));
    story.call("Fetch", fetch("a", vec![part(0, 0), part(1, 0), part(2, 0)]));
}
