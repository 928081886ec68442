//! When a shard carries out commands of the disk itself: a lone small batch, or several that need no flush, while the disk is
//! quick. Neither the disk's thread need be woken for them then, nor the shard for the answers.

use log_partition::Commit;

use crate::disk_work::DiskCommand;

/// What a shard runs itself: at most so many bytes of batches. Above that the disk's thread writes while the shard reads on.
const BYTES_MAX: usize = 16 << 10;
/// In at most so many commands, if one of them waits for a flush.
const FLUSHED_MAX: usize = 2;
/// How long shards leave all flushes to the disk's thread after one that was slow, microseconds, and what is slow.
const AVOID_US: u64 = 1_000_000;
const SLOW_US: u64 = 20_000;

/// Whether these commands may be run by a shard that gives them.
#[must_use]
pub fn is_lone(commands: &[DiskCommand]) -> bool {
    let (mut bytes, mut is_flushed) = (0, false);
    for command in commands {
        let DiskCommand::Append(append) = command else { return false };
        bytes += append.batch.len();
        is_flushed |= append.commit == Commit::Flushed;
        if bytes > BYTES_MAX {
            return false;
        }
    }
    !commands.is_empty() && (!is_flushed || commands.len() <= FLUSHED_MAX)
}

/// Until when shards leave flushes to the disk's thread, after a turn of a shard that took from one time to the other,
/// microseconds; nothing if they may go on.
#[must_use]
pub fn avoid_until_us(began_us: u64, ended_us: u64, is_behind: bool) -> Option<u64> {
    (ended_us.saturating_sub(began_us) > SLOW_US || is_behind).then_some(ended_us + AVOID_US)
}

#[cfg(test)]
mod tests {
    use base::WallTime;
    use log_partition::{Offset, Place};
    use log_storage::Append;
    use storage_wal::LogId;

    use super::*;

    fn append(bytes: usize, commit: Commit) -> DiskCommand {
        let batch = vec![0; bytes].into();
        let (log, at, end, index) = (LogId(1), Place::default(), Offset(1), Vec::new());
        DiskCommand::Append(Append {
            log,
            at,
            end,
            now: WallTime::of_ms(0),
            begun: Vec::new(),
            batch,
            commit,
            index,
        })
    }

    #[test]
    fn shard_flushes_a_lone_small_batch_and_writes_more_that_needs_no_flush() {
        let written = |bytes| append(bytes, Commit::Written { flush_ms: 1_000 });
        let flushed = |bytes| append(bytes, Commit::Flushed);
        assert!(!is_lone(&[]));
        assert!(is_lone(&[flushed(8_000), flushed(8_000)]));
        assert!(!is_lone(&[flushed(8_000), flushed(9_000)]) && !is_lone(&vec![flushed(1); 3]));
        assert!(is_lone(&vec![written(1_000); 16]) && !is_lone(&vec![written(1_000); 17]));
        assert!(
            is_lone(&[written(8_000), flushed(8_000)]) && !is_lone(&[written(1), written(1), flushed(1)])
        );
        assert!(!is_lone(&[written(1), DiskCommand::Drop(LogId(1))]));
    }
}
