//! The configurations of a group as values that its coordinator acts on.

use crate::group::GroupLayers;
use crate::layers::Values;
use crate::offset_reset::OffsetReset;

/// See the module. What is not set has the broker's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// `consumer.*`: of a group of consumers (KIP-848).
    pub consumer: MemberTimes,
    /// `share.*`: of a share group (KIP-932).
    pub share: ShareGroupConfig,
    /// `streams.*`: of a group of Kafka Streams (KIP-1071).
    pub streams: StreamsGroupConfig,
}

/// When members are heard and lost, and how often partitions are assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberTimes {
    /// `session.timeout.ms`.
    pub session_timeout_ms: u64,
    /// `heartbeat.interval.ms`.
    pub heartbeat_interval_ms: u64,
    /// `assignment.interval.ms`.
    pub assignment_interval_ms: u64,
}

/// See [`GroupConfig::share`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareGroupConfig {
    /// Times of its members.
    pub members: MemberTimes,
    /// `share.record.lock.duration.ms`.
    pub record_lock_ms: u64,
    /// `share.delivery.count.limit`.
    pub delivery_count_max: u32,
    /// `share.partition.max.record.locks`.
    pub record_locks_max: u32,
    /// `share.auto.offset.reset`.
    pub offset_reset: OffsetReset,
    /// `share.isolation.level` is `read_committed`.
    pub reads_committed: bool,
    /// `share.renew.acknowledge.enable`.
    pub renews_locks: bool,
}

/// See [`GroupConfig::streams`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamsGroupConfig {
    /// Times of its members.
    pub members: MemberTimes,
    /// `streams.initial.rebalance.delay.ms`.
    pub initial_rebalance_delay_ms: u64,
    /// `streams.num.standby.replicas`.
    pub standby_replicas: u32,
}

impl GroupConfig {
    /// What is in force for a group.
    #[must_use]
    pub fn of(layers: &GroupLayers<'_>) -> Self {
        let count = |name: &str| u32::try_from(layers.whole(name).unwrap_or_default()).unwrap_or_default();
        let reset = layers.text("share.auto.offset.reset");
        Self {
            consumer: MemberTimes::of(layers, "consumer"),
            share: ShareGroupConfig {
                members: MemberTimes::of(layers, "share"),
                record_lock_ms: ms(layers, "share.record.lock.duration.ms"),
                delivery_count_max: count("share.delivery.count.limit"),
                record_locks_max: count("share.partition.max.record.locks"),
                offset_reset: reset.and_then(|text| OffsetReset::read(&text)).unwrap_or(OffsetReset::Latest),
                reads_committed: layers.text("share.isolation.level").as_deref() == Some("read_committed"),
                renews_locks: layers.is_true("share.renew.acknowledge.enable"),
            },
            streams: StreamsGroupConfig {
                members: MemberTimes::of(layers, "streams"),
                initial_rebalance_delay_ms: ms(layers, "streams.initial.rebalance.delay.ms"),
                standby_replicas: count("streams.num.standby.replicas"),
            },
        }
    }
}

impl MemberTimes {
    fn of(layers: &GroupLayers<'_>, kind: &str) -> Self {
        let ms = |what: &str| ms(layers, &format!("{kind}.{what}"));
        Self {
            session_timeout_ms: ms("session.timeout.ms"),
            heartbeat_interval_ms: ms("heartbeat.interval.ms"),
            assignment_interval_ms: ms("assignment.interval.ms"),
        }
    }
}

fn ms(layers: &GroupLayers<'_>, name: &str) -> u64 {
    u64::try_from(layers.whole(name).unwrap_or_default()).unwrap_or_default()
}
