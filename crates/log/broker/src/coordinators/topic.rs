//! The internal topics whose partitions have coordinators.

use log_wire::TopicName;

use crate::catalog::{Catalog, OFFSETS_TOPIC, SHARE_GROUPS_TOPIC, TRANSACTIONS_TOPIC};
use crate::node::Node;

/// An internal topic. Which of its partitions a group or a transactional id has says who coordinates it.
#[derive(Debug)]
pub(crate) struct InternalTopic {
    pub(crate) name: &'static str,
}

/// That of groups and their offsets.
pub(crate) static OFFSETS: InternalTopic = InternalTopic { name: OFFSETS_TOPIC };

/// That of transactions.
pub(crate) static TRANSACTIONS: InternalTopic = InternalTopic { name: TRANSACTIONS_TOPIC };

/// That of the state of share groups.
pub(crate) static SHARE_STATE: InternalTopic = InternalTopic { name: SHARE_GROUPS_TOPIC };

impl InternalTopic {
    /// Makes it if it is not there.
    pub(crate) fn make(&self, node: &mut Node) {
        if node.catalog.find(TopicName::Name(self.name)).is_err() {
            node.make_topic_by_name(self.name);
        }
    }

    /// Who leads a partition of it, as the council says.
    pub(crate) fn leader_of(&self, catalog: &Catalog, partition: i32) -> Option<i32> {
        let topic = catalog.find(TopicName::Name(self.name)).ok()?;
        let partition = topic.partitions.get(usize::try_from(partition).ok()?)?;
        (partition.leader >= 0).then_some(partition.leader)
    }

    /// The partition of a group or a transactional id, as Kafka chooses it. Nothing while the topic is not there.
    pub(crate) fn partition_of(&self, catalog: &Catalog, key: &str) -> Option<i32> {
        let topic = catalog.find(TopicName::Name(self.name)).ok()?;
        let partitions = i32::try_from(topic.partitions.len()).ok()?;
        let hash =
            key.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
        (hash & i32::MAX).checked_rem(partitions)
    }
}
