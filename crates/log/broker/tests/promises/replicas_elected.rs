//! Leaders that are elected because somebody asks for it.

use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::{ElectLeadersRequest, TopicName};

use log_broker::{BrokerConfig, Notice};

use crate::bench::text;
use crate::replicas::Cluster;

const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;
const TIMED_OUT: i16 = 7;
const PREFERRED_NOT_AVAILABLE: i16 = 80;
const ELIGIBLE_NOT_AVAILABLE: i16 = 83;
const NOT_NEEDED: i16 = 84;

fn request(kind: i8, partitions: Option<&[i32]>) -> ElectLeadersRequest {
    let topic = |partitions: &[i32]| {
        TopicPartitions::default().with_topic(TopicName(text("t"))).with_partitions(partitions.to_vec())
    };
    ElectLeadersRequest::default()
        .with_election_type(kind)
        .with_topic_partitions(partitions.map(|partitions| vec![topic(partitions)]))
        .with_timeout_ms(1_500)
}

/// Asks a broker. Gives the partitions that are told of, with their errors.
fn elect(cluster: &mut Cluster, by: i32, request: &ElectLeadersRequest) -> Vec<(i32, i16)> {
    let answer = cluster.call(by, 2, request);
    let told = answer.replica_election_results.iter().flat_map(|topic| &topic.partition_result);
    told.map(|of| (of.partition_id, of.error_code)).collect()
}

fn produce(cluster: &mut Cluster) -> i64 {
    let leader = cluster.leader(0).0;
    let number = cluster.produce(leader, 0).expect("it waits");
    cluster.settle();
    let answers = cluster.answers(leader);
    assert_eq!((answers.len(), answers[0].0, answers[0].1.0), (1, number, 0));
    answers[0].1.1
}

/// A cluster of whose partitions 0 and 1 the preferred leader, broker 3, does not lead.
fn misplaced() -> Cluster {
    misplaced_with(|_| ())
}

fn misplaced_with(configure: impl Fn(&mut BrokerConfig)) -> Cluster {
    let mut cluster = Cluster::with(&[&[3, 1, 2], &[3, 2, 1], &[1, 2, 3]], &[], configure);
    cluster.lose(3);
    cluster.settle();
    cluster.pass(60);
    cluster.restart(3);
    cluster.settle();
    cluster.pass(1_100);
    assert!([0, 1].iter().all(|partition| cluster.leader(*partition).0 != 3));
    cluster
}

#[test]
fn preferred_replica_leads_again_whichever_broker_is_asked() {
    for by in 1..=3 {
        let mut cluster = misplaced();
        let offset = produce(&mut cluster);
        assert_eq!(
            elect(&mut cluster, by, &request(PREFERRED, Some(&[0, 2, 9]))),
            [(0, 0), (2, NOT_NEEDED), (9, 3)]
        );
        assert_eq!((cluster.leader(0).0, cluster.leader(2).0), (3, 1));
        assert_ne!(cluster.leader(1).0, 3, "nobody has asked for it");
        assert_eq!(produce(&mut cluster), offset + 1);
        // Of all, only those are told of that had to be elected.
        assert_eq!(elect(&mut cluster, by, &request(PREFERRED, None)), [(1, 0)]);
        assert_eq!(cluster.leader(1).0, 3);
        assert_eq!(elect(&mut cluster, by, &request(PREFERRED, None)), []);
    }
}

#[test]
fn lead_goes_back_to_the_preferred_replica_when_the_file_says_and_no_sooner() {
    // Milliseconds after which lead goes back, and how many partitions the preferred replica leads after 3 and after 70 seconds.
    for (after_ms, led) in [(Some(2_000), [2, 2]), (Some(60_000), [0, 2]), (None, [0, 0])] {
        let mut cluster = misplaced_with(|config| config.leaders.preferred_after_ms = after_ms);
        let led_by_3 = |cluster: &Cluster| [0, 1].into_iter().filter(|of| cluster.leader(*of).0 == 3).count();
        cluster.pass(3_000);
        let early = led_by_3(&cluster);
        cluster.pass(67_000);
        assert_eq!([early, led_by_3(&cluster)], led, "{after_ms:?}");
        elect(&mut cluster, 1, &request(PREFERRED, None));
        assert_eq!(led_by_3(&cluster), 2, "{after_ms:?}");
    }
}

#[test]
fn preferred_replica_that_is_away_is_not_elected() {
    let mut cluster = misplaced();
    cluster.lose(3);
    cluster.settle();
    let refused = [(0, PREFERRED_NOT_AVAILABLE), (1, PREFERRED_NOT_AVAILABLE)];
    assert_eq!(elect(&mut cluster, 1, &request(PREFERRED, None)), refused);
}

#[test]
fn preferred_replica_that_drains_is_refused_at_once_whichever_broker_is_asked() {
    let mut cluster = misplaced();
    let bench = cluster.broker(3);
    bench.broker.drain(bench.now);
    cluster.settle();
    for by in 1..=3 {
        let answer = cluster.broker(by).begin(2, &request(PREFERRED, Some(&[0]))).expect("it does not wait");
        let results = &answer.replica_election_results[0].partition_result;
        assert_eq!(results[0].error_code, PREFERRED_NOT_AVAILABLE, "{by}");
    }
}

#[test]
fn election_of_a_replica_that_drains_or_is_lost_meanwhile_is_refused_before_its_time_is_over() {
    for is_lost in [false, true] {
        let mut cluster = misplaced();
        cluster.stop_disk(3);
        produce(&mut cluster);
        let wanted = request(PREFERRED, Some(&[0])).with_timeout_ms(15_000);
        let number = cluster.broker(2).begin(2, &wanted).expect_err("it waits");
        cluster.settle();
        if is_lost {
            cluster.lose(3);
        } else {
            let bench = cluster.broker(3);
            bench.broker.drain(bench.now);
        }
        cluster.settle();
        cluster.pass(1_100);
        let answer = cluster.broker(2).end::<ElectLeadersRequest>(number, 2).expect("it is answered");
        let error = answer.replica_election_results[0].partition_result[0].error_code;
        assert_eq!(error, PREFERRED_NOT_AVAILABLE, "{is_lost}");
    }
}

#[test]
fn election_outlives_the_controller_that_was_asked() {
    let mut cluster = misplaced();
    // Broker 1 is the controller, and dies with what it was asked.
    let number = cluster.broker(2).begin(2, &request(PREFERRED, Some(&[0]))).expect_err("it waits");
    cluster.lose(1);
    cluster.settle();
    cluster.pass(1_400);
    let answer = cluster.broker(2).end::<ElectLeadersRequest>(number, 2).expect("it is answered");
    assert_eq!(answer.replica_election_results[0].partition_result[0].error_code, 0);
    assert_eq!(cluster.leader(0).0, 3);
}

#[test]
fn election_that_cannot_be_prepared_is_given_up_in_time_and_clients_go_on() {
    let mut cluster = misplaced();
    let leader = cluster.leader(0).0;
    cluster.stop_disk(3);
    cluster.produce(leader, 0).expect("it waits");
    cluster.settle();
    assert_eq!(elect(&mut cluster, 1, &request(PREFERRED, Some(&[0]))), [(0, TIMED_OUT)]);
    cluster.answers(leader);
    cluster.pass(3_000);
    assert_eq!(cluster.leader(0).0, leader);
    produce(&mut cluster);
}

#[test]
fn partition_without_enough_replicas_goes_on_only_if_somebody_accepts_the_loss() {
    for by_loss in [false, true] {
        let mut cluster = Cluster::new(&[&[1, 2, 3]]);
        assert_eq!(produce(&mut cluster), 0);
        // The second record is on 1 and 2 alone.
        cluster.lose(3);
        cluster.settle();
        assert_eq!(produce(&mut cluster), 1);
        assert_eq!(elect(&mut cluster, 1, &request(UNCLEAN, Some(&[0]))), [(0, NOT_NEEDED)]);
        let epoch = cluster.leader(0).1;
        cluster.lose(1);
        cluster.lose(2);
        cluster.restart(3);
        cluster.settle();
        cluster.pass(3_000);
        assert_eq!(cluster.leader(0).1, epoch, "nobody leads by itself");
        assert_eq!(elect(&mut cluster, 3, &request(PREFERRED, Some(&[0]))), [(0, PREFERRED_NOT_AVAILABLE)]);
        if by_loss {
            assert_eq!(elect(&mut cluster, 3, &request(UNCLEAN, Some(&[0]))), [(0, 0)]);
            let loss = cluster.topic().partitions[0].rest.loss.clone().expect("the record says so");
            assert_eq!((loss.kept.1, loss.missing), (1, [1, 2].into()));
            assert_eq!((cluster.leader(0).0, produce(&mut cluster)), (3, 1));
        }
        // The others come back. They discard what differs.
        cluster.restart(1);
        cluster.restart(2);
        cluster.settle();
        (0..6).for_each(|_| cluster.pass(1_100));
        let held = cluster.topic().partitions[0].leader;
        assert_eq!(produce(&mut cluster), 2, "{by_loss}");
        let ends = [1, 2, 3].map(|id| cluster.ends(id, 0));
        assert_eq!(ends, [(3, 3); 3], "{by_loss}");
        let numbers: Vec<u64> = cluster.read(held, 0).into_values().collect();
        assert_eq!(numbers.len(), 3);
        assert_eq!(numbers[1] == 2, !by_loss, "{numbers:?}");
        assert_eq!(cluster.topic().partitions[0].rest.goal, None, "all replicas count again");
    }
}

#[test]
fn unclean_election_is_refused_while_no_replica_is_alive() {
    let mut cluster = Cluster::new(&[&[1, 2]]);
    cluster.lose(1);
    cluster.lose(2);
    cluster.settle();
    assert_eq!(elect(&mut cluster, 3, &request(UNCLEAN, Some(&[0]))), [(0, ELIGIBLE_NOT_AVAILABLE)]);
}

#[test]
fn topic_that_permits_a_loss_goes_on_by_itself_after_a_while_and_no_other_does() {
    for (permits, goes_on) in [("true", true), ("false", false)] {
        let settings = [("unclean.leader.election.enable", permits)];
        let mut cluster = Cluster::with(&[&[1, 2, 3]], &settings, |_| ());
        cluster.lose(3);
        cluster.settle();
        assert_eq!(produce(&mut cluster), 0);
        cluster.lose(1);
        cluster.lose(2);
        cluster.restart(3);
        cluster.settle();
        let epoch = cluster.leader(0).1;
        cluster.pass(9_000);
        assert_eq!(cluster.leader(0).1, epoch, "the others may come back");
        cluster.pass(5_000);
        assert_eq!(cluster.leader(0).0 == 3, goes_on, "{permits}");
        assert_eq!(cluster.topic().partitions[0].rest.loss.is_some(), goes_on);
        let notices = cluster.broker(3).broker.take_notices();
        let tells = |notice: &Notice| matches!(notice, Notice::MayHaveLost { kept: 0, partition: 0, missing, .. } if *missing == [1, 2]);
        assert_eq!(notices.iter().any(tells), goes_on, "{notices:?}");
    }
}
