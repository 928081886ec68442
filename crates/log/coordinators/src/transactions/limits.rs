//! The limits of a transaction coordinator: Kafka's settings, and bounds of our own on every table that a client can grow.

/// Limits of a transaction coordinator. The settings have Kafka's names and defaults.
#[derive(Clone, Debug)]
pub struct TransactionLimits {
    /// `transaction.max.timeout.ms`.
    pub transaction_timeout_max_ms: u32,
    /// `transactional.id.expiration.ms`.
    pub transactional_id_expiration_ms: i64,
    /// `transaction.remove.expired.transaction.cleanup.interval.ms`.
    pub expiration_check_ms: u64,
    /// The last epoch of a producer id. A client never gets it, so that its last transaction can still be fenced. The
    /// protocol's value is 32,767; tests take less, to come to the end sooner.
    pub producer_epoch_max: i16,
    /// Transactional ids that one coordinator knows: above it, a new id is refused with THROTTLING_QUOTA_EXCEEDED.
    pub transactional_ids_max: usize,
    /// Bytes of a transactional id: above it, INVALID_REQUEST.
    pub transactional_id_bytes_max: usize,
    /// Partitions of one transaction, for its record must fit into a batch: above it, POLICY_VIOLATION.
    pub partitions_per_transaction_max: usize,
    /// Partitions and transactional ids that one request may name: above it, INVALID_REQUEST.
    pub names_per_request_max: usize,
    /// Appends that are not durable yet: above it, requests are refused with COORDINATOR_NOT_AVAILABLE.
    pub appends_in_flight_max: usize,
    /// Ids that one append forgets at most.
    pub expired_per_append_max: usize,
    /// How long a marker that could not be written waits before it is sent again.
    pub marker_retry_ms: u64,
    /// The next block of producer ids is asked for when fewer than this are left. A caller that keeps ids for all its
    /// coordinators gives small blocks, one when the last id of the one before is taken.
    pub producer_ids_low: u64,
    /// How late a tick, or an append to become durable, may be before the timeouts of transactions stop to run.
    pub pause_ms_max: u64,
}

impl Default for TransactionLimits {
    fn default() -> Self {
        Self {
            transaction_timeout_max_ms: 900_000,
            transactional_id_expiration_ms: 7 * 24 * 3_600_000,
            expiration_check_ms: 3_600_000,
            producer_epoch_max: i16::MAX,
            transactional_ids_max: 500_000,
            transactional_id_bytes_max: 4_096,
            partitions_per_transaction_max: 10_000,
            names_per_request_max: 100_000,
            appends_in_flight_max: 1_000,
            expired_per_append_max: 1_000,
            marker_retry_ms: 500,
            producer_ids_low: 1,
            pause_ms_max: 1_000,
        }
    }
}
