//! Topics that brokers keep their own state in: how each is made.

use log_config::Overrides;

use crate::catalog::{OFFSETS_TOPIC, SHARE_GROUPS_TOPIC, TRANSACTIONS_TOPIC};
use crate::config::BrokerConfig;

/// The least `segment.bytes` of a topic.
const SEGMENT_BYTES_MIN: u64 = 1 << 20;

/// An internal topic, as it is made.
pub(crate) struct InternalTopic {
    pub(crate) partitions: i32,
    /// How many replicas a partition gets, if there are as many brokers.
    pub(crate) replicas: i16,
    pub(crate) settings: Overrides,
}

/// The internal topic of that name; nothing if it is none that this broker makes.
pub(crate) fn of(name: &str, config: &BrokerConfig) -> Option<InternalTopic> {
    let (topic, compression) = match name {
        OFFSETS_TOPIC => (config.offsets_topic, "producer"),
        TRANSACTIONS_TOPIC => (config.transactions_topic, "uncompressed"),
        SHARE_GROUPS_TOPIC => (config.share.state_topic, "producer"),
        _ => return None,
    };
    let settings = Overrides::from([
        ("cleanup.policy".into(), "compact".into()),
        ("compression.type".into(), compression.into()),
        ("segment.bytes".into(), topic.segment_bytes.max(SEGMENT_BYTES_MIN).to_string()),
    ]);
    Some(InternalTopic { partitions: topic.partitions, replicas: topic.replication_factor, settings })
}
