//! When a shard carries out commands of the disk itself: a lone small batch, while the disk is quick. Neither the disk's thread
//! need be woken for it then, nor the shard for the answer.

use crate::disk_work::DiskCommand;

/// What a shard runs itself: at most so many commands, with so many bytes of batches.
const COMMANDS_MAX: usize = 2;
const BYTES_MAX: usize = 16 << 10;
/// How long shards leave all flushes to the disk's thread after one that was slow, microseconds, and what is slow.
const AVOID_US: u64 = 1_000_000;
const SLOW_US: u64 = 20_000;

/// Whether these commands may be run by a shard that gives them.
#[must_use]
pub fn is_lone(commands: &[DiskCommand]) -> bool {
    let bytes = |command: &DiskCommand| match command {
        DiskCommand::Append(append) => append.batch.len(),
        _ => usize::MAX,
    };
    let sum = commands.iter().map(bytes).try_fold(0usize, usize::checked_add);
    !commands.is_empty() && commands.len() <= COMMANDS_MAX && sum.is_some_and(|sum| sum <= BYTES_MAX)
}

/// Until when shards leave flushes to the disk's thread, after a turn of a shard that took from one time to the other,
/// microseconds; nothing if they may go on.
#[must_use]
pub fn avoid_until_us(began_us: u64, ended_us: u64, is_behind: bool) -> Option<u64> {
    (ended_us.saturating_sub(began_us) > SLOW_US || is_behind).then_some(ended_us + AVOID_US)
}
