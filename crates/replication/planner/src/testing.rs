//! Small models for the tests of modules.

use crate::cluster::Cluster;
use crate::ids::{NodeId, PartitionId, ZoneId};
use crate::model::Model;
use crate::node::{Capacity, Node};
use crate::partition::{Load, Partition};
use crate::settings::Settings;

/// Nodes 0, 1, .. in these zones, with 1,000 units of CPU and disk, and partitions 0, 1, .. with these voters,
/// the first of which leads. A leader uses 100 units of CPU, a follower 10, and each replica 100 bytes.
pub(crate) fn cluster(zones: &[u32], partitions: &[&[u32]]) -> Cluster {
    let declared = Capacity { cpu_us_per_s: Some(1_000), disk_bytes: Some(1_000), ..Capacity::default() };
    let nodes = (0..).zip(zones).map(|(id, zone)| Node::serving(NodeId(id), ZoneId(*zone), declared));
    let load =
        Load { cpu_leader_us_per_s: 100, cpu_follower_us_per_s: 10, stored_bytes: 100, ..Load::default() };
    let partition = |(id, voters): (u64, &&[u32])| Partition {
        voters: voters.iter().copied().map(NodeId).collect(),
        leader: voters.first().copied().map(NodeId),
        load: Some(load),
        ..Partition::new(PartitionId(id), voters.len())
    };
    let partitions = (0..).zip(partitions).map(partition).collect();
    Cluster { nodes: nodes.collect(), partitions, ..Cluster::default() }
}

/// The model of the same.
pub(crate) fn model(zones: &[u32], partitions: &[&[u32]]) -> Model {
    Model::new(&cluster(zones, partitions), &Settings::default())
}
