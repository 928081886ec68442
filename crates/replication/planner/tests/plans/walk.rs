//! Random clusters: each plan keeps all rules, is the same for the same cluster, and leaves nothing to plan.

use base::Random;
use replication_planner::{Cluster, NodeState, Plan, ProblemKind, Resource, Settings, Utilisation, plan};

use crate::oracle;
use crate::world::{Kind, draw};

const SEEDS: u64 = 300;

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
        assert_eq!(first.after, next.before, "seed {seed}: the plan says how the load will lie");
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

/// No placement at all has a lower highest utilisation than this: load is at least spread evenly, and the largest leader is at
/// least on the largest node.
fn lower_bound(cluster: &Cluster, plan: &Plan) -> Utilisation {
    let even = |resource| plan.after.of_resource(resource).even;
    let cpu = |node: &replication_planner::Node| node.capacity().cpu_us_per_s.unwrap_or_default();
    let serving = cluster.nodes.iter().filter(|node| node.state == NodeState::Serving);
    let largest = serving.map(cpu).max().unwrap_or_default().max(1);
    let loads = cluster.partitions.iter().filter_map(|of| of.load);
    let hottest = loads.map(|load| load.cpu_leader_us_per_s).max().unwrap_or_default();
    let alone = Utilisation(u32::try_from(hottest * 1_000_000 / largest).unwrap_or(u32::MAX));
    [Resource::Cpu, Resource::NetworkIn, Resource::NetworkOut].map(even).into_iter().fold(alone, Utilisation::max)
}

#[test]
fn most_used_node_comes_near_the_lower_bound() {
    let worst = std::cell::Cell::new((0, 0));
    let sum = std::cell::Cell::new(0);
    walk(Kind::Healthy, |seed, cluster, _, plan, _| {
        let bound = lower_bound(cluster, plan).max(Utilisation::percent(5));
        let percent = u64::from(plan.after.highest().0) * 100 / u64::from(bound.0);
        worst.set(worst.get().max((percent, seed)));
        sum.set(sum.get() + percent);
    });
    println!("worst {:?}, mean {}", worst.get(), sum.get() / SEEDS);
}
