//! The configurations of many topics, written one after the other. What a topic does not set is the same for all of them: it is
//! found once.

use std::collections::{BTreeMap, BTreeSet};

use log_config::{BrokerLayers, Entry, Overrides, TopicLayers, describe};
use log_wire::Writer;

use crate::config_layers::Layers;
use crate::response::Form;

/// How an entry is written.
pub(crate) type WriteEntry<'w> = &'w dyn Fn(Entry, &mut Writer<'_>);

/// See the module.
pub(crate) struct ShownTopics<'a> {
    broker: BrokerLayers<'a>,
    form: Form,
    write: WriteEntry<'a>,
    /// What a topic sets is written as its request wrote it, and not in the form of its type.
    as_written: bool,
    /// What every topic has that does not set it, as it is written.
    inherited: BTreeMap<String, Vec<u8>>,
}

impl<'a> ShownTopics<'a> {
    /// With what is set for the broker.
    pub(crate) fn new(layers: &'a Layers, form: Form, write: WriteEntry<'a>) -> Self {
        let (broker, nothing) = (layers.view(), Overrides::new());
        let mut shown = Self { broker, form, write, as_written: false, inherited: BTreeMap::new() };
        let entries = describe::topic(&TopicLayers { topic: &nothing, broker }, None);
        shown.inherited =
            entries.into_iter().map(|entry| (entry.name.clone(), shown.encoded(entry))).collect();
        shown
    }

    /// What a topic sets is written as its request wrote it: so Kafka answers to whoever makes the topic.
    pub(crate) fn showing_what_is_written(self) -> Self {
        Self { as_written: true, ..self }
    }

    fn encoded(&self, entry: Entry) -> Vec<u8> {
        let mut out = Vec::new();
        (self.write)(entry, &mut Writer::new(&mut out, self.form.flexible));
        out
    }

    /// Writes all configurations of a topic, by name, and their number before them.
    pub(crate) fn write(&self, topic: &Overrides, out: &mut Vec<u8>) {
        let layers = TopicLayers { topic, broker: self.broker };
        let names: BTreeSet<&str> = self.inherited.keys().chain(topic.keys()).map(String::as_str).collect();
        Writer::new(out, self.form.flexible).count(names.len());
        for name in names {
            match self.inherited.get(name).filter(|_| !topic.contains_key(name)) {
                Some(written) => out.extend_from_slice(written),
                None => {
                    let mut entry = layers.entry(name);
                    if self.as_written {
                        entry.value = topic.get(name).cloned().or(entry.value);
                    }
                    (self.write)(entry, &mut Writer::new(out, self.form.flexible));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use log_wire::messages::Field as _;
    use log_wire::messages::topics::CreatableTopicConfigs;

    use super::*;
    use crate::config::BrokerConfig;
    use crate::node::Node;

    #[test]
    fn topics_are_written_as_they_are_described() {
        let file = Overrides::from([("log.retention.hours".into(), "1".into())]);
        let config = BrokerConfig { properties: file.into(), ..BrokerConfig::default() };
        let node = Node::new(config, "cluster".into(), Vec::new());
        let form = Form { version: 7, flexible: true };
        let shown = ShownTopics::new(node.configs.layers(), form, &|entry, writer| {
            entry.created().write(writer, 7);
        });
        let set = [
            Overrides::new(),
            Overrides::from([
                ("retention.ms".into(), "5".into()),
                ("diwan.durability".into(), "flushed".into()),
            ]),
        ];
        for topic in set {
            let mut written = Vec::new();
            shown.write(&topic, &mut written);
            let entries = describe::topic(&node.configs.topic(&topic), None);
            let configs: Vec<CreatableTopicConfigs> = entries.into_iter().map(Entry::created).collect();
            let mut expected = Vec::new();
            configs.write(&mut Writer::new(&mut expected, true), 7);
            assert_eq!(written, expected, "{topic:?}");
        }
    }

    #[test]
    fn value_is_written_as_its_request_wrote_it_only_where_that_is_wanted() {
        let node = Node::new(BrokerConfig::default(), "cluster".into(), Vec::new());
        let form = Form { version: 7, flexible: true };
        let set = Overrides::from([("preallocate".into(), "TRUE".into())]);
        let value_in = |shown: ShownTopics<'_>| {
            let mut written = Vec::new();
            shown.write(&set, &mut written);
            ["TRUE", "true"].map(|text| written.windows(4).any(|bytes| bytes == text.as_bytes()))
        };
        let write = |entry: Entry, writer: &mut Writer<'_>| {
            if entry.name == "preallocate" {
                entry.created().write(writer, 7);
            }
        };
        assert_eq!(value_in(ShownTopics::new(node.configs.layers(), form, &write)), [false, true]);
        assert_eq!(
            value_in(ShownTopics::new(node.configs.layers(), form, &write).showing_what_is_written()),
            [true, false]
        );
    }
}
