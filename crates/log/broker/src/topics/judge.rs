//! Whether a topic may be made or deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use log_wire::messages::topics::{CreatableTopic, DeleteTopicState};
use log_wire::{ErrorCode, TopicName};

use super::settings::partition_config;
use crate::catalog::{NewTopic, is_internal};
use crate::node::Node;

/// How many partitions a topic may have.
const PARTITIONS_MAX: i32 = 100_000;

impl Node {
    /// Whether a topic may be made.
    ///
    /// # Errors
    /// Why not, for programs and for people.
    pub(super) fn judge_new(&self, topic: &CreatableTopic) -> Result<NewTopic, (ErrorCode, String)> {
        let refused = |error: ErrorCode, why: &str| Err((error, String::from(why)));
        self.catalog.check_name(&topic.name).map_err(|error| (error, name_trouble(error).into()))?;
        let assigned = topic.assignments.len();
        if assigned > 0 && (topic.num_partitions != -1 || topic.replication_factor != -1) {
            return refused(ErrorCode::InvalidRequest, "replicas are assigned, so their numbers must be -1");
        }
        let partitions = match topic.num_partitions {
            _ if assigned > 0 => i32::try_from(assigned).unwrap_or(i32::MAX),
            -1 => self.config.partitions,
            partitions => partitions,
        };
        if !(1..=PARTITIONS_MAX).contains(&partitions) {
            return refused(ErrorCode::InvalidPartitions, "a topic has 1 to 100,000 partitions");
        }
        if !matches!(topic.replication_factor, -1 | 1) {
            return refused(
                ErrorCode::InvalidReplicationFactor,
                "there is one broker, so the replication factor is 1",
            );
        }
        let own = |broker: &[i32]| broker == [self.config.node_id];
        if !topic.assignments.iter().all(|assignment| own(&assignment.broker_ids)) {
            return refused(
                ErrorCode::InvalidReplicaAssignment,
                "replicas are assigned to brokers that are not there",
            );
        }
        let settings: BTreeMap<String, String> = topic
            .configs
            .iter()
            .filter_map(|config| Some((config.name.clone(), config.value.clone()?)))
            .collect();
        partition_config(&self.topic_defaults, &settings)
            .map_err(|bad| (ErrorCode::InvalidConfig, format!("`{}`: {}", bad.name, bad.why)))?;
        Ok(NewTopic { name: topic.name.as_str().into(), partitions, settings })
    }

    /// Whether a topic may be deleted.
    ///
    /// # Errors
    /// The error of the protocol.
    pub(super) fn judge_deletion(&self, topic: &DeleteTopicState) -> Result<(Arc<str>, [u8; 16]), ErrorCode> {
        let has_id = topic.topic_id != [0; 16];
        let name = match &topic.name {
            Some(_) if has_id => return Err(ErrorCode::InvalidRequest),
            Some(name) => TopicName::Name(name),
            None => TopicName::Id(topic.topic_id),
        };
        let found = self.catalog.find(name)?;
        if is_internal(&found.name) {
            return Err(ErrorCode::InvalidTopic);
        }
        Ok((Arc::clone(&found.name), found.id))
    }
}

const fn name_trouble(error: ErrorCode) -> &'static str {
    match error {
        ErrorCode::TopicAlreadyExists => "there is a topic of that name",
        _ => "the name is not one of a topic, or differs from another's only by `.` for `_`",
    }
}
