//! The topics that there are, as the council knows them, and what a broker asks it to change.

mod appointments;
pub(crate) mod change;

use core::ops::Bound;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use log_metadata::{PartitionNode, TopicNode};
use log_partition::{PartitionConfig, PartitionId};
use log_wire::{ErrorCode, TopicName};

pub(crate) use appointments::Appointments;

/// The longest name of a topic.
pub(crate) const NAME_BYTES_MAX: usize = 249;

/// The internal topic of groups and their offsets.
pub(crate) const OFFSETS_TOPIC: &str = "__consumer_offsets";
/// The internal topic of transactions.
pub(crate) const TRANSACTIONS_TOPIC: &str = "__transaction_state";
/// The internal topic of share groups.
pub(crate) const SHARE_GROUPS_TOPIC: &str = "__share_group_state";

/// A topic, as it is committed.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicImage {
    /// Its name.
    pub name: Arc<str>,
    /// Its id, which no other topic ever has.
    pub id: [u8; 16],
    /// Its partitions, by number.
    pub partitions: Vec<PartitionNode>,
    /// Its own settings, by name.
    pub settings: BTreeMap<String, String>,
    /// What its partitions act on.
    pub config: PartitionConfig,
}

impl TopicImage {
    /// A topic by its node in the council, with what its settings come to.
    #[must_use]
    pub fn new(name: &str, node: TopicNode, config: PartitionConfig) -> Self {
        let TopicNode { id, settings, partitions } = node;
        Self { name: name.into(), id, partitions, settings, config }
    }

    /// The id of a partition.
    #[must_use]
    pub const fn partition(&self, index: i32) -> PartitionId {
        PartitionId { topic: self.id, index }
    }

    /// Whether brokers keep their own state in it.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        is_internal(&self.name)
    }
}

/// A topic that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewTopic {
    pub(crate) name: Arc<str>,
    /// The brokers of each partition, its leader first.
    pub(crate) replicas: Vec<Vec<i32>>,
    /// Its own settings.
    pub(crate) settings: BTreeMap<String, String>,
}

/// The topics that there are.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    by_name: BTreeMap<Arc<str>, TopicImage>,
    names: BTreeMap<[u8; 16], Arc<str>>,
    /// Names with `_` for `.`: no two topics have the same.
    plain_names: BTreeSet<String>,
    is_complete: bool,
    version: u64,
}

impl Catalog {
    /// The topic is so from now on. Gives what it was.
    pub fn put(&mut self, topic: TopicImage) -> Option<TopicImage> {
        self.version += 1;
        let (id, name) = (topic.id, Arc::clone(&topic.name));
        self.plain_names.insert(plain(&name));
        let before = self.by_name.insert(Arc::clone(&name), topic);
        if let Some(before) = before.as_ref().filter(|before| before.id != id) {
            self.names.remove(&before.id);
        }
        self.names.insert(id, name);
        before
    }

    /// The topic is gone.
    pub fn remove(&mut self, name: &str) -> Option<TopicImage> {
        let gone = self.by_name.remove(name)?;
        self.version += 1;
        self.names.remove(&gone.id);
        self.plain_names.remove(&plain(name));
        Some(gone)
    }

    /// The partitions of a topic act on this from now on. Gives the topic, if it is there.
    pub fn configure(&mut self, name: &str, config: PartitionConfig) -> Option<&TopicImage> {
        let topic = self.by_name.get_mut(name)?;
        self.version += 1;
        topic.config = config;
        Some(topic)
    }

    /// Rises with every change.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The topic of that name or id.
    ///
    /// # Errors
    /// `UNKNOWN_TOPIC_OR_PARTITION` or `UNKNOWN_TOPIC_ID`.
    pub fn find(&self, topic: TopicName<'_>) -> Result<&TopicImage, ErrorCode> {
        match topic {
            TopicName::Name(name) => self.by_name.get(name).ok_or(ErrorCode::UnknownTopicOrPartition),
            TopicName::Id(id) => {
                let name = self.names.get(&id).ok_or(ErrorCode::UnknownTopicId)?;
                self.by_name.get(name).ok_or(ErrorCode::UnknownTopicId)
            }
        }
    }

    /// Every topic that there is was named: one that is not here does not exist.
    pub const fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Whether every topic that there is was named.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The topic of a partition, if it has that partition.
    #[must_use]
    pub fn topic_of(&self, id: PartitionId) -> Option<&TopicImage> {
        let topic = self.find(TopicName::Id(id.topic)).ok()?;
        usize::try_from(id.index).ok().filter(|index| *index < topic.partitions.len()).map(|_| topic)
    }

    /// All topics, by name.
    pub fn topics(&self) -> impl Iterator<Item = &TopicImage> {
        self.by_name.values()
    }

    /// The topics from that name on, by name.
    pub fn topics_from<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a TopicImage> {
        self.by_name.range::<str, _>((Bound::Included(name), Bound::Unbounded)).map(|(_, topic)| topic)
    }

    /// Whether a topic of that name may be made.
    ///
    /// # Errors
    /// `INVALID_TOPIC_EXCEPTION`: the name has other characters than letters, digits, `.`, `_` and `-`, is `.` or `..`, is
    /// empty or longer than 249, or differs from that of another topic only by `.` for `_`. `TOPIC_ALREADY_EXISTS`.
    pub fn check_name(&self, name: &str) -> Result<(), ErrorCode> {
        if self.by_name.contains_key(name) {
            return Err(ErrorCode::TopicAlreadyExists);
        }
        if !is_valid_name(name) {
            return Err(ErrorCode::InvalidTopic);
        }
        if self.plain_names.contains(&plain(name)) { Err(ErrorCode::InvalidTopic) } else { Ok(()) }
    }
}

fn plain(name: &str) -> String {
    name.replace('.', "_")
}

/// Whether a topic may have that name.
#[must_use]
pub fn is_valid_name(name: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !matches!(name, "" | "." | "..") && name.len() <= NAME_BYTES_MAX && name.bytes().all(good)
}

/// Whether brokers keep their own state in the topic of that name.
#[must_use]
pub fn is_internal(name: &str) -> bool {
    matches!(name, OFFSETS_TOPIC | TRANSACTIONS_TOPIC | SHARE_GROUPS_TOPIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str, id: u8) -> TopicImage {
        TopicImage {
            name: name.into(),
            id: [id; 16],
            partitions: Vec::new(),
            settings: BTreeMap::new(),
            config: PartitionConfig::default(),
        }
    }

    #[test]
    fn topic_that_is_made_again_is_found_under_its_new_id_only() {
        let mut catalog = Catalog::default();
        catalog.put(topic("a", 1));
        catalog.put(topic("a", 2));
        let found = |catalog: &Catalog, id| catalog.find(TopicName::Id([id; 16])).map(|topic| topic.id[0]);
        assert_eq!((found(&catalog, 1), found(&catalog, 2)), (Err(ErrorCode::UnknownTopicId), Ok(2)));
        catalog.remove("a");
        assert_eq!(found(&catalog, 2), Err(ErrorCode::UnknownTopicId));
    }

    #[test]
    fn names_of_topics_are_those_of_kafka() {
        let mut catalog = Catalog::default();
        catalog.put(topic("a.b", 1));
        let longest = "x".repeat(249);
        for good in ["a", "a-b", "A_9", "...", longest.as_str()] {
            assert_eq!(catalog.check_name(good), Ok(()), "{good}");
        }
        let longer = "x".repeat(250);
        for bad in ["", ".", "..", "a b", "ä", "a/b", longer.as_str(), "a_b"] {
            assert_eq!(catalog.check_name(bad), Err(ErrorCode::InvalidTopic), "{bad}");
        }
        assert_eq!(catalog.check_name("a.b"), Err(ErrorCode::TopicAlreadyExists));
    }
}
