//! What is the same for each group that begins anew out of what one survivor of a lost majority has: a name of its own, one
//! voter, and the state, with all that the survivor's log holds, as its first snapshot.
//!
//! Knows no directory: a driver puts the old data aside and the new data in its place. What a service must not give out
//! twice, the service makes sure of.

use base::WallTime;
use consensus_raft::{LogIndex, MemberId, Term};
use storage_raft_log::{Disk, Identity, Journal, Membership, SnapshotError, SnapshotMeta};

use crate::{ReplicatedState, ScanProgress};

/// Bytes of a piece of a snapshot that is written at once.
const SNAPSHOT_PIECE_BYTES: usize = 64 << 10;

/// Who a survivor is in its new group. Under the old group's name, members that come back with their old data would vote in
/// the new one.
#[must_use]
pub const fn identity(before: &Identity, cluster: [u8; 16], incarnation: [u8; 16]) -> Identity {
    Identity { cluster, incarnation, member: MemberId::founder(before.member.number()) }
}

/// What the first snapshot of a group of this member alone says of itself, but for the digest: a state at that position, which
/// all of the log up to `applied` is applied to.
#[must_use]
pub fn snapshot_meta(
    (index, term): (LogIndex, Term),
    member: MemberId,
    position: i64,
    wall: WallTime,
) -> SnapshotMeta {
    SnapshotMeta {
        index,
        // The new group knows nothing of the old one's terms. One that was made up must not come with it.
        term: if term > consensus_raft::TERM_MAX { Term(1) } else { term },
        membership: Membership { voters: vec![member], ..Membership::default() },
        position,
        digest: 0,
        created: wall,
    }
}

/// Writes the state as the journal's newest snapshot, in one go.
///
/// # Errors
/// The journal refuses, or its disk fails.
pub fn write_snapshot<R: ReplicatedState, D: Disk>(
    journal: &mut Journal<D>,
    state: &mut R::State,
    mut meta: SnapshotMeta,
) -> Result<(), SnapshotError> {
    journal.snapshot_begin()?;
    R::snapshot_begin(state);
    loop {
        let mut piece = Vec::with_capacity(SNAPSHOT_PIECE_BYTES * 2);
        let progress = R::snapshot_chunk(state, &mut piece, SNAPSHOT_PIECE_BYTES);
        if !piece.is_empty() {
            journal.snapshot_chunk(&piece)?;
        }
        assert_ne!(progress, ScanProgress::Rotten, "this machine's memory changes by itself: test it");
        if let ScanProgress::Done { digest } = progress {
            meta.digest = digest;
            return journal.snapshot_finish(meta);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_group_has_one_voter_and_a_name_of_its_own_and_knows_no_term_that_was_made_up() {
        let before = Identity { cluster: [1; 16], incarnation: [2; 16], member: MemberId(0x503) };
        let identity = identity(&before, [4; 16], [5; 16]);
        assert_eq!(identity, Identity { cluster: [4; 16], incarnation: [5; 16], member: MemberId(3) });
        let made_up = consensus_raft::TERM_MAX.next();
        let meta = snapshot_meta((LogIndex(8), made_up), MemberId(3), 7, WallTime::of_ms(9));
        assert_eq!((meta.index, meta.term, meta.position), (LogIndex(8), Term(1), 7));
        assert_eq!(meta.membership.voters, vec![MemberId(3)]);
    }
}
