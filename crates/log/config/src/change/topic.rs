//! What a topic sets.

use log_wire::messages::configs::{AlterableConfig, IncrementalAlterableConfig};
use log_wire::messages::topics::CreatableTopicConfig;

use super::{check_size, check_values, operations, replacement};
use crate::definition::ValueType;
use crate::definitions;
use crate::layers::{BrokerLayers, Overrides, Values};
use crate::refusal::Refusal;
use crate::topic::TopicLayers;

/// What the topic sets after these changes.
///
/// # Errors
/// `INVALID_CONFIG`.
pub fn alter(
    current: &Overrides,
    changes: &[IncrementalAlterableConfig],
    broker: BrokerLayers<'_>,
) -> Result<Overrides, Refusal> {
    let type_of = |name: &str| definitions::topic(name).map_or(ValueType::Unknown, |own| own.value_type);
    let layers = TopicLayers { topic: current, broker };
    let in_force = |name: &str| layers.value(name).map_or_else(String::new, |(value, _)| value.to_string());
    let set = operations::apply(current, changes, type_of, in_force)?;
    check(&set, broker)?;
    Ok(set)
}

/// What the topic sets after an AlterConfigs request: nothing else.
///
/// # Errors
/// `INVALID_CONFIG`.
pub fn replace(configs: &[AlterableConfig], broker: BrokerLayers<'_>) -> Result<Overrides, Refusal> {
    let set = replacement(configs);
    check(&set, broker)?;
    Ok(set)
}

/// What a topic sets that is created with these. If a name is there twice, its last value counts; so it is in Kafka.
///
/// # Errors
/// `INVALID_CONFIG`.
pub fn create(configs: &[CreatableTopicConfig], broker: BrokerLayers<'_>) -> Result<Overrides, Refusal> {
    let nulls = configs.iter().filter(|config| config.value.is_none());
    let nulls: Vec<&str> = nulls.map(|config| config.name.as_str()).collect();
    if !nulls.is_empty() {
        return Err(Refusal::config(format!("the value is missing: {}", nulls.join(", "))));
    }
    let value = |config: &CreatableTopicConfig| Some((config.name.clone(), config.value.clone()?));
    let set = configs.iter().filter_map(value).collect();
    check(&set, broker)?;
    Ok(set)
}

/// Judges all that a topic would set.
///
/// # Errors
/// `INVALID_CONFIG`.
pub fn check(set: &Overrides, broker: BrokerLayers<'_>) -> Result<(), Refusal> {
    if let Some(name) = set.keys().find(|name| definitions::topic(name).is_none()) {
        return Err(Refusal::config(unknown(name)));
    }
    check_values(set, definitions::topic, Refusal::config)?;
    check_size(set)?;
    let layers = TopicLayers { topic: set, broker };
    let lag = |name| layers.whole(name).unwrap_or_default();
    let (least, most) = (lag("min.compaction.lag.ms"), lag("max.compaction.lag.ms"));
    if least > most {
        return Err(Refusal::config(format!(
            "`min.compaction.lag.ms` ({least}) is above `max.compaction.lag.ms` ({most})"
        )));
    }
    Ok(())
}

fn unknown(name: &str) -> String {
    let broker = definitions::all_of_topic().find(|own| own.from.contains(&name)).map(|own| own.name);
    match broker {
        Some(topic) => format!("a topic has no configuration `{name}`: it is the broker's, for `{topic}`"),
        None => format!("a topic has no configuration `{name}`"),
    }
}
