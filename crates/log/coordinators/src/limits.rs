//! The limits of a group coordinator: Kafka's settings, and bounds of our own on every table that a client can grow.

use crate::Assignor;

/// Limits of a group coordinator. The settings have Kafka's names and defaults.
#[derive(Clone, Debug)]
pub struct GroupLimits {
    /// `group.min.session.timeout.ms`.
    pub session_timeout_min_ms: u64,
    /// `group.max.session.timeout.ms`.
    pub session_timeout_max_ms: u64,
    /// `group.initial.rebalance.delay.ms`.
    pub initial_rebalance_delay_ms: u64,
    /// `group.max.size`. Kafka has no bound by default; we have.
    pub group_size_max: usize,
    /// `offset.metadata.max.bytes`.
    pub offset_metadata_bytes_max: usize,
    /// Offsets that one transaction may have pending in the groups of one coordinator, for its marker commits them in one
    /// append: above it, new ones are refused with POLICY_VIOLATION.
    pub pending_offsets_max: usize,
    /// `producer.id.expiration.ms`.
    pub producer_expiration_ms: i64,
    /// `offsets.retention.minutes`, in milliseconds.
    pub offsets_retention_ms: i64,
    /// `offsets.retention.check.interval.ms`.
    pub retention_check_ms: u64,
    /// Groups with a state of their own; those of offsets alone count as offsets.
    pub groups_max: usize,
    /// Records in the table of one coordinator: above it, new offsets are refused.
    pub records_max: usize,
    /// Bytes of the ids, names and protocol metadata of one member.
    pub member_bytes_max: usize,
    /// Bytes of all members' metadata and assignments of one group, and of all that one transaction has pending: what is
    /// written of them at once must fit into a batch.
    pub group_bytes_max: usize,
    /// Groups, members, topics and partitions that one request may name: above it, INVALID_REQUEST.
    pub names_per_request_max: usize,
    /// Appends that are not durable yet: above it, requests are refused with COORDINATOR_NOT_AVAILABLE.
    pub appends_in_flight_max: usize,
    /// How late a tick, or an append to become durable, may be before members' timeouts stop to run.
    pub pause_ms_max: u64,
    /// How many records a check of retention looks at before it lets requests pass.
    pub retention_records_per_tick: usize,
    /// Limits of the groups of KIP-848.
    pub consumer: ConsumerLimits,
}

/// Which groups with members change their protocol: `group.consumer.migration.policy`. Empty groups always do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrationPolicy {
    /// None.
    Disabled,
    /// Classic groups become consumer groups.
    Upgrade,
    /// Consumer groups become classic groups.
    Downgrade,
    /// Both.
    Bidirectional,
}

impl MigrationPolicy {
    /// Whether a classic group with members may become a consumer group.
    #[must_use]
    pub const fn upgrades(self) -> bool {
        matches!(self, Self::Upgrade | Self::Bidirectional)
    }

    /// Whether a consumer group whose members are all classic becomes a classic group.
    #[must_use]
    pub const fn downgrades(self) -> bool {
        matches!(self, Self::Downgrade | Self::Bidirectional)
    }
}

/// Limits of consumer groups. The settings have Kafka's names, below `group.consumer.`, and defaults.
#[derive(Clone, Debug)]
pub struct ConsumerLimits {
    /// `session.timeout.ms`.
    pub session_timeout_ms: u64,
    /// `min.session.timeout.ms`.
    pub session_timeout_min_ms: u64,
    /// `max.session.timeout.ms`.
    pub session_timeout_max_ms: u64,
    /// `heartbeat.interval.ms`.
    pub heartbeat_interval_ms: u64,
    /// `min.heartbeat.interval.ms`.
    pub heartbeat_interval_min_ms: u64,
    /// `max.heartbeat.interval.ms`.
    pub heartbeat_interval_max_ms: u64,
    /// `assignment.interval.ms`.
    pub assignment_interval_ms: u64,
    /// `min.assignment.interval.ms`.
    pub assignment_interval_min_ms: u64,
    /// `max.assignment.interval.ms`.
    pub assignment_interval_max_ms: u64,
    /// `max.size`. Kafka has no bound by default; we have.
    pub group_size_max: usize,
    /// `assignors`: those that members may name. The first one is taken if they name none.
    pub assignors: Vec<Assignor>,
    /// `migration.policy`.
    pub migration_policy: MigrationPolicy,
    /// `regex.refresh.interval.ms`: topics are matched again after this time even if there are no others, because the
    /// client may see others.
    pub regex_refresh_max_ms: u64,
    /// Topics are not matched again before this time, however many are made. Kafka's is fixed.
    pub regex_refresh_min_ms: u64,
    /// Different regular expressions of one group: above it, another one is refused with POLICY_VIOLATION.
    pub regexes_max: usize,
    /// Bytes of a regular expression: above it, INVALID_REGULAR_EXPRESSION.
    pub regex_bytes_max: usize,
    /// Bytes of a compiled regular expression: above it, INVALID_REGULAR_EXPRESSION.
    pub regex_compiled_bytes_max: usize,
}

impl Default for ConsumerLimits {
    fn default() -> Self {
        Self {
            session_timeout_ms: 45_000,
            session_timeout_min_ms: 45_000,
            session_timeout_max_ms: 60_000,
            heartbeat_interval_ms: 5_000,
            heartbeat_interval_min_ms: 5_000,
            heartbeat_interval_max_ms: 15_000,
            assignment_interval_ms: 1_000,
            assignment_interval_min_ms: 0,
            assignment_interval_max_ms: 15_000,
            group_size_max: 10_000,
            assignors: vec![Assignor::Uniform, Assignor::Range],
            migration_policy: MigrationPolicy::Bidirectional,
            regex_refresh_max_ms: 600_000,
            regex_refresh_min_ms: 10_000,
            regexes_max: 100,
            regex_bytes_max: 8 * 1024,
            regex_compiled_bytes_max: 1024 * 1024,
        }
    }
}

impl Default for GroupLimits {
    fn default() -> Self {
        Self {
            session_timeout_min_ms: 6_000,
            session_timeout_max_ms: 1_800_000,
            initial_rebalance_delay_ms: 3_000,
            group_size_max: 10_000,
            offset_metadata_bytes_max: 4_096,
            pending_offsets_max: 10_000,
            producer_expiration_ms: 86_400_000,
            offsets_retention_ms: 7 * 24 * 3_600_000,
            retention_check_ms: 600_000,
            groups_max: 100_000,
            records_max: 2_000_000,
            member_bytes_max: 256 * 1024,
            group_bytes_max: 8 * 1024 * 1024,
            names_per_request_max: 100_000,
            appends_in_flight_max: 1_000,
            pause_ms_max: 1_000,
            retention_records_per_tick: 20_000,
            consumer: ConsumerLimits::default(),
        }
    }
}
