//! What is set for a group: by itself, and by the broker for groups that do not say otherwise.

use crate::definition::{Definition, ValueType};
use crate::definitions;
use crate::entry::{Entry, Source, Synonym};
use crate::layers::{BrokerLayers, Overrides, Values};
use crate::topic::own_synonym;
use crate::value::Value;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct GroupLayers<'a> {
    /// What the group sets.
    pub group: &'a Overrides,
    /// What is set for the broker.
    pub broker: BrokerLayers<'a>,
}

impl GroupLayers<'_> {
    /// A configuration of the group as it is shown.
    #[must_use]
    pub fn entry(&self, name: &str) -> Entry {
        let definition = definitions::group(name);
        let own = self.group.get(name).map(|raw| own_synonym(definition, name, raw, Source::Group));
        let inherited = definition.map_or_else(Vec::new, |definition| self.inherited_synonyms(definition));
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

    /// Where the broker has nothing of that name, the default is shown under the group's own name.
    fn inherited_synonyms(&self, definition: &Definition) -> Vec<Synonym> {
        match (definition.from.first(), definition.default) {
            (Some(name), Some(default)) if definitions::broker(name).is_none() => {
                vec![own_synonym(Some(definition), name, default, Source::Default)]
            }
            _ => self.broker.synonyms(definition.from),
        }
    }
}

impl Values for GroupLayers<'_> {
    fn value(&self, name: &str) -> Option<(Value, Source)> {
        let definition = definitions::group(name)?;
        let read = |raw: &str| Value::read(definition, raw).ok();
        let own = self.group.get(name).and_then(|raw| read(raw)).map(|value| (value, Source::Group));
        own.or_else(|| self.broker.value(definition.from.first()?))
            .or_else(|| Some((definition.default.and_then(read)?, Source::Default)))
    }
}
