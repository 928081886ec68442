//! Members compare the digests of their trees at the same transactions. One that differs from a majority which agrees
//! stops: it must not answer from a tree that nobody else has.

use std::collections::BTreeMap;

use council_wire::Zxid;

use crate::core::{Core, Fault};
use crate::peer::PeerMessage;

/// How often the latest digest is told, milliseconds.
const INTERVAL_MS: u64 = 1_000;
/// Digests of one member that are kept until they can be compared.
const KEPT_MAX: usize = 16;

/// What other members have said.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    said: BTreeMap<u64, Vec<(Zxid, u64)>>,
    told: Zxid,
    told_ms: u64,
    /// The last transaction at which a majority was found to agree with this member.
    agreed: Zxid,
}

impl Comparison {
    fn hear(&mut self, peer: u64, zxid: Zxid, digest: u64) {
        let said = self.said.entry(peer).or_default();
        if said.len() == KEPT_MAX {
            said.remove(0);
        }
        said.push((zxid, digest));
    }

    /// That member is none any more.
    pub(crate) fn forget(&mut self, peer: u64) {
        self.said.remove(&peer);
    }

    /// Of those who have said something of this transaction, whose digest is what.
    fn at(&self, zxid: Zxid) -> impl Iterator<Item = (u64, u64)> {
        self.said.iter().filter_map(move |(peer, said)| {
            said.iter().find(|(at, _)| *at == zxid).map(|(_, digest)| (*peer, *digest))
        })
    }
}

impl Core {
    /// Tells the latest digest from time to time.
    pub(crate) fn tell_digest(&mut self) {
        if self.is_alone() || self.now.mono_ms < self.comparison.told_ms + INTERVAL_MS {
            return;
        }
        let Some((zxid, digest)) = self.digests.latest().filter(|(zxid, _)| *zxid > self.comparison.told)
        else {
            return;
        };
        (self.comparison.told, self.comparison.told_ms) = (zxid, self.now.mono_ms);
        let message = PeerMessage::Digest { zxid: zxid.0, digest };
        let peers = self.peers();
        self.outgoing.extend(peers.into_iter().map(|peer| (peer, message.clone())));
    }

    /// Another member's tree was like this.
    pub(crate) fn digest_said(&mut self, peer: u64, zxid: i64, digest: u64) {
        self.comparison.hear(peer, Zxid(zxid), digest);
    }

    /// Compares what can be compared.
    ///
    /// # Errors
    /// A majority agrees upon a tree that is not this member's.
    pub(crate) fn compare_digests(&mut self) -> Result<(), Fault> {
        let majority = self.membership.majority();
        let zxids: Vec<_> = self.comparison.said.values().flatten().map(|(zxid, _)| *zxid).collect();
        for zxid in zxids {
            let Some(own) = self.digests.at(zxid).filter(|_| zxid > self.comparison.agreed) else { continue };
            let voters = &self.membership.voters;
            let others = self.comparison.at(zxid).filter(|(peer, _)| voters.contains(peer));
            let (same, different): (Vec<_>, Vec<_>) = others.partition(|(_, digest)| *digest == own);
            if same.len() + 1 >= majority {
                self.comparison.agreed = self.comparison.agreed.max(zxid);
            }
            let Some((_, theirs)) = different.first() else { continue };
            if different.iter().filter(|(_, digest)| digest == theirs).count() >= majority {
                return Err(Fault(format!(
                    "the tree of this member differs from that of a majority at zxid 0x{:x}: its digest is \
                     {own:016x}, and {theirs:016x} at {different:?}. Nothing was served from it since this was \
                     found; empty its data directory, and it takes the others' state; keep a copy for a report",
                    zxid.0
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_one_transaction_stands_together() {
        let mut comparison = Comparison::default();
        comparison.hear(2, Zxid(128), 7);
        comparison.hear(3, Zxid(128), 8);
        comparison.hear(3, Zxid(256), 9);
        assert_eq!(comparison.at(Zxid(128)).collect::<Vec<_>>(), [(2, 7), (3, 8)]);
        assert_eq!(comparison.at(Zxid(256)).collect::<Vec<_>>(), [(3, 9)]);
        for zxid in 0..100 {
            comparison.hear(2, Zxid(zxid * 128), 1);
        }
        assert_eq!(comparison.said[&2].len(), KEPT_MAX);
    }
}
