//! AlterPartitionReassignments and ListPartitionReassignments.
//!
//! A partition that shall have other replicas is told so by its record in the council, whichever broker is asked: the controller and
//! the leader bring it about, step by step, whoever dies meanwhile. The answer says that it has begun.
//!
//! # Not done, and what that costs
//! - A change that is cancelled goes back to the replicas that there were, with the leader of the moment preferred: which of them was
//!   preferred before is not kept.
//! - It goes back to a replica that is gone for good by then, too, and waits for that until other replicas are asked for.

use std::collections::BTreeMap;

use base::Now;
use log_metadata::{Ended, GoalNode, PartitionNode, paths};
use log_wire::messages::cluster::{
    AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse, ListPartitionReassignmentsTopics,
    OngoingPartitionReassignment, OngoingTopicReassignment, ReassignablePartition,
    ReassignablePartitionResponse, ReassignableTopicResponse,
};
use log_wire::{ErrorCode, TopicName};

use crate::catalog::{TopicImage, change};
use crate::council_calls::{CouncilAnswer, CouncilCall, CouncilCalls, Part};
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::{By, CLUSTER_ALTER, CLUSTER_DESCRIBE};
use crate::topics::{Refusal, check_replicas};
use crate::waits::Waiter;

/// Handles a request. The answer comes later if there is none now.
pub(super) fn alter(
    node: &mut Node,
    calls: &mut CouncilCalls,
    by: By<'_>,
    request: &AlterPartitionReassignmentsRequest,
    ((form, waiter), now): ((Form, Waiter), Now),
) -> Option<Response> {
    if let Err(error) = node.may_on_cluster(by, CLUSTER_ALTER) {
        return Some(form.response(&all_refused(request, error)));
    }
    let is_late = request.timeout_ms <= 0 && !request.topics.is_empty();
    let (mut responses, mut parts) = (Vec::new(), Vec::new());
    for (number, topic) in request.topics.iter().enumerate() {
        let (mut partitions, mut wanted) = (Vec::new(), Vec::new());
        for partition in &topic.partitions {
            let judged = match is_late {
                true => Err(Refusal::bare(ErrorCode::RequestTimedOut)),
                false => node.judge_reassignment(&topic.name, partition, request),
            };
            if judged.is_ok() {
                wanted.push((partition.partition_index, partition.replicas.clone()));
            }
            partitions.push(result(partition.partition_index, judged));
        }
        if let Some(found) =
            node.catalog.find(TopicName::Name(&topic.name)).ok().filter(|_| !wanted.is_empty())
        {
            let durable_on = found.config.min_insync_replicas as usize;
            let compute = change::reassign(found.id, wanted, durable_on);
            parts.push(Part { number, path: paths::topic(&topic.name), compute });
        }
        responses.push(ReassignableTopicResponse { name: topic.name.clone(), partitions });
    }
    let response = AlterPartitionReassignmentsResponse {
        // So it is by Kafka: a request for nothing is answered elsewhere.
        allow_replication_factor_change: request.allow_replication_factor_change || request.topics.is_empty(),
        error_code: if is_late { ErrorCode::RequestTimedOut.code() } else { 0 },
        error_message: request.topics.is_empty().then(String::new),
        responses,
        ..Default::default()
    };
    let open = parts.iter().map(|part| part.number).collect();
    let answer = Box::new(ReassignmentAnswer { response, open });
    calls.begin(node, CouncilCall { waiter, form, answer, parts, timeout_ms: request.timeout_ms }, now)
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

/// An answer, with the topics whose changes have not ended.
#[derive(Debug)]
struct ReassignmentAnswer {
    response: AlterPartitionReassignmentsResponse,
    open: Vec<usize>,
}

impl ReassignmentAnswer {
    /// The partitions of a topic that have no error yet have this one.
    fn fail(&mut self, topic: usize, error: ErrorCode, why: Option<&str>) {
        let topic = self.response.responses.get_mut(topic);
        let partitions = topic.into_iter().flat_map(|topic| &mut topic.partitions);
        for partition in partitions.filter(|partition| partition.error_code == 0) {
            (partition.error_code, partition.error_message) = (error.code(), why.map(String::from));
        }
    }
}

impl CouncilAnswer for ReassignmentAnswer {
    fn ended(&mut self, part: usize, ended: Ended) {
        self.open.retain(|open| *open != part);
        if let Ended::Refused(error, why) = ended {
            self.fail(part, error, Some(&why));
        }
    }

    fn time_out(&mut self) {
        for part in std::mem::take(&mut self.open) {
            self.fail(part, ErrorCode::RequestTimedOut, None);
        }
    }

    fn response(&self, form: Form) -> Response {
        form.response(&self.response)
    }
}

/// Handles a request.
pub(super) fn list(
    node: &Node,
    by: By<'_>,
    request: &ListPartitionReassignmentsRequest,
) -> ListPartitionReassignmentsResponse {
    let mut response = ListPartitionReassignmentsResponse::default();
    if let Err(error) = node.may_on_cluster(by, CLUSTER_DESCRIBE) {
        (response.error_code, response.error_message) = (error.code(), Some(NOT_ALLOWED.into()));
        response.topics = request.topics.iter().flatten().map(without_replicas).collect();
        return response;
    }
    response.topics = match &request.topics {
        None => node.catalog.topics().filter_map(|topic| ongoing(topic, None)).collect(),
        Some(asked) => {
            // Each is listed once, however often it is named.
            let mut indexes = BTreeMap::<&str, Vec<i32>>::new();
            for topic in asked {
                indexes.entry(&topic.name).or_default().extend(&topic.partition_indexes);
            }
            let found = |name: &str| node.catalog.find(TopicName::Name(name)).ok();
            indexes.iter().filter_map(|(name, indexes)| ongoing(found(name)?, Some(indexes))).collect()
        }
    };
    response
}

/// The changes of replicas of a topic that are under way: of some of its partitions, or of all.
fn ongoing(topic: &TopicImage, of: Option<&[i32]>) -> Option<OngoingTopicReassignment> {
    let changes = |(index, image): (i32, &PartitionNode)| {
        let goal = image.rest.goal.as_ref().filter(|goal| GoalNode::is_reassignment(goal))?;
        let (adding_replicas, removing_replicas) = goal.difference();
        // As by Kafka: those that there shall be, and behind them those that go.
        let mut replicas = image.rest.preferred.clone().unwrap_or_else(|| image.replicas.clone());
        let gone = image.replicas.iter().chain(&goal.to.voters).copied();
        for replica in gone {
            if !replicas.contains(&replica) {
                replicas.push(replica);
            }
        }
        Some(OngoingPartitionReassignment {
            partition_index: index,
            replicas,
            adding_replicas,
            removing_replicas,
        })
    };
    let asked = |index: &i32| of.is_none_or(|of| of.contains(index));
    let all = (0..).zip(&topic.partitions).filter(|(index, _)| asked(index));
    let partitions: Vec<_> = all.filter_map(changes).collect();
    (!partitions.is_empty()).then(|| OngoingTopicReassignment { name: topic.name.to_string(), partitions })
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
    /// Whether a partition may get these replicas, or those back that it had.
    fn judge_reassignment(
        &self,
        topic: &str,
        wanted: &ReassignablePartition,
        request: &AlterPartitionReassignmentsRequest,
    ) -> Result<(), Refusal> {
        let index = wanted.partition_index;
        let found = self.catalog.find(TopicName::Name(topic)).ok();
        let image = found.and_then(|found| found.partitions.get(usize::try_from(index).ok()?));
        let Some(image) = image else {
            let message = format!("there is no partition {index} of a topic `{topic}`");
            return Err(Refusal::new(ErrorCode::UnknownTopicOrPartition, message));
        };
        let Some(replicas) = &wanted.replicas else {
            let is_moving = image.rest.goal.as_ref().is_some_and(GoalNode::is_reassignment);
            let refusal = || Refusal::bare(ErrorCode::NoReassignmentInProgress);
            return if is_moving { Ok(()) } else { Err(refusal()) };
        };
        check_replicas(replicas, &image.replicas, &self.brokers)?;
        let goal = image.rest.goal.as_ref();
        let present = goal.map_or(image.replicas.len(), |goal| goal.from.voters.len());
        if !request.allow_replication_factor_change && replicas.len() != present {
            let message =
                format!("the partition has {present} replicas, and may not get another number of them");
            return Err(Refusal::new(ErrorCode::InvalidReplicationFactor, message));
        }
        // Whether that changes anything the council says: what this broker knows may be old.
        Ok(())
    }
}
