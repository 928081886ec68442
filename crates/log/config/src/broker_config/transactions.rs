//! Transactions and idempotent producers.

use super::groups::InternalTopic;
use super::{int, unsigned};
use crate::layers::Values;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionSettings {
    /// `transaction.max.timeout.ms`.
    pub timeout_max_ms: u32,
    /// `transactional.id.expiration.ms`.
    pub id_expiration_ms: i64,
    /// `transaction.abort.timed.out.transaction.cleanup.interval.ms`.
    pub timeout_check_ms: u64,
    /// `transaction.remove.expired.transaction.cleanup.interval.ms`.
    pub expiration_check_ms: u64,
    /// `transaction.partition.verification.enable`.
    pub verifies_partitions: bool,
    /// `transaction.state.log.*`: `__transaction_state`.
    pub topic: InternalTopic,
    /// `transaction.state.log.min.isr`.
    pub topic_min_insync_replicas: i32,
    /// `producer.id.expiration.ms`.
    pub producer_expiration_ms: i64,
}

impl TransactionSettings {
    /// What is in force.
    #[must_use]
    pub fn of(values: &impl Values) -> Self {
        let whole = |name: &str| values.whole(name).unwrap_or_default();
        Self {
            timeout_max_ms: u32::try_from(whole("transaction.max.timeout.ms")).unwrap_or_default(),
            id_expiration_ms: whole("transactional.id.expiration.ms"),
            timeout_check_ms: unsigned(values, "transaction.abort.timed.out.transaction.cleanup.interval.ms"),
            expiration_check_ms: unsigned(
                values,
                "transaction.remove.expired.transaction.cleanup.interval.ms",
            ),
            verifies_partitions: values.is_true("transaction.partition.verification.enable"),
            topic: InternalTopic::of(values, "transaction.state.log"),
            topic_min_insync_replicas: int(values, "transaction.state.log.min.isr"),
            producer_expiration_ms: whole("producer.id.expiration.ms"),
        }
    }
}
