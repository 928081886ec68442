//! Clusters for tests: built by hand, or drawn from a seed.

use core::time::Duration;

use base::Random;
use replication_planner::{
    Capacity, Cluster, Load, Node, NodeId, NodeState, Partition, PartitionId, Settings, ZoneId,
};

/// A core.
pub(crate) const CORE: u64 = 1_000_000;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// So much of everything: one is one core, a link of 125 MB/s, a disk of 100 GiB.
pub(crate) const fn capacity(times: u64) -> Capacity {
    Capacity {
        cpu_us_per_s: Some(times * CORE),
        network_bytes_per_s: Some(times * 125_000_000),
        disk_bytes: Some(times * 100 * GIB),
        memory_bytes: None,
    }
}

/// A node of each size, each in a zone of its own, numbered from one.
pub(crate) fn nodes(sizes: &[u64]) -> Vec<Node> {
    let node = |(id, size): (u32, &u64)| Node::serving(NodeId(id), ZoneId(id), capacity(*size));
    (1..).zip(sizes).map(node).collect()
}

/// A partition with its leader first.
pub(crate) fn partition(id: u64, voters: &[u32], load: Load) -> Partition {
    Partition {
        voters: voters.iter().copied().map(NodeId).collect(),
        leader: voters.first().copied().map(NodeId),
        load: Some(load),
        ..Partition::new(PartitionId(id), voters.len())
    }
}

/// So much CPU time of a leader, a tenth of it for a follower, little else.
pub(crate) const fn cpu_load(us_per_s: u64) -> Load {
    Load {
        cpu_leader_us_per_s: us_per_s,
        cpu_follower_us_per_s: us_per_s / 10,
        write_bytes_per_s: 1_000,
        read_bytes_per_s: 10_000,
        stored_bytes: 10 * MIB,
        memory_bytes: 0,
    }
}

/// A cluster whose imbalance has lasted for an hour.
pub(crate) fn cluster(nodes: Vec<Node>, partitions: Vec<Partition>) -> Cluster {
    Cluster { now_ms: 10_000_000, imbalance_lasted: Duration::from_secs(3_600), nodes, partitions }
}

/// What a random cluster is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All nodes serve, with much room: only balance is asked for.
    Healthy,
    /// Nodes are gone, draining and excluded; replicas are missing, too many, new, pinned.
    Broken,
    /// The same with disks that are nearly full.
    Tight,
}

/// A random cluster with settings for it.
pub(crate) fn draw(random: &mut Random, kind: Kind) -> (Cluster, Settings) {
    let count = 3 + random.below(10) as u32;
    let zones = 1 + random.below(4) as u32;
    let nodes: Vec<Node> = (1..=count).map(|id| draw_node(random, id, zones, kind)).collect();
    let partitions = 10 + random.below(150);
    let skew = random.below(3);
    let mut partitions: Vec<Partition> =
        (0..partitions).map(|id| draw_partition(random, id, &nodes, skew, kind)).collect();
    let mut cluster = cluster(nodes, core::mem::take(&mut partitions));
    scale(&mut cluster, random, kind);
    let mut settings = Settings {
        copies_in_per_node: 1 + random.below(3) as usize,
        copies_out_per_node: 1 + random.below(3) as usize,
        ..Settings::default()
    };
    if kind != Kind::Healthy && random.chance(20) {
        settings.excluded.insert(NodeId(1 + random.below(u64::from(count)) as u32));
    }
    (cluster, settings)
}

fn draw_node(random: &mut Random, id: u32, zones: u32, kind: Kind) -> Node {
    let size = 1 << random.below(4);
    let zone = ZoneId(random.below(u64::from(zones)) as u32);
    let mut node = Node::serving(NodeId(id), zone, capacity(size));
    node.declared.disk_bytes = Some(1 << 60);
    if kind != Kind::Healthy {
        node.state = match random.below(10) {
            0 => NodeState::Draining,
            1 => NodeState::Gone,
            _ => NodeState::Serving,
        };
    }
    if random.chance(10) {
        node.declared.cpu_us_per_s = None;
    }
    node
}

fn draw_partition(random: &mut Random, id: u64, nodes: &[Node], skew: u64, kind: Kind) -> Partition {
    let wanted = 1 + random.below(3) as usize;
    let mut of = Partition::new(PartitionId(id), wanted);
    if random.chance(10) {
        return of;
    }
    let odd = if kind == Kind::Healthy { 0 } else { random.below(10) };
    let voters = match odd {
        0 | 3.. => wanted,
        1 => wanted + 1,
        2 => (wanted - 1).max(1),
    };
    let mut ids: Vec<NodeId> = nodes.iter().map(|node| node.id).collect();
    let mut pick = || {
        let place = random.below(ids.len() as u64) as usize;
        ids.swap_remove(place)
    };
    let first = pick();
    of.voters.insert(first);
    of.leader = Some(first);
    for _ in 1..voters.min(nodes.len()) {
        of.voters.insert(pick());
    }
    if odd == 3 && of.voters.len() < nodes.len() {
        of.learners.insert(pick());
    }
    of.pinned = odd == 4;
    of.leader = of.leader.filter(|_| odd != 5);
    of.load = Some(draw_load(random, id, skew)).filter(|_| odd != 6);
    of
}

fn draw_load(random: &mut Random, id: u64, skew: u64) -> Load {
    // The first partitions are hotter if loads are skewed.
    let heat = if skew == 0 { 10 } else { 10 + 400 * skew / (id + 4) };
    let mut times = |unit: u64| unit * heat * (50 + random.below(100)) / 100;
    let cpu = times(1_000);
    Load {
        cpu_leader_us_per_s: cpu,
        cpu_follower_us_per_s: cpu / 4,
        write_bytes_per_s: times(20_000),
        read_bytes_per_s: times(100_000),
        stored_bytes: times(MIB),
        memory_bytes: 0,
    }
}

/// Sets disks to what a tight cluster has.
fn scale(cluster: &mut Cluster, random: &mut Random, kind: Kind) {
    if kind != Kind::Tight {
        return;
    }
    for node in &mut cluster.nodes {
        let on = cluster.partitions.iter().filter(|of| of.voters.contains(&node.id));
        let stored: u64 = on.filter_map(|of| of.load).map(|load| load.stored_bytes).sum();
        node.declared.disk_bytes = Some((stored + MIB) * (105 + random.below(100)) / 100);
    }
}
