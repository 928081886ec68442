//! Members compare the digests of their states at the same transactions. One that differs from a majority which agrees
//! stops: it must not answer from a state that no other member has.

use base::MonoTime;
use std::collections::BTreeMap;

use crate::Fault;
use crate::digest_log::DigestLog;
use crate::output::Output;
use crate::peer_message::PeerMessage;
use crate::view::View;
use consensus_raft::{MemberId, Membership};

/// How often the latest digest is told, milliseconds.
const INTERVAL_MS: u64 = 1_000;
/// Digests of one member that are kept until they can be compared.
const KEPT_MAX: usize = 16;

/// This member's digests, and what other members have said of theirs.
#[derive(Debug, Default)]
pub(crate) struct Divergence {
    own: DigestLog,
    said: BTreeMap<MemberId, Vec<(i64, u64)>>,
    told: i64,
    told_at: MonoTime,
    /// The last transaction at which a majority was found to agree with this member.
    agreed: i64,
}

impl Divergence {
    /// A command was applied that took this position.
    pub(crate) fn applied(&mut self, position: i64, digest: impl FnOnce() -> u64) {
        self.own.applied(position, digest);
    }

    /// Another member's state was like this.
    pub(crate) fn hear(&mut self, peer: MemberId, position: i64, digest: u64) {
        let said = self.said.entry(peer).or_default();
        if said.len() == KEPT_MAX {
            said.remove(0);
        }
        said.push((position, digest));
    }

    /// That member is none any more.
    pub(crate) fn forget(&mut self, peer: MemberId) {
        self.said.remove(&peer);
    }

    /// Tells a digest from time to time, one that others are likely to tell too.
    pub(crate) fn tick<X: Clone>(&mut self, view: &View, out: &mut Output<X>) {
        if view.is_alone() || view.now.mono() < self.told_at.plus_ms(INTERVAL_MS) {
            return;
        }
        let Some((position, digest)) = self.own.roundest_behind(self.told) else { return };
        (self.told, self.told_at) = (position, view.now.mono());
        out.send_each(view.others(), &PeerMessage::Digest { position, digest });
    }

    /// Compares what can be compared. Says whether another voter has another state than this member, which is not known to be
    /// that of a majority.
    ///
    /// # Errors
    /// A majority agrees upon a state that is not this member's.
    pub(crate) fn compare(&mut self, members: &Membership) -> Result<bool, Fault> {
        let mut differs = false;
        let majority = members.majority();
        let positions: Vec<_> = self.said.values().flatten().map(|(position, _)| *position).collect();
        for position in positions {
            let Some(own) = self.own.at(position).filter(|_| position > self.agreed) else { continue };
            let others = self.at(position).filter(|(peer, _)| members.voters.contains(peer));
            let (same, different): (Vec<_>, Vec<_>) = others.partition(|(_, digest)| *digest == own);
            if same.len() + 1 >= majority {
                self.agreed = self.agreed.max(position);
            }
            let Some((_, theirs)) = different.first().copied() else { continue };
            differs = true;
            if different.iter().filter(|(_, digest)| *digest == theirs).count() >= majority {
                return Err(Fault::Divergence { position, own, theirs, different });
            }
        }
        Ok(differs)
    }

    /// Of those who have said something of this transaction, whose digest is what.
    fn at(&self, position: i64) -> impl Iterator<Item = (MemberId, u64)> {
        self.said.iter().filter_map(move |(peer, said)| {
            said.iter().find(|(at, _)| *at == position).map(|(_, digest)| (*peer, *digest))
        })
    }

    /// This member's digests, oldest first.
    pub(crate) fn digests(&self) -> impl Iterator<Item = (i64, u64)> {
        self.own.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Membership {
        Membership { voters: [1, 2, 3].map(MemberId).to_vec(), ..Membership::default() }
    }

    #[test]
    fn digests_of_one_transaction_stand_together() {
        let mut divergence = Divergence::default();
        divergence.hear(MemberId(2), 128, 7);
        divergence.hear(MemberId(3), 128, 8);
        divergence.hear(MemberId(3), 256, 9);
        assert_eq!(divergence.at(128).collect::<Vec<_>>(), [(MemberId(2), 7), (MemberId(3), 8)]);
        assert_eq!(divergence.at(256).collect::<Vec<_>>(), [(MemberId(3), 9)]);
        for position in 0..100 {
            divergence.hear(MemberId(2), position * 128, 1);
        }
        assert_eq!(divergence.said[&MemberId(2)].len(), KEPT_MAX);
    }

    #[test]
    fn divergence_from_a_majority_that_agrees_is_a_fault() {
        let mut divergence = Divergence::default();
        divergence.applied(128, || 1);
        divergence.hear(MemberId(2), 128, 7);
        assert_eq!(divergence.compare(&three()), Ok(true), "one alone may be wrong itself");
        divergence.hear(MemberId(3), 128, 7);
        let different = vec![(MemberId(2), 7), (MemberId(3), 7)];
        let fault = Fault::Divergence { position: 128, own: 1, theirs: 7, different };
        assert_eq!(divergence.compare(&three()), Err(fault));
    }

    #[test]
    fn divergence_from_those_who_differ_among_themselves_or_do_not_vote_is_none() {
        let mut divergence = Divergence::default();
        divergence.applied(128, || 1);
        for (peer, digest) in [(2, 7), (3, 8), (4, 7)] {
            divergence.hear(MemberId(peer), 128, digest);
        }
        assert_eq!(divergence.compare(&three()), Ok(true));
        divergence.forget(MemberId(3));
        divergence.hear(MemberId(3), 128, 1);
        assert_eq!((divergence.compare(&three()), divergence.agreed), (Ok(true), 128));
        assert_eq!(divergence.compare(&three()), Ok(false), "a majority has agreed behind that");
    }
}
