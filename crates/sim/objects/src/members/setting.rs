//! What a run is like: how many members, their settings, so that everything that has a bound meets it.

use base::{MemberId, Random};
use objects_replica::CoreConfig;
use sim_group::small_journal;
use storage_raft_log::{JournalConfig, KeepPolicy};

use super::node::{Modules, NodeConfig};

/// How many members there are.
pub(super) fn draw_members(random: &mut Random) -> u64 {
    [1, 3, 3, 3, 3, 3, 3, 5][random.below(8) as usize]
}

/// The members' settings.
pub(super) fn draw(random: &mut Random) -> NodeConfig {
    let mut core = CoreConfig::new(MemberId(1), 1);
    core.replica.election_tick_ms = 20 + random.below(40);
    core.replica.lease_ms = 1_500 + random.below(2_000);
    core.replica.entry_bytes_max = 300 + random.below(4_000) as usize;
    core.replica.snapshot_after_bytes = 10_000 + random.below(60_000);
    core.replica.window_bytes_max = 2_000 + random.below(60_000) as usize;
    core.replica.lag_entries = 2 + random.below(40);
    let cut = |random: &mut Random, few: u64, most: usize| match random.chance(60) {
        true => (few + random.below(8 * few)) as usize,
        false => most,
    };
    core.replica.apply_bytes_max = cut(random, 100, core.replica.apply_bytes_max);
    core.replica.snapshot_chunk_bytes = cut(random, 200, core.replica.snapshot_chunk_bytes);
    core.replica.chunks_unwritten_max = random.below(5) as usize;
    core.tick_ms = 20 + random.below(80);
    core.resubmit_ms = 300 + random.below(2_000);
    core.leaderless_ms = 1_000 + random.below(5_000);
    core.unknown_ms = 3_000 + random.below(10_000);
    core.query_ms = 1_000 + random.below(5_000);
    let record_bytes_max = cut(random, 300, 1 << 20);
    NodeConfig {
        core,
        journal: JournalConfig { record_bytes_max, ..small_journal() },
        keep: KeepPolicy { snapshots: 2, entries: 0 },
        piece_bytes: 4 << 10,
        chunks_at_once: 1 + random.below(4) as usize,
        snapshot_bytes_per_second: [u64::MAX, 200_000, 30_000][random.below(3) as usize],
        hold_ms: 300 + random.below(4_000),
        modules: if random.chance(25) { Modules::Words } else { Modules::None },
        uneven: None,
    }
}
