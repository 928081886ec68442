//! The plans at the scale of the papers hold what was published, and what a machine does not hold is left out or made
//! smaller.

use std::collections::BTreeSet;

use super::{Block, Capacity, Fate, Plan, Scale, Spec, named};
use crate::task::{Step, Task};

fn plan(id: &str) -> Plan {
    named(id).expect("it is one of them").plan(&Scale::paper())
}

/// On two processors with 24 GB.
fn plan_here(id: &str) -> Plan {
    named(id).expect("it is one of them").plan(&Scale::paper().on(Capacity::of(2, 24_000)))
}

fn servers(plan: &Plan) -> Vec<usize> {
    plan.blocks.iter().map(Block::members).collect()
}

fn specs(plan: &Plan) -> impl Iterator<Item = &Spec> {
    plan.blocks.iter().flat_map(|block| &block.specs)
}

fn of_tasks<T: Ord>(plan: &Plan, what: impl Fn(&Task) -> T) -> Vec<T> {
    specs(plan).map(|spec| what(&spec.task)).collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn z1_varies_servers_and_the_share_of_reads() {
    let plan = plan("Z1");
    assert_eq!(servers(&plan), [3, 5, 7, 9, 13]);
    let writes: Vec<u32> = (0..=10).map(|tenth| tenth * 100).collect();
    assert_eq!(of_tasks(&plan, |task| task.writes_per_mille), writes);
    assert_eq!(of_tasks(&plan, |task| (task.clients, task.value_bytes)), [(250, 1024)]);
    let here = plan_here("Z1");
    assert_eq!(servers(&here), [3, 5, 7]);
    assert_eq!(here.beyond, ["9, 13 servers: this machine holds 8"]);
}

#[test]
fn z2_is_one_client_that_makes_writes_and_reads() {
    let plan = plan("Z2");
    assert_eq!(servers(&plan), [3]);
    assert_eq!(of_tasks(&plan, |task| (task.clients, task.outstanding, task.value_bytes)), [(1, 1, 1024)]);
    let steps = [Step::Create, Step::Set, Step::Get];
    assert!(specs(&plan).all(|spec| spec.task.steps == steps));
}

#[test]
fn z3_varies_clients_and_barriers() {
    let places = of_tasks(&plan("Z3"), |task| (task.clients, task.count));
    let all = [50, 100, 200].map(|crowd| [200, 400, 800, 1600].map(|count| (crowd, count)));
    assert_eq!(places, all.concat());
}

#[test]
fn z4_gives_everything_to_the_leader() {
    assert!(specs(&plan("Z4")).all(|spec| spec.at_leader && spec.task.writes_per_mille == 1000));
    let here = plan_here("Z4");
    assert_eq!(servers(&here), [3, 5, 7]);
    assert_eq!(here.beyond, ["9, 13 servers: this machine holds 8"]);
}

#[test]
fn z5_grows_a_tree_of_small_nodes_to_a_million() {
    for plan in [plan("Z5"), plan_here("Z5")] {
        assert_eq!(of_tasks(&plan, |task| task.keys), [1000, 10_000, 100_000, 300_000, 1_000_000]);
        assert_eq!(
            of_tasks(&plan, |task| (task.writes_per_mille, task.value_bytes)),
            [(0, 5), (500, 5), (1000, 5)]
        );
    }
}

#[test]
fn z6_has_a_watch_of_each_client_on_the_node_of_each() {
    let plan = plan("Z6");
    assert_eq!(servers(&plan), [25]);
    assert_eq!(of_tasks(&plan, |task| task.clients), [100, 200, 400, 800]);
    let here = plan_here("Z6");
    assert_eq!(servers(&here), [7], "as many as there may be, and none of even number");
}

#[test]
fn c1_varies_replicas_under_few_clients() {
    let plan = plan("C1");
    assert_eq!(servers(&plan), [1, 3, 5, 7, 9, 11, 13]);
    assert_eq!(of_tasks(&plan, |task| (task.clients, task.outstanding)), [(4, 1)]);
    let here = plan_here("C1");
    assert_eq!(servers(&here), [1, 3, 5, 7]);
    assert_eq!(here.beyond, ["9, 11, 13 servers: this machine holds 8"]);
}

#[test]
fn c2_keeps_a_pace_that_no_stall_hides() {
    let plan = plan("C2");
    assert!(specs(&plan).all(|spec| spec.task.per_second > 0.0));
    assert_eq!(servers(&plan), [3]);
}

#[test]
fn c3_is_one_object_that_grows() {
    let plan = plan("C3");
    assert_eq!(of_tasks(&plan, |task| (task.keys, task.clients)), [(1, 1)]);
    assert_eq!(of_tasks(&plan, |task| task.value_bytes), [100, 1000, 10_000, 100_000, 500_000]);
}

#[test]
fn c4_varies_acceptors_and_replicas_up_to_ten() {
    let pairs = |plan: &Plan| -> Vec<_> {
        plan.blocks.iter().map(|block| (block.setting.servers, block.members())).collect()
    };
    let (all, here) = (plan("C4"), plan_here("C4"));
    assert!(pairs(&all).contains(&(3, 10)) && pairs(&all).contains(&(7, 10)));
    assert!(pairs(&here).iter().all(|(_, replicas)| *replicas <= 8));
    assert!(here.beyond.iter().any(|words| words.ends_with("10 servers: this machine holds 8")));
}

#[test]
fn c5_kills_the_leader_after_250_requests_and_the_next_after_500() {
    for plan in [plan("C5"), plan_here("C5")] {
        let killed = specs(&plan).find(|spec| spec.at == "leader killed twice").expect("it is there");
        let due = |at_ms: u64| (killed.task.per_second * at_ms as f64 / 1000.0).round() as u64;
        let fates: Vec<_> = killed.fates.iter().map(|(at_ms, fate)| (due(*at_ms), *fate)).collect();
        assert_eq!(fates, [(250, Fate::KillLeader), (500, Fate::KillLeader)]);
        assert_eq!(plan.blocks[0].members(), 5, "three are left of them");
    }
}

/// Clients, requests of each and bytes, as the load test had them.
fn own(id: &str) -> Vec<(usize, u32, usize)> {
    let plan = plan(id);
    assert!(plan.blocks.iter().all(|block| block.members() == 3));
    assert!(specs(&plan).all(|spec| spec.task.measured_ms == 0), "however long it takes");
    of_tasks(&plan, |task| (task.clients, task.count, task.value_bytes))
}

#[test]
fn r1_is_one_client_and_a_hundred_with_empty_nodes() {
    assert_eq!(own("R1"), [(1, 10_000, 0), (100, 10_000, 0)]);
}

#[test]
fn r2_writes_more_than_ten_gigabytes_where_they_fit() {
    assert_eq!(own("R2"), [(100, 10_000, 1000), (100, 10_000, 10_000)]);
    let here = plan_here("R2");
    let counts = of_tasks(&here, |task| (task.value_bytes, task.count));
    assert_eq!(counts[0], (1000, 10_000));
    assert!((1000..10_000).contains(&counts[1].1), "{counts:?}");
    assert!(here.beyond.iter().any(|words| words.contains("of 10000 nodes")), "{:?}", here.beyond);
    assert!(here.blocks.iter().all(|block| block.setting.heap_mb < 6000), "three heaps fit");
}

#[test]
fn r3_makes_reads_mixes_and_deletes() {
    assert_eq!(own("R3"), [(100, 10_000, 1000)]);
    let steps = [Step::Create, Step::Get, Step::Mixed, Step::Delete];
    assert!(specs(&plan("R3")).all(|spec| spec.task.steps == steps));
}

#[test]
fn r4_is_ten_million_operations_of_a_thousand_clients_and_of_five() {
    assert_eq!(own("R4"), [(1000, 10_000, 300), (5000, 2000, 300)]);
}

#[test]
fn r5_snapshots_a_large_tree_under_load() {
    let plan = plan("R5");
    assert!(of_tasks(&plan, |task| u64::from(task.keys) * task.value_bytes as u64) == [5_000_000_000]);
    let every: Vec<_> = plan.blocks.iter().map(|block| block.setting.snapshot_every).collect();
    assert_eq!(every, [None, Some(2000)]);
    let keys = of_tasks(&plan_here("R5"), |task| task.keys);
    assert!(keys[0] < 500_000, "{keys:?}");
}
