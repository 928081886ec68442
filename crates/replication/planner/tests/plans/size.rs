//! A large cluster. How long its plan takes is printed, not judged: that depends on the machine. Without
//! optimisation it is smaller.

use std::time::Instant;

use base::Random;
use replication_planner::{Cluster, Load, NodeState, Partition, PartitionId, Settings, plan};

use crate::oracle;
use crate::world::{cluster, nodes, partition};

/// Partitions on random nodes, so that much is to be moved.
fn large(node_count: usize, partitions: u64) -> Cluster {
    let mut random = Random::new(7);
    let sizes: Vec<u64> = (0..node_count).map(|_| 1 << random.below(3)).collect();
    let mut nodes = nodes(&sizes);
    for node in &mut nodes {
        node.zone.0 %= 3;
    }
    let mut draw = |id: u64| {
        let mut voters: Vec<u32> = Vec::new();
        while voters.len() < 3 {
            let id = 1 + random.below(node_count as u64) as u32;
            if voters.iter().all(|voter| *voter != id && voter % 3 != id % 3) {
                voters.push(id);
            }
        }
        let heat = 50 + random.below(100) + 2_000 / (id + 10);
        let load = Load {
            cpu_leader_us_per_s: heat * 50,
            cpu_follower_us_per_s: heat * 10,
            write_bytes_per_s: heat * 500,
            read_bytes_per_s: heat * 1_000,
            stored_bytes: heat << 18,
            memory_bytes: 0,
        };
        partition(id, &voters, load)
    };
    let partitions = (0..partitions).map(&mut draw).collect();
    cluster(nodes, partitions)
}

fn timed(name: &str, cluster: &Cluster) -> replication_planner::Plan {
    let begin = Instant::now();
    let plan = plan(cluster, &Settings::default()).expect("the cluster is sound");
    let (copies, transfers) = (plan.copies(), plan.transfers());
    println!("{name}: {:?}, {copies} copies, {transfers} transfers", begin.elapsed());
    plan
}

#[test]
fn size_of_a_large_cluster_is_no_obstacle() {
    let (node_count, partitions) = if cfg!(debug_assertions) { (30, 2_000) } else { (100, 10_000) };
    let mut large = large(node_count, partitions);
    let plan = timed("random places", &large);
    for resource in &plan.after.resources {
        println!("{resource}");
    }
    for step in &plan.steps {
        let of = &mut large.partitions[usize::try_from(step.partition.0).expect("few")];
        quick_apply(of, step);
    }
    assert!(timed("balanced", &large).is_empty());
    large.nodes[3].state = NodeState::Gone;
    large.nodes[10].state = NodeState::Draining;
    assert!(!timed("a node gone, a node draining", &large).is_empty());
    for of in &mut large.partitions {
        *of = Partition::new(of.id, 3);
    }
    assert_eq!(timed("new", &large).steps.len() as u64, partitions);
}

#[test]
fn size_of_a_middling_cluster_keeps_all_rules() {
    let middling = large(20, 600);
    let plan = timed("middling", &middling);
    let after = oracle::play(&middling, &Settings::default(), &plan);
    assert!(timed("middling again", &after).is_empty());
    assert_eq!(oracle::partition(&after, PartitionId(5)).voters.len(), 3);
}

/// The oracle looks at the whole cluster after each step, which is too slow for a large one.
fn quick_apply(of: &mut Partition, step: &replication_planner::Step) {
    use replication_planner::Action;
    match &step.action {
        Action::TransferLeadership { to, .. } => of.leader = Some(*to),
        Action::MoveReplica { from, to, leads } => {
            of.voters.remove(from);
            of.voters.insert(*to);
            if *leads {
                of.leader = Some(*to);
            }
        }
        other => panic!("not needed here: {other}"),
    }
}
