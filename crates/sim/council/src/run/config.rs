//! The settings of a run's members.

use consensus_replica::MemberId;
use council_frontend::FrontConfig;
use council_replica::CoreConfig;
use council_tree::Policy;
use storage_raft_log::{JournalConfig, KeepPolicy};

use crate::load::SUPER;
use crate::node::{NodeConfig, small_journal};
use crate::oracle::digest;
use crate::random::Random;

/// The feature level of all builds here.
const LEVEL: u32 = 3;

/// Settings drawn so that everything that has a bound meets it.
pub(super) fn draw(random: &mut Random) -> NodeConfig {
    let mut core = CoreConfig { tick_ms: 100, reconfig_enabled: true, ..CoreConfig::new(MemberId(1), 1) };
    core.replica.election_tick_ms = 20 + random.below(40);
    core.replica.feature_level = LEVEL;
    core.replica.lease_ms = 1_500 + random.below(2_000);
    core.resubmit_ms = 300 + random.below(1_000);
    core.replica.entry_bytes_max = 300 + random.below(4_000) as usize;
    core.replica.snapshot_after_bytes = 10_000 + random.below(60_000);
    core.replica.window_bytes_max = 2_000 + random.below(60_000) as usize;
    // As good as drawn, and what else is drawn stays what it was.
    core.replica.lag_entries = 2 + core.resubmit_ms % 40;
    // What is worked on at a time is drawn apart: in most runs it is less than a command, so that everything is cut.
    let mut apart = random.clone().fork();
    let cut = |apart: &mut Random, few: u64, most: usize| match apart.chance(70) {
        true => (few + apart.below(8 * few)) as usize,
        false => most,
    };
    core.replica.apply_bytes_max = cut(&mut apart, 100, core.replica.apply_bytes_max);
    core.replica.snapshot_chunk_bytes = cut(&mut apart, 200, core.replica.snapshot_chunk_bytes);
    let chunks_at_once = 1 + apart.below(4) as usize;
    let record_bytes_max = cut(&mut apart, 300, 1 << 20);
    core.replica.chunks_unwritten_max = apart.below(5) as usize;
    if apart.chance(40) {
        core.epoch_transactions_max = 20 + apart.below(300) as u32;
    }
    core.under_way_max = cut(&mut apart, 300, 2 << 20) as u64;
    let snapshot_bytes_per_second = [u64::MAX, 200_000, 30_000][apart.below(3) as usize];
    let mut front = FrontConfig { timeout_min_ms: 200, timeout_max_ms: 60_000, ..FrontConfig::default() };
    front.policy = front.policy | Policy::RECONFIG_ENABLED | Policy::EXTENDED_TYPES;
    front.auth.super_digest = Some(digest::id_of(SUPER));
    NodeConfig {
        core,
        front,
        journal: JournalConfig { record_bytes_max, ..small_journal() },
        chunks_at_once,
        snapshot_bytes_per_second,
        journal_seed: None,
        keep: KeepPolicy { snapshots: 2, entries: 0 },
        piece_bytes: 4 << 10,
        seed: [0; 32],
        founders: Vec::new(),
    }
}
