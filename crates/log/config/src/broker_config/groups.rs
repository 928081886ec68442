//! Groups of all kinds, and committed offsets. What a single group may set itself is in
//! [`GroupConfig`](crate::GroupConfig).

use super::{int, limit, size, unsigned};
use crate::layers::Values;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// `group.coordinator.rebalance.protocols`.
    pub kinds: GroupKinds,
    /// `group.min.session.timeout.ms`, of classic groups.
    pub session_timeout_min_ms: u64,
    /// `group.max.session.timeout.ms`, of classic groups.
    pub session_timeout_max_ms: u64,
    /// `group.initial.rebalance.delay.ms`, of classic groups.
    pub initial_rebalance_delay_ms: u64,
    /// `group.max.size`, of classic groups; nothing for no limit.
    pub classic_size_max: Option<u64>,
    /// `group.consumer.session.timeout.ms` and its bounds.
    pub consumer_session_timeout: GroupTime,
    /// `group.consumer.heartbeat.interval.ms` and its bounds.
    pub consumer_heartbeat_interval: GroupTime,
    /// `group.consumer.assignment.interval.ms` and its bounds.
    pub consumer_assignment_interval: GroupTime,
    /// `group.consumer.max.size`; nothing for no limit.
    pub consumer_size_max: Option<u64>,
    /// `group.consumer.assignors`, by their short names, the default one first.
    pub consumer_assignors: Vec<String>,
    /// `group.consumer.migration.policy`.
    pub migration: GroupMigration,
    /// `group.consumer.regex.refresh.interval.ms`.
    pub regex_refresh_ms: u64,
    /// `group.share.max.size`.
    pub share_size_max: usize,
    /// `group.share.max.share.sessions`.
    pub share_sessions_max: usize,
    /// `group.streams.max.size`; nothing for no limit.
    pub streams_size_max: Option<u64>,
    /// `offset.metadata.max.bytes`.
    pub offset_metadata_bytes_max: usize,
    /// `offsets.retention.minutes`, in milliseconds.
    pub offsets_retention_ms: i64,
    /// `offsets.retention.check.interval.ms`.
    pub offsets_retention_check_ms: u64,
    /// `offsets.commit.timeout.ms`.
    pub commit_timeout_ms: u64,
    /// `offsets.topic.*`: `__consumer_offsets`.
    pub offsets_topic: InternalTopic,
    /// `share.coordinator.state.topic.*`: `__share_group_state`.
    pub share_topic: InternalTopic,
}

/// A time of a kind of groups, in milliseconds: for a group that does not set it, and what a group may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupTime {
    /// `group.KIND.NAME`.
    pub default_ms: u64,
    /// `group.KIND.min.NAME`.
    pub min_ms: u64,
    /// `group.KIND.max.NAME`.
    pub max_ms: u64,
}

/// Which kinds of groups are served. Classic ones always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupKinds {
    /// `consumer`.
    pub consumer: bool,
    /// `share`.
    pub share: bool,
    /// `streams`.
    pub streams: bool,
}

/// Whether a group may change between classic and consumer while it has members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMigration {
    /// A classic group may become a consumer group.
    pub to_consumer: bool,
    /// A consumer group may become a classic group.
    pub to_classic: bool,
}

/// A topic that the broker makes for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InternalTopic {
    /// How many partitions it gets.
    pub partitions: i32,
    /// How many replicas it gets, if there are as many brokers.
    pub replication_factor: i16,
    /// Its `segment.bytes`. It may be below the least of other topics.
    pub segment_bytes: u64,
}

impl GroupSettings {
    /// What is in force.
    #[must_use]
    pub fn of(values: &impl Values) -> Self {
        let kinds = values.list("group.coordinator.rebalance.protocols");
        let has = |kind: &str| kinds.iter().any(|own| own == kind);
        let minutes = values.whole("offsets.retention.minutes").unwrap_or_default();
        Self {
            kinds: GroupKinds { consumer: has("consumer"), share: has("share"), streams: has("streams") },
            session_timeout_min_ms: unsigned(values, "group.min.session.timeout.ms"),
            session_timeout_max_ms: unsigned(values, "group.max.session.timeout.ms"),
            initial_rebalance_delay_ms: unsigned(values, "group.initial.rebalance.delay.ms"),
            classic_size_max: limit(values, "group.max.size"),
            consumer_session_timeout: GroupTime::of(values, "consumer", "session.timeout.ms"),
            consumer_heartbeat_interval: GroupTime::of(values, "consumer", "heartbeat.interval.ms"),
            consumer_assignment_interval: GroupTime::of(values, "consumer", "assignment.interval.ms"),
            consumer_size_max: limit(values, "group.consumer.max.size"),
            consumer_assignors: consumer_assignors(values),
            migration: GroupMigration::of(values),
            regex_refresh_ms: unsigned(values, "group.consumer.regex.refresh.interval.ms"),
            share_size_max: size(values, "group.share.max.size"),
            share_sessions_max: size(values, "group.share.max.share.sessions"),
            streams_size_max: limit(values, "group.streams.max.size"),
            offset_metadata_bytes_max: size(values, "offset.metadata.max.bytes"),
            offsets_retention_ms: minutes.saturating_mul(60_000),
            offsets_retention_check_ms: unsigned(values, "offsets.retention.check.interval.ms"),
            commit_timeout_ms: unsigned(values, "offsets.commit.timeout.ms"),
            offsets_topic: InternalTopic::of(values, "offsets.topic"),
            share_topic: InternalTopic::of(values, "share.coordinator.state.topic"),
        }
    }
}

impl GroupTime {
    fn of(values: &impl Values, kind: &str, name: &str) -> Self {
        Self {
            default_ms: unsigned(values, &format!("group.{kind}.{name}")),
            min_ms: unsigned(values, &format!("group.{kind}.min.{name}")),
            max_ms: unsigned(values, &format!("group.{kind}.max.{name}")),
        }
    }
}

impl GroupMigration {
    fn of(values: &impl Values) -> Self {
        let policy = values.text("group.consumer.migration.policy").unwrap_or_default().to_ascii_lowercase();
        Self {
            to_consumer: matches!(policy.as_str(), "upgrade" | "bidirectional"),
            to_classic: matches!(policy.as_str(), "downgrade" | "bidirectional"),
        }
    }
}

impl Default for InternalTopic {
    /// As Kafka makes it if nothing is set.
    fn default() -> Self {
        Self { partitions: 50, replication_factor: 3, segment_bytes: 104_857_600 }
    }
}

impl InternalTopic {
    /// Of `PREFIX.num.partitions` and its kin.
    pub(super) fn of(values: &impl Values, prefix: &str) -> Self {
        let factor = int(values, &format!("{prefix}.replication.factor"));
        Self {
            partitions: int(values, &format!("{prefix}.num.partitions")),
            replication_factor: i16::try_from(factor).unwrap_or(i16::MAX),
            segment_bytes: unsigned(values, &format!("{prefix}.segment.bytes")),
        }
    }
}

/// A class of Kafka's counts as the assignor that it is.
fn consumer_assignors(values: &impl Values) -> Vec<String> {
    let short = |name: String| match name.as_str() {
        "org.apache.kafka.coordinator.group.assignor.UniformAssignor" => "uniform".into(),
        "org.apache.kafka.coordinator.group.assignor.RangeAssignor" => "range".into(),
        _ => name,
    };
    values.list("group.consumer.assignors").into_iter().map(short).collect()
}
