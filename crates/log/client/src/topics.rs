//! Topics: what an administrator does with them.

use std::collections::BTreeMap;

use log_wire::messages::configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult,
    IncrementalAlterConfigsRequest, IncrementalAlterConfigsResource, IncrementalAlterableConfig,
};
use log_wire::messages::offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use log_wire::messages::topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreatePartitionsRequest,
    CreatePartitionsTopic, CreateTopicsRequest, DeleteTopicsRequest,
};

use crate::cluster::Cluster;
use crate::error::{Error, Result};

/// The kind of a resource of configurations: a topic.
const TOPIC: i8 = 2;
/// And a broker.
pub(crate) const BROKER: i8 = 4;
/// And a group.
const GROUP: i8 = 32;
const TIMEOUT_MS: i32 = 30_000;
/// Operations of IncrementalAlterConfigs.
const SET: i8 = 0;
/// See [`SET`].
const DELETE: i8 = 1;

/// A partition of a topic, by the topic's name and its number.
pub type TopicPartition = (String, i32);

/// Which end of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The offset of the first record.
    Earliest,
    /// The offset behind the last record.
    Latest,
    /// The offset of the first record of that time or a later one, milliseconds since 1970.
    Time(i64),
}

impl End {
    const fn timestamp(self) -> i64 {
        match self {
            Self::Earliest => -2,
            Self::Latest => -1,
            Self::Time(ms) => ms,
        }
    }
}

/// A new topic.
#[derive(Clone, Debug)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions; -1 for the brokers' default.
    pub partitions: i32,
    /// How many replicas of each; -1 for the brokers' default.
    pub replicas: i16,
    /// Its own settings.
    pub settings: BTreeMap<String, String>,
}

impl Cluster {
    /// Makes a topic.
    ///
    /// # Errors
    /// The brokers refuse.
    pub fn create_topic(&mut self, new: &NewTopic) -> Result<()> {
        self.create(
            new,
            CreatableTopic {
                num_partitions: new.partitions,
                replication_factor: new.replicas,
                ..CreatableTopic::default()
            },
        )
    }

    /// Makes a topic whose partitions have these replicas, the first one of each the preferred leader, whatever numbers `new` says.
    ///
    /// # Errors
    /// The brokers refuse.
    pub fn create_topic_on(&mut self, new: &NewTopic, replicas: &[Vec<i32>]) -> Result<()> {
        let each = (0..).zip(replicas).map(|(partition_index, brokers)| CreatableReplicaAssignment {
            partition_index,
            broker_ids: brokers.clone(),
        });
        self.create(
            new,
            CreatableTopic {
                num_partitions: -1,
                replication_factor: -1,
                assignments: each.collect(),
                ..CreatableTopic::default()
            },
        )
    }

    fn create(&mut self, new: &NewTopic, topic: CreatableTopic) -> Result<()> {
        let settings = new.settings.iter();
        let configs = settings
            .map(|(name, value)| CreatableTopicConfig { name: name.clone(), value: Some(value.clone()) })
            .collect();
        let topic = CreatableTopic { name: new.name.clone(), configs, ..topic };
        let request = CreateTopicsRequest {
            topics: vec![topic],
            timeout_ms: TIMEOUT_MS,
            ..CreateTopicsRequest::default()
        };
        let done = self.call_controller(&request)?.topics.pop().unwrap_or_default();
        check(format!("topic `{}`", new.name), done.error_code, done.error_message)
    }

    /// Deletes a topic.
    ///
    /// # Errors
    /// The brokers refuse.
    pub fn delete_topic(&mut self, name: &str) -> Result<()> {
        let request = DeleteTopicsRequest {
            topic_names: vec![name.into()],
            timeout_ms: TIMEOUT_MS,
            ..DeleteTopicsRequest::default()
        };
        let done = self.call_controller(&request)?.responses.pop().unwrap_or_default();
        check(format!("topic `{name}`"), done.error_code, done.error_message)
    }

    /// Gives a topic more partitions, so that it has so many.
    ///
    /// # Errors
    /// The brokers refuse.
    pub fn add_partitions(&mut self, name: &str, count: i32) -> Result<()> {
        let topic = CreatePartitionsTopic { name: name.into(), count, assignments: None };
        let request = CreatePartitionsRequest {
            topics: vec![topic],
            timeout_ms: TIMEOUT_MS,
            ..CreatePartitionsRequest::default()
        };
        let done = self.call_controller(&request)?.results.pop().unwrap_or_default();
        check(format!("topic `{name}`"), done.error_code, done.error_message)
    }

    /// Changes settings of a topic: those with a value are set, the others get their default again.
    ///
    /// # Errors
    /// The brokers refuse.
    pub fn alter_topic(&mut self, name: &str, settings: &BTreeMap<String, Option<String>>) -> Result<()> {
        let request = alteration((TOPIC, name), settings);
        let done = self.call_controller(&request)?.responses.pop().unwrap_or_default();
        check(format!("topic `{name}`"), done.error_code, done.error_message)
    }

    /// The same of a broker, which has to be running.
    ///
    /// # Errors
    /// The broker refuses, or does not answer.
    pub fn alter_broker(&mut self, broker: i32, settings: &BTreeMap<String, Option<String>>) -> Result<()> {
        let request = alteration((BROKER, &broker.to_string()), settings);
        let done = self.call(broker, &request)?.responses.pop().unwrap_or_default();
        check(format!("broker {broker}"), done.error_code, done.error_message)
    }

    /// The same of a group, which need not be there.
    ///
    /// # Errors
    /// The brokers refuse.
    pub fn alter_group(&mut self, group: &str, settings: &BTreeMap<String, Option<String>>) -> Result<()> {
        let request = alteration((GROUP, group), settings);
        let done = self.call_controller(&request)?.responses.pop().unwrap_or_default();
        check(format!("group `{group}`"), done.error_code, done.error_message)
    }

    /// The settings of a topic.
    ///
    /// # Errors
    /// The brokers refuse.
    pub fn topic_settings(&mut self, name: &str) -> Result<Vec<DescribeConfigsResourceResult>> {
        let resource = DescribeConfigsResource {
            resource_type: TOPIC,
            resource_name: name.into(),
            configuration_keys: None,
        };
        let request =
            DescribeConfigsRequest { resources: vec![resource], ..DescribeConfigsRequest::default() };
        let done = self.call_controller(&request)?.results.pop().unwrap_or_default();
        check(format!("topic `{name}`"), done.error_code, done.error_message)?;
        Ok(done.configs)
    }

    /// Where partitions of a topic begin or end, by number. A partition without a record of that time or later has -1.
    ///
    /// # Errors
    /// The brokers refuse.
    pub fn offsets(&mut self, topic: &str, partitions: &[i32], end: End) -> Result<BTreeMap<i32, i64>> {
        let mut by_leader = BTreeMap::<i32, Vec<ListOffsetsPartition>>::new();
        for index in partitions {
            let leader = self
                .leader(topic, *index)
                .ok_or_else(|| Error::Unreachable(format!("partition {index} of `{topic}` has no leader")))?;
            let partition = ListOffsetsPartition {
                partition_index: *index,
                current_leader_epoch: -1,
                timestamp: end.timestamp(),
            };
            by_leader.entry(leader).or_default().push(partition);
        }
        let mut found = BTreeMap::new();
        for (leader, partitions) in by_leader {
            let topics = vec![ListOffsetsTopic { name: topic.into(), partitions }];
            let request = ListOffsetsRequest { replica_id: -1, topics, ..ListOffsetsRequest::default() };
            for partition in
                self.call(leader, &request)?.topics.into_iter().flat_map(|topic| topic.partitions)
            {
                check(
                    format!("partition {} of `{topic}`", partition.partition_index),
                    partition.error_code,
                    None,
                )?;
                found.insert(partition.partition_index, partition.offset);
            }
        }
        Ok(found)
    }
}

/// The request that sets the settings with a value, and gives the others their default again.
pub(crate) fn alteration(
    (resource_type, name): (i8, &str),
    settings: &BTreeMap<String, Option<String>>,
) -> IncrementalAlterConfigsRequest {
    let configs = settings.iter().map(|(name, value)| IncrementalAlterableConfig {
        name: name.clone(),
        config_operation: if value.is_some() { SET } else { DELETE },
        value: value.clone(),
    });
    let configs = configs.collect();
    let resource = IncrementalAlterConfigsResource { resource_type, resource_name: name.into(), configs };
    IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false }
}

pub(crate) fn check(what: String, code: i16, detail: Option<String>) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(Error::Refused { what, code, detail }) }
}
