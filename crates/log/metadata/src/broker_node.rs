//! A broker as it announces itself: an ephemeral node of its number below `/log/brokers/ids`, whose data is JSON.

use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

impl BrokerNode {
    /// Reads the data of a node, if it is that of a broker.
    #[must_use]
    pub fn read(data: &[u8]) -> Option<Self> {
        serde_json::from_slice(data).ok()
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
        let broker = BrokerNode { directory: "d".into(), host: "h".into(), port: 9092, rack: None };
        assert_eq!(BrokerNode::read(&broker.bytes()), Some(broker));
        assert_eq!(BrokerNode::read(b"{}"), None);
    }
}
