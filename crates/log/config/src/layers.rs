//! What is set for a broker, in the order in which it counts: for this broker, for all brokers, in the file, by default.
//!
//! One name may stand for others: `log.retention.hours` gives `log.retention.ms` a value where nothing finer is set.

use std::collections::BTreeMap;

use crate::definition::{Definition, Update};
use crate::definitions::{self, BrokerName};
use crate::entry::{Entry, Source, Synonym};
use crate::value::Value;

/// Names and values as they were written: of a topic, a group, a subscription, a broker, or all brokers.
pub type Overrides = BTreeMap<String, String>;

/// The name that is always set for all brokers: see [`BrokerLayers::cluster_value`].
pub(crate) const MIN_INSYNC_REPLICAS: &str = "min.insync.replicas";

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct BrokerLayers<'a> {
    /// What was set for this broker while it ran.
    pub broker: &'a Overrides,
    /// What was set for all brokers while they ran.
    pub cluster: &'a Overrides,
    /// What the broker's `server.properties` says.
    pub file: &'a Overrides,
}

/// Something whose configurations have values.
pub trait Values {
    /// The value that is in force under this very name, and where it comes from. What cannot be read is passed over: it was
    /// written by a version with other limits, or past this crate.
    fn value(&self, name: &str) -> Option<(Value, Source)>;

    /// The value of one that is a whole number; nothing if it is not set.
    fn whole(&self, name: &str) -> Option<i64> {
        match self.value(name)? {
            (Value::Whole(number), _) => Some(number),
            _ => None,
        }
    }

    /// The value of one that is a number of double precision.
    fn double(&self, name: &str) -> Option<f64> {
        match self.value(name)? {
            (Value::Double(number), _) => Some(number),
            _ => None,
        }
    }

    /// Whether it is `true`.
    fn is_true(&self, name: &str) -> bool {
        matches!(self.value(name), Some((Value::Boolean(true), _)))
    }

    /// The value of one that is text; nothing if it is not set.
    fn text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            (Value::Text(text), _) => Some(text),
            _ => None,
        }
    }

    /// The elements of one that is a list; none if it is not set.
    fn list(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Some((Value::List(elements), _)) => elements,
            _ => Vec::new(),
        }
    }
}

impl<'a> BrokerLayers<'a> {
    /// What is set for all brokers.
    ///
    /// A cluster of Kafka 4 whose replicas may be eligible leaders (ELR, KIP-966) sets `min.insync.replicas` for all brokers when
    /// it begins, to what the file says or to 1. So it is shown as set for all brokers even if nobody has touched it, and so it is here.
    pub(crate) fn cluster_value(&self, name: &str) -> Option<&'a str> {
        let set = self.cluster.get(name).map(String::as_str);
        if name != MIN_INSYNC_REPLICAS {
            return set;
        }
        set.or_else(|| self.file.get(name).map(String::as_str))
            .or_else(|| definitions::broker(name).and_then(|definition| definition.default))
    }

    /// The values that are set under one of `chain`'s names, from the one in force on, which is under the first name. If the
    /// first name is not set at all, there are none: so it is in Kafka.
    pub(crate) fn synonyms(&self, chain: &[&str]) -> Vec<Synonym> {
        let sources = [Source::Broker, Source::Cluster, Source::File, Source::Default];
        let set = sources.into_iter().flat_map(|source| {
            chain.iter().filter_map(move |name| Some((*name, self.raw(name, source)?, source)))
        });
        let first = chain.first().copied().unwrap_or_default();
        let from_first = set.skip_while(|(name, ..)| *name != first);
        from_first.map(|(name, value, source)| synonym(name, value, source)).collect()
    }

    /// What is written under a name in one place.
    fn raw(&self, name: &str, source: Source) -> Option<&'a str> {
        match source {
            Source::Broker => self.broker.get(name).map(String::as_str),
            Source::Cluster => self.cluster_value(name),
            Source::File => self.file.get(name).map(String::as_str),
            _ => definitions::broker(name).and_then(|definition| definition.default),
        }
    }

    /// A configuration of the broker as it is shown.
    #[must_use]
    pub fn entry(&self, name: &str) -> Entry {
        let kind = BrokerName::of(name);
        let synonyms = self.synonyms(&kind.chain(name));
        let source = synonyms.first().map_or(Source::Default, |first| first.source);
        let value = self.value(name).map(|(value, _)| value.to_string());
        Entry {
            name: name.into(),
            value: value.filter(|_| !kind.is_sensitive()),
            value_type: kind.value_type(),
            source,
            is_read_only: is_read_only(kind),
            is_sensitive: kind.is_sensitive(),
            synonyms,
            about: kind.definition().map_or("", Definition::about),
        }
    }
}

impl Values for BrokerLayers<'_> {
    fn value(&self, name: &str) -> Option<(Value, Source)> {
        let definition = BrokerName::of(name).definition()?;
        let sources = [Source::Broker, Source::Cluster, Source::File, Source::Default];
        sources.into_iter().find_map(|source| {
            let value = Value::read(definition, self.raw(name, source)?).ok()?;
            Some((value, source))
        })
    }
}

/// Kafka shows what holds for one listener as read-only, though it may be changed.
fn is_read_only(kind: BrokerName<'_>) -> bool {
    !matches!(kind, BrokerName::Known(definition) if definition.update != Update::ReadOnly)
}

pub(crate) fn synonym(name: &str, value: &str, source: Source) -> Synonym {
    let is_sensitive = BrokerName::of(name).is_sensitive();
    Synonym { name: name.into(), value: (!is_sensitive).then(|| value.into()), source }
}
