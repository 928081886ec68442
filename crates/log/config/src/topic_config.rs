//! The configurations of a topic as values that its partitions act on.

use log_partition::{Compaction, Durability, PartitionConfig, ProducerLimits, TopicCompression};
use log_wire::{Compression, TimestampType};

use crate::layers::Values;
use crate::topic::TopicLayers;

/// See the module. Every field is named after its configuration. What is not set has Kafka's default.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicConfig {
    /// `cleanup.policy` has `delete`.
    pub deletes: bool,
    /// `cleanup.policy` has `compact`.
    pub compacts: bool,
    /// `retention.ms`; nothing for ever. In force only if the topic [`deletes`](Self::deletes).
    pub retention_ms: Option<i64>,
    /// `retention.bytes`; nothing for no limit. In force only if the topic [`deletes`](Self::deletes).
    pub retention_bytes: Option<u64>,
    /// `segment.bytes`.
    pub segment_bytes: u64,
    /// `segment.ms`.
    pub segment_ms: i64,
    /// `segment.jitter.ms`.
    pub segment_jitter_ms: i64,
    /// `max.message.bytes`: of a batch, its header included.
    pub batch_bytes_max: usize,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`.
    pub timestamp_after_max_ms: i64,
    /// `min.insync.replicas`.
    pub min_insync_replicas: u32,
    /// `unclean.leader.election.enable`.
    pub unclean_leader_election: bool,
    /// `compression.type` and the level of it.
    pub compression: TopicCompression,
    /// When and how the log is compacted, if the topic [`compacts`](Self::compacts).
    pub compaction: Compaction,
    /// `diwan.durability`.
    pub durability: Durability,
    /// `flush.messages`; `u64::MAX` for never. In force only with [`Durability::Replicated`].
    pub flush_messages: u64,
    /// `flush.ms`; `u64::MAX` for never. In force only with [`Durability::Replicated`].
    pub flush_ms: u64,
    /// `leader.replication.throttled.replicas`.
    pub leader_throttled: ThrottledReplicas,
    /// `follower.replication.throttled.replicas`.
    pub follower_throttled: ThrottledReplicas,
}

/// Replicas whose copying is slowed down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThrottledReplicas {
    /// All of the topic.
    All,
    /// These, as partition and broker. Numbers that no partition or broker has are left out.
    These(Vec<(i32, i32)>),
}

impl TopicConfig {
    /// What is in force for a topic.
    #[must_use]
    pub fn of(layers: &TopicLayers<'_>) -> Self {
        let whole = |name: &str| layers.whole(name).unwrap_or_default();
        let unsigned = |name: &str| u64::try_from(whole(name)).unwrap_or_default();
        let policy = layers.list("cleanup.policy");
        Self {
            deletes: policy.iter().any(|policy| policy == "delete"),
            compacts: policy.iter().any(|policy| policy == "compact"),
            retention_ms: Some(whole("retention.ms")).filter(|ms| *ms >= 0),
            retention_bytes: u64::try_from(whole("retention.bytes")).ok(),
            segment_bytes: unsigned("segment.bytes"),
            segment_ms: whole("segment.ms"),
            segment_jitter_ms: whole("segment.jitter.ms"),
            batch_bytes_max: usize::try_from(whole("max.message.bytes")).unwrap_or_default(),
            timestamp_type: timestamp_type(layers),
            timestamp_before_max_ms: whole("message.timestamp.before.max.ms"),
            timestamp_after_max_ms: whole("message.timestamp.after.max.ms"),
            min_insync_replicas: u32::try_from(whole("min.insync.replicas")).unwrap_or(1),
            unclean_leader_election: layers.is_true("unclean.leader.election.enable"),
            compression: compression(layers),
            compaction: Compaction {
                lag_min_ms: whole("min.compaction.lag.ms"),
                lag_max_ms: whole("max.compaction.lag.ms"),
                dirty_ratio_min: layers.double("min.cleanable.dirty.ratio").unwrap_or_default(),
                delete_retention_ms: whole("delete.retention.ms"),
            },
            durability: match layers.text("diwan.durability").as_deref() {
                Some("replicated") => Durability::Replicated,
                _ => Durability::Flushed,
            },
            flush_messages: never_at_most(whole("flush.messages")),
            flush_ms: never_at_most(whole("flush.ms")),
            leader_throttled: throttled(layers.list("leader.replication.throttled.replicas")),
            follower_throttled: throttled(layers.list("follower.replication.throttled.replicas")),
        }
    }

    /// What a partition of the topic acts on. The limits of producers are the broker's.
    #[must_use]
    pub fn partition_config(&self, producers: ProducerLimits) -> PartitionConfig {
        let (retention_ms, retention_bytes) =
            if self.deletes { (self.retention_ms, self.retention_bytes) } else { (None, None) };
        PartitionConfig {
            segment_bytes: self.segment_bytes,
            segment_ms: self.segment_ms,
            batch_bytes_max: self.batch_bytes_max,
            timestamp_type: self.timestamp_type,
            timestamp_before_max_ms: self.timestamp_before_max_ms,
            timestamp_after_max_ms: self.timestamp_after_max_ms,
            segment_jitter_ms: self.segment_jitter_ms,
            compression: self.compression,
            compaction: self.compacts.then_some(self.compaction),
            durability: self.durability,
            flush_messages: self.flush_messages,
            flush_ms: self.flush_ms,
            retention_ms,
            retention_bytes,
            min_insync_replicas: self.min_insync_replicas,
            unclean_leader_election: self.unclean_leader_election,
            producers,
        }
    }
}

fn never_at_most(number: i64) -> u64 {
    if number == i64::MAX { u64::MAX } else { u64::try_from(number).unwrap_or_default() }
}

fn timestamp_type(layers: &TopicLayers<'_>) -> TimestampType {
    match layers.text("message.timestamp.type").as_deref() {
        Some("LogAppendTime") => TimestampType::LogAppendTime,
        _ => TimestampType::CreateTime,
    }
}

fn compression(layers: &TopicLayers<'_>) -> TopicCompression {
    let level = |name: &str| layers.whole(name).and_then(|level| i32::try_from(level).ok());
    match layers.text("compression.type").as_deref() {
        Some("uncompressed") => TopicCompression::With(Compression::None, None),
        Some("snappy") => TopicCompression::With(Compression::Snappy, None),
        Some("gzip") => {
            let level = level("compression.gzip.level").filter(|level| *level >= 0);
            TopicCompression::With(Compression::Gzip, level)
        }
        Some("lz4") => TopicCompression::With(Compression::Lz4, level("compression.lz4.level")),
        Some("zstd") => TopicCompression::With(Compression::Zstd, level("compression.zstd.level")),
        _ => TopicCompression::AsProduced,
    }
}

fn throttled(elements: Vec<String>) -> ThrottledReplicas {
    if elements.iter().any(|element| element == "*") {
        return ThrottledReplicas::All;
    }
    let replica = |element: &String| {
        let (partition, broker) = element.split_once(':')?;
        Some((partition.parse().ok()?, broker.parse().ok()?))
    };
    ThrottledReplicas::These(elements.iter().filter_map(replica).collect())
}
