//! The other members as this one meets them: who is connected, when each was last heard of, what its build understands.
//! Who is a member is not decided here (`membership`).

use std::collections::{BTreeMap, BTreeSet};

use consensus_raft::{MemberId, MemberNumber};

/// See the module.
#[derive(Debug, Default)]
pub struct Peers {
    contacts: Vec<Contact>,
    /// By number: until when at the latest members whose connection broke since may have heard of their clients. Their
    /// processes may have died, and what those knew with them.
    departed: BTreeMap<MemberNumber, u64>,
    /// Who is connected, whether it is known as a member or not.
    connected: BTreeSet<MemberId>,
    /// The feature levels that other members understand.
    levels: BTreeMap<MemberId, u32>,
}

/// When a member was last heard of.
#[derive(Debug)]
struct Contact {
    peer: MemberId,
    heard_ms: u64,
}

impl Peers {
    /// A member was heard of.
    pub(crate) fn hear(&mut self, peer: MemberId, now_ms: u64) {
        match self.contacts.iter_mut().find(|contact| contact.peer == peer) {
            Some(contact) => contact.heard_ms = now_ms,
            None => self.contacts.push(Contact { peer, heard_ms: now_ms }),
        }
    }

    pub(crate) fn connect(&mut self, peer: MemberId) {
        self.connected.insert(peer);
    }

    pub(crate) fn disconnect(&mut self, peer: MemberId) {
        self.connected.remove(&peer);
    }

    /// A member may have heard of its clients until then, and can no more be asked.
    pub(crate) fn depart(&mut self, peer: MemberId, until_ms: u64) {
        let departed = self.departed.entry(peer.number()).or_default();
        *departed = until_ms.max(*departed);
    }

    /// Another member's build understands this level.
    pub(crate) fn understands(&mut self, peer: MemberId, level: u32) {
        self.levels.insert(peer, level);
    }

    /// When a member was last heard of; 0 for never.
    pub fn heard_ms(&self, peer: MemberId) -> u64 {
        self.contacts.iter().find(|contact| contact.peer == peer).map_or(0, |contact| contact.heard_ms)
    }

    /// Until when members of that number that have departed may have heard of their clients; 0 if there are none.
    pub fn departed_ms(&self, number: MemberNumber) -> u64 {
        self.departed.get(&number).copied().unwrap_or(0)
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
        peers.hear(MemberId(2), 10);
        peers.hear(MemberId(3), 20);
        peers.hear(MemberId(2), 30);
        assert_eq!([2, 3, 4].map(|peer| peers.heard_ms(MemberId(peer))), [30, 20, 0]);
    }

    #[test]
    fn departure_counts_by_number_and_never_moves_back() {
        let mut peers = Peers::default();
        peers.depart(MemberId(0x102), 50);
        peers.depart(MemberId(0x502), 40);
        assert_eq!((peers.departed_ms(MemberNumber(2)), peers.departed_ms(MemberNumber(3))), (50, 0));
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
