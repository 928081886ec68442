//! What is set for a topic: by itself, and by the broker for topics that do not say otherwise.

use crate::definition::{Definition, ValueType};
use crate::definitions;
use crate::entry::{Entry, Source, Synonym};
use crate::layers::{BrokerLayers, Overrides, Values};
use crate::value::Value;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 3_600_000;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct TopicLayers<'a> {
    /// What the topic sets.
    pub topic: &'a Overrides,
    /// What is set for the broker.
    pub broker: BrokerLayers<'a>,
}

impl TopicLayers<'_> {
    /// A configuration of the topic as it is shown.
    #[must_use]
    pub fn entry(&self, name: &str) -> Entry {
        let definition = definitions::topic(name);
        let own = self.topic.get(name).map(|raw| own_synonym(definition, name, raw, Source::Topic));
        let inherited = definition.map_or_else(Vec::new, |definition| self.broker.synonyms(definition.from));
        let synonyms: Vec<Synonym> = own.into_iter().chain(inherited).collect();
        Entry {
            name: name.into(),
            value: self.value(name).map(|(value, _)| value.to_string()),
            value_type: definition.map_or(ValueType::Unknown, |definition| definition.value_type),
            source: synonyms.first().map_or(Source::Default, |first| first.source),
            is_read_only: false,
            is_sensitive: false,
            synonyms,
            about: definition.map_or("", Definition::about),
        }
    }

    /// What the broker says of topics that do not set it.
    fn inherited(&self, definition: &Definition) -> Option<(Value, Source)> {
        let units: &[i64] = match definition.name {
            "retention.ms" => &[1, MINUTE_MS, HOUR_MS],
            "segment.ms" | "segment.jitter.ms" => &[1, HOUR_MS],
            "flush.ms" => &[1, 1],
            _ => return self.broker.value(definition.from.first()?),
        };
        let finest = definition.from.iter().zip(units).find_map(|(name, unit)| {
            let (Value::Whole(number), source) = self.broker.value(name)? else { return None };
            Some((number.saturating_mul(*unit), source))
        });
        let (number, source) = finest?;
        // For the broker, every negative retention is none.
        let least = if definition.name == "retention.ms" { -1 } else { i64::MIN };
        Some((Value::Whole(number.max(least)), source))
    }
}

impl Values for TopicLayers<'_> {
    fn value(&self, name: &str) -> Option<(Value, Source)> {
        let definition = definitions::topic(name)?;
        let read = |raw: &str| Value::read(definition, raw).ok();
        let own = self.topic.get(name).and_then(|raw| read(raw)).map(|value| (value, Source::Topic));
        own.or_else(|| self.inherited(definition))
            .or_else(|| Some((definition.default.and_then(read)?, Source::Default)))
    }
}

/// A value that a topic, a group or a subscription sets itself, as it is shown: what cannot be read is shown as it was written.
pub(crate) fn own_synonym(definition: Option<&Definition>, name: &str, raw: &str, source: Source) -> Synonym {
    let read = definition.and_then(|definition| Value::read(definition, raw).ok());
    let value = read.map_or_else(|| raw.into(), |value| value.to_string());
    Synonym { name: name.into(), value: Some(value), source }
}
