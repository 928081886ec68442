//! The topics that a coordinator is shown with a request.

use std::sync::Arc;

use log_coordinators::{Text, TopicId, Topics};
use log_wire::TopicName;

use crate::catalog::Catalog;

/// All topics.
pub(super) struct TopicsView<'c>(pub(super) &'c Catalog);

impl Topics for TopicsView<'_> {
    fn version(&self) -> u64 {
        self.0.version()
    }

    fn find(&self, name: &str) -> Option<(TopicId, i32)> {
        let topic = self.0.find(TopicName::Name(name)).ok()?;
        Some((topic.id, i32::try_from(topic.partitions.len()).ok()?))
    }

    fn name(&self, id: &TopicId) -> Option<Text> {
        self.0.find(TopicName::Id(*id)).ok().map(|topic| Arc::clone(&topic.name))
    }

    fn each(&self, visit: &mut dyn FnMut(&Text)) {
        // As in Kafka, no expression matches a topic of the brokers themselves.
        self.0.topics().filter(|topic| !topic.is_internal()).for_each(|topic| visit(&topic.name));
    }
}
