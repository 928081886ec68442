//! What an operator should know of a file that is taken: keys without effect, keys that nobody knows, keys that are there twice.

use std::collections::BTreeMap;

use crate::definition::{Definition, Effect, Feature};
use crate::definitions::{self, BrokerName};
use crate::file::listeners::Listener;
use crate::file::other_names::OtherName;
use crate::properties::Property;
use crate::value::Value;

/// What security is in force.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    pub(crate) tls: bool,
    pub(crate) sasl: bool,
    pub(crate) acls: bool,
}

impl Used {
    const fn has(self, feature: Feature) -> bool {
        match feature {
            Feature::Tls => self.tls,
            Feature::Sasl => self.sasl,
            Feature::Acls => self.acls,
        }
    }
}

/// How alike a name has to be to one that was set by mistake: 1 for the same.
const LIKENESS_MIN: f64 = 0.75;
/// Longer names are not compared with others.
const COMPARED_BYTES_MAX: usize = 128;

/// A line for each, in the order of the file, but those that are ignored together.
pub(crate) fn of(properties: &[Property], listeners: &[Listener], used: Used) -> Vec<String> {
    let mut last = BTreeMap::new();
    let mut warnings = Vec::new();
    for property in properties {
        if let Some(before) = last.insert(property.key.as_str(), property)
            && property.line != 0
        {
            let (key, first, second) = (&property.key, before.line, property.line);
            warnings
                .push(format!("`{key}` is set in line {first} and in line {second}: line {second} counts"));
        }
    }
    let (mut ignored, mut of_controller) = (Vec::new(), Vec::new());
    for property in properties.iter().filter(|property| last.get(&*property.key) == Some(property)) {
        match fate(property, listeners, used) {
            Fate::InForce => {}
            Fate::Ignored => ignored.push(format!("`{}`", property.key)),
            Fate::OfController => of_controller.push(format!("`{}`", property.key)),
            Fate::Unknown => warnings.push(unknown(property)),
        }
    }
    if !ignored.is_empty() {
        warnings.push(format!("ignored, for they have no effect here: {}", ignored.join(", ")));
    }
    if !of_controller.is_empty() {
        let names = of_controller.join(", ");
        warnings.push(format!("ignored, for the council does the controller's work: {names}"));
    }
    warnings
}

enum Fate {
    InForce,
    Ignored,
    OfController,
    Unknown,
}

fn fate(property: &Property, listeners: &[Listener], used: Used) -> Fate {
    let name = BrokerName::of(&property.key);
    if let Some(definition) = name.definition() {
        let is_of_listener = match name {
            BrokerName::OfListener { listener, .. } | BrokerName::OfMechanism { listener, .. } => {
                listeners.iter().any(|own| own.name.to_ascii_lowercase() == listener)
            }
            _ => true,
        };
        return match definition.effect {
            Effect::Acts(_) | Effect::ActsFor { .. } if is_of_every_listener(name) => Fate::InForce,
            Effect::Acts(_) if is_of_listener && LIMITS.contains(&definition.name) => Fate::InForce,
            Effect::ActsWith(feature, _) if used.has(feature) && is_of_listener => Fate::InForce,
            _ if is_default(definition, &property.value) => Fate::InForce,
            _ if definitions::is_of_controller(definition.name) => Fate::OfController,
            _ => Fate::Ignored,
        };
    }
    match OtherName::of(&property.key) {
        Some(OtherName::Read) => Fate::InForce,
        Some(OtherName::ReadWith(feature)) if used.has(feature) => Fate::InForce,
        Some(_) => Fate::Ignored,
        None => Fate::Unknown,
    }
}

/// Limits that one listener may have besides those of all listeners together.
const LIMITS: [&str; 2] = ["max.connections", "max.connection.creation.rate"];

/// What holds for one listener alone is read for its security, and for its [`LIMITS`].
const fn is_of_every_listener(name: BrokerName<'_>) -> bool {
    matches!(name, BrokerName::Known(_))
}

/// A key that says what holds anyway needs no warning.
fn is_default(definition: &Definition, value: &str) -> bool {
    let read = |raw: &str| Value::read(definition, raw).ok();
    definition.default.is_some_and(|default| read(default) == read(value))
}

fn unknown(property: &Property) -> String {
    let (key, line) = (&property.key, property.line);
    if let Some(topic) = definitions::topic(key) {
        let broker = topic.from.first().map(|name| format!(": for the broker it is `{name}`"));
        let broker = broker.unwrap_or_default();
        return format!("`{key}` (line {line}) is ignored, for it is a configuration of topics{broker}");
    }
    match meant(key) {
        Some(meant) => format!("`{key}` (line {line}) is unknown and ignored: did you mean `{meant}`?"),
        None => format!("`{key}` (line {line}) is unknown and ignored"),
    }
}

/// The known name that is most like this one, if it is like it at all.
fn meant(key: &str) -> Option<&'static str> {
    if key.len() > COMPARED_BYTES_MAX {
        return None;
    }
    let known = definitions::all_of_broker().map(|definition| definition.name).chain(OtherName::names());
    let likeness = known.map(|name| (strsim::normalized_damerau_levenshtein(key, name), name));
    let best = likeness.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (best.0 >= LIKENESS_MIN).then_some(best.1)
}
