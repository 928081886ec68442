//! Internal topics get replicas as brokers come.

use std::collections::BTreeMap;

use crate::replicas::Cluster;

const OFFSETS: &str = "__consumer_offsets";

fn factors(cluster: &Cluster) -> Vec<usize> {
    cluster.other_topic(OFFSETS).partitions.iter().map(|of| of.replicas.len()).collect()
}

#[test]
fn internal_topic_of_one_broker_gets_its_replicas_a_few_at_a_time_and_its_leaders_are_spread() {
    let mut cluster = Cluster::new(&[&[1]]);
    cluster.add_topic(OFFSETS, &[&[1][..]; 9]);
    cluster.pass(9_000);
    assert_eq!(factors(&cluster), [1; 9]);
    cluster.pass(2_000);
    assert_eq!(factors(&cluster), [3, 3, 3, 3, 3, 1, 1, 1, 1]);
    cluster.pass(25_000);
    assert_eq!(factors(&cluster), [3; 9]);
    let topic = cluster.other_topic(OFFSETS);
    let mut firsts = BTreeMap::new();
    for partition in &topic.partitions {
        assert_eq!(partition.rest.goal, None);
        *firsts.entry(partition.replicas[0]).or_insert(0) += 1;
    }
    assert_eq!(firsts, BTreeMap::from([(1, 3), (2, 3), (3, 3)]));
    assert_eq!(cluster.topic().partitions[0].replicas, [1], "other topics stay as they are");
}

#[test]
fn internal_topic_waits_for_brokers_and_does_not_shrink_when_they_go() {
    let mut cluster = Cluster::new(&[&[1]]);
    cluster.lose(3);
    cluster.add_topic(OFFSETS, &[&[1], &[2]]);
    cluster.pass(12_000);
    // A broker that is away may be announced still.
    assert_eq!(factors(&cluster), [2, 2]);
    cluster.restart(3);
    cluster.pass(12_000);
    assert_eq!(factors(&cluster), [3, 3]);
    cluster.lose(1);
    cluster.pass(12_000);
    assert_eq!(factors(&cluster), [3, 3]);
}

#[test]
fn partition_with_a_replica_that_is_away_does_not_grow_and_holds_up_no_other() {
    let mut cluster = Cluster::new(&[&[1]]);
    cluster.lose(3);
    cluster.add_topic(OFFSETS, &[&[3], &[3], &[3], &[3], &[3], &[1]]);
    cluster.pass(12_000);
    // Of the others nothing could be copied, and nobody could take them back.
    assert_eq!(factors(&cluster), [1, 1, 1, 1, 1, 2]);
    assert!(cluster.other_topic(OFFSETS).partitions.iter().all(|of| of.rest.goal.is_none()));
    cluster.restart(3);
    cluster.pass(25_000);
    assert_eq!(factors(&cluster), [3; 6]);
}
