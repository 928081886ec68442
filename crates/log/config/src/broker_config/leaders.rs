//! Who shall lead, which replicas are in sync, and which of them consumers read.

use super::unsigned;
use crate::definitions::BY_RACK;
use crate::entry::Source;
use crate::file::LEADER_IMBALANCE_PERCENTAGE;
use crate::layers::{Overrides, Values};

/// How long a preferred replica is there before lead goes back to it, milliseconds, if nothing is set.
const PREFERRED_AFTER_MS: u64 = 60_000;
/// How long ago a replica in sync may have held everything, milliseconds, if nothing is set.
const LAG_MS: u64 = 1_000;

/// See the module. All of it is read when the broker starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderSettings {
    /// How long a preferred replica is there before lead goes back to it, milliseconds
    /// (`leader.imbalance.check.interval.seconds`); nothing if it never does by itself (`auto.leader.rebalance.enable`).
    pub preferred_after_ms: Option<u64>,
    /// `leader.imbalance.per.broker.percentage`: lead goes back to a broker only while more of the partitions that prefer it are
    /// led elsewhere.
    pub imbalance_percent: u64,
    /// `replica.lag.time.max.ms`.
    pub lag_ms: u64,
    /// Whether consumers are told of a replica in their rack (`replica.selector.class`).
    pub reads_by_rack: bool,
}

impl Default for LeaderSettings {
    fn default() -> Self {
        Self {
            preferred_after_ms: Some(PREFERRED_AFTER_MS),
            imbalance_percent: 0,
            lag_ms: LAG_MS,
            reads_by_rack: false,
        }
    }
}

impl LeaderSettings {
    /// What is in force.
    #[must_use]
    pub fn of(values: &impl Values) -> Self {
        let set = |name: &str| {
            let is_set = values.value(name).is_some_and(|(_, source)| source != Source::Default);
            is_set.then(|| unsigned(values, name))
        };
        let after_ms = set("leader.imbalance.check.interval.seconds")
            .map_or(PREFERRED_AFTER_MS, |seconds| seconds.saturating_mul(1_000));
        Self {
            preferred_after_ms: values.is_true("auto.leader.rebalance.enable").then_some(after_ms),
            lag_ms: set("replica.lag.time.max.ms").unwrap_or(LAG_MS),
            reads_by_rack: values.text("replica.selector.class").is_some_and(|class| class == BY_RACK),
            ..Self::default()
        }
    }

    /// The same with what the file says of a name that is no configuration of a Kafka 4.3 broker.
    #[must_use]
    pub fn with_file(self, file: &Overrides) -> Self {
        let percent = file.get(LEADER_IMBALANCE_PERCENTAGE).and_then(|value| value.trim().parse().ok());
        Self { imbalance_percent: percent.unwrap_or(self.imbalance_percent), ..self }
    }
}
