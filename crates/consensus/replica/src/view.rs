//! What the components of a replica may look at while they work. Only the replica itself changes it, between two components.

use base::{MonoTime, Now};
use consensus_raft::{MemberId, Membership};

use crate::ReplicaConfig;
use crate::membership::GroupMembership;
use crate::peers::Peers;

/// See the module.
#[derive(Debug)]
pub struct View {
    /// The settings.
    pub config: ReplicaConfig,
    /// Who is a member, and who is to be.
    pub membership: GroupMembership,
    /// The other members as this one meets them.
    pub peers: Peers,
    /// The time of the present call.
    pub now: Now,
}

impl View {
    /// Who votes and who learns, as far as it is applied here.
    pub const fn members(&self) -> &Membership {
        self.membership.members()
    }

    /// The other members.
    pub fn others(&self) -> Vec<MemberId> {
        self.members().others(self.own())
    }

    /// This member's id.
    pub const fn own(&self) -> MemberId {
        self.config.member
    }

    /// Whether that member is a voter; while one set of voters follows another, of the newer one.
    pub fn is_voter(&self, id: MemberId) -> bool {
        self.members().voters.contains(&id)
    }

    /// Whether there is no other member, so that leadership is never lost.
    pub fn is_alone(&self) -> bool {
        matches!(self.members().voters[..], [only] if only == self.own())
            && self.members().learners.is_empty()
    }

    /// When a member was last heard of; [`MonoTime::ZERO`] for never.
    pub fn heard_at(&self, peer: MemberId) -> MonoTime {
        self.peers.heard_at(peer)
    }

    /// Whether that member was heard of within a lease.
    pub fn lives(&self, id: MemberId) -> bool {
        id == self.own() || self.now.mono() <= self.heard_at(id).plus_ms(self.config.lease_ms)
    }
}
