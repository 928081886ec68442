//! A group that begins anew out of what one survivor of a lost majority has: all that its log holds becomes the state of a
//! group of one.
//!
//! Sessions go on, and the new leader gives each its full time to live: a client that is alive keeps what it holds, and what a
//! dead one held is free in its time. What the lost members granted and the survivor never received is not known any more.
//! It must not be granted once more under a number that was given before: positions, and with them fences, versions, terms and
//! ids, go on behind all that the lost members can have reached.
//!
//! Knows no directory: a driver puts the old data aside and the new data in its place.

use base::{LogIndex, MemberId, Term, WallTime};
use consensus_replica::{Replay, revival};
use objects_state::State;
use storage_raft_log::{Disk, Journal, Membership, Recovered, SnapshotError, SnapshotMeta};

use crate::{ObjectsMachine, ReplayedState};

pub use consensus_replica::revival::identity;

/// Positions for each millisecond of the clock: no group has so many for long. They last until the year 2255: positions stay
/// below 2^53.
const POSITIONS_PER_MS: u64 = 1_000;
/// Positions that are skipped if the clock is behind the data: half a year at the pace of the clock.
const POSITIONS_SKIPPED: u64 = 1 << 44;
/// The last position that may be reached by skipping, so that half of all are left.
const POSITION_MAX: u64 = 1 << 52;

/// What applies all that the survivor's log holds to the state of its snapshot, known to be committed or not: what it
/// acknowledged to a leader may have been acknowledged to a client.
#[must_use]
pub fn replay(recovered: &Recovered, membership: &Membership, state: State) -> Replay<ReplayedState> {
    crate::replay(recovered, membership, state, 0).regardless()
}

/// Makes that state, which all of the log up to `applied` is applied to, the first of a group of this member alone. Gives what
/// its snapshot says of itself, but for the digest.
#[must_use]
pub fn begin(state: &mut State, applied: (LogIndex, Term), member: MemberId, wall: WallTime) -> SnapshotMeta {
    state.skip_to(position_after(state.position(), wall));
    revival::snapshot_meta(applied, member, state.position().cast_signed(), wall)
}

/// The position to go on with behind this one. It follows the clock, and does not depend on the data as long as the clock is
/// ahead of it: what begins later goes on later.
#[must_use]
fn position_after(last: u64, wall: WallTime) -> u64 {
    let of_clock = wall.ms().max(0).cast_unsigned().saturating_mul(POSITIONS_PER_MS).min(POSITION_MAX);
    if of_clock > last {
        of_clock
    } else {
        last.saturating_add(POSITIONS_SKIPPED).min(POSITION_MAX.max(last))
    }
}

/// Writes the state as the journal's newest snapshot, in one go.
///
/// # Errors
/// The journal refuses, or its disk fails.
pub fn write_snapshot<D: Disk>(
    journal: &mut Journal<D>,
    state: &mut State,
    meta: SnapshotMeta,
) -> Result<(), SnapshotError> {
    revival::write_snapshot::<ObjectsMachine, D>(journal, state, meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_follow_the_clock_and_rise_behind_the_data_when_it_is_wrong() {
        let at = |seconds: i64| WallTime::of_ms(seconds * 1_000);
        let first = position_after(7, at(1_800_000_000));
        assert_eq!(first, 1_800_000_000_000_000);
        assert!(position_after(7, at(1_800_000_001)) > first + 999_999, "the same data a second later");
        assert_eq!(position_after(first, at(1_800_000_000)), first + POSITIONS_SKIPPED);
        assert_eq!(position_after(7, WallTime::of_ms(i64::MIN)), 7 + POSITIONS_SKIPPED);
        for (last, wall_ms) in [(7, i64::MAX), (POSITION_MAX - 1, 0), (POSITION_MAX, i64::MAX)] {
            let position = position_after(last, WallTime::of_ms(wall_ms));
            assert!(position >= last && position <= POSITION_MAX, "{position}");
        }
    }
}
