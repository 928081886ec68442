//! The other members as this one meets them: who is connected, when each was last heard of, what its build understands.
//! Who is a member is not decided here (`membership`).

use base::MonoTime;
use std::collections::{BTreeMap, BTreeSet};

use consensus_raft::{MemberId, MemberNumber};

/// See the module.
#[derive(Debug, Default)]
pub struct Peers {
    contacts: Vec<Contact>,
    /// By number: until when at the latest members whose connection broke since may have heard of their clients. Their
    /// processes may have died, and what those knew with them.
    departed: BTreeMap<MemberNumber, MonoTime>,
    /// Who is connected, whether it is known as a member or not.
    connected: BTreeSet<MemberId>,
    /// The feature levels that other members understand.
    levels: BTreeMap<MemberId, u32>,
}

/// When a member was last heard of.
#[derive(Debug)]
struct Contact {
    peer: MemberId,
    heard: MonoTime,
}

impl Peers {
    /// A member was heard of.
    pub(crate) fn hear(&mut self, peer: MemberId, now: MonoTime) {
        match self.contacts.iter_mut().find(|contact| contact.peer == peer) {
            Some(contact) => contact.heard = now,
            None => self.contacts.push(Contact { peer, heard: now }),
        }
    }

    pub(crate) fn connect(&mut self, peer: MemberId) {
        self.connected.insert(peer);
    }

    pub(crate) fn disconnect(&mut self, peer: MemberId) {
        self.connected.remove(&peer);
    }

    /// A member may have heard of its clients until then, and can no more be asked.
    pub(crate) fn depart(&mut self, peer: MemberId, until: MonoTime) {
        let departed = self.departed.entry(peer.number()).or_default();
        *departed = until.max(*departed);
    }

    /// Another member's build understands this level.
    pub(crate) fn understands(&mut self, peer: MemberId, level: u32) {
        self.levels.insert(peer, level);
    }

    /// When a member was last heard of; [`MonoTime::ZERO`] for never.
    pub fn heard_at(&self, peer: MemberId) -> MonoTime {
        self.contacts
            .iter()
            .find(|contact| contact.peer == peer)
            .map_or(MonoTime::ZERO, |contact| contact.heard)
    }

    /// Until when members of that number that have departed may have heard of their clients; [`MonoTime::ZERO`] if
    /// there are none.
    pub fn departed_until(&self, number: MemberNumber) -> MonoTime {
        self.departed.get(&number).copied().unwrap_or_default()
    }

    /// Whether there is a connection to that member.
    pub fn is_connected(&self, peer: MemberId) -> bool {
        self.connected.contains(&peer)
    }

    /// Who is connected, in the order of their ids.
    pub fn connected(&self) -> impl Iterator<Item = MemberId> {
        self.connected.iter().copied()
    }

    /// The feature level that a member understands, if it has said so.
    pub fn level(&self, peer: MemberId) -> Option<u32> {
        self.levels.get(&peer).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contact_is_the_latest_and_none_is_zero() {
        let mut peers = Peers::default();
        peers.hear(MemberId(2), MonoTime::of_ms(10));
        peers.hear(MemberId(3), MonoTime::of_ms(20));
        peers.hear(MemberId(2), MonoTime::of_ms(30));
        assert_eq!([2, 3, 4].map(|peer| peers.heard_at(MemberId(peer))), [30, 20, 0].map(MonoTime::of_ms));
    }

    #[test]
    fn departure_counts_by_number_and_never_moves_back() {
        let mut peers = Peers::default();
        peers.depart(MemberId(0x102), MonoTime::of_ms(50));
        peers.depart(MemberId(0x502), MonoTime::of_ms(40));
        assert_eq!(
            [2, 3].map(|number| peers.departed_until(MemberNumber(number))),
            [50, 0].map(MonoTime::of_ms)
        );
    }

    #[test]
    fn connection_ends_where_it_breaks() {
        let mut peers = Peers::default();
        peers.connect(MemberId(3));
        peers.connect(MemberId(2));
        assert!(peers.connected().eq([2, 3].map(MemberId)));
        peers.disconnect(MemberId(2));
        assert!(!peers.is_connected(MemberId(2)) && peers.is_connected(MemberId(3)));
    }
}
