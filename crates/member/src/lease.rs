//! Who may serve clients, and until when: whoever has caught up with the present reign, as long as its leader knows of
//! it. A member that is cut off must neither answer from an ever older tree nor keep its clients believing that
//! their sessions live.
//!
//! A lease counts from the moment at which it was asked for, on the asker's clock, and only the leader's answer makes it
//! count. So a leader that has not heard of a member since some moment knows: that member serves nobody later than
//! one lease after it.

use std::collections::BTreeSet;

use council::Role;
use front::FromCore;

use crate::core::Core;
use crate::peer::PeerMessage;

/// How often in the length of a lease a new one is asked for.
const ASKS: u64 = 10;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    /// When the lease that is held was asked for.
    held_ms: u64,
    asked_ms: u64,
}

impl Core {
    /// Until when clients may be answered; a driver looks at its clock before it takes what clients send.
    #[must_use]
    pub fn lease_until_ms(&self) -> u64 {
        if self.is_alone() { u64::MAX } else { self.lease.held_ms.saturating_add(self.config.lease_ms) }
    }

    pub(crate) fn keep_lease(&mut self) {
        if self.council.role() == Role::Leader {
            self.lease.held_ms = self.lease.held_ms.max(self.heard_majority_ms());
        } else if self.now.mono_ms >= self.lease.asked_ms + self.config.lease_ms / ASKS {
            self.ask_for_lease();
        }
        if self.status.serving && self.now.mono_ms > self.lease_until_ms() {
            self.stop_serving();
        }
    }

    pub(crate) fn ask_for_lease(&mut self) {
        let (term, at_ms) = (self.council.term(), self.now.mono_ms);
        let own = self.config.member;
        let leader = self.council.leader().map(|leader| leader.0);
        // Nobody tells a removed member who leads now, and the leader may be one that it never knew. Whoever leads says
        // so if this one is to be a member again.
        let anybody = self.linked_peers.iter().copied().filter(|_| at_ms > self.lease_until_ms());
        let asked: BTreeSet<_> = leader.into_iter().chain(anybody).filter(|peer| *peer != own).collect();
        if !asked.is_empty() {
            self.lease.asked_ms = at_ms;
            self.outgoing.extend(asked.into_iter().map(|peer| (peer, PeerMessage::LeaseAsk { term, at_ms })));
        }
    }

    pub(crate) fn lease_asked(&mut self, peer: u64, term: u64, at_ms: u64) {
        let leads = self.council.role() == Role::Leader && self.council.term() == term;
        if leads && self.now.mono_ms <= self.lease_until_ms() {
            self.outgoing.push((peer, PeerMessage::LeaseGrant { term, at_ms }));
        }
    }

    pub(crate) fn lease_granted(&mut self, term: u64, at_ms: u64) {
        if self.council.term() == term {
            self.lease.held_ms = self.lease.held_ms.max(at_ms.min(self.now.mono_ms));
        }
    }

    /// The latest time since which a majority of the voters, this one included, has been heard of.
    fn heard_majority_ms(&self) -> u64 {
        let heard = |id: &u64| if *id == self.config.member { self.now.mono_ms } else { self.heard_ms(*id) };
        let mut times: Vec<_> = self.membership.voters.iter().map(heard).collect();
        times.sort_unstable_by(|one, other| other.cmp(one));
        times.get(self.membership.majority() - 1).copied().unwrap_or(0)
    }

    /// With an entry of the present reign applied, everything that was acknowledged before it is; a leader has to wait
    /// for its own first transaction.
    pub(crate) fn start_serving(&mut self) {
        let caught_up = match self.council.role() {
            Role::Leader => self.status.leading,
            _ => self.council.leader().is_some() && self.applied_term == self.council.term(),
        };
        if caught_up
            && !self.is_disk_stalled()
            && self.now.mono_ms <= self.lease_until_ms()
            && !core::mem::replace(&mut self.status.serving, true)
        {
            self.tell_shards(|| FromCore::Serving(true));
        }
    }

    pub(crate) fn stop_serving(&mut self) {
        if core::mem::take(&mut self.status.serving) {
            self.tell_shards(|| FromCore::Serving(false));
        }
    }
}
