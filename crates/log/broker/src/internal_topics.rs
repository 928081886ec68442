//! Topics that brokers keep their own state in: how each is made.

use log_config::Overrides;

use crate::catalog::NewTopic;
use crate::config::BrokerConfig;
use crate::groups::OFFSETS_TOPIC;

/// The least `segment.bytes` of a topic.
const SEGMENT_BYTES_MIN: u64 = 1 << 20;

/// The internal topic of that name, as it is made; nothing if it is none that this broker makes.
pub(crate) fn new(name: &str, config: &BrokerConfig) -> Option<NewTopic> {
    (name == OFFSETS_TOPIC).then(|| NewTopic {
        name: name.into(),
        partitions: config.offsets_partitions,
        settings: Overrides::from([
            ("cleanup.policy".into(), "compact".into()),
            ("compression.type".into(), "producer".into()),
            ("segment.bytes".into(), config.offsets_segment_bytes.max(SEGMENT_BYTES_MIN).to_string()),
        ]),
    })
}
