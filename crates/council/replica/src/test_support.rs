//! What the components' tests begin with.

use base::Now;
use consensus_raft::{Config, HardState, LogIndex, MemberId, Membership, RaftNode, Recovered, Term};
use council_tree::Tree;

use crate::CoreConfig;
use crate::membership::EnsembleMembership;
use crate::peers::Peers;
use crate::view::View;

/// When tests begin.
pub(crate) const NOW: Now = Now::of_ms(100_000, 1_700_000_000_000);

/// What the member `own` sees among these voters.
pub(crate) fn view(own: u64, voters: &[u64]) -> View {
    let config = CoreConfig::new(own, 1);
    let members = Membership { voters: voters.to_vec(), ..Membership::default() };
    let membership = EnsembleMembership::new(&config, members, &Tree::new(), NOW);
    View { config, membership, peers: Peers::default(), now: NOW }
}

/// Raft of the member `own` among these voters, with an empty log.
pub(crate) fn raft(own: u64, voters: &[u64]) -> RaftNode {
    let recovered = Recovered {
        hard_state: HardState { term: Term(1), vote: 0, commit: LogIndex(1) },
        membership: Membership { voters: voters.to_vec(), ..Membership::default() },
        base_index: LogIndex(1),
        base_term: Term(1),
        entries: Vec::new(),
    };
    RaftNode::new(&Config::new(MemberId(own), 7), &recovered, LogIndex(1))
}
