//! Ids of partitions, processes and writes. A node is known by the number of its replicas
//! ([`replication_appointed::ReplicaId`]).

use core::fmt;

/// A partition: the group that it belongs to, and its index in that group. The order is by group, then by index.
///
/// The id of a group is never used again. A group that is removed and created again under the same name has another id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionId {
    /// The group, a set of partitions that the service creates and removes together.
    pub group: [u8; 16],
    /// The index in the group.
    pub index: u32,
}

impl PartitionId {
    /// The partition with that index in the group whose id is all zeros. It is for tests and simulators, which have one group;
    /// a service has groups with ids of their own.
    #[must_use]
    pub const fn numbered(index: u32) -> Self {
        Self { group: [0; 16], index }
    }
}

/// The group in hexadecimal digits, a slash, and the index. The group whose id is all zeros is left out, so that the stories
/// of simulators stay short.
impl fmt::Debug for PartitionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, index } = self;
        match u128::from_be_bytes(*group) {
            0 => write!(formatter, "PartitionId({index})"),
            group => write!(formatter, "PartitionId({group:032x}/{index})"),
        }
    }
}

/// The version of a record: it rises with each write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

/// The process of a node: it rises with each start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u64);

/// A batch of changes that was proposed by one controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProposalId(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_ids_are_ordered_by_group_and_then_by_index() {
        let of = |first, last, index| {
            let mut group = [0; 16];
            (group[0], group[15]) = (first, last);
            PartitionId { group, index }
        };
        let ordered = [
            PartitionId::numbered(0),
            of(0, 0, u32::MAX),
            of(0, 1, 0),
            of(0, 1, 2),
            of(1, 0, 0),
            of(1, 0, 1),
        ];
        assert!(ordered.is_sorted_by(|before, next| before < next), "{ordered:?}");
    }

    #[test]
    fn partition_id_is_written_short() {
        let of = |group, index| format!("{:?}", PartitionId { group: [group; 16], index });
        assert_eq!(of(0, 7), "PartitionId(7)");
        assert_eq!(of(0x0a, 7), format!("PartitionId({}/7)", "0a".repeat(16)));
    }
}
