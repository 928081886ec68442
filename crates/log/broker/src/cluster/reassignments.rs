//! AlterPartitionReassignments: with one broker, every partition is where it can be.

use log_wire::messages::cluster::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse, ReassignablePartition,
    ReassignablePartitionResponse, ReassignableTopicResponse,
};
use log_wire::{ErrorCode, TopicName};

use crate::node::Node;
use crate::topics::{Refusal, check_replicas};

/// Handles a request.
pub(super) fn alter(
    node: &Node,
    request: &AlterPartitionReassignmentsRequest,
) -> AlterPartitionReassignmentsResponse {
    let is_late = request.timeout_ms <= 0 && !request.topics.is_empty();
    let late = || Err(Refusal::bare(ErrorCode::RequestTimedOut));
    let topics = request.topics.iter().map(|topic| ReassignableTopicResponse {
        name: topic.name.clone(),
        partitions: topic
            .partitions
            .iter()
            .map(|partition| {
                let judged = if is_late { late() } else { node.reassign(&topic.name, partition) };
                result(partition.partition_index, judged)
            })
            .collect(),
    });
    AlterPartitionReassignmentsResponse {
        allow_replication_factor_change: request.allow_replication_factor_change,
        error_code: if is_late { ErrorCode::RequestTimedOut.code() } else { 0 },
        // So it is by Kafka: a request for nothing is answered elsewhere.
        error_message: request.topics.is_empty().then(String::new),
        responses: topics.collect(),
        ..Default::default()
    }
}

fn result(partition_index: i32, judged: Result<(), Refusal>) -> ReassignablePartitionResponse {
    let mut response = ReassignablePartitionResponse { partition_index, ..Default::default() };
    if let Err(refusal) = judged {
        (response.error_code, response.error_message) = (refusal.code.code(), refusal.message());
    }
    response
}

impl Node {
    /// Whether a partition may have these replicas. If so, it has them: there are no others.
    fn reassign(&self, topic: &str, wanted: &ReassignablePartition) -> Result<(), Refusal> {
        let index = wanted.partition_index;
        let found = self.catalog.find(TopicName::Name(topic)).ok();
        if found.and_then(|found| found.partitions.get(usize::try_from(index).ok()?)).is_none() {
            let message = format!("there is no partition {index} of a topic `{topic}`");
            return Err(Refusal::new(ErrorCode::UnknownTopicOrPartition, message));
        }
        match &wanted.replicas {
            Some(replicas) => check_replicas(replicas, self.config.node_id),
            None => Err(Refusal::bare(ErrorCode::NoReassignmentInProgress)),
        }
    }
}
