//! Where replicas lie, and where they are being moved.

use log_wire::messages::cluster::{
    AlterPartitionReassignmentsRequest, DescribeLogDirsRequest, DescribeLogDirsTopic,
    ListPartitionReassignmentsRequest, OngoingPartitionReassignment, ReassignablePartition,
    ReassignableTopic,
};

use crate::{Cluster, Error, Result};

const TIMEOUT_MS: i32 = 30_000;

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

    /// A partition shall have these replicas. That is begun, and [`Self::reassignments`] tells when it is done.
    ///
    /// # Errors
    /// No broker answers, or it refuses.
    pub fn reassign(&mut self, topic: &str, partition: i32, replicas: &[i32]) -> Result<()> {
        let wanted = ReassignablePartition { partition_index: partition, replicas: Some(replicas.to_vec()) };
        let of = ReassignableTopic { name: topic.into(), partitions: vec![wanted] };
        let request = AlterPartitionReassignmentsRequest {
            timeout_ms: TIMEOUT_MS,
            topics: vec![of],
            ..AlterPartitionReassignmentsRequest::default()
        };
        let answer = self.call_controller(&request)?;
        let told = answer.responses.iter().flat_map(|topic| &topic.partitions);
        let refusal = told.map(|of| of.error_code).chain([answer.error_code]).find(|code| *code != 0);
        let what = || format!("a move of partition {partition} of `{topic}`");
        refusal.map_or(Ok(()), |code| Err(Error::refused(what(), code)))
    }

    /// What a broker keeps, with its size and how many records it lacks.
    ///
    /// # Errors
    /// The broker does not answer.
    pub fn replicas_of(&mut self, broker: i32) -> Result<Vec<DescribeLogDirsTopic>> {
        let answer = self.call(broker, &DescribeLogDirsRequest { topics: None })?;
        Ok(answer.results.into_iter().flat_map(|directory| directory.topics).collect())
    }
}
