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
        place_of(key).checked_rem(partitions)
    }
}

/// The absolute value of Java's hash of a text, and 0 for the one hash that has none.
fn place_of(key: &str) -> i32 {
    let add = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    key.encode_utf16().fold(0, add).checked_abs().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_whose_hash_is_negative_lies_where_kafka_puts_it() {
        assert_eq!(
            ["audit", "orders", "analytics"].map(place_of),
            [93_166_555, 1_008_770_331, 1_693_017_210]
        );
        assert_eq!(place_of("polygenelubricants"), 0, "its hash is the lowest number");
    }
}
