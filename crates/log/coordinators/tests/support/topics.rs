//! Topics as a broker would show them.

use std::collections::BTreeMap;

use log_coordinators::{Text, TopicId, Topics};

/// Topics by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct TopicTable {
    pub(crate) topics: BTreeMap<Text, (TopicId, i32)>,
    pub(crate) version: u64,
    made: u8,
}

impl TopicTable {
    /// A topic is made, or gets partitions.
    pub(crate) fn put(&mut self, name: &str, partitions: i32) -> TopicId {
        let id = match self.topics.get(name) {
            Some((id, _)) => *id,
            None => {
                self.made += 1;
                [self.made; 16]
            }
        };
        self.topics.insert(name.into(), (id, partitions));
        self.version += 1;
        id
    }

    /// A topic is deleted.
    pub(crate) fn remove(&mut self, name: &str) {
        self.topics.remove(name);
        self.version += 1;
    }
}

impl Topics for TopicTable {
    fn version(&self) -> u64 {
        self.version
    }

    fn find(&self, name: &str) -> Option<(TopicId, i32)> {
        self.topics.get(name).copied()
    }

    fn name(&self, id: &TopicId) -> Option<Text> {
        self.topics.iter().find(|(_, (known, _))| known == id).map(|(name, _)| name.clone())
    }

    fn each(&self, visit: &mut dyn FnMut(&Text)) {
        self.topics.keys().for_each(visit);
    }
}
