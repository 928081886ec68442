//! What DescribeConfigs answers for a resource: its configurations by name. Which of them the request asks for is an argument:
//! no names mean all.
//!
//! Names that nobody knows are shown for a broker where they are set, without their values.

use std::collections::{BTreeMap, BTreeSet};

use crate::definition::{Definition, ValueType};
use crate::definitions;
use crate::entry::{Entry, Source, Synonym};
use crate::group::GroupLayers;
use crate::layers::{BrokerLayers, MIN_INSYNC_REPLICAS, Overrides};
use crate::topic::{TopicLayers, own_synonym};

/// Of a topic.
#[must_use]
pub fn topic(layers: &TopicLayers<'_>, asked: Option<&[String]>) -> Vec<Entry> {
    let names = names(definitions::all_of_topic(), &[layers.topic], asked);
    names.into_iter().map(|name| layers.entry(name)).collect()
}

/// Of a group.
#[must_use]
pub fn group(layers: &GroupLayers<'_>, asked: Option<&[String]>) -> Vec<Entry> {
    let names = names(definitions::all_of_group(), &[layers.group], asked);
    names.into_iter().map(|name| layers.entry(name)).collect()
}

/// Of a broker.
#[must_use]
pub fn broker(layers: &BrokerLayers<'_>, asked: Option<&[String]>) -> Vec<Entry> {
    let set = [layers.broker, layers.cluster, layers.file];
    let names = names(definitions::all_of_broker(), &set, asked);
    names.into_iter().map(|name| layers.entry(name)).collect()
}

/// Of all brokers: what is set for them while they run, as it was written.
#[must_use]
pub fn cluster(layers: &BrokerLayers<'_>, asked: Option<&[String]>) -> Vec<Entry> {
    let set = layers.cluster.keys().map(String::as_str).chain([MIN_INSYNC_REPLICAS]);
    let names: BTreeSet<&str> = set.filter(|name| is_asked(name, asked)).collect();
    let entry = |name: &str| {
        let synonyms = layers.synonyms(&[name]);
        let synonyms: Vec<Synonym> =
            synonyms.into_iter().filter(|synonym| synonym.source == Source::Cluster).collect();
        let value = synonyms.first().and_then(|synonym| synonym.value.clone());
        Entry { value, source: Source::Cluster, synonyms, ..layers.entry(name) }
    };
    names.into_iter().map(entry).collect()
}

/// Of a subscription to client metrics. It need not be there: its defaults are shown.
#[must_use]
pub fn client_metrics(set: &Overrides, asked: Option<&[String]>) -> Vec<Entry> {
    let names = names(definitions::all_of_client_metrics(), &[set], asked);
    names.into_iter().map(|name| client_metrics_entry(set, name)).collect()
}

/// Of a broker's loggers.
#[must_use]
pub fn loggers(levels: &BTreeMap<String, String>, asked: Option<&[String]>) -> Vec<Entry> {
    let asked = levels.iter().filter(|(name, _)| is_asked(name, asked));
    asked.map(|(name, level)| logger_entry(name, level)).collect()
}

fn client_metrics_entry(set: &Overrides, name: &str) -> Entry {
    let definition = definitions::client_metrics(name);
    let own = set.get(name).map(|raw| own_synonym(definition, name, raw, Source::ClientMetrics));
    let default = definition.and_then(|definition| definition.default).map(String::from);
    Entry {
        name: name.into(),
        value: own.as_ref().map_or(default, |own| own.value.clone()),
        value_type: definition.map_or(ValueType::Unknown, |definition| definition.value_type),
        source: own.as_ref().map_or(Source::Default, |own| own.source),
        is_read_only: false,
        is_sensitive: false,
        synonyms: own.into_iter().collect(),
        about: definition.map_or("", Definition::about),
    }
}

fn logger_entry(name: &str, level: &str) -> Entry {
    Entry {
        name: name.into(),
        value: Some(level.into()),
        value_type: ValueType::Unknown,
        source: Source::Logger,
        is_read_only: false,
        is_sensitive: false,
        synonyms: Vec::new(),
        about: "",
    }
}

/// The names to show, each once.
fn names<'a>(
    known: impl Iterator<Item = &'static Definition>,
    set: &[&'a Overrides],
    asked: Option<&[String]>,
) -> BTreeSet<&'a str> {
    let by_name = |name: &str| asked.is_some_and(|asked| asked.iter().any(|asked| asked == name));
    let known = known.filter(|own| !own.is_hidden || (own.is_own() && by_name(own.name)));
    let set = set.iter().flat_map(|set| set.keys().map(String::as_str));
    known.map(|definition| definition.name).chain(set).filter(|name| is_asked(name, asked)).collect()
}

fn is_asked(name: &str, asked: Option<&[String]>) -> bool {
    asked.is_none_or(|asked| asked.is_empty() || asked.iter().any(|asked| asked == name))
}
