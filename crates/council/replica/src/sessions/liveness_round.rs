//! A round of questions: whom have you heard of? A member asks its shards; a leader asks the other members as well, each
//! of which asks its own shards before it answers.

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
pub(crate) struct LivenessRound {
    pub(crate) number: u64,
    pub(crate) began: MonoTime,
    pub(crate) asker: Asker,
    shards: Vec<bool>,
    /// Members that have not answered.
    peers: Vec<MemberId>,
    /// Voters that have, this one included.
    voters: usize,
}

impl LivenessRound {
    pub(crate) fn new(number: u64, began: MonoTime, asker: Asker, shards: u16, peers: Vec<MemberId>) -> Self {
        Self { number, began, asker, shards: vec![true; usize::from(shards)], peers, voters: 1 }
    }

    /// A shard has answered.
    pub(crate) fn shard(&mut self, shard: u16, number: u64) {
        if let Some(unanswered) = self.shards.get_mut(usize::from(shard))
            && number == self.number
        {
            *unanswered = false;
        }
    }

    /// A member has answered.
    pub(crate) fn peer(&mut self, peer: MemberId, number: u64, votes: bool) {
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

    /// Whether all have answered who can be expected to: every shard, every member that is alive as far as anybody
    /// knows, and a majority of those who vote. A member that is cut off serves no clients meanwhile.
    pub(crate) fn is_complete(&self, majority: usize, is_alive: impl Fn(MemberId) -> bool) -> bool {
        !self.shards.contains(&true)
            && self.voters >= majority
            && !self.peers.iter().any(|peer| is_alive(*peer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_waits_for_shards_for_the_living_and_for_a_majority() {
        let mut round = LivenessRound::new(4, MonoTime::ZERO, Asker::Us, 2, vec![MemberId(2), MemberId(3)]);
        round.shard(0, 4);
        round.shard(1, 3);
        assert!(!round.is_complete(1, |_| false), "an answer to an older round does not count");
        round.shard(1, 4);
        assert!(!round.is_complete(2, |_| false));
        round.peer(MemberId(2), 4, true);
        assert!(!round.is_complete(2, |peer| peer == MemberId(3)));
        assert!(round.is_complete(2, |_| false));
        assert_eq!(round.silent_peers(), [MemberId(3)]);
    }

    #[test]
    fn learner_is_waited_for_but_makes_no_majority() {
        let mut round = LivenessRound::new(1, MonoTime::ZERO, Asker::Us, 0, vec![MemberId(2)]);
        round.peer(MemberId(2), 1, false);
        assert!(!round.is_complete(2, |_| true));
    }
}
