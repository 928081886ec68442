//! Partitions with two replicas: one goes on alone while the other is away, if `min.insync.replicas` permits that.

use crate::replicas::{Cluster, World};

/// Produces a batch. Gives its error and offset.
fn produce(cluster: &mut Cluster) -> (i16, i64) {
    let leader = cluster.leader(0).0;
    let number = match cluster.produce(leader, 0) {
        Ok(number) => number,
        Err(refused) => return refused,
    };
    cluster.settle();
    let answers = cluster.answers(leader);
    assert_eq!((answers.len(), answers[0].0), (1, number));
    answers[0].1
}

/// How many replicas count.
fn voters(cluster: &Cluster) -> usize {
    let record = cluster.topic().partitions[0].record().expect("a record");
    record.config.voters.replicas().len()
}

#[test]
fn one_of_two_goes_on_alone_and_the_other_counts_again_once_it_has_everything() {
    // The one that is away is the follower, or the leader.
    for away in [2, 1] {
        let mut cluster = Cluster::new(&[&[1, 2]]);
        assert_eq!(produce(&mut cluster), (0, 0));
        cluster.lose(away);
        cluster.settle();
        cluster.pass(400);
        assert_eq!((voters(&cluster), produce(&mut cluster)), (1, (0, 1)), "{away}");
        cluster.restart(away);
        cluster.settle();
        cluster.pass(2_200);
        assert_eq!((voters(&cluster), produce(&mut cluster)), (2, (0, 2)), "{away}");
        assert_eq!([1, 2].map(|id| cluster.ends(id, 0)), [(3, 3); 2], "{away}");
        assert_eq!(cluster.topic().partitions[0].rest.goal, None, "{away}");
    }
}

#[test]
fn replica_that_missed_something_does_not_lead_while_the_other_is_away() {
    let mut cluster = Cluster::new(&[&[1, 2]]);
    cluster.lose(2);
    cluster.settle();
    cluster.pass(400);
    assert_eq!(produce(&mut cluster), (0, 0));
    cluster.lose(1);
    cluster.restart(2);
    cluster.settle();
    cluster.pass(5_000);
    assert_eq!(cluster.leader(0).0, 1, "only that one has what was acknowledged");
    cluster.restart(1);
    cluster.settle();
    cluster.pass(3_300);
    assert_eq!((voters(&cluster), produce(&mut cluster)), (2, (0, 1)));
}

#[test]
fn both_are_needed_while_two_have_to_have_each_record() {
    let mut cluster = Cluster::with(&[&[1, 2]], &[("min.insync.replicas", "2")], |_| ());
    cluster.lose(2);
    cluster.settle();
    cluster.pass(2_000);
    assert_eq!(voters(&cluster), 2);
    // What is asked for by now counts.
    cluster.configure("min.insync.replicas", "1");
    cluster.settle();
    cluster.pass(400);
    assert_eq!((voters(&cluster), produce(&mut cluster)), (1, (0, 0)));
}

#[test]
fn three_replicas_never_become_one_by_themselves() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    cluster.lose(2);
    cluster.lose(3);
    cluster.settle();
    cluster.pass(2_000);
    assert_eq!(voters(&cluster), 3);
}

#[test]
fn nothing_acknowledged_by_one_of_two_is_lost_whoever_dies_and_whenever() {
    let (mut deaths, mut acknowledged) = (0, 0);
    for seed in 0..300 {
        let mut world = World::new(seed, &[1, 2]);
        (0..200).for_each(|_| world.act());
        let leader = world.heal();
        let held = world.cluster.read(leader, 0);
        for (offset, number) in &world.acknowledged {
            assert_eq!(held.get(offset), Some(number), "seed {seed}: offset {offset} was acknowledged");
        }
        let ends = [1, 2].map(|id| world.cluster.ends(id, 0));
        let end = held.last_key_value().map_or(0, |(offset, _)| offset + 1);
        assert_eq!(ends, [(end, end); 2], "seed {seed}");
        deaths += world.deaths;
        acknowledged += world.acknowledged.len();
    }
    assert!(deaths > 1_000 && acknowledged > 2_500, "{deaths} {acknowledged}");
}
