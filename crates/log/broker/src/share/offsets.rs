//! What administrators do with share partitions: see where they begin, let them begin elsewhere, forget them. A change is answered
//! when it is durable; the group must have no members.

use std::collections::BTreeMap;

use base::Now;
use log_coordinators::{Text, Ticket, TopicId};
use log_partition::PartitionId;
use log_share::{ShareKey, ShareState, StateAnswer, StateRequest, StateSummary};
use log_wire::messages::share::{
    AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse, AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic, DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic, DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup, DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup, DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
};
use log_wire::{ErrorCode, TopicName};

use super::Share;
use super::ends::{KnownEnds, ends_here};
use super::inspect::{Inspected, summaries};
use super::states::Asked;
use crate::call::Caller;
use crate::node::Node;
use crate::peer_calls::ends_codec::Ends;
use crate::response::{Form, Response};
use crate::rights::{GROUP_DESCRIBE, TOPIC_DESCRIBE, TOPIC_READ};
use crate::waits::Waiter;

/// How long a change may take, milliseconds.
const WAIT_MS: u64 = 30_000;

/// A change that is not durable: its answer, and how much of it is open.
#[derive(Debug)]
pub(super) struct PendingChange {
    form: Form,
    answer: ChangeAnswer,
    open: usize,
}

/// A part of a change: its place in the answer, and what is asked of the state's holder.
type AskedChange = ((usize, usize), StateRequest);

#[derive(Debug)]
enum ChangeAnswer {
    Alter(AlterShareGroupOffsetsResponse),
    Delete(DeleteShareGroupOffsetsResponse),
}

impl ChangeAnswer {
    /// A part has failed: a topic, and a partition of it.
    fn fail(&mut self, (topic, partition): (usize, usize), error: ErrorCode) {
        let place = match self {
            Self::Alter(of) => of
                .responses
                .get_mut(topic)
                .and_then(|topic| topic.partitions.get_mut(partition))
                .map(|partition| (&mut partition.error_code, &mut partition.error_message)),
            Self::Delete(of) => {
                of.responses.get_mut(topic).map(|topic| (&mut topic.error_code, &mut topic.error_message))
            }
        };
        if let Some((code, message)) = place {
            (*code, *message) = (error.code(), Some(String::from(why(error))));
        }
    }

    fn response(&self, form: Form) -> Response {
        match self {
            Self::Alter(of) => form.response(of),
            Self::Delete(of) => form.response(of),
        }
    }
}

impl Share {
    /// Handles a request.
    pub(super) fn describe_offsets(
        &self,
        node: &Node,
        request: &DescribeShareGroupOffsetsRequest,
        (of, inspected, ends): (Caller<'_>, &Inspected, &KnownEnds),
    ) -> Response {
        let groups =
            request.groups.iter().map(|group| self.offsets_of(node, group, (of, inspected, ends))).collect();
        of.form.response(&DescribeShareGroupOffsetsResponse { groups, ..Default::default() })
    }

    fn offsets_of(
        &self,
        node: &Node,
        wanted: &DescribeShareGroupOffsetsRequestGroup,
        (of, inspected, ends): (Caller<'_>, &Inspected, &KnownEnds),
    ) -> DescribeShareGroupOffsetsResponseGroup {
        let group_id = wanted.group_id.clone();
        let may = node.may(of.by, GROUP_DESCRIBE, &group_id);
        let states = match may.and_then(|()| self.check_known(node, &group_id, inspected)) {
            Ok(states) => states,
            Err(error) => {
                let (error_code, error_message) = (error.code(), Some(String::from(why(error))));
                return DescribeShareGroupOffsetsResponseGroup {
                    group_id,
                    error_code,
                    error_message,
                    ..Default::default()
                };
            }
        };
        let states: BTreeMap<(TopicId, i32), &StateSummary> =
            states.iter().map(|state| ((state.topic, state.partition), state)).collect();
        let mut topics = match &wanted.topics {
            None => all_topics(node, &states),
            Some(topics) => {
                topics.iter().map(|topic| (topic.topic_name.clone(), topic.partitions.clone())).collect()
            }
        };
        if wanted.topics.is_none() {
            topics.retain(|(name, _)| node.may(of.by, TOPIC_DESCRIBE, name).is_ok());
        }
        let topics = topics.into_iter().map(|topic| shown_topic(node, topic, (&states, ends), of));
        DescribeShareGroupOffsetsResponseGroup { group_id, topics: topics.collect(), ..Default::default() }
    }

    /// Handles a request.
    pub(super) fn alter_offsets(
        &mut self,
        node: &mut Node,
        request: AlterShareGroupOffsetsRequest,
        (of, inspected): (Caller<'_>, &Inspected),
        now: Now,
    ) -> Option<Response> {
        let group: Text = request.group_id.as_str().into();
        if let Err(error) = self.check_empty(node, &group, inspected) {
            return Some(alteration_refused(of.form, error));
        }
        let (mut response, mut asked) = (AlterShareGroupOffsetsResponse::default(), Vec::new());
        for topic in request.topics {
            let may = node.may(of.by, TOPIC_READ, &topic.topic_name);
            let found = node.catalog.find(TopicName::Name(&topic.topic_name));
            let (id, count) = found.map_or(([0; 16], 0), |topic| (topic.id, topic.partitions.len()));
            let mut partitions = Vec::new();
            for partition in topic.partitions {
                let index = partition.partition_index;
                let is_there = usize::try_from(index).is_ok_and(|index| index < count);
                let known = if is_there { Ok(()) } else { Err(ErrorCode::UnknownTopicOrPartition) };
                let valid = if partition.start_offset >= 0 { Ok(()) } else { Err(ErrorCode::InvalidRequest) };
                let error = may.and(known).and(valid).err();
                if error.is_none() {
                    let place = (response.responses.len(), partitions.len());
                    let key = ShareKey { group: Text::clone(&group), topic: id, partition: index };
                    asked.push((place, StateRequest::Initialize { key, start: partition.start_offset }));
                }
                partitions.push(AlterShareGroupOffsetsResponsePartition {
                    partition_index: index,
                    error_code: error.map_or(0, ErrorCode::code),
                    error_message: error.map(|error| String::from(why(error))),
                });
            }
            let of_topic = AlterShareGroupOffsetsResponseTopic {
                topic_name: topic.topic_name,
                topic_id: id,
                partitions,
            };
            response.responses.push(of_topic);
        }
        self.change(node, (ChangeAnswer::Alter(response), asked), of, now)
    }

    /// Handles a request.
    pub(super) fn delete_offsets(
        &mut self,
        node: &mut Node,
        request: DeleteShareGroupOffsetsRequest,
        (of, inspected): (Caller<'_>, &Inspected),
        now: Now,
    ) -> Option<Response> {
        let group: Text = request.group_id.as_str().into();
        if let Err(error) = self.check_empty(node, &group, inspected) {
            return Some(deletion_refused(of.form, error));
        }
        let (mut response, mut asked) = (DeleteShareGroupOffsetsResponse::default(), Vec::new());
        for topic in request.topics {
            let may = node.may(of.by, TOPIC_READ, &topic.topic_name);
            let found = may
                .and_then(|()| node.catalog.find(TopicName::Name(&topic.topic_name)).map(|topic| topic.id));
            let place = (response.responses.len(), 0);
            let states = inspected.get(&group).and_then(|of| of.as_deref().ok()).unwrap_or_default();
            let keys = states.iter().filter(|of| found == Ok(of.topic)).map(|of| key_of(&group, of));
            asked.extend(keys.map(|key| (place, StateRequest::Delete(key))));
            response.responses.push(DeleteShareGroupOffsetsResponseTopic {
                topic_name: topic.topic_name,
                topic_id: found.unwrap_or_default(),
                error_code: found.err().map_or(0, ErrorCode::code),
                error_message: found.err().map(|error| String::from(why(error))),
            });
        }
        self.change(node, (ChangeAnswer::Delete(response), asked), of, now)
    }

    /// A share group is deleted: all of its states. How that ends is among [`Self::take_ended`].
    pub(crate) fn delete_group(&mut self, node: &mut Node, ticket: Ticket, group: &str, now: Now) {
        let group = Text::from(group);
        self.ask(node, StateRequest::Describe(Text::clone(&group)), Asked::Deletion(ticket, group));
        self.settle(node, now);
    }

    /// It is known which states a group has that is deleted.
    pub(super) fn delete_states(
        &mut self,
        node: &mut Node,
        (ticket, group): (Ticket, Text),
        answer: StateAnswer,
    ) {
        let found = BTreeMap::from([(Text::clone(&group), summaries(answer))]);
        if let Err(error) = self.check_empty(node, &group, &found) {
            return self.ended.push((ticket, error));
        }
        let states = found.into_values().flatten().flatten();
        let keys: Vec<ShareKey> = states.map(|of| key_of(&group, &of)).collect();
        let open = keys.len();
        self.deletions.insert(ticket, (group, open));
        for key in keys {
            self.forget(&key, ErrorCode::GroupIdNotFound);
            self.ask(node, StateRequest::Delete(key), Asked::Group(ticket));
        }
        if open == 0 {
            self.group_state_deleted(ticket, &StateAnswer::Done);
        }
    }

    /// A state of a group that is deleted is gone.
    pub(super) fn group_state_deleted(&mut self, ticket: Ticket, answer: &StateAnswer) {
        let Some((group, open)) = self.deletions.get_mut(&ticket) else { return };
        *open = open.saturating_sub(1);
        let error = if let StateAnswer::Failed(error) = answer { Some(*error) } else { None };
        if *open == 0 || error.is_some() {
            self.announced.forget(group);
            self.touched.insert(Text::clone(group));
            self.deletions.remove(&ticket);
            self.ended.push((ticket, error.unwrap_or_default()));
        }
    }

    /// A part of a change is durable, or refused.
    pub(super) fn change_answered(
        &mut self,
        node: &mut Node,
        waiter: Waiter,
        place: (usize, usize),
        answer: &StateAnswer,
    ) {
        let Some(pending) = self.changes.get_mut(waiter) else { return };
        if let StateAnswer::Failed(error) = answer {
            pending.answer.fail(place, *error);
        }
        pending.open = pending.open.saturating_sub(1);
        if pending.open == 0
            && let Some(pending) = self.changes.remove(waiter)
        {
            node.reply(waiter, pending.answer.response(pending.form));
        }
    }

    /// Answers changes whose time is over. What was asked for may be done later.
    pub(super) fn expire_changes(&mut self, node: &mut Node, now: Now) {
        while let Some((waiter, pending)) = self.changes.pop_overdue(now.mono()) {
            let (error_code, error_message) =
                (ErrorCode::RequestTimedOut.code(), Some(String::from(why(ErrorCode::RequestTimedOut))));
            let answer = match pending.answer {
                ChangeAnswer::Alter(of) => {
                    ChangeAnswer::Alter(AlterShareGroupOffsetsResponse { error_code, error_message, ..of })
                }
                ChangeAnswer::Delete(of) => {
                    ChangeAnswer::Delete(DeleteShareGroupOffsetsResponse { error_code, error_message, ..of })
                }
            };
            node.reply(waiter, answer.response(pending.form));
        }
    }

    fn change(
        &mut self,
        node: &mut Node,
        (answer, asked): (ChangeAnswer, Vec<AskedChange>),
        of: Caller<'_>,
        now: Now,
    ) -> Option<Response> {
        if asked.is_empty() {
            return Some(answer.response(of.form));
        }
        let pending = PendingChange { form: of.form, answer, open: asked.len() };
        self.changes.insert(of.waiter, now.mono().plus_ms(WAIT_MS), pending);
        for (place, request) in asked {
            if let StateRequest::Initialize { key, .. } | StateRequest::Delete(key) = &request {
                self.touched.insert(Text::clone(&key.group));
                self.forget(&key.clone(), ErrorCode::NotLeaderOrFollower);
            }
            self.ask(node, request, Asked::Change(of.waiter, place));
        }
        None
    }

    /// What there is of a share group.
    ///
    /// # Errors
    /// `GROUP_ID_NOT_FOUND`: it has no members and no states; or the error of the holder of its states.
    fn check_known<'i>(
        &self,
        node: &Node,
        group: &str,
        inspected: &'i Inspected,
    ) -> Result<&'i [StateSummary], ErrorCode> {
        let states = match inspected.get(group) {
            Some(Ok(states)) => states.as_slice(),
            Some(Err(error)) => return Err(*error),
            None => return Err(ErrorCode::CoordinatorNotAvailable),
        };
        let has_members = self.groups.get(group).is_some_and(|group| !group.is_empty());
        let is_there = has_members || !states.is_empty() || node.share_groups.contains_key(group);
        if is_there { Ok(states) } else { Err(ErrorCode::GroupIdNotFound) }
    }

    /// Whether there is such a share group, and it has no members.
    fn check_empty(&self, node: &Node, group: &str, inspected: &Inspected) -> Result<(), ErrorCode> {
        self.check_known(node, group, inspected)?;
        let is_empty = self.groups.get(group).is_none_or(log_share::ShareGroup::is_empty);
        if is_empty { Ok(()) } else { Err(ErrorCode::NonEmptyGroup) }
    }
}

/// The answer to a request that alters nothing.
pub(super) fn alteration_refused(form: Form, error: ErrorCode) -> Response {
    let (error_code, error_message) = (error.code(), Some(String::from(why(error))));
    form.response(&AlterShareGroupOffsetsResponse { error_code, error_message, ..Default::default() })
}

/// The answer to a request that deletes nothing.
pub(super) fn deletion_refused(form: Form, error: ErrorCode) -> Response {
    let (error_code, error_message) = (error.code(), Some(String::from(why(error))));
    form.response(&DeleteShareGroupOffsetsResponse { error_code, error_message, ..Default::default() })
}

fn key_of(group: &Text, of: &StateSummary) -> ShareKey {
    ShareKey { group: Text::clone(group), topic: of.topic, partition: of.partition }
}

fn all_topics(node: &Node, states: &BTreeMap<(TopicId, i32), &StateSummary>) -> Vec<(String, Vec<i32>)> {
    let keys: Vec<(TopicId, i32)> = states.keys().copied().collect();
    let by_topic = keys.chunk_by(|(one, _), (other, _)| one == other);
    let named = by_topic.filter_map(|of| {
        let topic = node.catalog.find(TopicName::Id(of.first()?.0)).ok()?;
        Some((topic.name.to_string(), of.iter().map(|(_, index)| *index).collect()))
    });
    named.collect()
}

/// Partitions of a topic, as far as the client may see it.
fn shown_topic(
    node: &Node,
    (name, partitions): (String, Vec<i32>),
    (states, ends): (&BTreeMap<(TopicId, i32), &StateSummary>, &KnownEnds),
    of: Caller<'_>,
) -> DescribeShareGroupOffsetsResponseTopic {
    let may = node.may(of.by, TOPIC_DESCRIBE, &name);
    let id = node.catalog.find(TopicName::Name(&name)).map_or([0; 16], |topic| topic.id);
    let shown = partitions.into_iter().map(|index| {
        may.map_or_else(
            |error| failed(index, error),
            |()| {
                let of = PartitionId { topic: id, index };
                let ends = ends_here(node, of).or_else(|| ends.get(&(id, index)).copied());
                shown(node, (&name, index), states.get(&(id, index)).copied(), ends)
            },
        )
    });
    DescribeShareGroupOffsetsResponseTopic { topic_id: id, partitions: shown.collect(), topic_name: name }
}

/// Where a share partition begins, and how many of its records are not finished.
fn shown(
    node: &Node,
    (topic, index): (&str, i32),
    state: Option<&StateSummary>,
    ends: Option<Ends>,
) -> DescribeShareGroupOffsetsResponsePartition {
    let known = node.catalog.find(TopicName::Name(topic)).map_or(0, |topic| topic.partitions.len());
    if usize::try_from(index).map_or(true, |index| index >= known) {
        return failed(index, ErrorCode::UnknownTopicOrPartition);
    }
    let Some(state) = state.filter(|state| state.start >= 0) else {
        let start_offset = ShareState::NO_START;
        return DescribeShareGroupOffsetsResponsePartition {
            partition_index: index,
            start_offset,
            ..Default::default()
        };
    };
    // -1 if its leader did not tell.
    let lag = ends.map_or(-1, |ends| (ends.end.0 - state.start.max(ends.start.0) - state.finished).max(0));
    DescribeShareGroupOffsetsResponsePartition {
        partition_index: index,
        start_offset: state.start,
        leader_epoch: state.leader_epoch,
        lag,
        ..DescribeShareGroupOffsetsResponsePartition::default()
    }
}

fn failed(index: i32, error: ErrorCode) -> DescribeShareGroupOffsetsResponsePartition {
    DescribeShareGroupOffsetsResponsePartition {
        partition_index: index,
        start_offset: ShareState::NO_START,
        error_code: error.code(),
        error_message: Some(String::from(why(error))),
        ..DescribeShareGroupOffsetsResponsePartition::default()
    }
}

/// What a person reads in the log of the client.
const fn why(error: ErrorCode) -> &'static str {
    match error {
        ErrorCode::NonEmptyGroup => "the group has members",
        ErrorCode::GroupIdNotFound => "there is no such share group",
        ErrorCode::UnknownTopicOrPartition => "there is no such partition",
        ErrorCode::InvalidRequest => "an offset is not below zero",
        ErrorCode::GroupAuthorizationFailed | ErrorCode::TopicAuthorizationFailed => {
            "the client has no right to"
        }
        ErrorCode::RequestTimedOut => "it was not durable in time",
        _ => "it cannot be done at the moment",
    }
}
