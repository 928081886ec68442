//! Copies that nothing waits for are made at the rate that is set, and what producers wait for is never held up.

use kafka_protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use kafka_protocol::messages::{AlterPartitionReassignmentsRequest, BrokerId, TopicName};
use log_broker::ReplicationRates;
use log_wire::{Attributes, BatchBuilder, Producer};

use crate::bench::text;
use crate::replicas::Cluster;

/// Longer than half of what one message to a follower asks for: two of them are no message.
const BATCH_BYTES: usize = 300_000;

fn cluster(replicas: &[i32], setting: (&str, &str), rates: ReplicationRates) -> Cluster {
    Cluster::with(&[replicas], &[setting], |config| config.replication_rates = rates)
}

/// Produces a large batch. Gives its error and offset.
fn produce(cluster: &mut Cluster) -> (i16, i64) {
    let mut batch = BatchBuilder::new(Attributes(0), Producer::NONE);
    batch.push(1_000, None, Some(&vec![7; BATCH_BYTES]), &[]);
    let leader = cluster.leader(0).0;
    let number = cluster.produce_batch(leader, 0, &batch.finish(), -1).expect("it waits");
    cluster.settle();
    let answers = cluster.answers(leader);
    let answer = answers.iter().find(|(of, _)| *of == number);
    answer.expect("it is acknowledged").1
}

/// How long it takes until that broker has all of these, milliseconds.
fn caught_up_in(cluster: &mut Cluster, broker: i32, end: i64) -> u64 {
    (0..600)
        .find(|_| {
            let has_all = cluster.has(broker, 0) && cluster.ends(broker, 0).1 == end;
            if !has_all {
                cluster.pass(100);
            }
            has_all
        })
        .expect("it ends")
        * 100
}

#[test]
fn new_replica_gets_its_copy_at_the_rate_of_the_leader_or_of_the_follower() {
    let slow = Some(300_000);
    for (setting, rates, seconds) in [
        ("leader", ReplicationRates { leader: slow, follower: None }, 4..=6),
        ("follower", ReplicationRates { leader: None, follower: slow }, 4..=6),
        ("follower", ReplicationRates { leader: slow, follower: None }, 0..=0),
    ] {
        let name = format!("{setting}.replication.throttled.replicas");
        let mut cluster = cluster(&[1], (&name, "*"), rates);
        (0..6).for_each(|offset| assert_eq!(produce(&mut cluster), (0, offset)));
        let replicas = [1, 2].map(BrokerId).to_vec();
        let partition =
            ReassignablePartition::default().with_partition_index(0).with_replicas(Some(replicas));
        let topic =
            ReassignableTopic::default().with_name(TopicName(text("t"))).with_partitions(vec![partition]);
        let asked =
            AlterPartitionReassignmentsRequest::default().with_timeout_ms(1_000).with_topics(vec![topic]);
        assert_eq!(cluster.call(1, 0, &asked).error_code, 0);
        cluster.settle();
        let took = caught_up_in(&mut cluster, 2, 6);
        assert!(seconds.contains(&(took / 1_000)), "{setting}: {took} ms");
        cluster.pass(2_000);
        assert_eq!(cluster.topic().partitions[0].replicas, [1, 2]);
    }
}

#[test]
fn replica_that_producers_wait_for_is_not_held_up() {
    let rates = ReplicationRates { leader: Some(0), follower: Some(0) };
    let mut cluster = cluster(&[1, 2, 3], ("leader.replication.throttled.replicas", "*"), rates);
    assert_eq!(produce(&mut cluster), (0, 0));
    // Its disk stands still, so it is not in sync any more, and gets nothing while the two others are.
    cluster.stop_disk(3);
    assert_eq!(produce(&mut cluster), (0, 1));
    cluster.pass(2_000);
    let had = cluster.ends(3, 0).1;
    (2..5).for_each(|offset| assert_eq!(produce(&mut cluster), (0, offset)));
    cluster.pass(5_000);
    assert_eq!((cluster.leader(0).0, cluster.ends(3, 0).1), (1, had));
    // Without the second one it is needed.
    cluster.lose(2);
    cluster.start_disk(3);
    cluster.pass(100);
    assert_eq!(cluster.ends(3, 0).1, 5);
    assert_eq!(produce(&mut cluster), (0, 5));
}
