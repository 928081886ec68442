//! ElectLeaders. A partition that its preferred replica leads needs no election.
//!
//! # Not done, and what that costs
//! - Leaders are not changed on request: lead goes back by itself once the preferred replica has been there for a minute. A request
//!   for that is refused, and not told that nothing is to be done.

use log_metadata::PartitionNode;
use log_wire::messages::cluster::{
    ElectLeadersRequest, ElectLeadersResponse, PartitionResult, ReplicaElectionResult,
};
use log_wire::{ErrorCode, TopicName};

use crate::catalog::TopicImage;
use crate::node::Node;
use crate::rights::{By, CLUSTER_ALTER};

/// The kinds of elections.
const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

/// Handles a request.
pub(super) fn elect_leaders(node: &Node, by: By<'_>, request: &ElectLeadersRequest) -> ElectLeadersResponse {
    let mut response = ElectLeadersResponse::default();
    if let Err(error) = node.may_on_cluster(by, CLUSTER_ALTER) {
        response.error_code = error.code();
        response.replica_election_results = all_refused(request, error);
        return response;
    }
    let refused = match request.election_type {
        PREFERRED | UNCLEAN if request.timeout_ms <= 0 => Some((ErrorCode::RequestTimedOut, None)),
        PREFERRED | UNCLEAN => None,
        _ => Some((ErrorCode::InvalidRequest, Some("there is no election of that type"))),
    };
    response.error_code = refused.map_or(0, |(error, _)| error.code());
    let Some(topics) = &request.topic_partitions else {
        // A topic at which nothing changes is listed without partitions.
        let topics = node.catalog.topics().filter(|_| refused.is_none());
        let not_elected = |topic: &TopicImage| {
            let all = (0..).zip(&topic.partitions);
            let wrong = all.filter(|(_, image)| request.election_type == PREFERRED && !has_preferred(image));
            wrong.map(|(index, _)| not_on_request(index)).collect()
        };
        response.replica_election_results = topics
            .map(|topic| ReplicaElectionResult {
                topic: topic.name.to_string(),
                partition_result: not_elected(topic),
            })
            .collect();
        return response;
    };
    let results = topics.iter().map(|topic| ReplicaElectionResult {
        topic: topic.topic.clone(),
        partition_result: topic
            .partitions
            .iter()
            .map(|index| match refused {
                Some((error, why)) => result(*index, error, why.map(String::from)),
                None => node.elect(&topic.topic, *index, request.election_type),
            })
            .collect(),
    });
    response.replica_election_results = results.collect();
    response
}

/// What each partition that is named is told.
fn all_refused(request: &ElectLeadersRequest, error: ErrorCode) -> Vec<ReplicaElectionResult> {
    let topics = request.topic_partitions.iter().flatten().map(|topic| ReplicaElectionResult {
        topic: topic.topic.clone(),
        partition_result: topic
            .partitions
            .iter()
            .map(|index| result(*index, error, Some("the client has no right to that".into())))
            .collect(),
    });
    topics.collect()
}

fn result(partition_id: i32, error: ErrorCode, why: Option<String>) -> PartitionResult {
    PartitionResult { partition_id, error_code: error.code(), error_message: why }
}

/// Whether a partition is led by its preferred replica, or by none at all.
fn has_preferred(partition: &PartitionNode) -> bool {
    partition.leader < 0 || partition.replicas.first() == Some(&partition.leader)
}

fn not_on_request(index: i32) -> PartitionResult {
    let why =
        "leaders are not elected on request: the preferred replica leads once it has been there for a minute";
    result(index, ErrorCode::PreferredLeaderNotAvailable, Some(why.into()))
}

impl Node {
    fn elect(&self, topic: &str, index: i32, kind: i8) -> PartitionResult {
        let found = self.catalog.find(TopicName::Name(topic)).ok();
        let partition = found.and_then(|found| found.partitions.get(usize::try_from(index).ok()?));
        match partition {
            None => {
                let why = format!("there is no partition {index} of a topic `{topic}`");
                result(index, ErrorCode::UnknownTopicOrPartition, Some(why))
            }
            Some(partition) if kind == PREFERRED && partition.leader >= 0 && !has_preferred(partition) => {
                not_on_request(index)
            }
            Some(partition) if partition.leader >= 0 => {
                let why = "the partition has its leader";
                result(index, ErrorCode::ElectionNotNeeded, Some(why.into()))
            }
            Some(_) => {
                let why = "no replica can lead the partition";
                let error = match kind {
                    PREFERRED => ErrorCode::PreferredLeaderNotAvailable,
                    _ => ErrorCode::EligibleLeadersNotAvailable,
                };
                result(index, error, Some(why.into()))
            }
        }
    }
}
