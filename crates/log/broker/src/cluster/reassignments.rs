//! AlterPartitionReassignments and ListPartitionReassignments: with one broker, every partition is where it can be.

use log_wire::messages::cluster::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment, OngoingTopicReassignment, ReassignablePartition,
    ReassignablePartitionResponse, ReassignableTopicResponse,
};
use log_wire::{ErrorCode, TopicName};

use crate::node::Node;
use crate::rights::{By, CLUSTER_ALTER, CLUSTER_DESCRIBE};
use crate::topics::{Refusal, check_replicas};

/// Handles a request.
pub(super) fn alter(
    node: &Node,
    by: By<'_>,
    request: &AlterPartitionReassignmentsRequest,
) -> AlterPartitionReassignmentsResponse {
    if let Err(error) = node.may_on_cluster(by, CLUSTER_ALTER) {
        return all_refused(request, error);
    }
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
        // So it is by Kafka: a request for nothing is answered elsewhere.
        allow_replication_factor_change: request.allow_replication_factor_change || request.topics.is_empty(),
        error_code: if is_late { ErrorCode::RequestTimedOut.code() } else { 0 },
        error_message: request.topics.is_empty().then(String::new),
        responses: topics.collect(),
        ..Default::default()
    }
}

/// Nothing is done, and each partition is told why.
fn all_refused(
    request: &AlterPartitionReassignmentsRequest,
    error: ErrorCode,
) -> AlterPartitionReassignmentsResponse {
    let refused = |partition: &ReassignablePartition| {
        result(partition.partition_index, Err(Refusal::new(error, NOT_ALLOWED)))
    };
    let topics = request.topics.iter().map(|topic| ReassignableTopicResponse {
        name: topic.name.clone(),
        partitions: topic.partitions.iter().map(refused).collect(),
    });
    AlterPartitionReassignmentsResponse {
        error_code: error.code(),
        error_message: Some(NOT_ALLOWED.into()),
        responses: topics.collect(),
        ..Default::default()
    }
}

/// Handles a request: nothing moves, whatever topics are asked for.
pub(super) fn list(
    node: &Node,
    by: By<'_>,
    request: &ListPartitionReassignmentsRequest,
) -> ListPartitionReassignmentsResponse {
    let mut response = ListPartitionReassignmentsResponse::default();
    if let Err(error) = node.may_on_cluster(by, CLUSTER_DESCRIBE) {
        (response.error_code, response.error_message) = (error.code(), Some(NOT_ALLOWED.into()));
        response.topics = request.topics.iter().flatten().map(without_replicas).collect();
    }
    response
}

/// What is named, beside an error.
fn without_replicas(topic: &ListPartitionReassignmentsTopics) -> OngoingTopicReassignment {
    let partition =
        |index: &i32| OngoingPartitionReassignment { partition_index: *index, ..Default::default() };
    OngoingTopicReassignment {
        name: topic.name.clone(),
        partitions: topic.partition_indexes.iter().map(partition).collect(),
    }
}

/// What a client is told that lacks a right.
const NOT_ALLOWED: &str = "the client has no right to that";

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
            Some(replicas) => check_replicas(replicas, &self.brokers),
            None => Err(Refusal::bare(ErrorCode::NoReassignmentInProgress)),
        }
    }
}
