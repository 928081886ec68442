//! Whether other brokers still live: asked by a message that each answers at once. The end of a broker that was killed shows on its
//! link a moment later than on the connections of its clients; what is asked of it behind that end never comes back.
//!
//! One probe is under way for each broker at a time. Whoever begins to wait meanwhile waits for the next one.

use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Probes {
    peers: BTreeMap<i32, Rounds>,
    unsent: BTreeSet<i32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    wanted: u64,
    sent: u64,
    answered: u64,
}

impl Probes {
    /// A probe that begins from now on. Gives its number, for [`Self::is_answered`].
    pub(super) fn begin(&mut self, peer: i32) -> u64 {
        let rounds = self.peers.entry(peer).or_default();
        rounds.wanted = rounds.sent + 1;
        if rounds.sent == rounds.answered {
            self.unsent.insert(peer);
        }
        rounds.wanted
    }

    /// Whether a probe is to be sent.
    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Takes the brokers to which a probe is to be sent.
    pub(super) fn take_unsent(&mut self) -> BTreeSet<i32> {
        for peer in &self.unsent {
            if let Some(rounds) = self.peers.get_mut(peer) {
                rounds.sent += 1;
            }
        }
        std::mem::take(&mut self.unsent)
    }

    /// That broker has answered the probe that is under way.
    pub(super) fn answered(&mut self, peer: i32) {
        let Some(rounds) = self.peers.get_mut(&peer) else { return };
        rounds.answered = rounds.sent;
        if rounds.wanted > rounds.sent {
            self.unsent.insert(peer);
        }
    }

    /// The link to that broker is gone, with the probe that was under way.
    pub(super) fn lost(&mut self, peer: i32) {
        self.peers.remove(&peer);
        self.unsent.remove(&peer);
    }

    /// Whether a probe has come back, or never will.
    pub(super) fn is_answered(&self, peer: i32, number: u64) -> bool {
        self.peers.get(&peer).is_none_or(|rounds| rounds.answered >= number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probe_that_was_under_way_before_counts_for_nobody_who_comes_later() {
        let mut probes = Probes::default();
        let first = probes.begin(1);
        assert_eq!(probes.take_unsent(), [1].into());
        let (second, third) = (probes.begin(1), probes.begin(1));
        assert_eq!((second, third, probes.take_unsent()), (first + 1, first + 1, BTreeSet::new()));
        probes.answered(1);
        assert!(probes.is_answered(1, first) && !probes.is_answered(1, second));
        assert_eq!(probes.take_unsent(), [1].into());
        probes.answered(1);
        assert!(probes.is_answered(1, second));
        assert_eq!(probes.take_unsent(), BTreeSet::new());
    }

    #[test]
    fn nobody_waits_for_a_broker_that_is_gone() {
        let mut probes = Probes::default();
        let number = probes.begin(1);
        probes.lost(1);
        assert!(probes.is_answered(1, number) && probes.take_unsent().is_empty());
    }
}
