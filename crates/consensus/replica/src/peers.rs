//! The other members as this one meets them: who is connected, when each was last heard of, what its build understands.
//! Who is a member is not decided here (`membership`).

use base::MonoTime;
use std::collections::{BTreeMap, BTreeSet};

use consensus_raft::{MemberId, MemberNumber};

/// See the module.
#[derive(Debug, Default)]
pub struct Peers {
    contacts: Vec<Contact>,
    /// By number: until when at the latest members that were removed may have heard of their clients.
    departed: BTreeMap<MemberNumber, MonoTime>,
    /// The last break of the connection to each member. Its process may have died, and what that knew with it.
    breaks: BTreeMap<MemberId, Break>,
    /// Who is connected, whether it is known as a member or not.
    connected: BTreeSet<MemberId>,
    /// The feature levels that other members understand.
    levels: BTreeMap<MemberId, u32>,
}

/// A connection broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Break {
    /// When the member was last heard of before.
    pub(crate) heard: MonoTime,
    /// When there was a connection again; [`MonoTime::MAX`] for not yet.
    pub(crate) until: MonoTime,
}

/// When a member was last heard of.
#[derive(Debug)]
struct Contact {
    peer: MemberId,
    heard: MonoTime,
    /// When it last asked for something whose answer is in the log.
    asked: MonoTime,
}

impl Peers {
    /// A member was heard of.
    pub(crate) fn hear(&mut self, peer: MemberId, now: MonoTime) {
        match self.contacts.iter_mut().find(|contact| contact.peer == peer) {
            Some(contact) => contact.heard = now,
            None => self.contacts.push(Contact { peer, heard: now, asked: MonoTime::ZERO }),
        }
    }

    /// A member that was heard of asks for something whose answer is in the log.
    pub(crate) fn ask(&mut self, peer: MemberId, now: MonoTime) {
        if let Some(contact) = self.contacts.iter_mut().find(|contact| contact.peer == peer) {
            contact.asked = now;
        }
    }

    pub(crate) fn connect(&mut self, peer: MemberId, now: MonoTime) {
        self.connected.insert(peer);
        if let Some(last) = self.breaks.get_mut(&peer) {
            last.until = last.until.min(now);
        }
    }

    pub(crate) fn disconnect(&mut self, peer: MemberId) {
        self.connected.remove(&peer);
        let heard = self.heard_at(peer);
        self.breaks.insert(peer, Break { heard, until: MonoTime::MAX });
    }

    /// A member may have heard of its clients until then, and can no more be asked.
    pub(crate) fn depart(&mut self, peer: MemberId, until: MonoTime) {
        self.breaks.remove(&peer);
        let departed = self.departed.entry(peer.number()).or_default();
        *departed = until.max(*departed);
    }

    /// Another member's build understands this level.
    pub(crate) fn understands(&mut self, peer: MemberId, level: u32) {
        self.levels.insert(peer, level);
    }

    /// When a member was last heard of; [`MonoTime::ZERO`] for never.
    pub fn heard_at(&self, peer: MemberId) -> MonoTime {
        self.contact(peer).map_or(MonoTime::ZERO, |contact| contact.heard)
    }

    /// When a member last asked for something whose answer is in the log; [`MonoTime::ZERO`] for never.
    pub(crate) fn asked_at(&self, peer: MemberId) -> MonoTime {
        self.contact(peer).map_or(MonoTime::ZERO, |contact| contact.asked)
    }

    fn contact(&self, peer: MemberId) -> Option<&Contact> {
        self.contacts.iter().find(|contact| contact.peer == peer)
    }

    /// The last breaks of connections to members of that number.
    pub(crate) fn breaks(&self, number: MemberNumber) -> impl Iterator<Item = Break> {
        self.breaks.iter().filter(move |(peer, _)| peer.number() == number).map(|(_, last)| *last)
    }

    /// Until when members of that number that were removed may have heard of their clients; [`MonoTime::ZERO`] if there are
    /// none.
    pub(crate) fn departed_until(&self, number: MemberNumber) -> MonoTime {
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
        peers.ask(MemberId(2), MonoTime::of_ms(10));
        peers.hear(MemberId(3), MonoTime::of_ms(20));
        peers.hear(MemberId(2), MonoTime::of_ms(30));
        assert_eq!([2, 3, 4].map(|peer| peers.heard_at(MemberId(peer))), [30, 20, 0].map(MonoTime::of_ms));
        assert_eq!([2, 3, 4].map(|peer| peers.asked_at(MemberId(peer))), [10, 0, 0].map(MonoTime::of_ms));
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
        peers.connect(MemberId(3), MonoTime::ZERO);
        peers.connect(MemberId(2), MonoTime::ZERO);
        assert!(peers.connected().eq([2, 3].map(MemberId)));
        peers.disconnect(MemberId(2));
        assert!(!peers.is_connected(MemberId(2)) && peers.is_connected(MemberId(3)));
    }

    #[test]
    fn break_lasts_from_when_the_member_was_heard_until_it_is_connected_again() {
        let mut peers = Peers::default();
        let breaks = |peers: &Peers| peers.breaks(MemberNumber(2)).collect::<Vec<_>>();
        let of = |heard, until| Break { heard: MonoTime::of_ms(heard), until };
        peers.connect(MemberId(2), MonoTime::of_ms(5));
        peers.hear(MemberId(2), MonoTime::of_ms(10));
        assert_eq!(breaks(&peers), []);
        peers.disconnect(MemberId(2));
        assert_eq!(breaks(&peers), [of(10, MonoTime::MAX)]);
        for now in [30, 40] {
            peers.connect(MemberId(2), MonoTime::of_ms(now));
            assert_eq!(breaks(&peers), [of(10, MonoTime::of_ms(30))]);
        }
        peers.disconnect(MemberId(0x502));
        assert_eq!(breaks(&peers).len(), 2, "another disk of the same number");
        peers.depart(MemberId(2), MonoTime::of_ms(50));
        assert_eq!(breaks(&peers).len(), 1);
    }
}
