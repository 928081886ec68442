//! The consensus engine, as `raft` drives it, over a network that loses, repeats and reorders, and disks that
//! forget what was not flushed: all members apply the same entries in the same order, and nothing that was once
//! applied anywhere is ever lost.

mod world;

use base::{LogIndex, MemberId};
use consensus_raft::Step;
use sim_council::random::{Random, seeds};
use world::World;

/// Runs of each kind, unless `SIM_SEEDS` says how many; each lasts some thousand steps.
const SEEDS: u64 = 300;

#[test]
fn members_agree_whatever_the_network_and_the_disks_do() {
    for seed in seeds(SEEDS) {
        let mut random = Random::new(seed);
        let members = [1, 3, 3, 5][random.below(4) as usize];
        let mut world = World::new(members, random);
        world.live(3000);
        world.heal();
        assert!(world.committed() > LogIndex::ZERO, "seed {seed}: nothing was ever committed");
    }
}

#[test]
fn a_member_far_behind_is_given_a_snapshot() {
    let mut world = World::new(3, Random::new(7));
    world.heal();
    world.crash(3);
    for _ in 0..50 {
        world.propose();
        world.quiet_round();
    }
    world.compact();
    world.start(3);
    world.heal();
    assert!(world.snapshots_taken_over() > 0);
}

#[test]
fn members_join_and_leave() {
    let (mut changes, played) = (0, seeds(SEEDS / 3));
    for seed in played.clone() {
        let mut world = World::new(3, Random::new(seed));
        world.allow_changes();
        world.live(4000);
        world.heal();
        changes += world.changes_applied();
    }
    assert!(changes > 3 * played.end, "{changes} membership changes took effect");
}

/// It has heard of a leader, so it gives no vote to others for a while; it may not campaign, and nobody else can lead
/// without its vote.
#[test]
fn a_learner_that_missed_its_promotion_gives_its_vote() {
    let mut world = World::new(1, Random::new(5));
    world.allow_changes();
    world.heal();
    world.change(vec![Step::Learner(MemberId(2))]);
    for _ in 0..20 {
        world.quiet_round();
    }
    world.change(vec![Step::Voter(MemberId(2))]);
    world.work_unheard();
    assert_eq!(world.changes_applied(), 3, "the first by both, the second by the leader alone");
    world.crash(1);
    world.start(1);
    world.heal();
}

#[test]
fn the_same_seed_runs_the_same_way() {
    let trace = |seed| {
        let mut world = World::new(5, Random::new(seed));
        world.live(3000);
        world.trace()
    };
    assert_eq!(trace(1), trace(1));
    assert_ne!(trace(1), trace(2));
}

#[test]
fn a_disk_that_forgot_what_it_acknowledged_is_found_out() {
    let mut world = World::new(3, Random::new(9));
    world.heal();
    for _ in 0..5 {
        world.propose();
        world.quiet_round();
    }
    world.crash(2);
    world.forget_log(2);
    world.start(2);
    assert!(world.finds_out_what_it_lacks(2));
}
