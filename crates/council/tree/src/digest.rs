//! The digest: a sum over all nodes and sessions, so that their order does not matter and a change costs only its
//! own two terms.
//!
//! Two members that applied the same log have the same digest; it covers all that is replicated and nothing else.
//! It is not the digest of ZooKeeper's own snapshots and logs.

use council_wire::{SessionId, Zxid};
use twox_hash::XxHash3_64;

use crate::Session;
use crate::node::Node;
use crate::path::PathHash;

/// The version of this digest: two of different versions say nothing about each other. ZooKeeper counts its own from 1.
pub const DIGEST_VERSION: i32 = 101;

/// A fixed room that numbers are laid into, one behind the other.
struct Fields<const N: usize> {
    bytes: [u8; N],
    used: usize,
}

impl<const N: usize> Fields<N> {
    const fn new() -> Self {
        Self { bytes: [0; N], used: 0 }
    }

    #[inline(always)]
    fn put<const M: usize>(&mut self, field: [u8; M]) {
        self.bytes[self.used..self.used + M].copy_from_slice(&field);
        self.used += M;
    }

    #[inline]
    fn hash(&self, seed: u64) -> u64 {
        XxHash3_64::oneshot_with_seed(seed, &self.bytes)
    }
}

/// A node's term. Its children are in it only by their count of creations: each has a term of its own.
#[inline]
pub(crate) fn of_node(path: PathHash, node: &Node, acl_digest: u64) -> u64 {
    let stat = &node.stat;
    let length = node.value.as_bytes().map_or(u32::MAX, |data| data.len() as u32);
    let mut fields = Fields::<76>::new();
    fields.put(acl_digest.to_le_bytes());
    fields.put(stat.czxid.0.to_le_bytes());
    fields.put(stat.mzxid.0.to_le_bytes());
    fields.put(stat.pzxid.0.to_le_bytes());
    fields.put(stat.ctime.to_le_bytes());
    fields.put(stat.mtime.to_le_bytes());
    fields.put(stat.owner.to_le_bytes());
    fields.put(stat.version.to_le_bytes());
    fields.put(stat.creations.to_le_bytes());
    fields.put(stat.aversion.to_le_bytes());
    fields.put(node.checksum.to_le_bytes());
    fields.put(length.to_le_bytes());
    fields.hash(path.digest)
}

/// A session's term. Its ephemeral nodes name it themselves.
pub(crate) fn of_session(session: &Session) -> u64 {
    let SessionId(id) = session.id;
    let mut fields = Fields::<32>::new();
    fields.put(session.timeout_ms.to_le_bytes());
    fields.put(session.generation.to_le_bytes());
    fields.put(session.sequence.to_le_bytes());
    fields.put(session.password);
    fields.hash(id as u64)
}

/// The term of a member's latest session.
pub(crate) fn of_birth(SessionId(id): SessionId) -> u64 {
    XxHash3_64::oneshot_with_seed(1, &id.to_le_bytes())
}

/// The term of what there is only one of.
pub(crate) fn of_rest(zxid: Zxid, feature_level: u32, config_version: i64) -> u64 {
    let mut fields = Fields::<20>::new();
    fields.put(zxid.0.to_le_bytes());
    fields.put(config_version.to_le_bytes());
    fields.put(feature_level.to_le_bytes());
    fields.hash(0)
}
