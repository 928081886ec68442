//! CreateTopics and DeleteTopics: judged here, done by the council, answered when all parts of a request are done.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Now;
use log_wire::messages::topics::{
    CreatableTopic, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse, DeletableTopicResult,
    DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};
use log_wire::{ErrorCode, TopicName};

use crate::broker::Broker;
use crate::catalog::{NewTopic, is_internal};
use crate::catalog_command::{CatalogCommand, TopicTicket};
use crate::pending_topics::{PendingTopics, TopicsAnswer};
use crate::response::{Form, Response};
use crate::topic_config::partition_config;
use crate::waits::Waiter;

/// The first version of DeleteTopics that names topics in a list of structs.
const DELETE_BY_STATE: i16 = 6;
/// How many partitions a topic may have.
const PARTITIONS_MAX: i32 = 100_000;

impl Broker {
    /// Handles a request. The answer comes later if there is none now.
    pub fn create_topics(
        &mut self,
        request: &CreateTopicsRequest,
        form: Form,
        waiter: Waiter,
        now: Now,
    ) -> Option<Response> {
        let ticket = self.ticket();
        let (mut response, mut missing) = (CreateTopicsResponse::default(), 0);
        let mut times = BTreeMap::<&str, usize>::new();
        request.topics.iter().for_each(|topic| *times.entry(&topic.name).or_default() += 1);
        for (part, topic) in request.topics.iter().enumerate() {
            let judged = if times.get(topic.name.as_str()) != Some(&1) {
                Err((ErrorCode::InvalidRequest, String::from("the topic is named twice")))
            } else {
                self.judge_new(topic)
            };
            response.topics.push(result_of(topic, judged.as_ref()));
            if let Ok(new) = judged
                && !request.validate_only
            {
                let ticket = Some(TopicTicket { request: ticket, part });
                self.catalog_commands.push(CatalogCommand::Create(new, ticket));
                missing += 1;
            }
        }
        self.wait_for_topics(
            ticket,
            (missing, request.timeout_ms),
            TopicsAnswer::Create(response),
            form,
            waiter,
            now,
        )
    }

    /// Handles a request. The answer comes later if there is none now.
    pub fn delete_topics(
        &mut self,
        request: &DeleteTopicsRequest,
        form: Form,
        waiter: Waiter,
        now: Now,
    ) -> Option<Response> {
        let ticket = self.ticket();
        let by_name = |name: &String| DeleteTopicState { name: Some(name.clone()), topic_id: [0; 16] };
        let topics: Vec<DeleteTopicState> = match form.version >= DELETE_BY_STATE {
            true => request.topics.clone(),
            false => request.topic_names.iter().map(by_name).collect(),
        };
        let (mut response, mut missing) = (DeleteTopicsResponse::default(), 0);
        for (part, topic) in topics.iter().enumerate() {
            let mut result = DeletableTopicResult {
                name: topic.name.clone(),
                topic_id: topic.topic_id,
                ..Default::default()
            };
            match self.judge_deletion(topic) {
                Ok((name, id)) => {
                    (result.name, result.topic_id) = (Some(name.to_string()), id);
                    let ticket = TopicTicket { request: ticket, part };
                    self.catalog_commands.push(CatalogCommand::Delete(name, ticket));
                    missing += 1;
                }
                Err(error) => result.error_code = error.code(),
            }
            response.responses.push(result);
        }
        self.wait_for_topics(
            ticket,
            (missing, request.timeout_ms),
            TopicsAnswer::Delete(response),
            form,
            waiter,
            now,
        )
    }

    fn wait_for_topics(
        &mut self,
        ticket: u64,
        (missing, timeout_ms): (usize, i32),
        answer: TopicsAnswer,
        form: Form,
        waiter: Waiter,
        now: Now,
    ) -> Option<Response> {
        if missing == 0 {
            return Some(answer.response(form));
        }
        let deadline = now.mono().plus_ms(u64::try_from(timeout_ms).unwrap_or(0));
        self.topic_calls.insert(ticket, deadline, PendingTopics { waiter, form, answer, missing });
        None
    }

    /// The council has done a part of a request, or refused it.
    pub fn topic_done(&mut self, ticket: TopicTicket, error: ErrorCode, id: [u8; 16]) {
        let Some(pending) = self.topic_calls.get_mut(ticket.request) else { return };
        pending.answer.done(ticket.part, error, id);
        pending.missing -= 1;
        if pending.missing == 0
            && let Some(pending) = self.topic_calls.remove(ticket.request)
        {
            self.done.push((pending.waiter, pending.answer.response(pending.form)));
        }
    }

    /// Answers requests whose time is over. The council may do their parts later.
    pub(crate) fn expire_topic_calls(&mut self, now: Now) {
        while let Some(ticket) = self.topic_calls.overdue(now.mono()) {
            let Some(mut pending) = self.topic_calls.remove(ticket) else { break };
            pending.answer.time_out();
            self.done.push((pending.waiter, pending.answer.response(pending.form)));
        }
    }

    fn judge_new(&self, topic: &CreatableTopic) -> Result<NewTopic, (ErrorCode, String)> {
        let refused = |error: ErrorCode, why: &str| Err((error, String::from(why)));
        self.catalog.check_name(&topic.name).map_err(|error| (error, name_trouble(error).into()))?;
        let assigned = topic.assignments.len();
        if assigned > 0 && (topic.num_partitions != -1 || topic.replication_factor != -1) {
            return refused(ErrorCode::InvalidRequest, "replicas are assigned, so their numbers must be -1");
        }
        let partitions = match topic.num_partitions {
            _ if assigned > 0 => i32::try_from(assigned).unwrap_or(i32::MAX),
            -1 => self.config.partitions,
            partitions => partitions,
        };
        if !(1..=PARTITIONS_MAX).contains(&partitions) {
            return refused(ErrorCode::InvalidPartitions, "a topic has 1 to 100,000 partitions");
        }
        if !matches!(topic.replication_factor, -1 | 1) {
            return refused(
                ErrorCode::InvalidReplicationFactor,
                "there is one broker, so the replication factor is 1",
            );
        }
        let own = |broker: &[i32]| broker == [self.config.node_id];
        if !topic.assignments.iter().all(|assignment| own(&assignment.broker_ids)) {
            return refused(
                ErrorCode::InvalidReplicaAssignment,
                "replicas are assigned to brokers that are not there",
            );
        }
        let settings: BTreeMap<String, String> = topic
            .configs
            .iter()
            .filter_map(|config| Some((config.name.clone(), config.value.clone()?)))
            .collect();
        partition_config(&self.topic_defaults, &settings)
            .map_err(|bad| (ErrorCode::InvalidConfig, format!("`{}`: {}", bad.name, bad.why)))?;
        Ok(NewTopic { name: topic.name.as_str().into(), partitions, settings })
    }

    fn judge_deletion(&self, topic: &DeleteTopicState) -> Result<(Arc<str>, [u8; 16]), ErrorCode> {
        let has_id = topic.topic_id != [0; 16];
        let name = match &topic.name {
            Some(_) if has_id => return Err(ErrorCode::InvalidRequest),
            Some(name) => TopicName::Name(name),
            None => TopicName::Id(topic.topic_id),
        };
        let found = self.catalog.find(name)?;
        if is_internal(&found.name) {
            return Err(ErrorCode::InvalidTopic);
        }
        Ok((Arc::clone(&found.name), found.id))
    }
}

const fn name_trouble(error: ErrorCode) -> &'static str {
    match error {
        ErrorCode::TopicAlreadyExists => "there is a topic of that name",
        _ => "the name is not one of a topic, or differs from another's only by `.` for `_`",
    }
}

fn result_of(
    topic: &CreatableTopic,
    judged: Result<&NewTopic, &(ErrorCode, String)>,
) -> CreatableTopicResult {
    let mut result = CreatableTopicResult { name: topic.name.clone(), ..CreatableTopicResult::default() };
    match judged {
        Ok(new) => {
            (result.num_partitions, result.replication_factor) = (new.partitions, 1);
            result.configs = Some(Vec::new());
        }
        Err((error, why)) => {
            (result.error_code, result.error_message) = (error.code(), Some(why.clone()));
        }
    }
    result
}
