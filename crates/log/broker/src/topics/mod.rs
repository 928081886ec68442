//! CreateTopics and DeleteTopics: judged here, done by the council, answered when all parts of a request are done.

mod answer;
mod judge;
mod metadata;
mod metadata_names;
mod settings;

use std::collections::BTreeMap;

use base::Now;
use log_metadata::paths;
use log_wire::messages::topics::{
    CreatableTopic, CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse, DeletableTopicResult,
    DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};
use log_wire::{ApiKey, ErrorCode, Malformed};

use crate::call::{Call, Handled};
use crate::catalog::{NewTopic, change};
use crate::council_calls::{CouncilCall, CouncilCalls, Part};
use crate::node::Node;
use crate::response::{Form, Response};
use crate::waits::Waiter;
use answer::DeleteAnswer;
pub use settings::{BadSetting, partition_config};

/// The first version of DeleteTopics that names topics in a list of structs.
const DELETE_BY_STATE: i16 = 6;

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[ApiKey::Metadata, ApiKey::CreateTopics, ApiKey::DeleteTopics];

/// Handles a request.
///
/// # Errors
/// It is malformed.
pub(crate) fn dispatch(
    node: &mut Node,
    calls: &mut CouncilCalls,
    key: ApiKey,
    mut call: Call<'_>,
) -> Result<Handled, Malformed> {
    let (waits, now) = ((call.form, call.waiter), call.now);
    Ok(match key {
        ApiKey::CreateTopics => Handled::of(create_topics(node, calls, &call.body()?, waits, now)),
        ApiKey::DeleteTopics => Handled::of(delete_topics(node, calls, &call.body()?, waits, now)),
        _ => Handled::Done(metadata::answer(node, call)?),
    })
}

fn create_topics(
    node: &mut Node,
    calls: &mut CouncilCalls,
    request: &CreateTopicsRequest,
    (form, waiter): (Form, Waiter),
    now: Now,
) -> Option<Response> {
    let (mut response, mut parts) = (CreateTopicsResponse::default(), Vec::new());
    let mut times = BTreeMap::<&str, usize>::new();
    request.topics.iter().for_each(|topic| *times.entry(&topic.name).or_default() += 1);
    for (number, topic) in request.topics.iter().enumerate() {
        let judged = if times.get(topic.name.as_str()) != Some(&1) {
            Err((ErrorCode::InvalidRequest, String::from("the topic is named twice")))
        } else {
            node.judge_new(topic)
        };
        response.topics.push(result_of(topic, judged.as_ref()));
        if let Ok(new) = judged
            && !request.validate_only
        {
            let compute = change::create(&new, node.draw_id(), node.config.node_id);
            parts.push(Part { number, path: paths::topic(&new.name), compute });
        }
    }
    let (answer, timeout_ms) = (Box::new(response), request.timeout_ms);
    calls.begin(node, CouncilCall { waiter, form, answer, parts, timeout_ms }, now)
}

fn delete_topics(
    node: &mut Node,
    calls: &mut CouncilCalls,
    request: &DeleteTopicsRequest,
    (form, waiter): (Form, Waiter),
    now: Now,
) -> Option<Response> {
    let by_name = |name: &String| DeleteTopicState { name: Some(name.clone()), topic_id: [0; 16] };
    let topics: Vec<DeleteTopicState> = match form.version >= DELETE_BY_STATE {
        true => request.topics.clone(),
        false => request.topic_names.iter().map(by_name).collect(),
    };
    let (mut response, mut parts) = (DeleteTopicsResponse::default(), Vec::new());
    for (number, topic) in topics.iter().enumerate() {
        let (name, topic_id) = (topic.name.clone(), topic.topic_id);
        let mut result = DeletableTopicResult { name, topic_id, ..Default::default() };
        match node.judge_deletion(topic) {
            Ok((name, id)) => {
                (result.name, result.topic_id) = (Some(name.to_string()), id);
                let path = paths::topic(&name);
                parts.push(Part { number, path, compute: change::delete(name, id) });
            }
            Err(error) => result.error_code = error.code(),
        }
        response.responses.push(result);
    }
    let open = parts.iter().map(|part| part.number).collect();
    let (answer, timeout_ms) = (Box::new(DeleteAnswer { response, open }), request.timeout_ms);
    calls.begin(node, CouncilCall { waiter, form, answer, parts, timeout_ms }, now)
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
