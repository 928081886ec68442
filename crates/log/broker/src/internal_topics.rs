//! Topics that brokers keep their own state in: how each is made.

use log_config::Overrides;

use crate::catalog::{NewTopic, OFFSETS_TOPIC, TRANSACTIONS_TOPIC};
use crate::config::BrokerConfig;

/// The least `segment.bytes` of a topic.
const SEGMENT_BYTES_MIN: u64 = 1 << 20;

/// The internal topic of that name, as it is made; nothing if it is none that this broker makes.
pub(crate) fn new(name: &str, config: &BrokerConfig) -> Option<NewTopic> {
    let (partitions, segment_bytes, compression) = match name {
        OFFSETS_TOPIC => (config.offsets_partitions, config.offsets_segment_bytes, "producer"),
        TRANSACTIONS_TOPIC => {
            (config.transactions_partitions, config.transactions_segment_bytes, "uncompressed")
        }
        _ => return None,
    };
    let settings = Overrides::from([
        ("cleanup.policy".into(), "compact".into()),
        ("compression.type".into(), compression.into()),
        ("segment.bytes".into(), segment_bytes.max(SEGMENT_BYTES_MIN).to_string()),
    ]);
    Some(NewTopic { name: name.into(), partitions, settings })
}
