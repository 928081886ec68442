//! A new ensemble out of what one survivor of a lost majority has: its tree, with all that its log holds, becomes the
//! state of an ensemble of one. Three things keep apart what was before and what begins: the new ensemble has a name of its
//! own, its members are those that it lets in, and its zxids begin behind all that the old one can have given.
//!
//! Knows no directory: a driver puts the old data aside and the new data in its place.

use base::WallTime;
use consensus_raft::{LogIndex, MemberId, Term};
use consensus_replica::{Replay, revival};
use council_tree::Tree;
use storage_raft_log::{Disk, Journal, Membership, Recovered, SnapshotError, SnapshotMeta};

use crate::ReplayedTree;
use crate::machine::CouncilMachine;

pub use consensus_replica::revival::identity;

/// Milliseconds of the clock for each epoch. Each start of a server and each election uses one epoch, and they are further
/// apart than this on average. The 2^31 epochs last for 272 years after 1970.
const MS_PER_EPOCH: i64 = 4_000;
/// Epochs that are skipped when the clock is behind the data: more than the old ensemble can have used since.
pub const EPOCHS_SKIPPED: u32 = 1 << 16;
/// The last epoch from which may be gone on: zxids stay positive.
pub const EPOCH_MAX: u32 = i32::MAX as u32 - 2 * EPOCHS_SKIPPED;

/// What applies all that the survivor's log holds to the tree of its snapshot, known to be committed or not: what it
/// acknowledged to a leader may have been acknowledged to a client.
#[must_use]
pub fn replay(recovered: &Recovered, membership: &Membership, tree: Tree) -> Replay<ReplayedTree> {
    crate::replay(recovered, membership, tree, 0, 0).regardless()
}

/// Makes that tree, which all of the log up to `applied` is applied to, the first of an ensemble of this member alone. Gives
/// what its snapshot says of itself, but for the digest.
#[must_use]
pub fn begin(tree: &mut Tree, applied: (LogIndex, Term), member: MemberId, wall: WallTime) -> SnapshotMeta {
    // The old ensemble may have had leaders that the survivor never heard of. What they gave is not given again, and a
    // client that has seen it is not ahead of every server from now on.
    let last = tree.last_zxid().epoch();
    if last <= EPOCH_MAX {
        tree.skip_epochs(epoch_after(last, wall) - last);
    }
    revival::snapshot_meta(applied, member, tree.last_zxid().0, wall)
}

/// The epoch to go on with behind this one. It follows the clock, and does not depend on the data as long as the clock is
/// ahead of it: what begins later goes on later.
#[must_use]
pub fn epoch_after(last: u32, wall: WallTime) -> u32 {
    let of_clock = u32::try_from(wall.ms().max(0) / MS_PER_EPOCH).unwrap_or(u32::MAX).min(EPOCH_MAX);
    if of_clock > last { of_clock } else { last.saturating_add(EPOCHS_SKIPPED) }
}

/// Writes the tree as the journal's newest snapshot, in one go.
///
/// # Errors
/// The journal refuses, or its disk fails.
pub fn write_snapshot<D: Disk>(
    journal: &mut Journal<D>,
    tree: &mut Tree,
    meta: SnapshotMeta,
) -> Result<(), SnapshotError> {
    revival::write_snapshot::<CouncilMachine, D>(journal, tree, meta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use council_wire::Zxid;

    #[test]
    fn epochs_follow_the_clock_and_rise_behind_the_data_when_it_is_wrong() {
        let at = |seconds: i64| WallTime::of_ms(seconds * 1000);
        let first = epoch_after(7, at(1_800_000_000));
        assert_eq!(first, 450_000_000);
        assert!(epoch_after(7, at(1_800_000_000).plus_ms(MS_PER_EPOCH)) > first, "the same data again");
        assert!(epoch_after(first + 3, at(1_800_000_100)) > first + 3, "data of what began anew");
        assert!(
            epoch_after(7, at(1_800_000_200)) > epoch_after(first + 3, at(1_800_000_100)),
            "the old data again"
        );
        assert_eq!(epoch_after(7, WallTime::default()), 7 + EPOCHS_SKIPPED);
        assert_eq!(epoch_after(7, WallTime::of_ms(i64::MIN)), 7 + EPOCHS_SKIPPED);
        assert_eq!(epoch_after(first, at(1_800_000_000)), first + EPOCHS_SKIPPED);
        for (last, wall_ms) in [(7, i64::MAX), (EPOCH_MAX, 0), (EPOCH_MAX, i64::MAX)] {
            let epoch = epoch_after(last, WallTime::of_ms(wall_ms));
            assert!(epoch > last && epoch < i32::MAX as u32, "{epoch}");
        }
    }

    #[test]
    fn new_ensemble_has_zxids_behind_those_of_unknown_leaders() {
        let mut tree = Tree::new();
        tree.skip_epochs(6);
        let meta = begin(&mut tree, (LogIndex(8), Term(3)), MemberId(3), WallTime::of_ms(9_000_000));
        assert_eq!((meta.index, meta.term, meta.position), (LogIndex(8), Term(3), Zxid::new(2_250, 0).0));
        assert_eq!((meta.membership.voters, tree.last_zxid()), (vec![MemberId(3)], Zxid::new(2_250, 0)));
    }
}
