//! What a subscription to client metrics sets. No client is told of it: the broker takes no metrics of clients.

use log_wire::messages::configs::{AlterableConfig, IncrementalAlterableConfig};

use super::{check_size, check_values, operations, replacement};
use crate::definition::ValueType;
use crate::definitions;
use crate::layers::Overrides;
use crate::refusal::Refusal;
use crate::value::Value;

/// By what clients are chosen.
const MATCHED: &[&str] = &[
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
];

const INTERVAL_MS_MIN: i64 = 100;
const INTERVAL_MS_MAX: i64 = 3_600_000;

/// What the subscription sets after these changes. Kafka adds no elements to its lists.
///
/// # Errors
/// `INVALID_REQUEST`, `INVALID_CONFIG`.
pub fn alter(current: &Overrides, changes: &[IncrementalAlterableConfig]) -> Result<Overrides, Refusal> {
    let set = operations::apply(current, changes, |_| ValueType::Unknown, |_| String::new())?;
    check(&set)?;
    Ok(set)
}

/// What the subscription sets after an AlterConfigs request: nothing else.
///
/// # Errors
/// `INVALID_REQUEST`, `INVALID_CONFIG`.
pub fn replace(configs: &[AlterableConfig]) -> Result<Overrides, Refusal> {
    let set = replacement(configs);
    check(&set)?;
    Ok(set)
}

/// Judges all that a subscription would set.
///
/// # Errors
/// `INVALID_REQUEST`, `INVALID_CONFIG`.
pub fn check(set: &Overrides) -> Result<(), Refusal> {
    if let Some(name) = set.keys().find(|name| definitions::client_metrics(name).is_none()) {
        return Err(Refusal::request(format!("a subscription has no configuration `{name}`")));
    }
    check_values(set, definitions::client_metrics, Refusal::config)?;
    check_size(set)?;
    let value = |name: &str| Value::read(definitions::client_metrics(name)?, set.get(name)?).ok();
    if let Some(Value::Whole(interval)) = value("interval.ms")
        && !(INTERVAL_MS_MIN..=INTERVAL_MS_MAX).contains(&interval)
    {
        let limits = format!("{INTERVAL_MS_MIN} and {INTERVAL_MS_MAX}");
        return Err(Refusal::request(format!("`interval.ms` is not between {limits}")));
    }
    if let Some(Value::List(patterns)) = value("match")
        && let Some(pattern) = patterns.iter().find(|pattern| !is_pattern(pattern))
    {
        return Err(Refusal::config(format!("`{pattern}` chooses no clients")));
    }
    Ok(())
}

/// NAME=EXPRESSION. The regular expression is not looked into.
fn is_pattern(text: &str) -> bool {
    match text.split_once('=') {
        Some((name, expression)) => {
            MATCHED.contains(&name.trim()) && !expression.is_empty() && !expression.contains('=')
        }
        None => false,
    }
}
