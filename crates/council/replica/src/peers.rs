//! The other members as this one meets them: who is connected, when each was last heard of, what its build understands.
//! Who is a member is not decided here (`membership`).

use std::collections::{BTreeMap, BTreeSet};

use crate::founding::NUMBERS;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    contacts: Vec<Contact>,
    /// By number: until when at the latest members whose connection broke since may have heard of their clients. Their
    /// processes may have died, and what those knew with them.
    departed: BTreeMap<u64, u64>,
    /// Who is connected, whether it is known as a member or not.
    connected: BTreeSet<u64>,
    /// The feature levels that other members understand.
    levels: BTreeMap<u64, u32>,
}

/// When a member was last heard of.
#[derive(Debug)]
struct Contact {
    peer: u64,
    heard_ms: u64,
}

impl Peers {
    /// A member was heard of.
    pub(crate) fn hear(&mut self, peer: u64, now_ms: u64) {
        match self.contacts.iter_mut().find(|contact| contact.peer == peer) {
            Some(contact) => contact.heard_ms = now_ms,
            None => self.contacts.push(Contact { peer, heard_ms: now_ms }),
        }
    }

    pub(crate) fn connect(&mut self, peer: u64) {
        self.connected.insert(peer);
    }

    pub(crate) fn disconnect(&mut self, peer: u64) {
        self.connected.remove(&peer);
    }

    /// A member may have heard of its clients until then, and can no more be asked.
    pub(crate) fn depart(&mut self, peer: u64, until_ms: u64) {
        let departed = self.departed.entry(peer % NUMBERS).or_default();
        *departed = until_ms.max(*departed);
    }

    /// Another member's build understands this level.
    pub(crate) fn understands(&mut self, peer: u64, level: u32) {
        self.levels.insert(peer, level);
    }

    /// When a member was last heard of; 0 for never.
    pub(crate) fn heard_ms(&self, peer: u64) -> u64 {
        self.contacts.iter().find(|contact| contact.peer == peer).map_or(0, |contact| contact.heard_ms)
    }

    /// Until when members of that number that have departed may have heard of their clients; 0 if there are none.
    pub(crate) fn departed_ms(&self, number: u64) -> u64 {
        self.departed.get(&number).copied().unwrap_or(0)
    }

    pub(crate) fn is_connected(&self, peer: u64) -> bool {
        self.connected.contains(&peer)
    }

    /// Who is connected, in the order of their ids.
    pub(crate) fn connected(&self) -> impl Iterator<Item = u64> {
        self.connected.iter().copied()
    }

    /// The feature level that a member understands, if it has said so.
    pub(crate) fn level(&self, peer: u64) -> Option<u32> {
        self.levels.get(&peer).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contact_is_the_latest_and_none_is_zero() {
        let mut peers = Peers::default();
        peers.hear(2, 10);
        peers.hear(3, 20);
        peers.hear(2, 30);
        assert_eq!([2, 3, 4].map(|peer| peers.heard_ms(peer)), [30, 20, 0]);
    }

    #[test]
    fn departure_counts_by_number_and_never_moves_back() {
        let mut peers = Peers::default();
        peers.depart(2 + NUMBERS, 50);
        peers.depart(2 + 5 * NUMBERS, 40);
        assert_eq!((peers.departed_ms(2), peers.departed_ms(3)), (50, 0));
    }

    #[test]
    fn connection_ends_where_it_breaks() {
        let mut peers = Peers::default();
        peers.connect(3);
        peers.connect(2);
        assert!(peers.connected().eq([2, 3]));
        peers.disconnect(2);
        assert!(!peers.is_connected(2) && peers.is_connected(3));
    }
}
