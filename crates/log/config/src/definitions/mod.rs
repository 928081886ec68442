//! Every configuration that DescribeConfigs of a Kafka 4.3.1 reports, and those that it takes without reporting them: tables,
//! a file for each area.
//!
//! Names, types, defaults and limits were read from a running broker; `tests/golden` holds what it said, and the tests compare.
//! What Diwan does with each is decided here.

mod broker;
mod client_metrics;
mod group;
mod topic;

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::definition::{Definition, ValueType};
pub(crate) use broker::BY_RACK;

/// What stands before the name of a configuration that holds for one listener: this, the listener's name, and a dot.
pub const LISTENER_PREFIX: &str = "listener.name.";

/// All of the broker by name. They are looked up many times for each request about configurations.
static BROKER: LazyLock<Vec<&'static Definition>> = LazyLock::new(|| {
    let mut sorted: Vec<_> = broker::AREAS.iter().flat_map(|area| area.iter()).collect();
    sorted.sort_by_key(|definition| definition.name);
    sorted
});

/// A configuration of the broker.
#[must_use]
pub fn broker(name: &str) -> Option<&'static Definition> {
    let place = BROKER.binary_search_by(|definition| definition.name.cmp(name)).ok()?;
    BROKER.get(place).copied()
}

/// A configuration of a topic.
#[must_use]
pub fn topic(name: &str) -> Option<&'static Definition> {
    find(topic::TOPIC, name)
}

/// A configuration of a group.
#[must_use]
pub fn group(name: &str) -> Option<&'static Definition> {
    find(group::GROUP, name)
}

/// A configuration of a subscription to client metrics.
#[must_use]
pub fn client_metrics(name: &str) -> Option<&'static Definition> {
    find(client_metrics::CLIENT_METRICS, name)
}

/// All of the broker, by name.
pub fn all_of_broker() -> impl Iterator<Item = &'static Definition> {
    BROKER.iter().copied()
}

/// All of a topic, by name.
pub fn all_of_topic() -> impl Iterator<Item = &'static Definition> {
    topic::TOPIC.iter()
}

/// All of a group, by name.
pub fn all_of_group() -> impl Iterator<Item = &'static Definition> {
    group::GROUP.iter()
}

/// All of a subscription to client metrics, by name.
pub fn all_of_client_metrics() -> impl Iterator<Item = &'static Definition> {
    client_metrics::CLIENT_METRICS.iter()
}

/// Whether the council does the work that this configuration of the broker is about.
#[must_use]
pub fn is_of_controller(name: &str) -> bool {
    find(broker::CONTROLLER, name).is_some()
}

/// A name as a broker's configuration has it.
#[derive(Clone, Copy, Debug)]
pub enum BrokerName<'n> {
    /// One that is known.
    Known(&'static Definition),
    /// One for a listener: the configuration that holds for all listeners is known.
    OfListener {
        /// The listener's name, as it is written.
        listener: &'n str,
        /// The configuration behind the prefix.
        base: &'static Definition,
    },
    /// One for a mechanism of a listener: `listener.name.NAME.MECHANISM.` stands before the configuration.
    OfMechanism {
        /// The listener's name, as it is written.
        listener: &'n str,
        /// The mechanism, as it is written.
        mechanism: &'n str,
        /// The configuration behind the prefix.
        base: &'static Definition,
    },
    /// Any other.
    Unknown,
}

impl<'n> BrokerName<'n> {
    /// What kind of name it is.
    #[must_use]
    pub fn of(name: &'n str) -> Self {
        if let Some(definition) = broker(name) {
            return Self::Known(definition);
        }
        let Some((listener, rest)) = name.strip_prefix(LISTENER_PREFIX).and_then(|rest| rest.split_once('.'))
        else {
            return Self::Unknown;
        };
        if let Some(base) = broker(rest) {
            return Self::OfListener { listener, base };
        }
        match rest.split_once('.').and_then(|(mechanism, rest)| Some((mechanism, broker(rest)?))) {
            Some((mechanism, base)) if base.name.starts_with("sasl.") => {
                Self::OfMechanism { listener, mechanism, base }
            }
            _ => Self::Unknown,
        }
    }

    /// The definition that its values follow.
    #[must_use]
    pub const fn definition(self) -> Option<&'static Definition> {
        match self {
            Self::Known(base) | Self::OfListener { base, .. } | Self::OfMechanism { base, .. } => Some(base),
            Self::Unknown => None,
        }
    }

    /// Whether its value is never shown. That of an unknown name is not: nobody knows whether it is a secret.
    #[must_use]
    pub fn is_sensitive(self) -> bool {
        match self {
            Self::Unknown => true,
            Self::Known(base) | Self::OfListener { base, .. } | Self::OfMechanism { base, .. } => {
                base.is_sensitive()
            }
        }
    }

    /// The type as DescribeConfigs tells it.
    #[must_use]
    pub fn value_type(self) -> ValueType {
        self.definition().map_or(ValueType::Unknown, |base| base.value_type)
    }

    /// The names whose values stand for it, in their order: itself, then those that give its value if it is not set.
    #[must_use]
    pub fn chain(self, name: &'n str) -> Cow<'n, [&'n str]> {
        match self {
            Self::Known(base) => [name].into_iter().chain(base.from.iter().copied()).collect(),
            Self::OfListener { base, .. } => vec![name, base.name].into(),
            Self::OfMechanism { .. } | Self::Unknown => vec![name].into(),
        }
    }
}

fn find(sorted: &'static [Definition], name: &str) -> Option<&'static Definition> {
    let place = sorted.binary_search_by(|definition| definition.name.cmp(name)).ok()?;
    sorted.get(place)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_is_found_and_there_once() {
        let tables =
            broker::AREAS.iter().chain(&[topic::TOPIC, group::GROUP, client_metrics::CLIENT_METRICS]);
        for table in tables {
            assert!(table.is_sorted_by_key(|definition| definition.name));
        }
        let names: BTreeSet<_> = all_of_broker().map(|definition| definition.name).collect();
        assert_eq!(names.len(), all_of_broker().count());
        assert!(all_of_broker().all(|own| broker(own.name).is_some_and(|found| found.name == own.name)));
        assert!(broker("num.partition").is_none() && topic("num.partitions").is_none());
    }

    #[test]
    fn names_that_others_are_derived_from_are_known() {
        for definition in all_of_broker().chain(all_of_topic()) {
            assert!(definition.from.iter().all(|name| broker(name).is_some()), "{}", definition.name);
        }
    }

    #[test]
    fn prefixes_of_listeners_are_understood() {
        let of = |name| match BrokerName::of(name) {
            BrokerName::Known(base) => base.name.to_owned(),
            BrokerName::OfListener { listener, base } => format!("{listener}|{}", base.name),
            BrokerName::OfMechanism { listener, mechanism, base } => {
                format!("{listener}|{mechanism}|{}", base.name)
            }
            BrokerName::Unknown => String::from("unknown"),
        };
        assert_eq!(of("max.connections"), "max.connections");
        assert_eq!(of("listener.name.a.max.connections"), "a|max.connections");
        assert_eq!(of("listener.name.a.scram-sha-256.sasl.jaas.config"), "a|scram-sha-256|sasl.jaas.config");
        for unknown in ["listener.name.a", "listener.name.a.nope", "listener.name.a.b.max.connections", ""] {
            assert_eq!(of(unknown), "unknown");
        }
    }
}
