//! The topics that a coordinator is shown with a request.

use std::sync::Arc;

use log_coordinators::{Text, TopicId, Topics};
use log_wire::{ApiKey, TopicName};

use crate::client::Client;
use crate::node::Node;
use crate::rights::{By, TOPIC_DESCRIBE};

/// All topics; an expression of the client matches those that it may see.
pub(crate) struct TopicsView<'n> {
    pub(crate) node: &'n Node,
    /// Nobody if it is a broker that asks.
    pub(crate) client: Option<&'n Arc<Client>>,
}

impl Topics for TopicsView<'_> {
    fn version(&self) -> u64 {
        self.node.catalog.version()
    }

    fn find(&self, name: &str) -> Option<(TopicId, i32)> {
        let topic = self.node.catalog.find(TopicName::Name(name)).ok()?;
        Some((topic.id, i32::try_from(topic.partitions.len()).ok()?))
    }

    fn name(&self, id: &TopicId) -> Option<Text> {
        self.node.catalog.find(TopicName::Id(*id)).ok().map(|topic| Arc::clone(&topic.name))
    }

    fn each(&self, visit: &mut dyn FnMut(&Text)) {
        let by = self.client.map(|client| By { client, api: ApiKey::ConsumerGroupHeartbeat });
        let may_see = |name: &str| by.is_none_or(|by| self.node.may(by, TOPIC_DESCRIBE, name).is_ok());
        // As in Kafka, no expression matches a topic of the brokers themselves.
        let topics = self.node.catalog.topics().filter(|topic| !topic.is_internal());
        topics.filter(|topic| may_see(&topic.name)).for_each(|topic| visit(&topic.name));
    }
}
