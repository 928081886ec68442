//! What is set for a broker, or for all brokers, while they run.
//!
//! A name that nobody knows is taken, as Kafka takes it, and its value is not shown: it may be a secret of a plugin.

use log_wire::messages::configs::{AlterableConfig, IncrementalAlterableConfig};

use super::{Operation, check_size, check_values, operations, replacement};
use crate::definition::{Update, ValueType};
use crate::definitions::{self, BrokerName};
use crate::drain::DRAIN;
use crate::layers::{BrokerLayers, MIN_INSYNC_REPLICAS, Overrides, Values};
use crate::refusal::Refusal;
use crate::rules;
use crate::value::Value;

/// Whom a change is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// This broker.
    Broker,
    /// All brokers.
    Cluster,
}

/// Counts of threads. In one step they grow to twice as many at most, and shrink to half at most; so it is in Kafka.
const THREADS: [&str; 6] = [
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
];

/// What is set for the target after these changes.
///
/// # Errors
/// `INVALID_REQUEST`, and `INVALID_CONFIG`: elements are added to what is no list, `min.insync.replicas` is set for one broker or
/// unset for all, or a value asks for something that Diwan does not have.
pub fn alter(
    target: Target,
    layers: BrokerLayers<'_>,
    changes: &[IncrementalAlterableConfig],
) -> Result<Overrides, Refusal> {
    let type_of = |name: &str| definitions::broker(name).map_or(ValueType::Unknown, |own| own.value_type);
    let in_force = |name: &str| raw_in_force(target, layers, name);
    let set = operations::apply(target.set(layers), changes, type_of, in_force)?;
    check(target, layers, &set)?;
    let touched = changes.iter().find(|change| change.name == MIN_INSYNC_REPLICAS);
    match target {
        Target::Broker if touched.is_some() => Err(of_one_broker()),
        Target::Cluster if touched.is_some_and(|change| change.config_operation == Operation::DELETE) => {
            Err(of_no_broker())
        }
        _ => Ok(set),
    }
}

/// What is set for another broker after these changes of `diwan.drain`. What else is set for it is that broker's to judge.
///
/// # Errors
/// As [`alter`].
pub fn alter_drain(
    current: &Overrides,
    changes: &[IncrementalAlterableConfig],
    layers: BrokerLayers<'_>,
) -> Result<Overrides, Refusal> {
    let (drain, others): (Overrides, Overrides) =
        current.clone().into_iter().partition(|(name, _)| name == DRAIN);
    let changed = alter(Target::Broker, BrokerLayers { broker: &drain, ..layers }, changes)?;
    Ok(others.into_iter().chain(changed).collect())
}

/// What is set for the target after an AlterConfigs request: nothing else.
///
/// # Errors
/// As [`alter`].
pub fn replace(
    target: Target,
    layers: BrokerLayers<'_>,
    configs: &[AlterableConfig],
) -> Result<Overrides, Refusal> {
    let set = replacement(configs);
    check(target, layers, &set)?;
    match target {
        Target::Broker if set.contains_key(MIN_INSYNC_REPLICAS) => Err(of_one_broker()),
        Target::Cluster if !set.contains_key(MIN_INSYNC_REPLICAS) => Err(of_no_broker()),
        _ => Ok(set),
    }
}

impl Target {
    const fn set(self, layers: BrokerLayers<'_>) -> &Overrides {
        match self {
            Self::Broker => layers.broker,
            Self::Cluster => layers.cluster,
        }
    }
}

/// See [`BrokerLayers::cluster_value`]: where replicas may be eligible leaders, all brokers have the same.
fn of_one_broker() -> Refusal {
    Refusal::config("`min.insync.replicas` is set for all brokers, not for one")
}

fn of_no_broker() -> Refusal {
    Refusal::config("`min.insync.replicas` has to be set for all brokers")
}

/// As it was written, without what is set for less than the target.
fn raw_in_force(target: Target, layers: BrokerLayers<'_>, name: &str) -> String {
    let nothing = Overrides::new();
    let layers = match target {
        Target::Broker => layers,
        Target::Cluster => BrokerLayers { broker: &nothing, ..layers },
    };
    let raw = layers.synonyms(&[name]).first().and_then(|first| first.value.clone());
    raw.unwrap_or_default()
}

/// Judges all that would be set, in Kafka's order.
fn check(target: Target, layers: BrokerLayers<'_>, set: &Overrides) -> Result<(), Refusal> {
    let known = set.keys().filter_map(|name| match BrokerName::of(name) {
        BrokerName::Known(definition) => Some(definition),
        _ => None,
    });
    let fixed = known.clone().filter(|definition| definition.update == Update::ReadOnly);
    refuse_all(fixed.map(|own| own.name), "cannot be changed while the broker runs")?;
    let of_listener = known.filter(|definition| definition.update == Update::PerListener);
    refuse_all(
        of_listener.map(|own| own.name),
        "can be changed for one listener only: `listener.name.NAME.`",
    )?;
    check_values(set, |name| BrokerName::of(name).definition(), Refusal::request)?;
    if target == Target::Cluster {
        let of_one = set.keys().filter(|name| is_of_one_broker(name));
        refuse_all(of_one.map(String::as_str), "can be changed for one broker only")?;
    }
    let at_start = set.iter().filter(|(name, raw)| changes_what_is_read_at_start(layers, name, raw));
    refuse_all(
        at_start.map(|(name, _)| name.as_str()),
        "is read when the broker starts: set it in its file",
    )?;
    let changed = match target {
        Target::Broker => BrokerLayers { broker: set, ..layers },
        Target::Cluster => BrokerLayers { cluster: set, ..layers },
    };
    if let Some(broken) = rules::violations(&changed).first() {
        return Err(Refusal::request(format!("`{}` {}", broken.name, broken.what)));
    }
    check_threads(layers, changed)?;
    check_size(set)
}

fn refuse_all<'n>(names: impl Iterator<Item = &'n str>, why: &str) -> Result<(), Refusal> {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(Refusal::request(format!("{} {why}", names.join(", "))))
}

fn is_of_one_broker(name: &str) -> bool {
    let update = BrokerName::of(name).definition().map(|definition| definition.update);
    matches!(update, Some(Update::PerBroker | Update::PerListener))
}

/// Whether it would be set to something else than what is in force.
fn changes_what_is_read_at_start(layers: BrokerLayers<'_>, name: &str, raw: &str) -> bool {
    let Some(definition) = BrokerName::of(name).definition().filter(|own| own.is_read_at_start) else {
        return false;
    };
    let now = layers.value(name).or_else(|| layers.value(definition.name)).map(|(value, _)| value);
    Value::read(definition, raw).ok() != now
}

fn check_threads(now: BrokerLayers<'_>, changed: BrokerLayers<'_>) -> Result<(), Refusal> {
    for name in THREADS {
        let (Some(now), Some(then)) = (now.whole(name), changed.whole(name)) else { continue };
        if then > now.saturating_mul(2) {
            return Err(Refusal::request(format!("`{name}` can grow from {now} to {} at most", now * 2)));
        }
        if then < now / 2 {
            return Err(Refusal::request(format!("`{name}` can shrink from {now} to {} at most", now / 2)));
        }
    }
    Ok(())
}
