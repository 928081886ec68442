//! CreatePartitions: more partitions for topics that there are.

use std::collections::BTreeMap;

use log_metadata::{Ended, paths};
use log_wire::messages::topics::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreatePartitionsTopic, CreatePartitionsTopicResult,
};
use log_wire::{ErrorCode, TopicName};

use super::refusal::{PARTITIONS_PER_REQUEST_MAX, Refusal};
use super::{Changer, Placed, Wanted, replicas};
use crate::catalog::{TopicImage, change};
use crate::council_calls::{CouncilAnswer, CouncilCall, CouncilCalls, Part};
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::TOPIC_ALTER;
use crate::waits::Waiter;

/// A topic that may get more partitions.
struct Judged {
    id: [u8; 16],
    more: Wanted,
    /// The replicas of the new ones, if the request says on which brokers; otherwise they are placed.
    assigned: Option<Placed>,
}

/// Handles a request. The answer comes later if there is none now.
pub(super) fn create_partitions(
    node: &mut Node,
    calls: &mut CouncilCalls,
    changer: Changer<'_>,
    request: &CreatePartitionsRequest,
    (form, waiter): (Form, Waiter),
) -> Option<Response> {
    let mut times = BTreeMap::<&str, usize>::new();
    request.topics.iter().for_each(|topic| *times.entry(&topic.name).or_default() += 1);
    let is_once = |topic: &CreatePartitionsTopic| times.get(topic.name.as_str()) == Some(&1);
    let mut twice: Vec<&str> = times.iter().filter(|(_, times)| **times > 1).map(|(name, _)| *name).collect();
    let added: i64 =
        request.topics.iter().filter(|topic| is_once(topic)).map(|topic| node.added_by(topic)).sum();
    let (mut answer, mut judged_parts) = (PartitionsAnswer::default(), Vec::new());
    for topic in &request.topics {
        if !is_once(topic) {
            if let Some(at) = twice.iter().position(|name| *name == topic.name) {
                twice.swap_remove(at);
                answer.push(&topic.name, Err(Refusal::named_twice()));
            }
            continue;
        }
        let judged: Result<_, Refusal> = if request.timeout_ms <= 0 {
            Err(Refusal::bare(ErrorCode::RequestTimedOut))
        } else if let Err(error) = node.may(changer.by, TOPIC_ALTER, &topic.name) {
            Err(Refusal::bare(error))
        } else if added > PARTITIONS_PER_REQUEST_MAX {
            Err(Refusal::too_many_partitions())
        } else {
            node.judge_more(topic)
        };
        let more = node.added_by(topic);
        let judged = judged.and_then(|found| changer.charge(node, more).map(|()| found));
        let number = answer.response.results.len();
        answer.push(&topic.name, judged.as_ref().map(drop).map_err(Clone::clone));
        judged_parts.extend(judged.ok().map(|judged| (number, topic, judged)));
    }
    let parts = parts(node, judged_parts, &mut answer, request.validate_only);
    answer.response.throttle_time_ms = node.access.throttle_time_ms();
    let (answer, timeout_ms) = (Box::new(answer), request.timeout_ms);
    calls.begin(node, CouncilCall { waiter, form, answer, parts, timeout_ms }, changer.now)
}

/// What is asked of the council: the new partitions of each topic, with their replicas.
fn parts(
    node: &Node,
    judged: Vec<(usize, &CreatePartitionsTopic, Judged)>,
    answer: &mut PartitionsAnswer,
    validate_only: bool,
) -> Vec<Part> {
    let unplaced = judged.iter().filter(|(_, _, of)| of.assigned.is_none());
    let wanted: Vec<Wanted> = unplaced.map(|(_, _, of)| of.more).collect();
    let mut placed = node.place_all(&wanted).map(Vec::into_iter);
    let mut parts = Vec::new();
    for (number, topic, Judged { id, assigned, .. }) in judged {
        let replicas = match (assigned, &mut placed) {
            (Some(assigned), _) => assigned,
            (None, Ok(placed)) => placed.next().unwrap_or_default(),
            (None, Err(refusal)) => {
                answer.fail(number, refusal);
                continue;
            }
        };
        if !validate_only {
            let compute = change::add_partitions(id, topic.count, replicas);
            answer.open.push(number);
            parts.push(Part { number, path: paths::topic(&topic.name), compute });
        }
    }
    parts
}

impl Node {
    /// How many partitions a topic is to have more.
    fn added_by(&self, topic: &CreatePartitionsTopic) -> i64 {
        let found = self.catalog.find(TopicName::Name(&topic.name));
        found.map_or(0, |found| (i64::from(topic.count) - count_of(found)).max(0))
    }

    /// Whether a topic may have so many partitions. New ones have as many replicas as the first partition if nothing else is said.
    fn judge_more(&self, topic: &CreatePartitionsTopic) -> Result<Judged, Refusal> {
        let found = self.catalog.find(TopicName::Name(&topic.name)).map_err(Refusal::bare)?;
        let present = count_of(found);
        let more = i64::from(topic.count) - present;
        if more <= 0 {
            let message = format!("the topic has {present} partitions: it can only have more");
            return Err(Refusal::new(ErrorCode::InvalidPartitions, message));
        }
        let factor = found.partitions.first().map_or(1, |first| first.replicas.len());
        let factor = i16::try_from(factor).unwrap_or(i16::MAX);
        let (id, wanted) = (found.id, Wanted::of(more, factor));
        let Some(assignments) = &topic.assignments else {
            self.check_factor(factor)?;
            return Ok(Judged { id, more: wanted, assigned: None });
        };
        if i64::try_from(assignments.len()) != Ok(more) {
            let count = assignments.len();
            let message = format!("replicas are assigned to {count} partitions, and {more} are added");
            return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
        }
        for assignment in assignments {
            replicas::check(&assignment.broker_ids, &[], &self.brokers)?;
            if i16::try_from(assignment.broker_ids.len()) != Ok(factor) {
                let count = assignment.broker_ids.len();
                let message = format!(
                    "a partition is assigned to {count} brokers, and those of the topic have {factor} replicas"
                );
                return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
            }
        }
        let assigned = assignments.iter().map(|assignment| assignment.broker_ids.clone()).collect();
        Ok(Judged { id, more: wanted, assigned: Some(assigned) })
    }
}

fn count_of(topic: &TopicImage) -> i64 {
    i64::try_from(topic.partitions.len()).unwrap_or(i64::MAX)
}

/// An answer, with the parts that have not ended.
#[derive(Debug, Default)]
struct PartitionsAnswer {
    response: CreatePartitionsResponse,
    open: Vec<usize>,
}

impl PartitionsAnswer {
    fn push(&mut self, name: &str, judged: Result<(), Refusal>) {
        let mut result = CreatePartitionsTopicResult { name: name.into(), ..Default::default() };
        if let Err(refusal) = judged {
            (result.error_code, result.error_message) = (refusal.code.code(), refusal.message());
        }
        self.response.results.push(result);
    }

    /// A topic that was to get partitions does not.
    fn fail(&mut self, number: usize, refusal: &Refusal) {
        if let Some(result) = self.response.results.get_mut(number) {
            (result.error_code, result.error_message) = (refusal.code.code(), refusal.message());
        }
    }
}

impl CouncilAnswer for PartitionsAnswer {
    fn ended(&mut self, part: usize, ended: Ended) {
        self.open.retain(|open| *open != part);
        let result = self.response.results.get_mut(part);
        if let (Ended::Refused(code, why), Some(result)) = (ended, result) {
            (result.error_code, result.error_message) = (code.code(), Some(why));
        }
    }

    fn time_out(&mut self) {
        for part in std::mem::take(&mut self.open) {
            if let Some(result) = self.response.results.get_mut(part) {
                result.error_code = ErrorCode::RequestTimedOut.code();
            }
        }
    }

    fn extended(&self) -> Vec<String> {
        let extended = self.response.results.iter().filter(|result| result.error_code == 0);
        extended.map(|result| result.name.clone()).collect()
    }

    fn response(&self, form: Form) -> Response {
        form.response(&self.response)
    }
}
