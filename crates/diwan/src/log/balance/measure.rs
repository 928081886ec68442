//! What brokers carry: as the controller shows it, or by looking at their directories twice, some time apart.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use log_balance::{BrokerLoad, BrokerRoom, Loads, PartitionLoad, Rates, Snapshot};
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

/// The configuration by which the controller shows loads.
const LOADS: &str = "diwan.balance.loads";

/// What brokers have measured themselves; nothing if any of them has not.
pub(super) fn known(cluster: &mut Cluster) -> Done<Option<Snapshot>> {
    cluster.look(None, false)?;
    let loads = cluster.shown_by_controller(LOADS)?.map(|text| Loads::read(&text)).unwrap_or_default();
    let rooms: BTreeMap<i32, BrokerRoom> = loads.brokers.into_iter().collect();
    if rooms.is_empty() || cluster.brokers().keys().any(|id| !rooms.contains_key(id)) {
        return Ok(None);
    }
    let rates: BTreeMap<(String, i32), Rates> =
        loads.partitions.into_iter().map(|(topic, index, rates)| ((topic, index), rates)).collect();
    let rates_of = |key: &(String, i32), _| rates.get(key).copied().unwrap_or_default();
    snapshot(cluster, &rooms, rates_of).map(Some)
}

/// Measures a cluster.
pub(super) fn measure(cluster: &mut Cluster, long: Duration, network_bytes_per_s: u64) -> Done<Snapshot> {
    cluster.look(None, false)?;
    let (before, began) = (kept_by_all(cluster)?, Instant::now());
    thread::sleep(long);
    let (after, took) = (kept_by_all(cluster)?, began.elapsed());
    let room =
        |(id, kept): (&i32, &Kept)| (*id, BrokerRoom { disk_bytes: kept.disk_bytes, network_bytes_per_s });
    let rooms = after.iter().map(room).collect();
    let rates_of = |key: &(String, i32), leader: Option<i32>| {
        let bytes = |at: &BTreeMap<i32, Kept>| {
            leader.and_then(|leader| at.get(&leader)?.replicas.get(key).copied()).unwrap_or_default()
        };
        let write_bytes_per_s = per_second(bytes(&after).saturating_sub(bytes(&before)), took);
        Rates { write_bytes_per_s, stored_bytes: bytes(&after), ..Rates::default() }
    };
    snapshot(cluster, &rooms, rates_of)
}

/// The cluster with what its brokers have, and what is known of each partition and its leader.
fn snapshot(
    cluster: &mut Cluster,
    rooms: &BTreeMap<i32, BrokerRoom>,
    rates_of: impl Fn(&(String, i32), Option<i32>) -> Rates,
) -> Done<Snapshot> {
    let topics = cluster.look(None, false)?;
    let racks = cluster.racks()?;
    let moving: BTreeSet<(String, i32)> =
        cluster.reassignments()?.into_iter().map(|(topic, of)| (topic, of.partition_index)).collect();
    let drains = cluster.drains(&rooms.keys().copied().collect::<Vec<_>>())?;
    let broker = |(id, room): (&i32, &BrokerRoom)| BrokerLoad {
        id: *id,
        rack: racks.get(id).cloned(),
        disk_bytes: room.disk_bytes,
        network_bytes_per_s: Some(room.network_bytes_per_s),
        is_excluded: drains.get(id).copied().unwrap_or(false),
    };
    let mut partitions = Vec::new();
    for topic in &topics {
        let name = topic.name.clone().unwrap_or_default();
        for of in &topic.partitions {
            let key = (name.clone(), of.partition_index);
            let leader = (of.leader_id >= 0).then_some(of.leader_id);
            let rates = rates_of(&key, leader);
            partitions.push(PartitionLoad {
                topic: name.clone(),
                index: of.partition_index,
                replicas: of.replica_nodes.clone(),
                leader,
                is_moving: moving.contains(&key),
                is_pinned: false,
                write_bytes_per_s: rates.write_bytes_per_s,
                read_bytes_per_s: rates.read_bytes_per_s,
                requests_per_s: rates.requests_per_s,
                stored_bytes: rates.stored_bytes,
            });
        }
    }
    Ok(Snapshot { brokers: rooms.iter().map(broker).collect(), partitions, lasted: Duration::ZERO })
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
