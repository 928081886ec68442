//! What a broker knows of its topics. A coordinator is shown it with each request, and keeps none of it but what its groups
//! subscribe to.

use crate::{Text, TopicId};

/// The topics that there are, as one client may see them.
pub trait Topics {
    /// Rises whenever a topic is made or deleted, or gets partitions.
    fn version(&self) -> u64;
    /// The id of a topic, and how many partitions it has.
    fn find(&self, name: &str) -> Option<(TopicId, i32)>;
    /// The name of a topic.
    fn name(&self, id: &TopicId) -> Option<Text>;
    /// Calls `visit` with the name of every topic that the client may describe, and that a regular expression may match.
    fn each(&self, visit: &mut dyn FnMut(&Text));
}

/// No topics.
impl Topics for () {
    fn version(&self) -> u64 {
        0
    }

    fn find(&self, _: &str) -> Option<(TopicId, i32)> {
        None
    }

    fn name(&self, _: &TopicId) -> Option<Text> {
        None
    }

    fn each(&self, _: &mut dyn FnMut(&Text)) {}
}
