//! A topic as it stands in the council: a node of its name below `/log/topics`, whose data is JSON.
//!
//! ```json
//! {"id": "AbEi...", "settings": {"retention.ms": "1000"}, "partitions": [{"leader": 1, "epoch": 4, "replicas": [1]}]}
//! ```
//! The id is that of the protocol: 16 bytes in URL-safe base64 without padding.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use log_broker::{BadSetting, PartitionImage, TopicImage, partition_config};
use log_partition::{LeaderEpoch, PartitionConfig};
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TopicNode {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, String>,
    pub(crate) partitions: Vec<PartitionNode>,
}

/// A partition in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartitionNode {
    pub(crate) leader: i32,
    pub(crate) epoch: i32,
    pub(crate) replicas: Vec<i32>,
}

/// Why a node is none of a topic.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadNode {
    /// It is not the JSON of a topic.
    #[error("it is not the JSON of a topic: {0}")]
    Json(#[from] serde_json::Error),
    /// Its id is not one.
    #[error("its id `{0}` is not 16 bytes in base64")]
    Id(String),
    /// One of its settings is not one.
    #[error("its setting `{}`: {}", .0.name, .0.why)]
    Setting(BadSetting),
}

impl TopicNode {
    pub(crate) fn new(
        id: [u8; 16],
        settings: BTreeMap<String, String>,
        partitions: usize,
        broker: i32,
    ) -> Self {
        let partition = PartitionNode { leader: broker, epoch: 0, replicas: vec![broker] };
        Self { id: id_text(&id), settings, partitions: vec![partition; partitions] }
    }

    pub(crate) fn read(data: &[u8]) -> Result<Self, BadNode> {
        Ok(serde_json::from_slice(data)?)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The broker leads its partitions anew, each under the next epoch. Gives whether there are any.
    pub(crate) fn appoint(&mut self, broker: i32) -> bool {
        let own = self.partitions.iter_mut().filter(|partition| partition.leader == broker);
        own.map(|partition| partition.epoch += 1).count() > 0
    }

    pub(crate) fn image(&self, name: &str, defaults: &PartitionConfig) -> Result<TopicImage, BadNode> {
        let partitions = self.partitions.iter().map(|partition| PartitionImage {
            leader: partition.leader,
            epoch: LeaderEpoch(partition.epoch),
            replicas: partition.replicas.clone(),
        });
        Ok(TopicImage {
            name: name.into(),
            id: id_of(&self.id).ok_or_else(|| BadNode::Id(self.id.clone()))?,
            partitions: partitions.collect(),
            settings: self.settings.clone(),
            config: partition_config(defaults, &self.settings).map_err(BadNode::Setting)?,
        })
    }
}

/// An id as the protocol writes it in texts.
pub(crate) fn id_text(id: &[u8; 16]) -> String {
    URL_SAFE_NO_PAD.encode(id)
}

fn id_of(text: &str) -> Option<[u8; 16]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_is_read_back_and_a_start_raises_the_epochs_of_its_broker() {
        let mut node = TopicNode::new([7; 16], BTreeMap::new(), 2, 1);
        node.partitions[1].leader = 2;
        assert!(node.appoint(1) && !node.clone().appoint(3));
        let read = TopicNode::read(&node.bytes()).expect("it is one");
        let image = read.image("a", &PartitionConfig::default()).expect("it is one");
        assert_eq!((read, image.id), (node, [7; 16]));
        assert_eq!(image.partitions.iter().map(|partition| partition.epoch.0).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn node_of_another_kind_is_refused_with_the_reason() {
        let told = |data: &str| {
            let node = TopicNode::read(data.as_bytes());
            node.and_then(|node| node.image("a", &PartitionConfig::default()))
                .expect_err("it is none")
                .to_string()
        };
        assert!(told("{}").contains("not the JSON"));
        assert!(told(r#"{"id":"x","partitions":[]}"#).contains("`x`"));
        let setting = r#"{"id":"AAAAAAAAAAAAAAAAAAAAAA","partitions":[],"settings":{"a":"b"}}"#;
        assert!(told(setting).contains("`a`"));
    }
}
