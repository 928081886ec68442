//! A round of questions: of whom have you heard? A member asks its edges; a leader asks the other members as well, each of
//! which asks its own edges before it answers.

use base::MonoTime;
use consensus_raft::MemberId;

/// Who wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// This member, which leads: a session that no answer names has been silent.
    Us,
    /// The leader, under its own number.
    Leader { id: MemberId, round: u64 },
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) number: u64,
    pub(crate) began: MonoTime,
    pub(crate) asker: Asker,
    /// Edges that have not answered.
    edges: Vec<bool>,
    /// Members that have not answered.
    peers: Vec<MemberId>,
    /// Voters that have, this member included.
    voters: usize,
}

impl Round {
    pub(crate) fn new(number: u64, began: MonoTime, asker: Asker, edges: u16, peers: Vec<MemberId>) -> Self {
        Self { number, began, asker, edges: vec![true; usize::from(edges)], peers, voters: 1 }
    }

    pub(crate) fn edge_answered(&mut self, edge: u16, number: u64) {
        if let Some(unanswered) = self.edges.get_mut(usize::from(edge))
            && number == self.number
        {
            *unanswered = false;
        }
    }

    pub(crate) fn peer_answered(&mut self, peer: MemberId, number: u64, votes: bool) {
        if number == self.number
            && let Some(place) = self.peers.iter().position(|other| *other == peer)
        {
            self.peers.swap_remove(place);
            self.voters += usize::from(votes);
        }
    }

    /// Whom to ask again.
    pub(crate) fn silent_peers(&self) -> &[MemberId] {
        &self.peers
    }

    /// Whether all have answered who can be expected to: every edge, every member that is alive as far as anybody knows,
    /// and a majority of those who vote.
    pub(crate) fn is_complete(&self, majority: usize, is_alive: impl Fn(MemberId) -> bool) -> bool {
        !self.edges.contains(&true)
            && self.voters >= majority
            && !self.peers.iter().any(|peer| is_alive(*peer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_waits_for_edges_for_the_living_and_for_a_majority() {
        let peers = vec![MemberId(2), MemberId(3)];
        let mut round = Round::new(4, MonoTime::ZERO, Asker::Us, 2, peers);
        round.edge_answered(0, 4);
        round.edge_answered(1, 3);
        assert!(!round.is_complete(1, |_| false), "an answer to an older round does not count");
        round.edge_answered(1, 4);
        assert!(!round.is_complete(2, |_| false));
        round.peer_answered(MemberId(2), 4, true);
        assert!(!round.is_complete(2, |peer| peer == MemberId(3)));
        assert!(round.is_complete(2, |_| false));
        assert_eq!(round.silent_peers(), [MemberId(3)]);
    }

    #[test]
    fn learner_is_waited_for_but_makes_no_majority() {
        let mut round = Round::new(1, MonoTime::ZERO, Asker::Us, 0, vec![MemberId(2)]);
        round.peer_answered(MemberId(2), 1, false);
        assert!(!round.is_complete(2, |_| true));
    }
}
