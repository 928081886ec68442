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
    let names = names(definitions::all_of_topic(), definitions::topic, &[layers.topic], asked);
    names.into_iter().map(|name| layers.entry(name)).collect()
}

/// Of a group.
#[must_use]
pub fn group(layers: &GroupLayers<'_>, asked: Option<&[String]>) -> Vec<Entry> {
    let names = names(definitions::all_of_group(), definitions::group, &[layers.group], asked);
    names.into_iter().map(|name| layers.entry(name)).collect()
}

/// Of a broker.
#[must_use]
pub fn broker(layers: &BrokerLayers<'_>, asked: Option<&[String]>) -> Vec<Entry> {
    let set = [layers.broker, layers.cluster, layers.file];
    let names = names(definitions::all_of_broker(), definitions::broker, &set, asked);
    names.into_iter().map(|name| layers.entry(name)).collect()
}

/// Of all brokers: what is set for them while they run, as it was written.
#[must_use]
pub fn cluster(layers: &BrokerLayers<'_>, asked: Option<&[String]>) -> Vec<Entry> {
    let is_set = |name: &&str| layers.cluster.contains_key(*name) || *name == MIN_INSYNC_REPLICAS;
    let all = layers.cluster.keys().map(String::as_str).chain([MIN_INSYNC_REPLICAS]);
    let names: BTreeSet<&str> = match some(asked) {
        Some(asked) => asked.iter().map(String::as_str).filter(is_set).collect(),
        None => all.collect(),
    };
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
    let all = definitions::all_of_client_metrics();
    let names = names(all, definitions::client_metrics, &[set], asked);
    names.into_iter().map(|name| client_metrics_entry(set, name)).collect()
}

/// Of a broker's loggers.
#[must_use]
pub fn loggers(levels: &BTreeMap<String, String>, asked: Option<&[String]>) -> Vec<Entry> {
    match some(asked) {
        Some(asked) => {
            let asked: BTreeSet<&String> = asked.iter().collect();
            let found = asked.into_iter().filter_map(|name| Some(logger_entry(name, levels.get(name)?)));
            found.collect()
        }
        None => levels.iter().map(|(name, level)| logger_entry(name, level)).collect(),
    }
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

/// The names to show, each once. However many are asked for, each is looked up once.
fn names<'a>(
    known: impl Iterator<Item = &'static Definition>,
    find: impl Fn(&str) -> Option<&'static Definition>,
    set: &[&'a Overrides],
    asked: Option<&'a [String]>,
) -> BTreeSet<&'a str> {
    match some(asked) {
        Some(asked) => {
            let is_known = |name: &str| find(name).is_some_and(|own| !own.is_hidden || own.is_own());
            let is_set = |name: &str| set.iter().any(|set| set.contains_key(name));
            let asked = asked.iter().map(String::as_str);
            asked.filter(|name| is_known(name) || is_set(name)).collect()
        }
        None => {
            let set = set.iter().flat_map(|set| set.keys().map(String::as_str));
            known.filter(|own| !own.is_hidden).map(|own| own.name).chain(set).collect()
        }
    }
}

/// No names mean all.
fn some(asked: Option<&[String]>) -> Option<&[String]> {
    asked.filter(|asked| !asked.is_empty())
}
