//! Records that a client has deleted stay deleted, whichever broker leads later (L69).

use std::collections::BTreeMap;

use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{DeleteRecordsRequest, ListOffsetsRequest, TopicName};

use crate::bench::text;
use crate::fetch::fetch;
use crate::replicas::{Cluster, World};

const VERSION: i16 = 2;
const TIMEOUT_MS: i32 = 1_500;
const TIMED_OUT: i16 = 7;
const NOT_LEADER: i16 = 6;
const OUT_OF_RANGE: i16 = 1;
const EARLIEST: i64 = -2;

fn deletion(before: i64) -> DeleteRecordsRequest {
    let of = DeleteRecordsPartition::default().with_partition_index(0).with_offset(before);
    let of = DeleteRecordsTopic::default().with_name(TopicName(text("t"))).with_partitions(vec![of]);
    DeleteRecordsRequest::default().with_topics(vec![of]).with_timeout_ms(TIMEOUT_MS)
}

/// Deletes records before that offset. Gives the error and the low watermark.
fn delete(cluster: &mut Cluster, by: i32, before: i64) -> (i16, i64) {
    let answer = cluster.call(by, VERSION, &deletion(before));
    let of = &answer.topics[0].partitions[0];
    (of.error_code, of.low_watermark)
}

/// Where the log begins, as its leader says; or the error.
fn earliest(cluster: &mut Cluster, leader: i32) -> Result<i64, i16> {
    let of = ListOffsetsPartition::default().with_timestamp(EARLIEST).with_current_leader_epoch(-1);
    let of = ListOffsetsTopic::default().with_name(TopicName(text("t"))).with_partitions(vec![of]);
    let request = ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![of]);
    let answer = cluster.call(leader, 7, &request);
    let of = &answer.topics[0].partitions[0];
    if of.error_code == 0 { Ok(of.offset) } else { Err(of.error_code) }
}

/// What a consumer is told that reads from there on, and whether it is given anything.
fn read(cluster: &mut Cluster, leader: i32, from: i64) -> (i16, bool) {
    let asked = fetch(&[(0, from)]).with_session_epoch(-1).with_max_wait_ms(0);
    let answer = cluster.call(leader, 12, &asked);
    let of = &answer.responses[0].partitions[0];
    (of.error_code, of.records.as_ref().is_some_and(|records| !records.is_empty()))
}

/// So many batches, of one record each, are acknowledged.
fn produce(cluster: &mut Cluster, count: usize) {
    let leader = cluster.leader(0).0;
    for _ in 0..count {
        let _ = cluster.produce(leader, 0);
        cluster.settle();
    }
    assert!(cluster.answers(leader).iter().filter(|(_, (error, _))| *error == 0).count() == count);
}

/// The leader dies. Gives the next one.
fn fail_over(cluster: &mut Cluster) -> i32 {
    let leader = cluster.leader(0).0;
    cluster.lose(leader);
    (0..3).for_each(|_| cluster.pass(1_100));
    let next = cluster.leader(0).0;
    assert_ne!(next, leader);
    next
}

#[test]
fn deletion_holds_under_every_later_leader() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    produce(&mut cluster, 5);
    assert_eq!(delete(&mut cluster, 1, 3), (0, 3));
    let next = fail_over(&mut cluster);
    assert_eq!(earliest(&mut cluster, next), Ok(3));
    assert_eq!(read(&mut cluster, next, 2), (OUT_OF_RANGE, false));
    assert_eq!(read(&mut cluster, next, 3), (0, true));
    cluster.restart(1);
    cluster.pass(1_100);
    let last = fail_over(&mut cluster);
    assert_eq!(earliest(&mut cluster, last), Ok(3));
}

#[test]
fn deletion_that_a_new_leader_lacks_is_taken_from_a_voter_that_has_it() {
    // Of equal logs that of broker 3 leads.
    let mut cluster = Cluster::new(&[&[1, 3, 2]]);
    produce(&mut cluster, 5);
    cluster.stop_disk(3);
    assert_eq!(delete(&mut cluster, 1, 3), (0, 3), "brokers 1 and 2 are enough");
    cluster.lose(1);
    cluster.restart(3);
    cluster.start_disk(3);
    (0..3).for_each(|_| cluster.pass(1_100));
    assert_eq!(cluster.leader(0).0, 3);
    assert_eq!(earliest(&mut cluster, 3), Ok(3));
    assert_eq!(read(&mut cluster, 3, 2), (OUT_OF_RANGE, false));
}

#[test]
fn deletion_is_answered_and_shown_once_a_majority_has_it_durably() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    produce(&mut cluster, 5);
    [2, 3].into_iter().for_each(|id| cluster.stop_disk(id));
    assert_eq!(delete(&mut cluster, 1, 3), (TIMED_OUT, -1), "only the leader has it");
    assert_eq!(earliest(&mut cluster, 1), Ok(0), "a later leader may have them");
    assert_eq!(read(&mut cluster, 1, 2), (0, false), "the leader has them no more");
    assert_eq!(read(&mut cluster, 1, 3), (0, true));
    cluster.start_disk(2);
    assert_eq!(earliest(&mut cluster, 1), Ok(3));
    assert_eq!(read(&mut cluster, 1, 2), (OUT_OF_RANGE, false));
    assert_eq!(delete(&mut cluster, 1, 2), (0, 3));
}

#[test]
fn deletion_whose_leader_is_replaced_is_not_answered_as_done() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    produce(&mut cluster, 5);
    [2, 3].into_iter().for_each(|id| cluster.stop_disk(id));
    let number = cluster.broker(1).begin(VERSION, &deletion(3)).expect_err("it waits");
    cluster.settle();
    cluster.lose(1);
    [2, 3].into_iter().for_each(|id| cluster.start_disk(id));
    (0..3).for_each(|_| cluster.pass(1_100));
    cluster.come_back(1);
    cluster.pass(1_100);
    let answer = cluster.broker(1).end::<DeleteRecordsRequest>(number, VERSION).expect("an answer");
    assert_eq!(answer.topics[0].partitions[0].error_code, NOT_LEADER);
}

#[test]
fn follower_that_has_nothing_at_the_new_start_begins_anew_there() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    produce(&mut cluster, 2);
    cluster.lose(3);
    produce(&mut cluster, 3);
    assert_eq!(delete(&mut cluster, 1, -1), (0, 5));
    cluster.restart(3);
    cluster.pass(1_100);
    assert_eq!(cluster.ends(3, 0), (5, 5));
    cluster.lose(2);
    cluster.settle();
    produce(&mut cluster, 1);
    cluster.restart(2);
    cluster.pass(1_100);
    let next = fail_over(&mut cluster);
    assert_eq!((earliest(&mut cluster, next), read(&mut cluster, next, 5)), (Ok(5), (0, true)));
}

/// Deletions that were asked for, by the numbers of their requests and the brokers that were asked.
#[derive(Default)]
struct Deletions {
    asked: BTreeMap<(i32, u64), i64>,
    done: usize,
    /// What is before that was said to be deleted.
    deleted: i64,
}

impl Deletions {
    fn ask(&mut self, world: &mut World) {
        let leader = world.cluster.leader(0).0;
        let end = world.acknowledged.last_key_value().map_or(0, |(offset, _)| *offset + 1);
        let before = world.random.below(end as u64 + 1) as i64;
        match world.cluster.broker(leader).begin(VERSION, &deletion(before)) {
            Ok(answer) => self.hear(before, &answer.topics[0].partitions[0]),
            Err(number) => drop(self.asked.insert((leader, number), before)),
        }
    }

    fn hear_all(&mut self, world: &mut World) {
        for ((broker, number), before) in std::mem::take(&mut self.asked) {
            match world.cluster.broker(broker).end::<DeleteRecordsRequest>(number, VERSION) {
                Some(answer) => self.hear(before, &answer.topics[0].partitions[0]),
                None => drop(self.asked.insert((broker, number), before)),
            }
        }
    }

    fn hear(
        &mut self,
        before: i64,
        told: &kafka_protocol::messages::delete_records_response::DeleteRecordsPartitionResult,
    ) {
        if told.error_code == 0 {
            assert!(told.low_watermark >= before);
            self.done += 1;
            self.deleted = self.deleted.max(told.low_watermark);
        }
    }
}

#[test]
fn nothing_deleted_comes_back_whoever_dies_and_whenever() {
    let (mut done, mut deaths) = (0, 0);
    for seed in 0..150 {
        let mut world = World::new(seed, &[1, 2, 3]);
        let mut deletions = Deletions::default();
        for _ in 0..200 {
            world.act();
            if world.random.below(12) == 0 {
                deletions.ask(&mut world);
            }
            deletions.hear_all(&mut world);
        }
        let leader = world.heal();
        deletions.hear_all(&mut world);
        let begins = earliest(&mut world.cluster, leader).expect("it is served");
        assert!(begins >= deletions.deleted, "seed {seed}: {begins}, {}", deletions.deleted);
        let (done_here, deaths_here) = (deletions.done, world.deaths);
        (done, deaths) = (done + done_here, deaths + deaths_here);
    }
    assert!(done > 500 && deaths > 300, "{done} deletions, {deaths} deaths");
}
