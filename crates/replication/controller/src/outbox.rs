//! What is to be sent: which node is to hear of which partition. What it is to hear is found when it is sent, so it is always
//! the newest, and many partitions share a message.

use std::collections::{BTreeMap, BTreeSet};

use replication_appointed::{Epoch, ReplicaId};

use crate::ids::{PartitionId, Version};

/// What a node was sent last about a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Fence(Epoch),
    Tell(Version),
    /// Whether it was asked for other replicas, and for a hand-over.
    Ask(Version, bool, Option<ReplicaId>),
}

type ByNode<T> = BTreeMap<ReplicaId, T>;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// May have to be sent.
    due: ByNode<BTreeSet<PartitionId>>,
    /// Was sent, and is not known to be answered.
    awaited: ByNode<BTreeMap<PartitionId, Sent>>,
    /// Is told once.
    news: ByNode<BTreeSet<PartitionId>>,
    /// May have to be proposed.
    pub(crate) ready: BTreeSet<PartitionId>,
    /// Is to be read.
    pub(crate) reads: BTreeSet<PartitionId>,
}

impl Outbox {
    /// The node may have to hear of the partition.
    pub(crate) fn due(&mut self, node: ReplicaId, partition: PartitionId) {
        self.due.entry(node).or_default().insert(partition);
    }

    /// The node is to hear once of what the configuration says.
    pub(crate) fn news(&mut self, node: ReplicaId, partition: PartitionId) {
        self.news.entry(node).or_default().insert(partition);
    }

    /// What was sent to the node may be lost.
    pub(crate) fn send_again(&mut self, node: ReplicaId) {
        let awaited = self.awaited.remove(&node).unwrap_or_default();
        if !awaited.is_empty() {
            self.due.entry(node).or_default().extend(awaited.into_keys());
        }
    }

    /// That was sent; whether it is new.
    pub(crate) fn is_new(&mut self, node: ReplicaId, partition: PartitionId, sent: Sent) -> bool {
        self.awaited.entry(node).or_default().insert(partition, sent) != Some(sent)
    }

    pub(crate) fn take_due(&mut self) -> ByNode<BTreeSet<PartitionId>> {
        core::mem::take(&mut self.due)
    }

    pub(crate) fn take_news(&mut self) -> ByNode<BTreeSet<PartitionId>> {
        core::mem::take(&mut self.news)
    }
}
