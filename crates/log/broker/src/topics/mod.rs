//! CreateTopics and DeleteTopics: judged here, done by the council, answered when all parts of a request are done.

mod judge;
mod metadata;
mod pending;
mod settings;

use std::collections::BTreeMap;

use base::{MonoTime, Now};
use log_wire::messages::topics::{
    CreatableTopic, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse, DeletableTopicResult,
    DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};
use log_wire::{ApiKey, ErrorCode, Malformed};

use net_event_loop::ConnId;

use crate::call::{Call, Handled};
use crate::catalog::{CatalogCommand, NewTopic, TopicTicket};
use crate::node::Node;
use crate::response::{Form, Response};
use crate::waits::{Waiter, Waits};
use pending::{PendingTopics, TopicsAnswer};
pub use settings::{BadSetting, partition_config};

/// The first version of DeleteTopics that names topics in a list of structs.
const DELETE_BY_STATE: i16 = 6;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[ApiKey::Metadata, ApiKey::CreateTopics, ApiKey::DeleteTopics];

/// Requests about topics that wait for the council.
#[derive(Debug, Default)]
pub(crate) struct TopicCalls(Waits<PendingTopics>);

impl TopicCalls {
    /// Handles a request.
    ///
    /// # Errors
    /// It is malformed.
    pub(crate) fn dispatch(
        &mut self,
        node: &mut Node,
        key: ApiKey,
        mut call: Call<'_>,
    ) -> Result<Handled, Malformed> {
        let (waits, now) = ((call.form, call.waiter), call.now);
        Ok(match key {
            ApiKey::CreateTopics => Handled::of(self.create_topics(node, &call.body()?, waits, now)),
            ApiKey::DeleteTopics => Handled::of(self.delete_topics(node, &call.body()?, waits, now)),
            _ => Handled::Done(metadata::answer(node, call)?),
        })
    }

    /// Handles a request. The answer comes later if there is none now.
    pub(crate) fn create_topics(
        &mut self,
        node: &mut Node,
        request: &CreateTopicsRequest,
        (form, waiter): (Form, Waiter),
        now: Now,
    ) -> Option<Response> {
        let (mut response, mut missing) = (CreateTopicsResponse::default(), 0);
        let mut times = BTreeMap::<&str, usize>::new();
        request.topics.iter().for_each(|topic| *times.entry(&topic.name).or_default() += 1);
        for (part, topic) in request.topics.iter().enumerate() {
            let judged = if times.get(topic.name.as_str()) != Some(&1) {
                Err((ErrorCode::InvalidRequest, String::from("the topic is named twice")))
            } else {
                node.judge_new(topic)
            };
            response.topics.push(result_of(topic, judged.as_ref()));
            if let Ok(new) = judged
                && !request.validate_only
            {
                let ticket = Some(TopicTicket { waiter, part });
                node.catalog_commands.push(CatalogCommand::Create(new, ticket));
                missing += 1;
            }
        }
        self.wait((missing, request.timeout_ms), TopicsAnswer::Create(response), (form, waiter), now)
    }

    /// Handles a request. The answer comes later if there is none now.
    pub(crate) fn delete_topics(
        &mut self,
        node: &mut Node,
        request: &DeleteTopicsRequest,
        (form, waiter): (Form, Waiter),
        now: Now,
    ) -> Option<Response> {
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
            match node.judge_deletion(topic) {
                Ok((name, id)) => {
                    (result.name, result.topic_id) = (Some(name.to_string()), id);
                    let ticket = TopicTicket { waiter, part };
                    node.catalog_commands.push(CatalogCommand::Delete(name, ticket));
                    missing += 1;
                }
                Err(error) => result.error_code = error.code(),
            }
            response.responses.push(result);
        }
        self.wait((missing, request.timeout_ms), TopicsAnswer::Delete(response), (form, waiter), now)
    }

    fn wait(
        &mut self,
        (missing, timeout_ms): (usize, i32),
        answer: TopicsAnswer,
        (form, waiter): (Form, Waiter),
        now: Now,
    ) -> Option<Response> {
        if missing == 0 {
            return Some(answer.response(form));
        }
        let deadline = now.mono().plus_ms(u64::try_from(timeout_ms).unwrap_or(0));
        self.0.insert(waiter, deadline, PendingTopics { form, answer, missing });
        None
    }

    /// The council has done a part of a request, or refused it.
    pub(crate) fn done(&mut self, node: &mut Node, ticket: TopicTicket, error: ErrorCode, id: [u8; 16]) {
        let Some(pending) = self.0.get_mut(ticket.waiter) else { return };
        pending.answer.done(ticket.part, error, id);
        pending.missing -= 1;
        if pending.missing == 0
            && let Some(pending) = self.0.remove(ticket.waiter)
        {
            node.reply(ticket.waiter, pending.answer.response(pending.form));
        }
    }

    /// Answers requests whose time is over. The council may do their parts later.
    pub(crate) fn expire(&mut self, node: &mut Node, now: Now) {
        while let Some((waiter, mut pending)) = self.0.pop_overdue(now.mono()) {
            pending.answer.time_out();
            node.reply(waiter, pending.answer.response(pending.form));
        }
    }

    /// A connection is gone: nobody waits any more for what it asked for.
    pub(crate) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        while self.0.pop_of(shard, conn).is_some() {}
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.0.next_deadline()
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
