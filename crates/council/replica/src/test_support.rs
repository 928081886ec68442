//! What the components' tests begin with.

use base::Now;
use consensus_raft::{HardState, LogIndex, Membership, Recovered, Term};
use consensus_replica::start::Seat;
use consensus_replica::{MemberId, ReplicaConfig};

use crate::group::Group;

/// When tests begin.
pub(crate) const NOW: Now = Now::of_ms(100_000, 1_700_000_000_000);

/// The seat of a member among these voters, with an empty log.
pub(crate) fn seat(voters: &[u64]) -> Seat {
    let recovered = Recovered {
        hard_state: HardState { term: Term(1), vote: None, commit: LogIndex(1) },
        membership: Membership {
            voters: voters.iter().copied().map(MemberId).collect(),
            ..Membership::default()
        },
        base_index: LogIndex(1),
        base_term: Term(1),
        entries: Vec::new(),
    };
    Seat::new(recovered, (LogIndex(1), Term(1)))
}

/// The group of these voters as the member `own` finds it.
pub(crate) fn group(own: u64, voters: &[u64]) -> Group {
    Group::new(ReplicaConfig::new(MemberId(own)), &seat(voters), None, 7, NOW)
}
