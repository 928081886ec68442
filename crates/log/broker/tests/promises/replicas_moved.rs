//! Partitions get other replicas while clients go on: more of them, fewer, and others.

use kafka_protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, BrokerId, ListPartitionReassignmentsRequest, TopicName,
};

use crate::bench::text;
use crate::replicas::{Cluster, World};

const INVALID_REPLICA_ASSIGNMENT: i16 = 39;
const NO_REASSIGNMENT_IN_PROGRESS: i16 = 85;

fn asked(replicas: Option<&[i32]>) -> AlterPartitionReassignmentsRequest {
    let ids = |replicas: &[i32]| replicas.iter().copied().map(BrokerId).collect();
    let partition = ReassignablePartition::default().with_partition_index(0).with_replicas(replicas.map(ids));
    let topic = ReassignableTopic::default().with_name(TopicName(text("t"))).with_partitions(vec![partition]);
    AlterPartitionReassignmentsRequest::default().with_timeout_ms(1_000).with_topics(vec![topic])
}

/// Asks a broker for other replicas, or for those back that there were.
fn reassign(cluster: &mut Cluster, by: i32, replicas: Option<&[i32]>) -> i16 {
    let answer = cluster.call(by, 0, &asked(replicas));
    assert_eq!(answer.error_code, 0);
    answer.responses[0].partitions[0].error_code
}

/// The changes that a broker lists: replicas, those that come, those that go.
fn listed(cluster: &mut Cluster, by: i32) -> Vec<[Vec<i32>; 3]> {
    let answer = cluster.call(by, 0, &ListPartitionReassignmentsRequest::default().with_topics(None));
    let of = |ids: &[BrokerId]| ids.iter().map(|id| id.0).collect();
    let partitions = answer.topics.iter().flat_map(|topic| &topic.partitions);
    let lists = partitions
        .map(|of_one| [of(&of_one.replicas), of(&of_one.adding_replicas), of(&of_one.removing_replicas)]);
    lists.collect()
}

/// Produces a batch. Gives its error and offset.
fn produce(cluster: &mut Cluster) -> (i16, i64) {
    let leader = cluster.leader(0).0;
    let number = cluster.produce(leader, 0).expect("it waits");
    cluster.settle();
    let answers = cluster.answers(leader);
    assert_eq!((answers.len(), answers[0].0), (1, number));
    answers[0].1
}

fn replicas(cluster: &Cluster) -> Vec<i32> {
    let topic = cluster.topic();
    assert_eq!(topic.partitions[0].rest.goal, None, "it has come to its end");
    topic.partitions[0].replicas.clone()
}

#[test]
fn partition_with_one_replica_gets_three_and_one_again() {
    let mut cluster = Cluster::new(&[&[1]]);
    assert_eq!(produce(&mut cluster), (0, 0));
    assert_eq!(reassign(&mut cluster, 2, Some(&[1, 2, 3])), 0);
    cluster.settle();
    assert_eq!(replicas(&cluster), [1, 2, 3]);
    assert_eq!(produce(&mut cluster), (0, 1));
    assert_eq!([1, 2, 3].map(|id| cluster.ends(id, 0)), [(2, 2); 3]);
    // The first one dies, and all that was acknowledged is there.
    cluster.lose(1);
    cluster.settle();
    cluster.pass(60);
    assert_eq!(produce(&mut cluster), (0, 2));
    cluster.restart(1);
    cluster.settle();
    cluster.pass(1_100);
    assert_eq!(reassign(&mut cluster, 3, Some(&[3])), 0);
    cluster.settle();
    cluster.pass(1_100);
    assert_eq!((replicas(&cluster), cluster.leader(0).0), (vec![3], 3));
    assert_eq!(produce(&mut cluster), (0, 3));
    assert_eq!(cluster.read(3, 0).keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
    // Nobody else has it, and its broker starts again by itself.
    (1..=2).for_each(|id| assert!(!cluster.has(id, 0), "{id}"));
    cluster.lose(3);
    cluster.restart(3);
    cluster.settle();
    assert_eq!(produce(&mut cluster), (0, 4));
    assert_eq!(cluster.read(3, 0).len(), 5);
}

#[test]
fn replica_that_is_left_alone_serves_though_its_disk_is_slow_meanwhile() {
    for turns in 0..60 {
        let mut cluster = Cluster::new(&[&[2, 1]]);
        assert_eq!(produce(&mut cluster), (0, 0));
        let answer = cluster.broker(3).begin(1, &asked(Some(&[1])));
        assert!(answer.is_err(), "it waits for the council");
        for turn in 0..turns {
            cluster.turn(1 + turn % 3);
        }
        cluster.stop_disk(1);
        cluster.settle();
        cluster.start_disk(1);
        cluster.pass(1_100);
        assert_eq!((replicas(&cluster), cluster.leader(0).0), (vec![1], 1), "{turns}");
        assert_eq!(produce(&mut cluster), (0, 1), "{turns}");
    }
}

#[test]
fn partition_moves_from_one_broker_to_another() {
    let mut cluster = Cluster::new(&[&[1]]);
    assert_eq!(produce(&mut cluster), (0, 0));
    assert_eq!(reassign(&mut cluster, 1, Some(&[2])), 0);
    cluster.settle();
    cluster.pass(1_100);
    assert_eq!((replicas(&cluster), cluster.leader(0).0), (vec![2], 2));
    assert_eq!(produce(&mut cluster), (0, 1));
    assert!(!cluster.has(1, 0));
}

#[test]
fn change_that_waits_is_listed_by_every_broker_until_it_is_cancelled() {
    let mut cluster = Cluster::new(&[&[1, 2]]);
    assert_eq!(reassign(&mut cluster, 1, None), NO_REASSIGNMENT_IN_PROGRESS);
    cluster.lose(3);
    cluster.settle();
    assert_eq!(reassign(&mut cluster, 2, Some(&[3, 1])), 0);
    cluster.settle();
    for by in 1..=2 {
        assert_eq!(listed(&mut cluster, by), [[vec![3, 1, 2], vec![3], vec![2]]], "by {by}");
    }
    assert_eq!(produce(&mut cluster), (0, 0));
    assert_eq!(reassign(&mut cluster, 1, None), 0);
    cluster.settle();
    assert_eq!((replicas(&cluster), listed(&mut cluster, 2)), (vec![1, 2], vec![]));
    assert_eq!(produce(&mut cluster), (0, 1));
}

#[test]
fn change_goes_on_as_the_new_replica_comes_and_its_first_is_the_preferred_leader() {
    let mut cluster = Cluster::new(&[&[1, 2]]);
    cluster.lose(3);
    cluster.settle();
    assert_eq!(reassign(&mut cluster, 2, Some(&[3, 1])), 0);
    assert_eq!(produce(&mut cluster), (0, 0));
    cluster.come_back(3);
    cluster.settle();
    cluster.pass(2_000);
    assert_eq!(replicas(&cluster), [3, 1]);
    assert_eq!(cluster.ends(3, 0), (1, 1));
}

#[test]
fn replicas_that_cannot_be_are_refused() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    for bad in [&[][..], &[1, 1], &[1, 9], &[-1]] {
        assert_eq!(reassign(&mut cluster, 1, Some(bad)), INVALID_REPLICA_ASSIGNMENT, "{bad:?}");
    }
    let before = cluster.topic();
    assert_eq!(reassign(&mut cluster, 1, Some(&[1, 2, 3])), 0, "it has them already");
    assert_eq!(cluster.topic(), before);
}

#[test]
fn nothing_acknowledged_is_lost_as_replicas_change_whoever_dies_and_whenever() {
    let targets: [&[i32]; 7] = [&[1], &[2], &[3], &[1, 2], &[3, 2], &[2, 3, 1], &[1, 2, 3]];
    let (mut deaths, mut acknowledged, mut moves) = (0, 0, 0);
    for seed in 0..200 {
        let first = targets[seed as usize % targets.len()];
        let mut world = World::new(seed, first);
        for _ in 0..250 {
            world.act();
            if world.random.below(25) == 0 {
                let target = targets[world.random.below(targets.len() as u64) as usize];
                let by = world.cluster.here()[0];
                // Whoever asks does not wait.
                let _ = world.cluster.broker(by).begin(0, &asked(Some(target)));
            }
        }
        let epoch = world.cluster.leader(0).1;
        world.heal();
        for _ in 0..6 {
            world.cluster.pass(1_100);
        }
        let leader = world.cluster.leader(0).0;
        let held = world.cluster.read(leader, 0);
        for (offset, number) in &world.acknowledged {
            assert_eq!(held.get(offset), Some(number), "seed {seed}: offset {offset} was acknowledged");
        }
        let there = replicas(&world.cluster);
        let end = held.last_key_value().map_or(0, |(offset, _)| offset + 1);
        for id in 1..=3 {
            assert_eq!(
                world.cluster.has(id, 0),
                there.contains(&id),
                "seed {seed}: broker {id} of {there:?}"
            );
            if there.contains(&id) {
                assert_eq!(world.cluster.ends(id, 0), (end, end), "seed {seed}: broker {id}");
            }
        }
        deaths += world.deaths;
        acknowledged += world.acknowledged.len();
        moves += epoch;
    }
    assert!(deaths > 500 && acknowledged > 1_000 && moves > 1_000, "{deaths} {acknowledged} {moves}");
}

#[test]
fn partitions_that_move_together_all_come_to_their_end() {
    for first in 1..=3 {
        let lone: Vec<Vec<i32>> = (0..9).map(|index| vec![1 + (index + first) % 3]).collect();
        let lone: Vec<&[i32]> = lone.iter().map(Vec::as_slice).collect();
        let mut cluster = Cluster::new(&lone);
        let partitions = (0..9).map(|index| {
            ReassignablePartition::default()
                .with_partition_index(index)
                .with_replicas(Some(vec![BrokerId(1)]))
        });
        let topic = ReassignableTopic::default()
            .with_name(TopicName(text("t")))
            .with_partitions(partitions.collect());
        let asked =
            AlterPartitionReassignmentsRequest::default().with_timeout_ms(1_000).with_topics(vec![topic]);
        assert_eq!(cluster.call(first, 0, &asked).error_code, 0);
        cluster.settle();
        cluster.pass(30_000);
        assert!(listed(&mut cluster, 1).is_empty());
        for (index, image) in (0..).zip(&cluster.topic().partitions) {
            assert_eq!(
                (&image.replicas[..], image.leader, &image.rest.goal),
                (&[1][..], 1, &None),
                "{index}"
            );
        }
    }
}

#[test]
fn order_that_is_asked_for_is_there_though_the_broker_that_is_asked_has_not_heard_of_the_last_one() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    // The council tells broker 2 late.
    cluster.away.insert(2);
    assert_eq!(reassign(&mut cluster, 1, Some(&[1, 3, 2])), 0);
    cluster.settle();
    cluster.away.remove(&2);
    assert_eq!(reassign(&mut cluster, 2, Some(&[1, 2, 3])), 0);
    cluster.catch_up(2);
    cluster.settle();
    assert_eq!(replicas(&cluster), [1, 2, 3]);
}
