//! The record of one node. Kept small: its size is budgeted for a million nodes.

use alloc::boxed::Box;
use alloc::sync::Arc;

use council_wire::{SessionId, Stat, Zxid};
use twox_hash::XxHash3_64;

use crate::acl::AclId;
use crate::arena::{NONE, Slot};

/// Names and values up to this length lie in the record itself.
const INLINE: usize = 22;

/// A node's last path component.
#[derive(Clone)]
pub(crate) enum Name {
    Inline(u8, [u8; INLINE]),
    Heap(Box<str>),
}

impl Name {
    pub(crate) fn new(name: &str) -> Self {
        match inline(name.as_bytes()) {
            Some((length, bytes)) => Self::Inline(length, bytes),
            None => Self::Heap(Box::from(name)),
        }
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Inline(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or_default(),
            Self::Heap(name) => name.as_bytes(),
        }
    }

    #[inline]
    pub(crate) fn as_str(&self) -> &str {
        match self {
            // Was a string when it was copied in.
            Self::Inline(..) => core::str::from_utf8(self.as_bytes()).unwrap_or_default(),
            Self::Heap(name) => name,
        }
    }
}

/// A node's data: null is not empty.
#[derive(Clone)]
pub(crate) enum Value {
    Null,
    Inline(u8, [u8; INLINE]),
    Heap(Arc<[u8]>),
}

impl Value {
    pub(crate) fn new(data: Option<&[u8]>) -> Self {
        let Some(data) = data else { return Self::Null };
        match inline(data) {
            Some((length, bytes)) => Self::Inline(length, bytes),
            None => Self::Heap(Arc::from(data)),
        }
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Null => None,
            Self::Inline(length, bytes) => bytes.get(..usize::from(*length)),
            Self::Heap(data) => Some(data),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.as_bytes().map_or(0, <[u8]>::len)
    }

    /// Bytes outside the record.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Heap(data) => data.len(),
            _ => 0,
        }
    }

    /// A checksum of the data that keeps null apart.
    pub(crate) fn checksum(&self) -> u32 {
        self.as_bytes().map_or(0, |data| XxHash3_64::oneshot(data) as u32 | 1)
    }
}

fn inline(bytes: &[u8]) -> Option<(u8, [u8; INLINE])> {
    let mut room = [0; INLINE];
    room.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some((bytes.len() as u8, room))
}

/// What is stored of a node besides name, data and links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeStat {
    pub(crate) czxid: Zxid,
    pub(crate) mzxid: Zxid,
    pub(crate) pzxid: Zxid,
    /// As the clients' Stat has them: numbers of milliseconds since 1970, also in each argument of that name.
    pub(crate) ctime: i64,
    pub(crate) mtime: i64,
    /// As [`Owner`] encodes it.
    pub(crate) owner: i64,
    pub(crate) version: i32,
    /// Children ever created: the next sequential child's number.
    pub(crate) creations: i32,
    pub(crate) aversion: i32,
    pub(crate) acl: AclId,
}

impl NodeStat {
    /// That of a node created just now.
    pub(crate) const fn born(zxid: Zxid, ctime: i64, owner: Owner, acl: AclId) -> Self {
        Self {
            czxid: zxid,
            mzxid: zxid,
            pzxid: zxid,
            ctime,
            mtime: ctime,
            owner: owner.encode(),
            version: 0,
            creations: 0,
            aversion: 0,
            acl,
        }
    }
}

/// What keeps a node alive, as ZooKeeper encodes it in the owner field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Only its deletion removes it.
    Nobody,
    /// It goes with this session.
    Session(SessionId),
    /// It goes when its children have gone.
    Container,
    /// It goes when it has no children and its data has not been set for so many milliseconds.
    Ttl(i64),
}

impl Owner {
    /// The highest byte of a TTL node's owner.
    const TTL_MASK: i64 = 0xff << 56;
    /// One more than the longest time to live.
    pub(crate) const TTL_LIMIT: i64 = 1 << 40;

    pub(crate) const fn encode(self) -> i64 {
        match self {
            Self::Nobody => 0,
            Self::Session(id) => id.0,
            Self::Container => i64::MIN,
            Self::Ttl(ttl_ms) => Self::TTL_MASK | ttl_ms,
        }
    }

    pub(crate) const fn decode(owner: i64) -> Self {
        match owner {
            0 => Self::Nobody,
            i64::MIN => Self::Container,
            ttl if ttl & Self::TTL_MASK == Self::TTL_MASK => Self::Ttl(ttl & (Self::TTL_LIMIT - 1)),
            session => Self::Session(SessionId(session)),
        }
    }
}

/// One node. What lies in it besides its content are links to others, by slot.
pub(crate) struct Node {
    pub(crate) stat: NodeStat,
    /// [`Value::checksum`] of the value.
    pub(crate) checksum: u32,
    pub(crate) name: Name,
    pub(crate) value: Value,
    pub(crate) parent: Slot,
    pub(crate) first_child: Slot,
    pub(crate) next: Slot,
    pub(crate) previous: Slot,
    pub(crate) children: u32,
}

impl Node {
    pub(crate) fn new(parent: Slot, name: Name, stat: NodeStat, value: Value) -> Self {
        let checksum = value.checksum();
        Self {
            stat,
            checksum,
            name,
            value,
            parent,
            first_child: NONE,
            next: NONE,
            previous: NONE,
            children: 0,
        }
    }

    pub(crate) fn set_value(&mut self, value: Value) {
        self.checksum = value.checksum();
        self.value = value;
    }

    /// Sets the data, in place if it is as long as the old data and there is no other reference to that.
    pub(crate) fn set_data(&mut self, data: Option<&[u8]>) {
        match (&mut self.value, data) {
            (Value::Heap(old), Some(new)) if old.len() == new.len() => match Arc::get_mut(old) {
                Some(old) => old.copy_from_slice(new),
                None => *old = Arc::from(new),
            },
            (value, data) => *value = Value::new(data),
        }
        self.checksum = self.value.checksum();
    }

    pub(crate) const fn owner(&self) -> Owner {
        Owner::decode(self.stat.owner)
    }

    /// The Stat as a client sees it: creations and deletions of children counted together, owners of container and
    /// TTL nodes hidden.
    pub(crate) fn wire_stat(&self) -> Stat {
        let stat = &self.stat;
        let children = self.children as i32;
        Stat {
            czxid: stat.czxid.0,
            mzxid: stat.mzxid.0,
            ctime: stat.ctime,
            mtime: stat.mtime,
            version: stat.version,
            cversion: stat.creations.wrapping_mul(2).wrapping_sub(children),
            aversion: stat.aversion,
            ephemeral_owner: match self.owner() {
                Owner::Session(id) => id.0,
                _ => 0,
            },
            data_length: self.value.len() as i32,
            num_children: children,
            pzxid: stat.pzxid.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_stays_small() {
        assert!(size_of::<Node>() <= 136, "{} bytes", size_of::<Node>());
    }

    #[test]
    fn owners_are_encoded_as_by_zookeeper() {
        assert_eq!(Owner::Ttl(5).encode() as u64, 0xff00_0000_0000_0005);
        let sessions = [0x100, -2 << 56].map(|id| Owner::Session(SessionId(id)));
        for owner in sessions.into_iter().chain([Owner::Nobody, Owner::Container, Owner::Ttl(7)]) {
            assert_eq!(Owner::decode(owner.encode()), owner);
        }
    }

    #[test]
    fn data_of_the_same_length_replaces_the_old_but_not_what_another_holds() {
        let mut node = Node::new(0, Name::new("a"), NodeStat::default(), Value::new(Some(&[1; 100])));
        let held = node.value.clone();
        for data in [&[2_u8; 100][..], &[3; 100], &[4; 90], &[5; 3], &[]] {
            node.set_data(Some(data));
            assert_eq!(node.value.as_bytes(), Some(data));
            assert_eq!(node.checksum, Value::new(Some(data)).checksum());
        }
        node.set_data(None);
        assert_eq!((node.value.as_bytes(), held.as_bytes()), (None, Some(&[1; 100][..])));
    }

    #[test]
    fn null_is_not_empty_and_the_checksum_knows() {
        assert_eq!(Value::new(None).as_bytes(), None);
        assert_eq!(Value::new(Some(b"")).as_bytes(), Some(&b""[..]));
        assert_ne!(Value::new(None).checksum(), Value::new(Some(b"")).checksum());
        let long = [7; INLINE + 1];
        assert_eq!(Value::new(Some(&long)).as_bytes(), Some(&long[..]));
        assert_eq!(Name::new(&"x".repeat(40)).as_str(), "x".repeat(40));
    }
}
