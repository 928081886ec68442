//! What is done to logs beside appends: retention and compaction.

use super::{size, unsigned};
use crate::layers::Values;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogMaintenance {
    /// `log.retention.check.interval.ms`.
    pub retention_check_ms: u64,
    /// `log.cleaner.enable`.
    pub compacts: bool,
    /// `log.cleaner.dedupe.buffer.size`: memory for the keys of logs that are compacted, of all of them together.
    pub key_bytes_max: usize,
    /// `log.cleaner.io.max.bytes.per.second`; nothing for no limit.
    pub bytes_per_second_max: Option<f64>,
    /// `log.cleaner.backoff.ms`.
    pub compaction_check_ms: u64,
}

impl LogMaintenance {
    /// What is in force.
    #[must_use]
    pub fn of(values: &impl Values) -> Self {
        Self {
            retention_check_ms: unsigned(values, "log.retention.check.interval.ms"),
            compacts: values.is_true("log.cleaner.enable"),
            key_bytes_max: size(values, "log.cleaner.dedupe.buffer.size"),
            bytes_per_second_max: values
                .double("log.cleaner.io.max.bytes.per.second")
                .filter(|rate| *rate > 0.0 && *rate < f64::MAX),
            compaction_check_ms: unsigned(values, "log.cleaner.backoff.ms"),
        }
    }
}
