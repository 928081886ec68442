//! What is set for brokers, groups and subscriptions to client metrics while brokers run: a node for each, whose data is a JSON
//! object of names and values as they were written. Where nothing is set there is no node. What a topic sets is in its own node.
//!
//! ```text
//! /log/configs/brokers/1             {"log.retention.ms": "1000"}
//! /log/configs/brokers/default       for all brokers
//! /log/configs/groups/orders
//! /log/configs/client-metrics/NAME
//! ```

use std::collections::BTreeMap;

use crate::{node_name, paths};

/// Whose configurations a node holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigNode {
    /// Those of the broker of that number.
    Broker(i32),
    /// Those of all brokers.
    AllBrokers,
    /// Those of the group of that name.
    Group(String),
    /// Those of the subscription to client metrics of that name.
    ClientMetrics(String),
}

impl ConfigNode {
    /// Whose node this is, if it is one of these.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        if let Some(name) = paths::child_of(path, paths::BROKER_CONFIGS) {
            return match name {
                paths::ALL_BROKERS => Some(Self::AllBrokers),
                number => number.parse().ok().map(Self::Broker),
            };
        }
        if let Some(name) = paths::child_of(path, paths::GROUP_CONFIGS) {
            return node_name::read(name).map(Self::Group);
        }
        let name = paths::child_of(path, paths::CLIENT_METRICS_CONFIGS)?;
        node_name::read(name).map(Self::ClientMetrics)
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> String {
        match self {
            Self::Broker(number) => format!("{}/{number}", paths::BROKER_CONFIGS),
            Self::AllBrokers => format!("{}/{}", paths::BROKER_CONFIGS, paths::ALL_BROKERS),
            Self::Group(name) => format!("{}/{}", paths::GROUP_CONFIGS, node_name::write(name)),
            Self::ClientMetrics(name) => {
                format!("{}/{}", paths::CLIENT_METRICS_CONFIGS, node_name::write(name))
            }
        }
    }
}

/// Reads the data of such a node.
///
/// # Errors
/// It is no JSON object of texts.
pub fn read_configs(data: &[u8]) -> Result<BTreeMap<String, String>, serde_json::Error> {
    if data.is_empty() { Ok(BTreeMap::new()) } else { serde_json::from_slice(data) }
}

/// The data of such a node.
#[must_use]
pub fn configs_bytes(configs: &BTreeMap<String, String>) -> Vec<u8> {
    serde_json::to_vec(configs).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_is_told_from_its_path_whatever_its_name() {
        let names = ["g", "a/b", "..", ".", "%", "ü\u{1}", "default", "", " "];
        let named = names
            .iter()
            .flat_map(|name| [ConfigNode::Group((*name).into()), ConfigNode::ClientMetrics((*name).into())]);
        let all = [ConfigNode::Broker(1), ConfigNode::Broker(i32::MAX), ConfigNode::AllBrokers];
        for node in all.into_iter().chain(named) {
            assert_eq!(ConfigNode::of(&node.path()), Some(node.clone()), "{}", node.path());
        }
        for path in
            ["/log/configs/brokers/x", "/log/configs/groups", "/log/configs/groups/%4", "/log/topics/a"]
        {
            assert_eq!(ConfigNode::of(path), None, "{path}");
        }
    }

    #[test]
    fn configs_are_read_back_and_others_are_refused() {
        let configs = BTreeMap::from([("a".into(), "\"\u{0}ü".into()), ("b".into(), String::new())]);
        assert_eq!(read_configs(&configs_bytes(&configs)).ok(), Some(configs));
        assert_eq!(read_configs(b"").ok(), Some(BTreeMap::new()));
        for data in ["[]", "{\"a\": 1}", "x"] {
            assert!(read_configs(data.as_bytes()).is_err(), "{data}");
        }
    }
}
