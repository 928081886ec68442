//! Where replicas lie, and where they are being moved.

use std::collections::BTreeMap;

use log_wire::ErrorCode;
use log_wire::messages::cluster::{
    AlterPartitionReassignmentsRequest, DescribeClusterRequest, DescribeLogDirsRequest,
    DescribeLogDirsResult, DescribeLogDirsTopic, ElectLeadersRequest, ElectLeadersTopicPartitions,
    ListPartitionReassignmentsRequest, OngoingPartitionReassignment, ReassignablePartition,
    ReassignableTopic,
};

use crate::topics::{TopicPartition, check};
use crate::{Cluster, Error, Result};

/// The election after which the first replica leads.
const PREFERRED: i8 = 0;

impl Cluster {
    /// The partitions that are being moved, each with its topic.
    ///
    /// # Errors
    /// No broker answers, or the client may not know.
    pub fn reassignments(&mut self) -> Result<Vec<(String, OngoingPartitionReassignment)>> {
        let answer = self.call_controller(&ListPartitionReassignmentsRequest::default())?;
        if answer.error_code != 0 {
            return Err(Error::refused("the moves of partitions", answer.error_code));
        }
        let of_topic = answer.topics.into_iter().map(|topic| (topic.name, topic.partitions));
        Ok(of_topic.flat_map(|(name, all)| all.into_iter().map(move |of| (name.clone(), of))).collect())
    }

    /// What a broker keeps, with its size and how many records it lacks.
    ///
    /// # Errors
    /// The broker does not answer.
    pub fn replicas_of(&mut self, broker: i32) -> Result<Vec<DescribeLogDirsTopic>> {
        Ok(self.log_dirs_of(broker)?.into_iter().flat_map(|directory| directory.topics).collect())
    }

    /// The directories of a broker, with their sizes and what they keep.
    ///
    /// # Errors
    /// The broker does not answer, or a directory has failed.
    pub fn log_dirs_of(&mut self, broker: i32) -> Result<Vec<DescribeLogDirsResult>> {
        let answer = self.call(broker, &DescribeLogDirsRequest { topics: None })?;
        let codes = answer.results.iter().map(|directory| directory.error_code);
        match codes.chain([answer.error_code]).find(|code| *code != 0) {
            None => Ok(answer.results),
            Some(code) => Err(Error::refused(format!("the directories of broker {broker}"), code)),
        }
    }

    /// The racks of the brokers that say in which they stand.
    ///
    /// # Errors
    /// No broker answers, or the client may not know.
    pub fn racks(&mut self) -> Result<BTreeMap<i32, String>> {
        let answer = self.call_controller(&DescribeClusterRequest::default())?;
        if answer.error_code != 0 {
            return Err(Error::refused("the cluster", answer.error_code));
        }
        Ok(answer.brokers.into_iter().filter_map(|broker| Some((broker.broker_id, broker.rack?))).collect())
    }

    /// Has partitions get other replicas, the first of which is the preferred leader.
    ///
    /// # Errors
    /// The brokers refuse one; others may have begun.
    pub fn reassign(&mut self, wanted: &BTreeMap<TopicPartition, Vec<i32>>) -> Result<()> {
        let mut topics = BTreeMap::<&String, Vec<ReassignablePartition>>::new();
        for ((topic, index), replicas) in wanted {
            let partition =
                ReassignablePartition { partition_index: *index, replicas: Some(replicas.clone()) };
            topics.entry(topic).or_default().push(partition);
        }
        let topics = topics.into_iter();
        let topics = topics.map(|(name, partitions)| ReassignableTopic { name: name.clone(), partitions });
        let request = AlterPartitionReassignmentsRequest {
            topics: topics.collect(),
            ..AlterPartitionReassignmentsRequest::default()
        };
        let answer = self.call_controller(&request)?;
        check(String::from("the reassignment"), answer.error_code, answer.error_message)?;
        for topic in answer.responses {
            for of in topic.partitions {
                let what = format!("partition {} of `{}`", of.partition_index, topic.name);
                check(what, of.error_code, of.error_message)?;
            }
        }
        Ok(())
    }

    /// Has the first replica of each of these partitions lead. Gives the partitions for which that was refused.
    ///
    /// # Errors
    /// No broker answers, or the client may not.
    pub fn elect_preferred(&mut self, partitions: &[TopicPartition]) -> Result<Vec<TopicPartition>> {
        let mut topics = BTreeMap::<&String, Vec<i32>>::new();
        partitions.iter().for_each(|(topic, index)| topics.entry(topic).or_default().push(*index));
        let topics = topics.into_iter();
        let topics = topics
            .map(|(topic, partitions)| ElectLeadersTopicPartitions { topic: topic.clone(), partitions });
        let request = ElectLeadersRequest {
            election_type: PREFERRED,
            topic_partitions: Some(topics.collect()),
            ..ElectLeadersRequest::default()
        };
        let answer = self.call_controller(&request)?;
        check(String::from("the election"), answer.error_code, None)?;
        let is_led = |code: i16| code == 0 || code == ErrorCode::ElectionNotNeeded.code();
        let results = answer.replica_election_results.into_iter();
        let all = results
            .flat_map(|topic| topic.partition_result.into_iter().map(move |of| (topic.topic.clone(), of)));
        let refused = all.filter(|(_, of)| !is_led(of.error_code));
        Ok(refused.map(|(topic, of)| (topic, of.partition_id)).collect())
    }
}
