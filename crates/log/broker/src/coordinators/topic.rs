//! The internal topics whose partitions have coordinators.

use std::collections::BTreeMap;

use log_wire::TopicName;

use crate::catalog::{Catalog, NewTopic, OFFSETS_TOPIC, TRANSACTIONS_TOPIC};
use crate::config::BrokerConfig;
use crate::node::Node;

/// An internal topic. Which of its partitions a group or a transactional id has says who coordinates it.
#[derive(Debug)]
pub(crate) struct InternalTopic {
    pub(crate) name: &'static str,
    /// How many partitions it gets when it is made.
    partitions: fn(&BrokerConfig) -> i32,
}

/// That of groups and their offsets.
pub(crate) static OFFSETS: InternalTopic =
    InternalTopic { name: OFFSETS_TOPIC, partitions: |config| config.offsets_partitions };

/// That of transactions.
pub(crate) static TRANSACTIONS: InternalTopic =
    InternalTopic { name: TRANSACTIONS_TOPIC, partitions: |config| config.transactions_partitions };

impl InternalTopic {
    /// Makes it if it is not there.
    pub(crate) fn make(&self, node: &mut Node) {
        if node.catalog.find(TopicName::Name(self.name)).is_err() {
            let settings = BTreeMap::from([("cleanup.policy".into(), "compact".into())]);
            let partitions = (self.partitions)(&node.config);
            node.make_topic(&NewTopic { name: self.name.into(), partitions, settings });
        }
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
