//! While the lead of a partition moves, producers wait, and are not refused before there is a leader that they can go to.

use kafka_protocol::messages::ProduceRequest;
use log_wire::Producer;

use crate::produce::{batch, request};
use crate::replicas::Cluster;

/// So long the clients of these tests wait.
const TIMEOUT_MS: i32 = 30_000;
/// As long as requests wait for a leader.
const WAIT_MS: u64 = 1_000;
const REFUSED: (i16, i64) = (6, -1);

fn drain(cluster: &mut Cluster, id: i32) {
    let bench = cluster.broker(id);
    bench.broker.drain(bench.now);
}

fn produce(cluster: &mut Cluster, id: i32) -> u64 {
    cluster.produce_within(id, 0, TIMEOUT_MS).expect("it is not refused")
}

fn stop_disks(cluster: &mut Cluster) {
    (2..=3).for_each(|id| cluster.stop_disk(id));
}

fn start_disks(cluster: &mut Cluster) {
    (2..=3).for_each(|id| cluster.start_disk(id));
}

/// Broker 1, which leads, has promised an epoch in which another one is to lead. The others cannot promise it yet.
fn fenced() -> Cluster {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    stop_disks(&mut cluster);
    drain(&mut cluster, 1);
    cluster.settle();
    assert_eq!(cluster.leader(0).0, 1);
    cluster
}

/// The record names a new leader, which cannot serve: nothing becomes durable on its disk nor on another. Gives its number.
fn named(mut cluster: Cluster) -> (Cluster, i32) {
    cluster.lose(1);
    let mut turns = (2..=3).cycle();
    while cluster.leader(0).0 == 1 {
        let id = turns.next().expect("one after the other");
        cluster.broker(id).pass(5);
        cluster.turn(id);
    }
    stop_disks(&mut cluster);
    cluster.settle();
    let (leader, _) = cluster.leader(0);
    (cluster, leader)
}

#[test]
fn producer_waits_at_the_leader_of_before_and_is_sent_to_the_next_one() {
    let mut cluster = fenced();
    let number = produce(&mut cluster, 1);
    assert!(cluster.broker(1).blocks(number), "a later request must not overtake it");
    cluster.settle();
    assert_eq!(cluster.answers(1), []);
    start_disks(&mut cluster);
    let leader = cluster.leader(0).0;
    assert_ne!(leader, 1);
    assert_eq!(cluster.answers(1), [(number, REFUSED)]);
    let number = produce(&mut cluster, leader);
    cluster.settle();
    assert_eq!(cluster.answers(leader), [(number, (0, 0))], "nothing was appended before");
}

#[test]
fn producer_that_comes_while_a_leader_appends_nothing_is_served_if_that_goes_on() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    produce(&mut cluster, 1);
    drain(&mut cluster, 1);
    cluster.turn(1);
    // The next leader has what was there when it was asked for, and not what came then: the pause begins, and does not end well.
    produce(&mut cluster, 1);
    cluster.turn(2);
    cluster.stop_disk(2);
    cluster.settle();
    assert_eq!(cluster.answers(1).len(), 2, "acknowledged with broker 3");
    cluster.pass(100);
    let number = produce(&mut cluster, 1);
    assert!(cluster.broker(1).blocks(number), "it is not appended");
    cluster.pass(WAIT_MS - 200);
    assert_eq!(cluster.answers(1), []);
    cluster.pass(100);
    assert_eq!(cluster.answers(1), [(number, (0, 2))]);
}

#[test]
fn producer_waits_for_the_broker_that_is_named_until_that_serves() {
    let (mut cluster, leader) = named(Cluster::new(&[&[1, 2, 3]]));
    let number = produce(&mut cluster, leader);
    assert!(cluster.broker(leader).blocks(number));
    cluster.pass(WAIT_MS / 2);
    assert_eq!(cluster.answers(leader), []);
    start_disks(&mut cluster);
    assert_eq!(cluster.answers(leader), [(number, (0, 0))]);
}

#[test]
fn producer_waits_at_a_replica_that_has_promised_what_no_record_says() {
    let mut cluster = fenced();
    // What broker 2 has promised is known to itself at once, and durable later.
    let number = produce(&mut cluster, 2);
    cluster.settle();
    assert_eq!(cluster.answers(2), []);
    start_disks(&mut cluster);
    let leader = cluster.leader(0).0;
    let expected = if leader == 2 { (0, 0) } else { REFUSED };
    assert_eq!(cluster.answers(2), [(number, expected)]);
}

#[test]
fn producers_are_refused_after_a_second_together_and_the_next_one_at_once() {
    let (mut cluster, leader) = named(Cluster::new(&[&[1, 2, 3]]));
    let first = produce(&mut cluster, leader);
    cluster.pass(WAIT_MS / 2);
    let second = produce(&mut cluster, leader);
    cluster.pass(WAIT_MS / 2 - 1);
    assert_eq!(cluster.answers(leader), []);
    cluster.pass(1);
    assert_eq!(cluster.answers(leader), [(first, REFUSED), (second, REFUSED)]);
    assert_eq!(cluster.produce_within(leader, 0, TIMEOUT_MS), Err(REFUSED));
    start_disks(&mut cluster);
    let number = produce(&mut cluster, leader);
    cluster.settle();
    assert_eq!(cluster.answers(leader), [(number, (0, 0))]);
}

#[test]
fn producer_waits_no_longer_than_its_own_timeout() {
    let (mut cluster, leader) = named(Cluster::new(&[&[1, 2, 3]]));
    let number = cluster.produce_within(leader, 0, 200).expect("it is not refused");
    cluster.pass(199);
    assert_eq!(cluster.answers(leader), []);
    cluster.pass(1);
    assert_eq!(cluster.answers(leader), [(number, REFUSED)]);
    assert_eq!(cluster.produce_within(leader, 0, 0), Err(REFUSED));
}

#[test]
fn request_that_waits_goes_with_its_connection_and_others_do_not_notice() {
    let (mut cluster, leader) = named(Cluster::new(&[&[1, 2, 3]]));
    produce(&mut cluster, leader);
    cluster.broker(leader).disconnect();
    cluster.broker(leader).conn = 1;
    let number = produce(&mut cluster, leader);
    start_disks(&mut cluster);
    assert_eq!(cluster.answers(leader), [(number, (0, 0))]);
}

#[test]
fn nothing_of_a_request_is_appended_while_the_lead_of_one_partition_moves() {
    // Broker 2 serves the second partition all the time.
    let (mut cluster, leader) = named(Cluster::new(&[&[1, 2, 3], &[2, 3, 1]]));
    assert_eq!(leader, 2);
    let both = |acks| {
        let mut both: ProduceRequest = request(0, &batch(Producer::NONE)).with_acks(acks);
        let other = request(1, &batch(Producer::NONE)).topic_data[0].partition_data[0].clone();
        both.topic_data[0].partition_data.push(other);
        both.with_timeout_ms(TIMEOUT_MS)
    };
    let acknowledged = cluster.produce_request(leader, &both(-1)).expect("it is not refused");
    assert_eq!([0, 1].map(|partition| cluster.ends(leader, partition)), [(0, 0); 2]);
    // Without an acknowledgement there is nothing that it could be told, and the order is the same.
    cluster.broker(leader).conn = 1;
    cluster.produce_request(leader, &both(0)).expect("it waits");
    start_disks(&mut cluster);
    assert_eq!([0, 1].map(|partition| cluster.ends(leader, partition)), [(2, 2); 2]);
    let mut answers = cluster.broker(leader).take_answered();
    assert!(answers.remove(&acknowledged).flatten().is_some());
    assert_eq!(answers.into_values().collect::<Vec<_>>(), [None]);
}

#[test]
fn requests_that_wait_hold_up_what_is_read() {
    let small = Cluster::with(&[&[1, 2, 3]], &[], |config| config.unflushed_bytes_max = 150);
    let (mut cluster, leader) = named(small);
    assert!(!cluster.broker(leader).broker.is_congested());
    for _ in 0..2 {
        produce(&mut cluster, leader);
    }
    assert!(cluster.broker(leader).broker.is_congested());
    cluster.broker(leader).disconnect();
    assert!(!cluster.broker(leader).broker.is_congested());
}
