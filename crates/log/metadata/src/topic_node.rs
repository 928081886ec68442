//! A topic as it stands in the council: a node of its name below `/log/topics`, whose data is JSON.
//!
//! ```json
//! {"id": "AbEi...", "settings": {"retention.ms": "1000"}, "partitions": [[1, 4, [1]]]}
//! ```
//! The id is that of the protocol. A partition has its leader (-1 for none), the leader's epoch, and its replicas, the preferred
//! leader first; see [`PartitionNode`]. A controller's changes of several partitions are [`TopicNode::write_records`].

use std::collections::BTreeMap;

use log_partition::LeaderEpoch;
use serde::{Deserialize, Serialize};

use crate::partition_node::{PartitionNode, Raw};
use crate::{id_of, id_text};

/// How many bytes a node may have: a little less than an ensemble takes by default (`jute.maxbuffer`).
pub const NODE_BYTES_MAX: usize = 1_000_000;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicNode {
    /// Its id, which no other topic ever has.
    pub id: [u8; 16],
    /// Its own settings, by name.
    pub settings: BTreeMap<String, String>,
    /// Its partitions, by number.
    pub partitions: Vec<PartitionNode>,
}

/// Why a node is none of a topic.
#[derive(Debug, thiserror::Error)]
pub enum BadNode {
    /// It is not the JSON of a topic.
    #[error("it is not the JSON of a topic: {0}")]
    Json(#[from] serde_json::Error),
    /// Its id is not one.
    #[error("its id `{0}` is not 16 bytes in base64")]
    Id(String),
}

#[derive(Serialize, Deserialize)]
struct RawTopic {
    id: String,
    #[serde(default)]
    settings: BTreeMap<String, String>,
    partitions: Vec<Raw>,
}

impl TopicNode {
    /// A topic whose partitions have these replicas, and are led by the first of them.
    #[must_use]
    pub fn new(id: [u8; 16], settings: BTreeMap<String, String>, replicas: &[Vec<i32>]) -> Self {
        Self { id, settings, partitions: replicas.iter().cloned().map(PartitionNode::new).collect() }
    }

    /// Reads the data of a node.
    ///
    /// # Errors
    /// It is not that of a topic.
    pub fn read(data: &[u8]) -> Result<Self, BadNode> {
        let RawTopic { id, settings, partitions } = serde_json::from_slice(data)?;
        let id = id_of(&id).ok_or(BadNode::Id(id))?;
        Ok(Self { id, settings, partitions: partitions.into_iter().map(PartitionNode::of_raw).collect() })
    }

    /// The data of its node.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let partitions = self.partitions.iter().map(PartitionNode::raw).collect();
        let raw = RawTopic { id: id_text(&self.id), settings: self.settings.clone(), partitions };
        serde_json::to_vec(&raw).unwrap_or_default()
    }

    /// The broker leads its partitions anew, each under an epoch above that of the node and above the one that the broker
    /// knows of the partition with that number. Gives whether there are any.
    pub fn appoint(&mut self, broker: i32, known: &BTreeMap<i32, LeaderEpoch>) -> bool {
        let own = (0..)
            .zip(&mut self.partitions)
            .filter(|(_, partition)| partition.leader == broker && !partition.is_replicated());
        own.map(|(index, partition)| {
            let known = known.get(&index).copied().unwrap_or_default();
            partition.epoch = LeaderEpoch(partition.epoch.max(known).0 + 1);
            partition.raise_version();
        })
        .count()
            > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_is_read_back_and_a_start_raises_the_epochs_of_its_broker() {
        let settings = BTreeMap::from([("a".into(), "b".into())]);
        let mut node = TopicNode::new([7; 16], settings, &[vec![1], vec![2, 1]]);
        assert!(node.appoint(1, &BTreeMap::new()) && !node.clone().appoint(3, &BTreeMap::new()));
        let read = TopicNode::read(&node.bytes()).expect("it is one");
        assert_eq!(
            read.partitions.iter().map(|of| (of.leader, of.epoch.0, of.version)).collect::<Vec<_>>(),
            [(1, 1, 1), (2, 0, 0)]
        );
        assert_eq!(read, node);
    }

    #[test]
    fn epoch_rises_above_the_one_that_the_broker_knows() {
        let mut node = TopicNode::new([7; 16], BTreeMap::new(), &[vec![1], vec![1]]);
        assert!(node.appoint(1, &BTreeMap::from([(1, LeaderEpoch(6))])));
        let told = node.partitions.iter().map(|of| (of.epoch.0, of.version));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [(1, 1), (7, 1)],
            "the version rises by 1 however far the epoch does"
        );
    }

    #[test]
    fn node_of_another_kind_is_refused_with_the_reason() {
        let told = |data: &str| TopicNode::read(data.as_bytes()).expect_err("it is none").to_string();
        assert!(told("{}").contains("not the JSON"));
        assert!(told(r#"{"id":"x","partitions":[]}"#).contains("`x`"));
        assert!(told(r#"{"id":"x","partitions":[[1]]}"#).contains("not the JSON"));
    }
}
