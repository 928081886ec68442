//! Numbers that must not be confused: offsets, epochs of leaders, producers and coordinators, and sequence numbers.

use core::fmt;

use replication_appointed::{Epoch, Seq};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($number:ty)),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $number);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    )+};
}

ids! {
    /// The number of a record in its partition, from 0. Control records have offsets too.
    Offset(i64),
    /// The epoch of a partition's leader. It rises with each new leader.
    LeaderEpoch(i32),
    /// The id of a producer, unique in the cluster.
    ProducerId(i64),
    /// The epoch of a producer id. A higher epoch fences all lower ones.
    ProducerEpoch(i16),
    /// The epoch of the transaction coordinator that wrote a marker.
    CoordinatorEpoch(i32),
    /// The sequence number of a record among those of its producer, from 0. 0 follows 2^31-1.
    Sequence(i32),
}

impl Offset {
    /// Before the first record.
    pub const ZERO: Self = Self(0);
    /// Above every offset.
    pub const MAX: Self = Self(i64::MAX);

    /// The offset so many records later.
    #[must_use]
    pub const fn plus(self, records: i64) -> Self {
        Self(self.0.saturating_add(records))
    }

    /// The next offset.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// How many offsets this one is above `earlier`; negative if it is below.
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A record is an entry of the replica's log; both are numbered alike.
impl Offset {
    pub(crate) const fn seq(self) -> Seq {
        Seq(self.0.cast_unsigned())
    }

    /// That of the entry with that number.
    #[must_use]
    pub const fn of(seq: Seq) -> Self {
        Self(seq.0.cast_signed())
    }
}

/// The first epoch of a replica is 1, that of a partition's leader is 0. -1 is none.
impl LeaderEpoch {
    /// The same as the epoch of a replica.
    #[must_use]
    pub const fn epoch(self) -> Epoch {
        Epoch(self.0.wrapping_add(1).cast_unsigned())
    }

    /// The same as the epoch of a partition's leader.
    #[must_use]
    pub const fn of(epoch: Epoch) -> Self {
        Self(epoch.0.cast_signed().wrapping_sub(1))
    }
}

impl Sequence {
    /// The sequence number so many records later.
    #[must_use]
    pub const fn plus(self, records: i32) -> Self {
        Self((self.0.wrapping_add(records)) & i32::MAX)
    }

    /// The next sequence number.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }
}

/// Which partition: its topic's id, which no two topics ever share, and its number in the topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionId {
    /// The topic.
    pub topic: [u8; 16],
    /// The number.
    pub index: i32,
}

/// Which segment of a partition. The one that is appended to has generation 0; compaction makes segments of higher
/// generations, so that no two segments of a partition ever have the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId {
    /// The offset at which it begins.
    pub base: Offset,
    /// How many times its content went through compaction.
    pub generation: u32,
}

impl SegmentId {
    /// A segment that was not compacted.
    #[must_use]
    pub const fn appended(base: Offset) -> Self {
        Self { base, generation: 0 }
    }
}

/// Where a batch is appended: in which segment of its partition, and how many bytes into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The offset at which the segment begins.
    pub segment: Offset,
    /// Bytes before the batch.
    pub position: u64,
}

impl Place {
    /// The place so many bytes further in the same segment.
    #[must_use]
    pub const fn plus(self, bytes: u64) -> Self {
        Self { segment: self.segment, position: self.position.saturating_add(bytes) }
    }
}

/// A place in a segment, between two batches: no record before has that offset or one above, none behind has one below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boundary {
    /// The offset.
    pub offset: Offset,
    /// Bytes before.
    pub position: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_zero_follows_the_highest() {
        assert_eq!(Sequence(i32::MAX).next(), Sequence(0));
        assert_eq!(Sequence(i32::MAX - 1).plus(3), Sequence(1));
        assert_eq!(Sequence(4).plus(0), Sequence(4));
    }
}
