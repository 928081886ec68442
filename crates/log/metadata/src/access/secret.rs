//! What all brokers of a cluster know and nobody else: 32 random bytes, in base64. A cluster has one for each purpose.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::keeper::{Change, Decision, Found};
use crate::paths;

/// A cluster's secret. See the module.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ClusterSecret(pub [u8; 32]);

impl ClusterSecret {
    /// The data of its node.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        STANDARD.encode(self.0).into_bytes()
    }

    /// Gives the cluster this one for the links between its brokers, unless it has one: the first broker that writes wins. At
    /// the end [`Ended::Done`](crate::Ended::Done) has the data of the node, which [`Self::read`] reads.
    #[must_use]
    pub fn claim_for_links(self, ticket: u64) -> Change {
        Change::new(String::from(paths::LINKS_SECRET), ticket, move |found: Found<'_>| {
            match found.data.and_then(Self::read) {
                Some(_) => Decision::Keep,
                None => Decision::Write(self.bytes()),
            }
        })
    }

    /// Reads the data of its node; nothing if it is no secret.
    #[must_use]
    pub fn read(data: &[u8]) -> Option<Self> {
        STANDARD.decode(data).ok().and_then(|secret| secret.try_into().ok()).map(Self)
    }
}

impl core::fmt::Debug for ClusterSecret {
    /// Nothing of it.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("ClusterSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use council_client_core::Acl;
    use council_client_model::World;

    use super::*;
    use crate::{Ended, Keeper, KeeperEvent, KeeperLimits};

    fn keeper() -> Keeper {
        Keeper::new(vec![Acl::open()], KeeperLimits::default())
    }

    /// The secret that a claim ended with, once it has.
    fn ended(keeper: &mut Keeper) -> Option<ClusterSecret> {
        while let Some(event) = keeper.event() {
            if let KeeperEvent::Ended { ticket: 4, ended: Ended::Done(Some(data)) } = event {
                return ClusterSecret::read(&data);
            }
        }
        None
    }

    #[test]
    fn brokers_that_start_at_once_agree_on_one_secret_whatever_breaks() {
        let mut first_wins = 0;
        for seed in 0..100 {
            let mut world = World::new(seed, 3, [keeper(), keeper(), keeper()]);
            for (peer, byte) in world.peers.iter_mut().zip(1..) {
                peer.recipe.change(ClusterSecret([byte; 32]).claim_for_links(4));
            }
            (0..500).for_each(|_| world.step());
            world.heal_until(|world| world.peers.iter().all(|peer| peer.recipe.changes_under_way() == 0));
            let secrets: Vec<_> = world.peers.iter_mut().map(|peer| ended(&mut peer.recipe)).collect();
            assert!(secrets[0].is_some() && secrets.iter().all(|other| *other == secrets[0]), "seed {seed}");
            let stored = world.ensemble.tree.get(paths::LINKS_SECRET).map(|node| node.data.clone());
            assert_eq!(stored.as_deref().and_then(ClusterSecret::read), secrets[0], "seed {seed}");
            first_wins += u32::from(secrets[0] == Some(ClusterSecret([1; 32])));
        }
        assert!((1..100).contains(&first_wins), "the race is always won by the same: {first_wins}");
    }

    #[test]
    fn node_that_holds_no_secret_gets_one() {
        let mut world = World::new(1, 1, [keeper()]);
        world.faults = false;
        let keeper = &mut world.peers[0].recipe;
        keeper.change(Change::new(String::from(paths::LINKS_SECRET), 1, |_| Decision::Write(b"?".to_vec())));
        keeper.change(ClusterSecret([7; 32]).claim_for_links(4));
        world.heal_until(|world| world.peers[0].recipe.changes_under_way() == 0);
        assert_eq!(ended(&mut world.peers[0].recipe), Some(ClusterSecret([7; 32])));
    }

    #[test]
    fn secret_is_read_back_and_nothing_else_is_one() {
        let secret = ClusterSecret([7; 32]);
        assert_eq!(ClusterSecret::read(&secret.bytes()), Some(secret));
        for other in [&b""[..], b"?", b"BwcH", &secret.bytes()[..40]] {
            assert_eq!(ClusterSecret::read(other), None);
        }
    }
}
