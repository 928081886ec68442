//! What has gone over the links, for metrics.

use std::collections::BTreeMap;

use replication_appointed::ReplicaId;

/// The link to one broker, over all connections with it since it was first announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFigures {
    /// The broker.
    pub to: ReplicaId,
    /// Whether a link stands.
    pub is_connected: bool,
    /// How many links with it have ended.
    pub lost: u64,
    /// Bytes of messages that were taken for it and that its socket has not taken.
    pub waiting_bytes: u64,
    /// Bytes of messages that were taken for it.
    pub sent_bytes: u64,
    /// Bytes of messages that came from it.
    pub received_bytes: u64,
}

/// What is counted of the links with each broker. Those that are not announced any more are forgotten.
#[derive(Debug, Default)]
pub(crate) struct Counts(BTreeMap<ReplicaId, Count>);

/// Of one broker.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) lost: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
}

impl Counts {
    /// What is counted of that broker, from now on if it was not counted before.
    pub(crate) fn of(&mut self, broker: ReplicaId) -> &mut Count {
        self.0.entry(broker).or_default()
    }

    /// These are announced.
    pub(crate) fn keep(&mut self, announced: impl Iterator<Item = ReplicaId>) {
        let before = std::mem::take(&mut self.0);
        let count = |broker| (broker, before.get(&broker).copied().unwrap_or_default());
        self.0 = announced.map(count).collect();
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (ReplicaId, Count)> {
        self.0.iter().map(|(broker, count)| (*broker, *count))
    }
}

/// Bytes, as a number that is told.
pub(crate) fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
