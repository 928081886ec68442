//! What is set, where: in `server.properties`, and in the council for this broker, for all brokers, for groups and for
//! subscriptions to client metrics. What a topic sets is with the topic.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use log_config::{BrokerLayers, GroupLayers, Overrides, TopicLayers, change, drain};
use log_metadata::ConfigNode;

use crate::config::ServerProperties;

/// What is set for this broker. It is shared with the changes that are under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers {
    broker: Overrides,
    cluster: Overrides,
    properties: ServerProperties,
}

impl Layers {
    pub(crate) fn view(&self) -> BrokerLayers<'_> {
        BrokerLayers { broker: &self.broker, cluster: &self.cluster, file: &self.properties.0 }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Configs {
    node_id: i32,
    layers: Arc<Layers>,
    /// The brokers from which everything is to move away.
    drained: BTreeSet<i32>,
    groups: BTreeMap<String, Overrides>,
    client_metrics: BTreeMap<String, Overrides>,
    /// The level of each logger of this broker.
    levels: BTreeMap<String, String>,
}

/// What is set for those that set nothing.
static NOTHING: Overrides = Overrides::new();

impl Configs {
    /// Of the broker of that number, of which the council has told nothing yet. It logs from `level` on.
    pub(crate) fn new(node_id: i32, properties: ServerProperties, level: &str) -> Self {
        Self {
            node_id,
            layers: Arc::new(Layers { properties, ..Layers::default() }),
            drained: BTreeSet::new(),
            groups: BTreeMap::new(),
            client_metrics: BTreeMap::new(),
            levels: BTreeMap::from([(change::loggers::ROOT.into(), level.into())]),
        }
    }

    /// The council holds this from now on. Gives whether what is in force for this broker may be something else by that.
    pub(crate) fn put(&mut self, node: ConfigNode, set: Overrides) -> bool {
        if let ConfigNode::Broker(id) = node {
            match drain::drains(&set) {
                true => self.drained.insert(id),
                false => self.drained.remove(&id),
            };
        }
        match node {
            ConfigNode::Broker(id) if id == self.node_id => {
                Arc::make_mut(&mut self.layers).broker = set;
                return true;
            }
            ConfigNode::AllBrokers => {
                Arc::make_mut(&mut self.layers).cluster = set;
                return true;
            }
            ConfigNode::Broker(_) => {}
            ConfigNode::Group(name) => put(&mut self.groups, name, set),
            ConfigNode::ClientMetrics(name) => put(&mut self.client_metrics, name, set),
        }
        false
    }

    /// Gives the level of the root logger if that is another one now.
    pub(crate) fn set_levels(&mut self, levels: BTreeMap<String, String>) -> Option<String> {
        let before = std::mem::replace(&mut self.levels, levels);
        let root = self.levels.get(change::loggers::ROOT)?;
        (before.get(change::loggers::ROOT) != Some(root)).then(|| root.clone())
    }

    /// The brokers from which everything is to move away (`diwan.drain`).
    pub(crate) const fn drained(&self) -> &BTreeSet<i32> {
        &self.drained
    }

    pub(crate) const fn node_id(&self) -> i32 {
        self.node_id
    }

    /// What is set for this broker.
    pub(crate) fn broker(&self) -> BrokerLayers<'_> {
        self.layers.view()
    }

    /// The same, to be kept.
    pub(crate) const fn layers(&self) -> &Arc<Layers> {
        &self.layers
    }

    /// What is set for a topic that sets this itself.
    pub(crate) fn topic<'a>(&'a self, topic: &'a Overrides) -> TopicLayers<'a> {
        TopicLayers { topic, broker: self.broker() }
    }

    /// What is set for a group.
    pub(crate) fn group(&self, name: &str) -> GroupLayers<'_> {
        GroupLayers { group: self.groups.get(name).unwrap_or(&NOTHING), broker: self.broker() }
    }

    /// What a subscription to client metrics sets.
    pub(crate) fn subscription(&self, name: &str) -> &Overrides {
        self.client_metrics.get(name).unwrap_or(&NOTHING)
    }

    /// What a node of the council sets.
    pub(crate) fn set_in(&self, node: &ConfigNode) -> &Overrides {
        match node {
            ConfigNode::Broker(id) if *id == self.node_id => &self.layers.broker,
            ConfigNode::Broker(_) => &NOTHING,
            ConfigNode::AllBrokers => &self.layers.cluster,
            ConfigNode::Group(name) => self.groups.get(name).unwrap_or(&NOTHING),
            ConfigNode::ClientMetrics(name) => self.subscription(name),
        }
    }

    /// The groups that set something.
    pub(crate) fn groups(&self) -> impl ExactSizeIterator<Item = &str> {
        self.groups.keys().map(String::as_str)
    }

    /// The subscriptions to client metrics.
    pub(crate) fn subscriptions(&self) -> impl ExactSizeIterator<Item = &str> {
        self.client_metrics.keys().map(String::as_str)
    }

    /// The levels of this broker's loggers.
    pub(crate) const fn levels(&self) -> &BTreeMap<String, String> {
        &self.levels
    }
}

fn put(all: &mut BTreeMap<String, Overrides>, name: String, set: Overrides) {
    if set.is_empty() {
        all.remove(&name);
    } else {
        all.insert(name, set);
    }
}
