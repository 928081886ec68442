//! What the components of a core may look at while they work. Only the core itself changes it, between two components.

use base::Now;
use consensus_raft::{MemberId, Membership};

use crate::CoreConfig;
use crate::membership::EnsembleMembership;
use crate::peers::Peers;

/// See the module.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) config: CoreConfig,
    pub(crate) membership: EnsembleMembership,
    pub(crate) peers: Peers,
    /// The time of the present call.
    pub(crate) now: Now,
}

impl View {
    /// Who votes and who learns, as far as it is applied here.
    pub(crate) const fn members(&self) -> &Membership {
        self.membership.members()
    }

    /// The other members.
    pub(crate) fn others(&self) -> Vec<MemberId> {
        self.members().others(self.config.member).into_iter().map(MemberId).collect()
    }

    /// This member's id.
    pub(crate) const fn own(&self) -> MemberId {
        MemberId(self.config.member)
    }

    /// Whether that member is a voter; while one set of voters follows another, of the newer one.
    pub(crate) fn is_voter(&self, id: MemberId) -> bool {
        self.members().voters.contains(&id.0)
    }

    /// Whether there is no other member, so that leadership is never lost.
    pub(crate) fn is_alone(&self) -> bool {
        self.members().voters == [self.config.member] && self.members().learners.is_empty()
    }

    /// When a member was last heard of; 0 for never.
    pub(crate) fn heard_ms(&self, peer: MemberId) -> u64 {
        self.peers.heard_ms(peer)
    }

    /// Whether that member was heard of within a lease.
    pub(crate) fn lives(&self, id: MemberId) -> bool {
        id == self.own() || self.now.mono_ms() <= self.heard_ms(id) + self.config.lease_ms
    }
}
