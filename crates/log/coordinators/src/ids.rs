//! The numbers and names that must not be taken for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A text that a client sent: shared, because tables, records and answers hold it at the same time.
pub type Text = Arc<str>;
/// Bytes that a client sent and that no coordinator reads.
pub type Blob = Arc<[u8]>;

/// Numbers the appends of one coordinator: 1, 2, 3. A number is not used again after a refusal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

/// Names a request that waits for its answer. The caller chooses it; the coordinator only gives it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// Counts the rebalances of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub i32);

impl Generation {
    /// What a request carries that comes from no member.
    pub const NONE: Self = Self(-1);

    /// The generation behind this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Counts the changes of a consumer group (KIP-848): of the group, of its target assignment, or of what a member was led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub i32);

impl Epoch {
    /// What a member sends that joins.
    pub const JOIN: Self = Self(0);
    /// What a member sends that leaves for good.
    pub const LEAVE: Self = Self(-1);
    /// What a static member sends that leaves for a while. It is that member's epoch until it, or its successor, joins.
    pub const LEAVE_STATIC: Self = Self(-2);

    /// The epoch behind this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// The id of a topic. No other topic ever has it.
pub type TopicId = [u8; 16];
/// Partitions of topics.
pub type Partitions = BTreeMap<TopicId, BTreeSet<i32>>;

/// A position in a partition, as clients commit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset(pub i64);

impl Offset {
    /// What a fetch answers if nothing was committed.
    pub const NONE: Self = Self(-1);
}

/// How many markers a producer's transactions had when a commit began. See
/// [`transaction_guard`](crate::GroupCoordinator::transaction_guard).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionGuard(pub(crate) i64);

/// A topic by its name and its id. The id tells a topic from a deleted topic of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Topic {
    /// Its name.
    pub name: Text,
    /// Its id.
    pub id: [u8; 16],
}
