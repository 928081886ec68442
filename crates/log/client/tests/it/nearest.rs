//! A consumer that says in which rack it stands.

use std::collections::BTreeMap;
use std::time::Duration;

use log_client::{ConsumedRecord, Consumer};

use crate::played::Played;

fn begin() -> BTreeMap<(String, i32), i64> {
    BTreeMap::from([(("orders".into(), 0), 0)])
}

fn until(end: i64) -> BTreeMap<(String, i32), i64> {
    BTreeMap::from([(("orders".into(), 0), end)])
}

/// Polls so often, and gives the offsets of what came.
fn poll(consumer: &mut Consumer, times: usize) -> Vec<i64> {
    let records = (0..times).flat_map(|_| consumer.poll(Duration::ZERO).unwrap());
    records.map(|record: ConsumedRecord| record.offset).collect()
}

#[test]
fn consumer_reads_the_replica_to_which_it_is_sent_and_asks_the_leader_when_that_has_no_more() {
    let played = Played::start();
    (played.state().ends, played.state().nearest) = ([3, 2], 2);
    let mut cluster = played.cluster();
    cluster.topic("orders", false).unwrap();
    let mut consumer = Consumer::new(cluster, begin()).in_rack("b");
    assert_eq!(poll(&mut consumer, 3), [0, 1]);
    assert_eq!(played.state().fetched, [(1, 0), (2, 0), (2, 1)]);
    // The replica lags behind: that is not the end of the partition.
    assert!(poll(&mut consumer, 2).is_empty() && !consumer.has_reached(&until(3)));
    assert_eq!(played.state().fetched.split_off(3), [(2, 2), (1, 2)]);
    played.state().ends = [3, 3];
    assert_eq!(poll(&mut consumer, 1), [2]);
    assert!(consumer.has_reached(&until(3)));
}

#[test]
fn consumer_goes_back_to_the_leader_when_the_replica_fails_or_lags_behind() {
    const OFFSET_OUT_OF_RANGE: i16 = 1;
    const NOT_LEADER_OR_FOLLOWER: i16 = 6;
    let played = Played::start();
    (played.state().ends, played.state().nearest) = ([2, 2], 2);
    let mut cluster = played.cluster();
    cluster.topic("orders", false).unwrap();
    let mut consumer = Consumer::new(cluster, begin()).in_rack("b");
    for code in [OFFSET_OUT_OF_RANGE, NOT_LEADER_OR_FOLLOWER] {
        played.state().refuses = Some((2, code));
        played.state().fetched.clear();
        assert!(poll(&mut consumer, 2).is_empty());
        assert_eq!(played.state().fetched, [(1, 0), (2, 0)], "its place is kept");
        played.state().refuses = None;
    }
    played.state().nearest = -1;
    assert_eq!(poll(&mut consumer, 2), [0, 1]);
    assert!(played.state().fetched.ends_with(&[(1, 0), (1, 1)]), "{:?}", played.state().fetched);
}

#[test]
fn consumer_that_does_not_say_where_it_stands_reads_the_leader() {
    let played = Played::start();
    (played.state().ends, played.state().nearest) = ([2, 2], 2);
    let mut cluster = played.cluster();
    cluster.topic("orders", false).unwrap();
    let mut consumer = Consumer::new(cluster, begin());
    assert_eq!(poll(&mut consumer, 2), [0, 1]);
    assert_eq!(played.state().fetched, [(1, 0), (1, 1)]);
}
