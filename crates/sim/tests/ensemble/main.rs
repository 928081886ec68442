//! Ensembles under faults, their clients speaking real bytes: nothing acknowledged is lost, everything takes effect
//! once and in order, reads go forward, a sync sees what was acknowledged, nobody's session ends early, and all
//! members compute the same.

mod clients;

use std::collections::BTreeMap;

use clients::Crowd;
use front::FrontConfig;
use journal::{JournalConfig, KeepPolicy};
use member::CoreConfig;
use sim::ensemble::{Ensemble, Faults};
use sim::node::NodeConfig;
use sim::random::Random;

/// Seeds that are always run.
const SEEDS: u64 = 40;
/// The feature level of all builds here.
const LEVEL: u32 = 3;
/// Moments of a run before everything heals.
const MOMENTS: u64 = 10_000;

fn config(random: &mut Random) -> NodeConfig {
    let mut core = CoreConfig { tick_ms: 100, ..CoreConfig::new(1, 1) };
    core.election_tick_ms = 20 + random.below(40);
    core.feature_level = LEVEL;
    core.lease_ms = 1_500 + random.below(2_000);
    core.resubmit_ms = 300 + random.below(1_000);
    core.entry_bytes_max = 300 + random.below(4_000) as usize;
    core.snapshot_after_bytes = 10_000 + random.below(60_000);
    core.window_bytes_max = 2_000 + random.below(60_000) as usize;
    NodeConfig {
        core,
        front: FrontConfig { timeout_min_ms: 200, timeout_max_ms: 60_000, ..FrontConfig::default() },
        journal: JournalConfig {
            segment_bytes: 64 << 10,
            first_segment_bytes: 16 << 10,
            reserve_bytes: 4 << 10,
            prepare_step_bytes: 16 << 10,
            ..JournalConfig::default()
        },
        keep: KeepPolicy { snapshots: 2, entries: 0 },
        piece_bytes: 4 << 10,
        seed: [0; 32],
        founders: Vec::new(),
    }
}

/// Whenever two members stand between the same two entries, their trees are the same.
#[derive(Default)]
struct Twins {
    digests: BTreeMap<u64, u64>,
    compared: u64,
}

impl Twins {
    fn look(&mut self, ensemble: &mut Ensemble, seed: u64) {
        for id in ensemble.running() {
            let Some(node) = ensemble.node(id) else { continue };
            let (status, digest) = (node.core().status(), node.tree().digest());
            if status.between_entries && status.applied_index > 0 {
                let known = *self.digests.entry(status.applied_index).or_insert(digest);
                self.compared += 1;
                assert_eq!(
                    known, digest,
                    "seed {seed}: member {id} differs at index {}",
                    status.applied_index
                );
            }
        }
    }
}

struct Outcome {
    happened: BTreeMap<&'static str, u64>,
    acknowledged: u64,
}

fn run(seed: u64) -> Outcome {
    let mut random = Random::new(seed);
    let members = [1, 3, 3, 3, 5][random.below(5) as usize];
    let config = config(&mut random);
    let faults = Faults::draw(&mut random);
    let mut ensemble = Ensemble::new(members, config, random.fork());
    let (mut crowd, mut twins) = (Crowd::new(seed, 4), Twins::default());
    for moment in 0..MOMENTS {
        ensemble.moment(&faults);
        crowd.moment(&mut ensemble);
        if moment % 5 == 0 {
            twins.look(&mut ensemble, seed);
        }
    }
    ensemble.heal();
    for _ in 0..40_000 {
        ensemble.moment(&Faults::NONE);
        crowd.finish(&mut ensemble);
        twins.look(&mut ensemble, seed);
        if crowd.is_done() && ensemble.is_whole() && is_settled(&mut ensemble) {
            crowd.judge(&mut ensemble);
            let happened = std::mem::take(&mut ensemble.happened);
            return Outcome { happened, acknowledged: crowd.acknowledged() };
        }
    }
    panic!("seed {seed}: it does not come to rest: {}{}", describe(&mut ensemble), crowd.describe());
}

fn is_settled(ensemble: &mut Ensemble) -> bool {
    let mut all = Vec::new();
    for id in ensemble.running() {
        let Some(node) = ensemble.node(id) else { return false };
        let status = node.core().status();
        let level = node.tree().feature_level();
        all.push((status.applied_index, status.serving, status.pending_bytes, node.tree().digest(), level));
    }
    all.windows(2).all(|pair| pair[0] == pair[1])
        && all.iter().all(|(_, serving, pending, _, level)| *serving && *pending == 0 && *level == LEVEL)
}

fn describe(ensemble: &mut Ensemble) -> String {
    let mut text = String::new();
    for id in ensemble.running() {
        if let Some(node) = ensemble.node(id) {
            text += &format!("\n{id}: {:?}", node.core().status());
        }
    }
    text
}

/// `SIM_SEED` names the one to run again, `SIM_SEEDS` how many to run.
fn seeds() -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("SIM_SEED"), number("SIM_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, most) => 0..most.unwrap_or(SEEDS),
    }
}

#[test]
fn ensembles_keep_their_promises_under_faults() {
    let (mut happened, mut acknowledged) = (BTreeMap::new(), 0);
    for seed in seeds() {
        let outcome = run(seed);
        acknowledged += outcome.acknowledged;
        for (what, count) in outcome.happened {
            *happened.entry(what).or_insert(0) += count;
        }
    }
    println!("{acknowledged} writes acknowledged; {happened:?}");
    if seeds().count() == 1 {
        return;
    }
    let all = ["crash", "part", "pause", "loss", "repeat", "stall", "wipe", "jump"];
    let odd = ["election", "install", "admission", "attach race", "torn tail"];
    for what in all.into_iter().chain(odd) {
        assert!(happened.get(what).is_some_and(|count| *count > 0), "no {what} in {happened:?}");
    }
    assert!(acknowledged > 1_000, "{acknowledged} writes were acknowledged");
}

#[test]
fn a_quiet_ensemble_serves_all_and_elects_once() {
    let mut random = Random::new(1);
    let config = config(&mut random);
    let mut ensemble = Ensemble::new(3, config, random.fork());
    let mut crowd = Crowd::new(1, 6);
    for _ in 0..3_000 {
        ensemble.moment(&Faults::NONE);
        crowd.moment(&mut ensemble);
    }
    let terms: Vec<_> = (1..=3).map(|id| ensemble.node(id).expect("it runs").core().status().term).collect();
    assert!(terms.windows(2).all(|pair| pair[0] == pair[1]), "{terms:?}");
    assert!(crowd.acknowledged() > 500, "{}: {}", crowd.acknowledged(), describe(&mut ensemble));
}
