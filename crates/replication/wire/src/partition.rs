//! The form of a partition's id in a list: in as few bytes as can be.
//!
//! An id is written as its difference from the id of the item before it in the same message, so the partitions of a message cost
//! one or two bytes each if their sender sorts them. Each message begins without an id before: a lost connection loses nothing
//! that later messages need.
//!
//! The form is a varint, twice the index, plus 1 if the group is another one than that of the id before; then the id of the group
//! follows. So the first partition of a group takes 17 to 21 bytes, and the next ones of the same group 1 to 5. An id has exactly
//! one form for each id before it: any other bytes are refused.

use replication_controller::PartitionId;

use crate::WireError;
use crate::codec::{Input, put_varint};

/// Bytes of the longest form: five for the index, and the group.
pub(crate) const PARTITION_BYTES_MAX: usize = 5 + 16;

/// Appends an id; `before` is that of the item before.
#[inline]
pub(crate) fn encode(partition: PartitionId, before: Option<PartitionId>, out: &mut Vec<u8>) {
    let PartitionId { group, index } = partition;
    let is_new = before.is_none_or(|before| before.group != group);
    put_varint(out, u64::from(index) << 1 | u64::from(is_new));
    if is_new {
        out.extend_from_slice(&group);
    }
}

/// Reads an id.
#[inline]
pub(crate) fn decode(before: Option<PartitionId>, input: &mut Input<'_>) -> Result<PartitionId, WireError> {
    let reference = input.varint()?;
    let index = u32::try_from(reference >> 1).map_err(|_| WireError::Number)?;
    let known = before.map(|before| before.group);
    if reference & 1 == 0 {
        let group = known.ok_or(WireError::Forbidden("a first partition without its group"))?;
        return Ok(PartitionId { group, index });
    }
    let group = input.array()?;
    if known == Some(group) {
        return Err(WireError::Forbidden("a group that was named already"));
    }
    Ok(PartitionId { group, index })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(group: u8, index: u32) -> PartitionId {
        PartitionId { group: [group; 16], index }
    }

    fn round_trip(partitions: &[PartitionId]) -> usize {
        let (mut out, mut before) = (Vec::new(), None);
        for partition in partitions {
            encode(*partition, before.replace(*partition), &mut out);
        }
        let (mut input, mut before) = (Input::new(&out), None);
        for partition in partitions {
            assert_eq!(decode(before.replace(*partition), &mut input), Ok(*partition));
        }
        assert_eq!(input.finish(), Ok(()));
        out.len()
    }

    #[test]
    fn sorted_partitions_take_a_byte_or_two_each() {
        let sorted: Vec<_> = (0..1000).map(|index| of(7, index)).collect();
        assert_eq!(round_trip(&sorted), 16 + 64 + 2 * 936);
    }

    #[test]
    fn partitions_in_any_order_come_back() {
        round_trip(&[of(1, u32::MAX), of(2, 0), of(1, 0), of(1, 0), of(2, 1), of(0, 5), of(0, 4)]);
    }

    #[test]
    fn longest_partition_is_within_its_bound() {
        assert_eq!(round_trip(&[of(0xff, u32::MAX)]), PARTITION_BYTES_MAX);
    }

    #[test]
    fn group_is_named_where_it_changes_and_nowhere_else() {
        let partition = of(7, 1);
        let mut out = Vec::new();
        encode(partition, None, &mut out);
        let refused = |before, bytes: &[u8]| decode(before, &mut Input::new(bytes)).is_err();
        assert!(!refused(None, &out) && refused(Some(partition), &out) && refused(None, &[2]));
        assert!(refused(Some(partition), &[0x80, 0x80, 0x80, 0x80, 0x20]), "an index of more than 32 bits");
    }
}
