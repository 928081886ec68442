//! How topics are created and deleted.

use super::int;
use crate::layers::Values;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicCreation {
    /// `auto.create.topics.enable`.
    pub creates_when_asked: bool,
    /// `delete.topic.enable`.
    pub may_delete: bool,
    /// `num.partitions`.
    pub partitions: i32,
    /// `default.replication.factor`.
    pub replication_factor: i16,
}

impl TopicCreation {
    /// What is in force.
    #[must_use]
    pub fn of(values: &impl Values) -> Self {
        Self {
            creates_when_asked: values.is_true("auto.create.topics.enable"),
            may_delete: values.is_true("delete.topic.enable"),
            partitions: int(values, "num.partitions"),
            replication_factor: i16::try_from(int(values, "default.replication.factor")).unwrap_or(i16::MAX),
        }
    }
}
