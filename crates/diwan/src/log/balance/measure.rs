//! What brokers carry, as they tell it: directories twice, some time apart.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use log_balance::{BrokerLoad, PartitionLoad, Snapshot};
use log_client::Cluster;
use log_client::messages::cluster::DescribeLogDirsResult;

use crate::log::failure::{Done, Failure};

/// Replicas of a broker, and its disk.
#[derive(Debug, Default)]
struct Kept {
    /// Bytes, by topic and partition.
    replicas: BTreeMap<(String, i32), u64>,
    /// Bytes that replicas have and may have.
    disk_bytes: Option<u64>,
}

/// Measures a cluster.
pub(super) fn measure(cluster: &mut Cluster, long: Duration, network_bytes_per_s: u64) -> Done<Snapshot> {
    let topics = cluster.look(None, false)?;
    let (before, began) = (kept_by_all(cluster)?, Instant::now());
    thread::sleep(long);
    let (after, took) = (kept_by_all(cluster)?, began.elapsed());
    let racks = cluster.racks()?;
    let moving: BTreeSet<(String, i32)> =
        cluster.reassignments()?.into_iter().map(|(topic, of)| (topic, of.partition_index)).collect();
    let drains = cluster.drains(&after.keys().copied().collect::<Vec<_>>())?;
    let broker = |(id, kept): (&i32, &Kept)| BrokerLoad {
        id: *id,
        rack: racks.get(id).cloned(),
        disk_bytes: kept.disk_bytes,
        network_bytes_per_s: Some(network_bytes_per_s),
        is_excluded: drains.get(id).copied().unwrap_or(false),
    };
    let mut partitions = Vec::new();
    for topic in &topics {
        let name = topic.name.clone().unwrap_or_default();
        for of in &topic.partitions {
            let key = (name.clone(), of.partition_index);
            let leader = (of.leader_id >= 0).then_some(of.leader_id);
            let bytes = |at: &BTreeMap<i32, Kept>| {
                leader.and_then(|leader| at.get(&leader)?.replicas.get(&key).copied()).unwrap_or_default()
            };
            let grown = bytes(&after).saturating_sub(bytes(&before));
            partitions.push(PartitionLoad {
                topic: name.clone(),
                index: of.partition_index,
                replicas: of.replica_nodes.clone(),
                leader,
                is_moving: moving.contains(&key),
                write_bytes_per_s: per_second(grown, took),
                read_bytes_per_s: 0,
                stored_bytes: bytes(&after),
            });
        }
    }
    let brokers = after.iter().map(broker).collect();
    Ok(Snapshot { brokers, partitions, lasted: Duration::ZERO })
}

fn per_second(bytes: u64, took: Duration) -> u64 {
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
    bytes.saturating_mul(1_000) / ms
}

fn kept_by_all(cluster: &mut Cluster) -> Done<BTreeMap<i32, Kept>> {
    let brokers: Vec<i32> = cluster.brokers().keys().copied().collect();
    let each = brokers.into_iter().map(|broker| match cluster.log_dirs_of(broker) {
        Ok(directories) => Ok((broker, kept(&directories))),
        Err(error) => Err(Failure::hinted(
            format!("broker {broker} does not tell what it keeps: {error}"),
            "all brokers have to be there, and may have to allow DESCRIBE of the cluster",
        )),
    });
    each.collect()
}

fn kept(directories: &[DescribeLogDirsResult]) -> Kept {
    let size = |bytes: i64| u64::try_from(bytes).ok();
    let topics = directories.iter().flat_map(|directory| &directory.topics);
    let all = topics.flat_map(|topic| topic.partitions.iter().map(|of| (&topic.name, of)));
    // A copy for another directory of the same broker is not one more replica.
    let replicas: BTreeMap<(String, i32), u64> = all
        .filter(|(_, of)| !of.is_future_key)
        .map(|(name, of)| ((name.clone(), of.partition_index), size(of.partition_size).unwrap_or_default()))
        .collect();
    let usable: Option<u64> = directories.iter().map(|directory| size(directory.usable_bytes)).sum();
    let disk_bytes = usable.map(|usable| usable.saturating_add(replicas.values().sum()));
    Kept { replicas, disk_bytes }
}

#[cfg(test)]
mod tests {
    use log_client::messages::cluster::{DescribeLogDirsPartition, DescribeLogDirsTopic};

    use super::*;

    #[test]
    fn disk_is_what_replicas_have_and_what_is_free() {
        let partition = |partition_index, partition_size, is_future_key| DescribeLogDirsPartition {
            partition_index,
            partition_size,
            is_future_key,
            ..DescribeLogDirsPartition::default()
        };
        let partitions = vec![partition(0, 30, false), partition(1, 12, false), partition(0, 7, true)];
        let topics = vec![DescribeLogDirsTopic { name: "t".into(), partitions }];
        let mut directory =
            DescribeLogDirsResult { usable_bytes: 100, topics, ..DescribeLogDirsResult::default() };
        let of_one = kept(std::slice::from_ref(&directory));
        assert_eq!(of_one.disk_bytes, Some(142));
        assert_eq!(of_one.replicas, [(("t".into(), 0), 30), (("t".into(), 1), 12)].into());
        directory.usable_bytes = -1;
        assert_eq!(kept(&[directory]).disk_bytes, None, "an older broker does not say");
    }

    #[test]
    fn rate_is_by_the_second() {
        assert_eq!(per_second(5_000, Duration::from_millis(2_500)), 2_000);
        assert_eq!(per_second(7, Duration::ZERO), 7_000);
    }
}
