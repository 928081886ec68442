//! Brokers that are stopped, and go on later: their connections stay, and nothing is heard of them. And brokers that all start at
//! once, of which nothing is heard yet.

use crate::replicas::Cluster;

const NOT_LEADER: i16 = 6;

/// Produces a record, which is acknowledged. Gives its offset.
fn produce(cluster: &mut Cluster) -> i64 {
    let leader = cluster.leader(0).0;
    let number = cluster.produce(leader, 0).expect("it waits");
    cluster.settle();
    let answers = cluster.answers(leader);
    assert_eq!((answers.len(), answers[0].0, answers[0].1.0), (1, number, 0), "{answers:?}");
    answers[0].1.1
}

#[test]
fn silent_leader_is_replaced_at_once_whether_or_not_it_is_the_controller() {
    // The broker with the lowest number is the controller.
    for stopped in 1..=3 {
        let others = [1, 2, 3].into_iter().filter(|id| *id != stopped).collect::<Vec<_>>();
        let mut cluster = Cluster::new(&[&[stopped, others[0], others[1]]]);
        assert_eq!(produce(&mut cluster), 0);
        cluster.fall_asleep(stopped);
        cluster.settle();
        cluster.pass(60);
        assert!(others.contains(&cluster.leader(0).0), "{stopped} leads still");
        assert_eq!(produce(&mut cluster), 1);
    }
}

#[test]
fn leader_that_was_stopped_acknowledges_nothing_when_it_goes_on() {
    for stopped in [1, 3] {
        let mut cluster = Cluster::new(&[&[stopped, 2, 4 - stopped]]);
        assert_eq!(produce(&mut cluster), 0);
        // Its disk has that, and nobody else.
        let lost = cluster.produce(stopped, 0).expect("it waits");
        cluster.broker(stopped).flush();
        cluster.fall_asleep(stopped);
        cluster.settle();
        cluster.pass(60);
        assert_eq!(produce(&mut cluster), 1);
        // It goes on with a request that has waited for it, and does not know yet of the next leader.
        cluster.wake(stopped);
        let late = cluster.produce(stopped, 0);
        cluster.settle();
        cluster.pass(1_100);
        let refused = (NOT_LEADER, -1);
        let answers = cluster.answers(stopped);
        match late {
            Ok(late) => assert_eq!(answers, [(lost, refused), (late, refused)]),
            Err(late) => assert_eq!((late, answers), (refused, vec![(lost, refused)])),
        }
        cluster.catch_up(stopped);
        cluster.settle();
        cluster.pass(1_100);
        assert_eq!(produce(&mut cluster), 2);
        assert_eq!([1, 2, 3].map(|id| cluster.ends(id, 0)), [(3, 3); 3]);
    }
}

#[test]
fn controller_that_was_stopped_moves_nothing_when_it_goes_on() {
    let mut cluster = Cluster::new(&[&[1, 2, 3], &[2, 3, 1], &[3, 1, 2]]);
    cluster.fall_asleep(1);
    cluster.settle();
    cluster.pass(1_000);
    let led = [0, 1, 2].map(|partition| cluster.leader(partition));
    assert_ne!(led[0].0, 1);
    cluster.wake(1);
    cluster.catch_up(1);
    cluster.settle();
    cluster.pass(1_000);
    assert_eq!([0, 1, 2].map(|partition| cluster.leader(partition)), led);
}

#[test]
fn broker_that_was_silent_for_a_moment_is_the_controller_again() {
    let mut cluster = Cluster::new(&[&[1, 2, 3], &[3, 2, 1]]);
    cluster.fall_asleep(1);
    cluster.settle();
    cluster.wake(1);
    cluster.catch_up(1);
    cluster.settle();
    // The next one that is lost is replaced by whoever is the controller now.
    cluster.lose(3);
    cluster.settle();
    cluster.pass(60);
    assert_ne!(cluster.leader(1).0, 3);
}

/// Where each of three partitions is led after a restart of all brokers.
fn led_after_a_restart(order: &[i32], gap_ms: u64) -> [i32; 3] {
    let mut cluster = Cluster::new(&[&[1, 2, 3], &[2, 3, 1], &[3, 1, 2]]);
    assert_eq!(produce(&mut cluster), 0);
    cluster.restart_all(order, gap_ms);
    cluster.pass(1_500);
    assert_eq!(produce(&mut cluster), 1);
    [0, 1, 2].map(|partition| cluster.leader(partition).0)
}

#[test]
fn restart_of_all_brokers_moves_no_leader_if_they_are_there_within_a_second() {
    for order in [[1, 2, 3], [3, 2, 1], [2, 3, 1], [3, 1, 2]] {
        assert_eq!(led_after_a_restart(&order, 400), [1, 2, 3], "{order:?}");
    }
}

#[test]
fn broker_that_does_not_start_with_the_others_is_taken_for_dead_after_a_second() {
    let mut cluster = Cluster::new(&[&[1, 2, 3], &[2, 3, 1], &[3, 1, 2]]);
    cluster.restart_all(&[1, 2], 100);
    cluster.pass(800);
    assert_eq!(cluster.leader(2).0, 3);
    cluster.pass(400);
    assert_eq!([0, 1].map(|partition| cluster.leader(partition).0), [1, 2]);
    assert_ne!(cluster.leader(2).0, 3);
}
