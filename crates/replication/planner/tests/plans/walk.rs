//! Random clusters: each plan keeps all rules, is the same for the same cluster, and leaves nothing to plan.

use base::Random;
use replication_planner::{
    Capacity, Cluster, Load, Partition, Plan, ProblemKind, Resource, Settings, ZoneId, plan,
};

use crate::oracle;
use crate::world::{Kind, draw};

const SEEDS: u64 = 200;

fn walk(kind: Kind, check: impl Fn(u64, &Cluster, &Settings, &Plan, &Cluster)) {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let (cluster, settings) = draw(&mut random, kind);
        let plan = plan(&cluster, &settings).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let after = oracle::play(&cluster, &settings, &plan);
        check(seed, &cluster, &settings, &plan, &after);
    }
}

/// The next plan is empty, unless this one says that it is not the last.
fn check_next(seed: u64, settings: &Settings, first: &Plan, after: &Cluster) {
    let waits = [ProblemKind::WaitsForRoom, ProblemKind::BalanceWaitsForLeader];
    let next = plan(after, settings).expect("the cluster is sound");
    let is_last = first.problems.iter().all(|problem| !waits.contains(&problem.kind)) && !first.is_limited;
    if is_last {
        assert!(next.is_empty(), "seed {seed}: {next}");
        for (told, found) in first.after.resources.iter().zip(&next.before.resources) {
            assert_eq!(told.highest, found.highest, "seed {seed}: the plan says how the load will lie");
        }
    }
}

#[test]
fn plan_of_healthy_clusters_keeps_the_rules_and_is_the_last() {
    walk(Kind::Healthy, |seed, _, settings, plan, after| check_next(seed, settings, plan, after));
}

#[test]
fn plan_of_broken_clusters_keeps_the_rules_and_is_the_last() {
    walk(Kind::Broken, |seed, _, settings, plan, after| check_next(seed, settings, plan, after));
}

#[test]
fn plan_of_tight_clusters_keeps_the_rules_and_is_the_last() {
    walk(Kind::Tight, |seed, _, settings, plan, after| check_next(seed, settings, plan, after));
}

#[test]
fn plans_after_plans_come_to_an_end() {
    for kind in [Kind::Broken, Kind::Tight] {
        walk(kind, |seed, _, settings, _, after| {
            let mut cluster = after.clone();
            for round in 0.. {
                let next = plan(&cluster, settings).expect("the cluster is sound");
                if next.is_empty() {
                    break;
                }
                assert!(round < 10, "seed {seed}: {next}");
                cluster = oracle::play(&cluster, settings, &next);
            }
        });
    }
}

#[test]
fn plan_does_not_depend_on_the_order_of_its_input() {
    walk(Kind::Broken, |seed, cluster, settings, first, _| {
        let mut other = cluster.clone();
        other.nodes.reverse();
        other.partitions.reverse();
        assert_eq!(&plan(&other, settings).expect("the cluster is sound"), first, "seed {seed}");
    });
}

/// What a resource is used for by a leader and by a follower, and how much of it a node has.
struct Use {
    resource: Resource,
    lead: fn(&Load, u64) -> u64,
    follow: fn(&Load) -> u64,
    capacity: fn(&Capacity) -> Option<u64>,
}

const USES: [Use; 3] = [
    Use {
        resource: Resource::Cpu,
        lead: |load, _| load.cpu_leader_us_per_s,
        follow: |load| load.cpu_follower_us_per_s,
        capacity: |capacity| capacity.cpu_us_per_s,
    },
    Use {
        resource: Resource::NetworkIn,
        lead: |load, _| load.write_bytes_per_s,
        follow: |load| load.write_bytes_per_s,
        capacity: |capacity| capacity.network_bytes_per_s,
    },
    Use {
        resource: Resource::NetworkOut,
        lead: |load, others| load.read_bytes_per_s + load.write_bytes_per_s * others,
        follow: |_| 0,
        capacity: |capacity| capacity.network_bytes_per_s,
    },
];

/// No placement at all has a lower highest utilisation of a resource than this. A node takes no more than its
/// capacity times the utilisation, and no more than the leader of each partition, since it has one replica of
/// each at most. The largest leader is at best on the largest node.
fn lower_bound(cluster: &Cluster, plan: &Plan, of: &Use) -> f64 {
    let even = plan.after.of_resource(of.resource).even.fraction();
    let known: Vec<u64> = cluster.nodes.iter().filter_map(|node| (of.capacity)(&node.capacity())).collect();
    let mean = known.iter().sum::<u64>() as f64 / known.len() as f64;
    let capacities: Vec<f64> = cluster
        .nodes
        .iter()
        .map(|node| (of.capacity)(&node.capacity()).map_or(mean, |capacity| capacity as f64))
        .collect();
    let measured = || cluster.partitions.iter().filter_map(|part| Some((part, part.load?)));
    let all = cluster.partitions.len() as f64 / measured().count() as f64;
    let lead = |(part, load): (&Partition, Load)| (of.lead)(&load, part.replicas_wanted as u64 - 1) as f64;
    let leads = measured().map(lead).sum::<f64>() * all;
    let follow =
        |(part, load): (&Partition, Load)| ((of.follow)(&load) * (part.replicas_wanted as u64 - 1)) as f64;
    let follows = measured().map(follow).sum::<f64>() * all;
    let mut bound = measured().map(lead).fold(0.0, f64::max) / capacities.iter().copied().fold(1.0, f64::max);
    bound = bound.max(even * 0.9);
    while capacities.iter().map(|capacity| (bound * capacity).min(leads)).sum::<f64>() < leads + follows {
        bound *= 1.01;
    }
    bound
}

/// Raises the loads until an even spread would use about half of everything: in an idle cluster counts decide
/// instead.
fn heat(cluster: &mut Cluster) {
    let capacity: u64 = cluster.nodes.iter().filter_map(|node| node.capacity().cpu_us_per_s).sum();
    let needs = |part: &Partition| {
        let load = part.load.unwrap_or_default();
        load.cpu_leader_us_per_s + load.cpu_follower_us_per_s * (part.replicas_wanted as u64 - 1)
    };
    let times = (capacity / 2 / cluster.partitions.iter().map(needs).sum::<u64>().max(1)).max(1);
    for load in cluster.partitions.iter_mut().filter_map(|part| part.load.as_mut()) {
        load.cpu_leader_us_per_s *= times;
        load.cpu_follower_us_per_s *= times;
        load.read_bytes_per_s *= times;
        load.write_bytes_per_s *= times;
    }
}

#[test]
fn most_used_node_comes_near_the_lower_bound() {
    let mut percents = Vec::new();
    for seed in 0..SEEDS {
        let (mut cluster, settings) = draw(&mut Random::new(seed), Kind::Healthy);
        for node in &mut cluster.nodes {
            node.zone = ZoneId(0);
        }
        heat(&mut cluster);
        let plan = plan(&cluster, &settings).expect("the cluster is sound");
        let bound = |of: &Use| lower_bound(&cluster, &plan, of).max(settings.even_min.fraction());
        let bound = USES.iter().map(bound).fold(0.0, f64::max);
        percents.push(((plan.after.highest().fraction() / bound * 100.0) as u64, seed));
    }
    percents.sort_unstable();
    let mean = percents.iter().map(|(percent, _)| percent).sum::<u64>() / SEEDS;
    let worst = percents.last().expect("there are seeds");
    println!("highest utilisation in percent of the lower bound: mean {mean}, worst {worst:?}");
    assert!(mean <= 106, "mean {mean}");
    assert!(worst.0 <= 150, "(percent, seed) {worst:?}");
}
