//! A broker as it announces itself: an ephemeral node of its number below `/log/brokers/ids`, whose data is JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BrokerNode {
    /// The id of its data directory, as a text.
    pub directory: String,
    /// Where clients find it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// `broker.rack`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// Rises with each start of the broker.
    #[serde(default)]
    pub incarnation: u64,
    /// Where other brokers find it. One without takes no part in replication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peers: Option<EndpointNode>,
    /// Where clients find it that came in at a listener of that name; all but the first one, which is `host` and `port`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub listeners: BTreeMap<String, EndpointNode>,
}

/// A place where a broker listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointNode {
    /// Its name or address.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl BrokerNode {
    /// Reads the data of a node, if it is that of a broker.
    #[must_use]
    pub fn read(data: &[u8]) -> Option<Self> {
        serde_json::from_slice(data).ok()
    }

    /// Where clients find it that came in at a listener of that name here. A broker that has none of that name has its first one.
    #[must_use]
    pub fn endpoint(&self, listener: &str) -> (&str, u16) {
        let of_name = self.listeners.get(listener).map(|of| (of.host.as_str(), of.port));
        of_name.unwrap_or((&self.host, self.port))
    }

    /// The data of its node.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_is_read_back() {
        let mut broker =
            BrokerNode { directory: "d".into(), host: "h".into(), port: 9092, ..BrokerNode::default() };
        assert_eq!(BrokerNode::read(&broker.bytes()), Some(broker.clone()));
        let at = |host: &str, port| EndpointNode { host: host.into(), port };
        broker.peers = Some(at("p", 19092));
        broker.listeners = BTreeMap::from([("INSIDE".into(), at("i", 9093))]);
        assert_eq!(BrokerNode::read(&broker.bytes()), Some(broker.clone()));
        assert_eq!((broker.endpoint("INSIDE"), broker.endpoint("X")), (("i", 9093), ("h", 9092)));
        assert_eq!(BrokerNode::read(b"{}"), None);
    }
}
