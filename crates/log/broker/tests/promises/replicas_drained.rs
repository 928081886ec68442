//! A broker that is about to stop hands over what it leads, while clients go on.

use crate::replicas::Cluster;

const NOT_LEADER: i16 = 6;

fn drain(cluster: &mut Cluster, id: i32) {
    let bench = cluster.broker(id);
    bench.broker.drain(bench.now);
}

fn to_hand_over(cluster: &mut Cluster, id: i32) -> usize {
    cluster.broker(id).broker.to_hand_over()
}

/// Produces to the leader. Gives its number and the offset.
fn produce(cluster: &mut Cluster, partition: i32) -> (i32, i64) {
    let leader = cluster.leader(partition as usize).0;
    let number = cluster.produce(leader, partition).expect("it waits");
    cluster.settle();
    let answers = cluster.answers(leader);
    assert_eq!(answers.iter().map(|(of, (error, _))| (*of, *error)).collect::<Vec<_>>(), [(number, 0)]);
    (leader, answers[0].1.1)
}

#[test]
fn draining_broker_hands_over_without_passing_of_time_and_offsets_go_on() {
    // The broker with the lowest number is the controller: the second drain is another controller's.
    for drained in 1..=3 {
        let mut cluster = Cluster::new(&[&[1, 2, 3], &[2, 3, 1], &[3, 1, 2]]);
        (0..3).for_each(|partition| assert_eq!(produce(&mut cluster, partition).1, 0));
        assert_eq!(to_hand_over(&mut cluster, drained), 1);
        drain(&mut cluster, drained);
        cluster.settle();
        assert_eq!(to_hand_over(&mut cluster, drained), 0, "{drained}");
        for partition in 0..3 {
            let (leader, offset) = produce(&mut cluster, partition);
            assert!(leader != drained && offset == 1, "{drained}: {leader} {offset}");
        }
        // The leader of before refuses.
        assert_eq!(cluster.produce(drained, drained - 1), Err((NOT_LEADER, -1)));
    }
}

#[test]
fn batch_that_waits_when_the_drain_begins_is_acknowledged_by_the_old_leader() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    let number = cluster.produce(1, 0).expect("it waits");
    drain(&mut cluster, 1);
    cluster.settle();
    assert_eq!(cluster.answers(1), [(number, (0, 0))]);
    assert_eq!(produce(&mut cluster, 0), (cluster.leader(0).0, 1));
}

#[test]
fn brokers_that_stop_one_after_the_other_leave_nothing_to_elect() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    for round in 0..6 {
        let leader = cluster.leader(0).0;
        assert_eq!(produce(&mut cluster, 0), (leader, 2 * round));
        drain(&mut cluster, leader);
        cluster.settle();
        assert_ne!(cluster.leader(0).0, leader);
        cluster.lose(leader);
        cluster.settle();
        let (next, epoch) = cluster.leader(0);
        assert_eq!(produce(&mut cluster, 0), (next, 2 * round + 1));
        cluster.restart(leader);
        cluster.settle();
        assert_eq!(cluster.leader(0), (next, epoch), "nobody is elected because it was away");
        cluster.pass(1_100);
    }
}

#[test]
fn nobody_waits_for_brokers_that_drain_or_are_away() {
    let mut cluster = Cluster::new(&[&[1, 2, 3], &[2, 3, 1]]);
    (1..=3).for_each(|id| drain(&mut cluster, id));
    cluster.settle();
    assert_eq!([1, 2, 3].map(|id| to_hand_over(&mut cluster, id)), [0; 3]);
    let mut cluster = Cluster::new(&[&[1, 2, 3], &[2]]);
    assert_eq!([1, 2, 3].map(|id| to_hand_over(&mut cluster, id)), [1, 0, 0]);
    cluster.lose(2);
    cluster.lose(3);
    assert_eq!(to_hand_over(&mut cluster, 1), 0);
}

#[test]
fn broker_that_is_lost_while_it_drains_is_replaced_and_nothing_acknowledged_is_lost() {
    // Whoever dies after however many turns: the one that drains, the one that takes over, or the controller.
    for victim in 1..=3 {
        for turns in 0..12 {
            let mut cluster = Cluster::new(&[&[2, 3, 1]]);
            assert_eq!(produce(&mut cluster, 0), (2, 0));
            drain(&mut cluster, 2);
            for turn in 0..turns {
                cluster.turn(1 + turn % 3);
            }
            cluster.lose(victim);
            cluster.settle();
            cluster.pass(60);
            cluster.settle();
            cluster.restart(victim);
            (0..4).for_each(|_| cluster.pass(1_100));
            let leader = cluster.leader(0).0;
            let number = cluster.produce(leader, 0).expect("it waits");
            cluster.settle();
            let answers = cluster.answers(leader);
            assert_eq!(answers.last(), Some(&(number, (0, 1))), "{victim} after {turns}");
        }
    }
}
