//! The settings of a topic that its partitions act on, under Kafka's names.

use log_wire::TimestampType;

use crate::producers::ProducerLimits;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionConfig {
    /// `segment.bytes`.
    pub segment_bytes: u64,
    /// `segment.ms`.
    pub segment_ms: i64,
    /// `max.message.bytes`: of a batch, its header included.
    pub batch_bytes_max: usize,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`.
    pub timestamp_after_max_ms: i64,
    /// `retention.ms`; nothing for no limit, as for topics without `cleanup.policy=delete`.
    pub retention_ms: Option<i64>,
    /// `retention.bytes`; nothing for no limit.
    pub retention_bytes: Option<u64>,
    /// Limits of the producer table.
    pub producers: ProducerLimits,
}

impl Default for PartitionConfig {
    fn default() -> Self {
        Self {
            segment_bytes: 1 << 30,
            segment_ms: 7 * 86_400_000,
            batch_bytes_max: 1_048_588,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: 3_600_000,
            retention_ms: Some(7 * 86_400_000),
            retention_bytes: None,
            producers: ProducerLimits::default(),
        }
    }
}
