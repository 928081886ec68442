//! Where replicas lie, and where they are being moved.

use log_wire::messages::cluster::{
    DescribeLogDirsRequest, DescribeLogDirsTopic, ListPartitionReassignmentsRequest,
    OngoingPartitionReassignment,
};

use crate::{Cluster, Error, Result};

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
        let answer = self.call(broker, &DescribeLogDirsRequest { topics: None })?;
        Ok(answer.results.into_iter().flat_map(|directory| directory.topics).collect())
    }
}
