//! Clients of one group, drawn from a seed, against the coordinator. Some speak the protocol of KIP-848, some the classic one,
//! eagerly or cooperatively, and some change from one to the other. Requests and answers are lost, requests are late, clients
//! fall silent, are slow to give partitions up, restart or leave; appends are refused, the coordinator restarts and pauses, and
//! topics come, grow and go. The rules know nothing of the coordinator's code: they look at what clients asked, were told and
//! own. Numbers in brackets are rules of the specification.
//!
//! `MODEL_SEED=7` plays one seed and prints what happens; `MODEL_SEEDS=100000` plays so many.

mod classic_client;
mod client;
mod consumer_client;
mod faults;
mod judge;
mod oracle;
mod rest;
#[path = "../support/topics.rs"]
mod topics;
mod world;

use std::collections::BTreeMap;

use world::World;

const SEEDS: u64 = 1_500;
const STEPS: u64 = 250;

#[test]
fn members_of_both_protocols_see_only_what_the_rules_allow() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    // One seed alone is told step by step.
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("MODEL_SEED");
    let seeds = first.map_or(0..number("MODEL_SEEDS").unwrap_or(SEEDS), |seed| seed..seed + 1);
    for seed in seeds {
        let run = std::panic::catch_unwind(|| {
            let mut world = World::new(seed, first.is_some());
            for _ in 0..STEPS {
                world.disturb();
                world.turn();
            }
            world.heal();
            world.oracle.counts
        });
        match run {
            Ok(seen) => seen.into_iter().for_each(|(what, times)| *counts.entry(what).or_default() += times),
            Err(_) => panic!("seed {seed}"),
        }
    }
    if first.is_none() {
        for (what, least) in [
            ("granted", 20_000),
            ("given up", 800),
            ("committed", 1_500),
            ("fenced commit", 400),
            ("fenced", 5),
            ("expelled", 1_500),
            ("refused", 400),
            ("restarted", 1_000),
            ("paused", 1_000),
            ("became a consumer group", 300),
            ("became a classic group", 300),
            ("rested as a classic group", 150),
            ("rested with both protocols", 400),
            ("static member restarted", 1_500),
        ] {
            let times = counts.get(what).copied().unwrap_or(0);
            assert!(times >= least, "`{what}` happened {times} times only: {counts:?}");
        }
    }
}
