//! The settings of a topic that its partitions act on, under Kafka's names.

use log_wire::{Compression, TimestampType};

use crate::producers::ProducerLimits;

/// When a batch counts as durable: `diwan.durability`, a setting of this broker's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Once it is flushed to the disk.
    Flushed,
    /// Once it is handed to the operating system, as Kafka does. It survives the end of the process, not that of the machine:
    /// after a loss of power the last batches are missing, at most those of [`PartitionConfig::flush_ms`].
    Replicated,
}

/// How batches are compressed on the disk: `compression.type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicCompression {
    /// As they come: `producer`.
    AsProduced,
    /// With this codec, at this level; no level for the codec's own, and for codecs without levels.
    With(Compression, Option<i32>),
}

/// When and how a log is compacted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compaction {
    /// `min.compaction.lag.ms`.
    pub lag_min_ms: i64,
    /// `max.compaction.lag.ms`; `i64::MAX` for never.
    pub lag_max_ms: i64,
    /// `min.cleanable.dirty.ratio`, from 0 to 1.
    pub dirty_ratio_min: f64,
    /// `delete.retention.ms`.
    pub delete_retention_ms: i64,
}

impl Default for Compaction {
    fn default() -> Self {
        Self { lag_min_ms: 0, lag_max_ms: i64::MAX, dirty_ratio_min: 0.5, delete_retention_ms: 86_400_000 }
    }
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartitionConfig {
    /// `segment.bytes`.
    pub segment_bytes: u64,
    /// `segment.ms`.
    pub segment_ms: i64,
    /// `segment.jitter.ms`: how much earlier than that a segment may end, so that not all end at once.
    pub segment_jitter_ms: i64,
    /// `max.message.bytes`: of a batch, its header included.
    pub batch_bytes_max: usize,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`.
    pub timestamp_after_max_ms: i64,
    /// `compression.type`, with the level.
    pub compression: TopicCompression,
    /// `diwan.durability`.
    pub durability: Durability,
    /// `flush.messages`: after so many records that were only handed to the operating system, a batch waits for a flush.
    pub flush_messages: u64,
    /// `flush.ms`: how long a batch that was only handed to the operating system stays so, at most.
    pub flush_ms: u64,
    /// `retention.ms`; nothing for no limit, as for topics without `cleanup.policy=delete`.
    pub retention_ms: Option<i64>,
    /// `retention.bytes`; nothing for no limit.
    pub retention_bytes: Option<u64>,
    /// If `cleanup.policy` has `compact`: when and how.
    pub compaction: Option<Compaction>,
    /// `min.insync.replicas`: what a producer that waits for all replicas asks for. It is the owner's to judge.
    pub min_insync_replicas: u32,
    /// `unclean.leader.election.enable`: without enough replicas, those that are left go on, whatever is lost.
    pub unclean_leader_election: bool,
    /// Limits of the producer table.
    pub producers: ProducerLimits,
}

impl Default for PartitionConfig {
    fn default() -> Self {
        Self {
            segment_bytes: 1 << 30,
            segment_ms: 7 * 86_400_000,
            segment_jitter_ms: 0,
            batch_bytes_max: 1_048_588,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: 3_600_000,
            compression: TopicCompression::AsProduced,
            durability: Durability::Flushed,
            flush_messages: u64::MAX,
            flush_ms: u64::MAX,
            retention_ms: Some(7 * 86_400_000),
            retention_bytes: None,
            compaction: None,
            min_insync_replicas: 1,
            unclean_leader_election: false,
            producers: ProducerLimits::default(),
        }
    }
}

impl PartitionConfig {
    /// How old the first record of a segment becomes before another segment is begun, milliseconds. `draw` is a number that is
    /// drawn for that segment.
    pub(crate) fn segment_age_max_ms(&self, draw: u64) -> i64 {
        let jitter = self.segment_jitter_ms.min(self.segment_ms);
        let jitter =
            u64::try_from(jitter).ok().filter(|jitter| *jitter > 0).map_or(0, |jitter| draw % jitter);
        let age = self.segment_ms.saturating_sub_unsigned(jitter);
        age.min(self.compaction.map_or(i64::MAX, |compaction| compaction.lag_max_ms))
    }
}
