//! What a group sets.

use log_wire::messages::configs::{AlterableConfig, IncrementalAlterableConfig};

use super::{check_size, check_values, operations, replacement};
use crate::definition::ValueType;
use crate::definitions;
use crate::group::GroupLayers;
use crate::layers::{BrokerLayers, Overrides, Values};
use crate::refusal::Refusal;

/// What the broker allows a group to set: a group's name, and the broker's for the least and the largest value.
const BOUNDS: &[(&str, Option<&str>, Option<&str>)] = &[
    between(
        "consumer.session.timeout.ms",
        "group.consumer.min.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    ),
    between(
        "consumer.heartbeat.interval.ms",
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    between(
        "consumer.assignment.interval.ms",
        "group.consumer.min.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
    ),
    between(
        "share.session.timeout.ms",
        "group.share.min.session.timeout.ms",
        "group.share.max.session.timeout.ms",
    ),
    between(
        "share.heartbeat.interval.ms",
        "group.share.min.heartbeat.interval.ms",
        "group.share.max.heartbeat.interval.ms",
    ),
    between(
        "share.assignment.interval.ms",
        "group.share.min.assignment.interval.ms",
        "group.share.max.assignment.interval.ms",
    ),
    between(
        "share.record.lock.duration.ms",
        "group.share.min.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
    between(
        "share.delivery.count.limit",
        "group.share.min.delivery.count.limit",
        "group.share.max.delivery.count.limit",
    ),
    between(
        "share.partition.max.record.locks",
        "group.share.min.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    ),
    between(
        "streams.session.timeout.ms",
        "group.streams.min.session.timeout.ms",
        "group.streams.max.session.timeout.ms",
    ),
    between(
        "streams.heartbeat.interval.ms",
        "group.streams.min.heartbeat.interval.ms",
        "group.streams.max.heartbeat.interval.ms",
    ),
    between(
        "streams.assignment.interval.ms",
        "group.streams.min.assignment.interval.ms",
        "group.streams.max.assignment.interval.ms",
    ),
    ("streams.num.standby.replicas", None, Some("group.streams.max.standby.replicas")),
];

const fn between(
    name: &'static str,
    least: &'static str,
    most: &'static str,
) -> (&'static str, Option<&'static str>, Option<&'static str>) {
    (name, Some(least), Some(most))
}

/// What the group sets after these changes.
///
/// # Errors
/// `INVALID_CONFIG`.
pub fn alter(
    current: &Overrides,
    changes: &[IncrementalAlterableConfig],
    broker: BrokerLayers<'_>,
) -> Result<Overrides, Refusal> {
    let type_of = |name: &str| definitions::group(name).map_or(ValueType::Unknown, |own| own.value_type);
    let set = operations::apply(current, changes, type_of, |_| String::new())?;
    check(&set, broker)?;
    Ok(set)
}

/// What the group sets after an AlterConfigs request: nothing else.
///
/// # Errors
/// `INVALID_CONFIG`.
pub fn replace(configs: &[AlterableConfig], broker: BrokerLayers<'_>) -> Result<Overrides, Refusal> {
    let set = replacement(configs);
    check(&set, broker)?;
    Ok(set)
}

/// Judges all that a group would set.
///
/// # Errors
/// `INVALID_CONFIG`.
pub fn check(set: &Overrides, broker: BrokerLayers<'_>) -> Result<(), Refusal> {
    if let Some(name) = set.keys().find(|name| definitions::group(name).is_none()) {
        return Err(Refusal::config(format!("a group has no configuration `{name}`")));
    }
    check_values(set, definitions::group, Refusal::config)?;
    check_size(set)?;
    let layers = GroupLayers { group: set, broker };
    for (name, least, most) in BOUNDS.iter().filter(|(name, ..)| set.contains_key(*name)) {
        let value = layers.whole(name).unwrap_or_default();
        if let Some(least) = least.filter(|least| broker.whole(least).is_some_and(|least| value < least)) {
            return Err(Refusal::config(format!("`{name}` is below the broker's `{least}`")));
        }
        if let Some(most) = most.filter(|most| broker.whole(most).is_some_and(|most| value > most)) {
            return Err(Refusal::config(format!("`{name}` is above the broker's `{most}`")));
        }
    }
    for kind in ["consumer", "share", "streams"] {
        let (session, heartbeat) =
            (format!("{kind}.session.timeout.ms"), format!("{kind}.heartbeat.interval.ms"));
        if layers.whole(&heartbeat) >= layers.whole(&session) {
            return Err(Refusal::config(format!("`{heartbeat}` is not below `{session}`")));
        }
    }
    Ok(())
}
