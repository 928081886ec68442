//! The settings of a topic by Kafka's names, and what its partitions act on.

use std::collections::BTreeMap;

use log_partition::{Compaction, Durability, PartitionConfig};
use log_wire::TimestampType;

/// Why settings are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSetting {
    /// The name.
    pub name: String,
    /// What is wrong with it.
    pub why: &'static str,
}

/// Settings that are taken, shown and kept, and on which nothing acts.
const KEPT: &[&str] = &[
    "compression.type",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.zstd.level",
    "file.delete.delay.ms",
    "index.interval.bytes",
    "min.insync.replicas",
    "preallocate",
    "segment.index.bytes",
    "unclean.leader.election.enable",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
];

/// What partitions act on, from a topic's own settings and the broker's defaults.
///
/// # Errors
/// A name is unknown, or a value has no meaning.
pub fn partition_config(
    defaults: &PartitionConfig,
    settings: &BTreeMap<String, String>,
) -> Result<PartitionConfig, BadSetting> {
    let mut config = *defaults;
    let (mut deletes, mut compacts, mut compaction) = (true, false, Compaction::default());
    for (name, value) in settings {
        let set = Setting { name, value };
        match name.as_str() {
            "segment.bytes" => {
                config.segment_bytes = set.number(1 << 20, i64::from(i32::MAX))?.unsigned_abs()
            }
            "segment.ms" => config.segment_ms = set.number(1, i64::MAX)?,
            "max.message.bytes" => {
                let bytes = set.number(0, i64::from(i32::MAX))?;
                config.batch_bytes_max = usize::try_from(bytes).unwrap_or(usize::MAX);
            }
            "message.timestamp.type" => config.timestamp_type = set.timestamp_type()?,
            "message.timestamp.before.max.ms" => config.timestamp_before_max_ms = set.number(0, i64::MAX)?,
            "message.timestamp.after.max.ms" => config.timestamp_after_max_ms = set.number(0, i64::MAX)?,
            "retention.ms" => config.retention_ms = Some(set.number(-1, i64::MAX)?).filter(|ms| *ms >= 0),
            "retention.bytes" => config.retention_bytes = u64::try_from(set.number(-1, i64::MAX)?).ok(),
            "cleanup.policy" => (deletes, compacts) = (set.has_policy("delete")?, set.has_policy("compact")?),
            "segment.jitter.ms" => config.segment_jitter_ms = set.number(0, i64::MAX)?,
            "min.compaction.lag.ms" => compaction.lag_min_ms = set.number(0, i64::MAX)?,
            "max.compaction.lag.ms" => compaction.lag_max_ms = set.number(1, i64::MAX)?,
            "min.cleanable.dirty.ratio" => compaction.dirty_ratio_min = set.ratio()?,
            "delete.retention.ms" => compaction.delete_retention_ms = set.number(0, i64::MAX)?,
            "flush.messages" => config.flush_messages = set.number_or_never(1)?,
            "flush.ms" => config.flush_ms = set.number_or_never(0)?,
            "diwan.durability" => config.durability = set.durability()?,
            kept if KEPT.contains(&kept) => {}
            _ => return Err(set.bad("there is no such setting of a topic")),
        }
    }
    if !deletes {
        (config.retention_ms, config.retention_bytes) = (None, None);
    }
    config.compaction = compacts.then_some(compaction);
    Ok(config)
}

struct Setting<'s> {
    name: &'s str,
    value: &'s str,
}

impl Setting<'_> {
    fn bad(&self, why: &'static str) -> BadSetting {
        BadSetting { name: self.name.into(), why }
    }

    fn number(&self, least: i64, most: i64) -> Result<i64, BadSetting> {
        let number = self.value.trim().parse().map_err(|_| self.bad("its value is no whole number"))?;
        if (least..=most).contains(&number) { Ok(number) } else { Err(self.bad("its value is out of range")) }
    }

    fn timestamp_type(&self) -> Result<TimestampType, BadSetting> {
        match self.value {
            "CreateTime" => Ok(TimestampType::CreateTime),
            "LogAppendTime" => Ok(TimestampType::LogAppendTime),
            _ => Err(self.bad("its value is neither CreateTime nor LogAppendTime")),
        }
    }

    /// A number; the highest that there is stands for never.
    fn number_or_never(&self, least: i64) -> Result<u64, BadSetting> {
        let number = self.number(least, i64::MAX)?;
        Ok(if number == i64::MAX { u64::MAX } else { number.unsigned_abs() })
    }

    fn ratio(&self) -> Result<f64, BadSetting> {
        let ratio = self.value.trim().parse().map_err(|_| self.bad("its value is no number"))?;
        if (0.0..=1.0).contains(&ratio) { Ok(ratio) } else { Err(self.bad("its value is out of range")) }
    }

    fn durability(&self) -> Result<Durability, BadSetting> {
        match self.value {
            "flushed" => Ok(Durability::Flushed),
            "replicated" => Ok(Durability::Replicated),
            _ => Err(self.bad("its value is neither flushed nor replicated")),
        }
    }

    /// Whether `cleanup.policy` has this one.
    fn has_policy(&self, wanted: &str) -> Result<bool, BadSetting> {
        let mut policies = self.value.split(',').map(str::trim).filter(|policy| !policy.is_empty());
        if policies.clone().all(|policy| matches!(policy, "delete" | "compact")) {
            return Ok(policies.any(|policy| policy == wanted));
        }
        Err(self.bad("its value is none of delete, compact, and both"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(settings: &[(&str, &str)]) -> Result<PartitionConfig, BadSetting> {
        let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        partition_config(&PartitionConfig::default(), &settings)
    }

    #[test]
    fn settings_have_kafkas_names() {
        let set = config(&[("retention.ms", "5"), ("segment.bytes", "1048576"), ("retention.bytes", "-1")]);
        let set = set.expect("they are good");
        assert_eq!((set.retention_ms, set.segment_bytes, set.retention_bytes), (Some(5), 1 << 20, None));
        let compacted =
            config(&[("cleanup.policy", "compact"), ("retention.ms", "5")]).expect("they are good");
        assert_eq!((compacted.retention_ms, compacted.compaction), (None, Some(Compaction::default())));
        let both = config(&[("cleanup.policy", "compact, delete"), ("min.cleanable.dirty.ratio", "0.1")]);
        let both = both.expect("they are good");
        assert!(both.retention_ms.is_some());
        assert_eq!(both.compaction.map(|compaction| compaction.dirty_ratio_min), Some(0.1));
        let relaxed =
            config(&[("diwan.durability", "replicated"), ("flush.ms", "7")]).expect("they are good");
        assert_eq!((relaxed.durability, relaxed.flush_ms), (Durability::Replicated, 7));
    }

    #[test]
    fn unknown_name_or_bad_value_is_refused() {
        for (name, value) in [
            ("retention", "5"),
            ("retention.ms", "-2"),
            ("segment.bytes", "1"),
            ("segment.ms", "x"),
            ("cleanup.policy", "drop"),
            ("min.cleanable.dirty.ratio", "1.5"),
            ("flush.messages", "0"),
            ("diwan.durability", "none"),
            ("message.timestamp.type", "Now"),
        ] {
            assert_eq!(config(&[(name, value)]).map_err(|bad| bad.name), Err(name.to_owned()));
        }
    }
}
