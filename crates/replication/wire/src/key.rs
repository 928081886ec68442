//! How a message names a partition: in the form of the service, in as few bytes as can be.

use replication_controller::PartitionId;

use crate::WireError;
use crate::codec::{Input, put_near, put_varint};

/// How a service names a partition between replicas.
///
/// A key is written as its difference from the key of the item before it in the same frame, so that the partitions of a frame
/// cost one or two bytes each if their sender sorts them. Each frame begins without a key before: a lost connection loses
/// nothing that later frames need.
///
/// An implementation keeps three rules, on which the messages rely:
/// - what [`encode`](Self::encode) appends, [`decode`](Self::decode) reads back with the same `before`;
/// - a key has exactly one form for each `before`: any other bytes are refused;
/// - a key takes at least one byte, and `decode` allocates nothing.
pub trait PartitionKey: Copy + Eq {
    /// Appends this key; `before` is that of the item before.
    fn encode(self, before: Option<Self>, out: &mut Vec<u8>);

    /// Reads a key.
    ///
    /// # Errors
    /// The bytes are none.
    fn decode(before: Option<Self>, input: &mut Input<'_>) -> Result<Self, WireError>;
}

/// A partition known by its number: written as the distance from the number before, 1 to 10 bytes.
impl PartitionKey for PartitionId {
    #[inline]
    fn encode(self, before: Option<Self>, out: &mut Vec<u8>) {
        put_near(out, before.map_or(0, |before| before.0), self.0);
    }

    #[inline]
    fn decode(before: Option<Self>, input: &mut Input<'_>) -> Result<Self, WireError> {
        input.near(before.map_or(0, |before| before.0)).map(Self)
    }
}

/// A partition known by the 16-byte id of its group, a topic for instance, and its number in the group.
///
/// Written as a varint, twice the number, plus 1 if the group is another one than that of the key before; then the id of the
/// group follows. So the first partition of a group takes 17 to 21 bytes, and the next ones of the same group 1 to 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupedKey {
    /// The group.
    pub group: [u8; 16],
    /// The number in the group.
    pub index: u32,
}

impl PartitionKey for GroupedKey {
    #[inline]
    fn encode(self, before: Option<Self>, out: &mut Vec<u8>) {
        let is_new = before.is_none_or(|before| before.group != self.group);
        put_varint(out, u64::from(self.index) << 1 | u64::from(is_new));
        if is_new {
            out.extend_from_slice(&self.group);
        }
    }

    #[inline]
    fn decode(before: Option<Self>, input: &mut Input<'_>) -> Result<Self, WireError> {
        let reference = input.varint()?;
        let index = u32::try_from(reference >> 1).map_err(|_| WireError::Number)?;
        let known = before.map(|before| before.group);
        if reference & 1 == 0 {
            let group = known.ok_or(WireError::Forbidden("a first partition without its group"))?;
            return Ok(Self { group, index });
        }
        let group = input.array()?;
        if known == Some(group) {
            return Err(WireError::Forbidden("a group that was named already"));
        }
        Ok(Self { group, index })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<K: PartitionKey + core::fmt::Debug>(keys: &[K]) -> usize {
        let (mut out, mut before) = (Vec::new(), None);
        for key in keys {
            key.encode(before.replace(*key), &mut out);
        }
        let (mut input, mut before) = (Input::new(&out), None);
        for key in keys {
            assert_eq!(K::decode(before.replace(*key), &mut input), Ok(*key));
        }
        assert_eq!(input.finish(), Ok(()));
        out.len()
    }

    #[test]
    fn sorted_partitions_take_a_byte_or_two_each() {
        let numbers: Vec<_> = (0..1000).map(|number| PartitionId(1_000_000 + 3 * number)).collect();
        assert_eq!(round_trip(&numbers), 3 + 999);
        let grouped: Vec<_> = (0..1000).map(|index| GroupedKey { group: [7; 16], index }).collect();
        assert_eq!(round_trip(&grouped), 16 + 64 + 2 * 936);
    }

    #[test]
    fn partitions_in_any_order_come_back() {
        round_trip(&[u64::MAX, 0, 1 << 63, 0, 0, 5].map(PartitionId));
        let of = |group, index| GroupedKey { group: [group; 16], index };
        round_trip(&[of(1, u32::MAX), of(2, 0), of(1, 0), of(1, 0), of(2, 1)]);
    }

    #[test]
    fn group_is_named_where_it_changes_and_nowhere_else() {
        let key = GroupedKey { group: [7; 16], index: 1 };
        let mut out = Vec::new();
        key.encode(None, &mut out);
        let refused = |before, bytes: &[u8]| GroupedKey::decode(before, &mut Input::new(bytes)).is_err();
        assert!(!refused(None, &out) && refused(Some(key), &out) && refused(None, &[2]));
        assert!(refused(Some(key), &[0x80, 0x80, 0x80, 0x80, 0x20]), "an index of more than 32 bits");
    }
}
