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
use log_wire::{ApiKey, ErrorCode, Malformed, TopicName};

use crate::call::{Call, Handled};
use crate::catalog::{NewTopic, change};
use crate::council_calls::{CouncilCall, CouncilCalls, Part};
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::{By, TOPIC_CREATE, TOPIC_DELETE, TOPIC_DESCRIBE, TOPIC_DESCRIBE_CONFIGS};
use crate::waits::Waiter;
use answer::DeleteAnswer;
pub use settings::{BadSetting, partition_config};

/// The first version of DeleteTopics that names topics in a list of structs.
const DELETE_BY_STATE: i16 = 6;

/// The first versions whose clients are refused, and not only held up, beyond their quota of changes.
const CREATE_IS_STRICT: i16 = 6;
const DELETE_IS_STRICT: i16 = 5;

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
    let (waits, by, now) = ((call.form, call.waiter), call.by(), call.now);
    let version = call.form.version;
    Ok(match key {
        ApiKey::CreateTopics => {
            let changer = Changer { by, client_id: call.client_id, is_strict: version >= CREATE_IS_STRICT };
            Handled::of(create_topics(node, calls, changer, &call.body()?, waits, now))
        }
        ApiKey::DeleteTopics => {
            let changer = Changer { by, client_id: call.client_id, is_strict: version >= DELETE_IS_STRICT };
            Handled::of(delete_topics(node, calls, changer, &call.body()?, waits, now))
        }
        _ => Handled::Done(metadata::answer(node, call)?),
    })
}

/// Who changes topics.
#[derive(Clone, Copy)]
struct Changer<'c> {
    by: By<'c>,
    client_id: &'c str,
    /// It is refused, and not only held up, beyond its quota.
    is_strict: bool,
}

impl Changer<'_> {
    /// It changes so many partitions.
    ///
    /// # Errors
    /// It has changed too many of late.
    fn charge(self, node: &mut Node, partitions: usize, now: Now) -> Result<(), ErrorCode> {
        node.access.mutate((self.by.client, self.client_id), partitions, self.is_strict, now)
    }
}

fn create_topics(
    node: &mut Node,
    calls: &mut CouncilCalls,
    changer: Changer<'_>,
    request: &CreateTopicsRequest,
    (form, waiter): (Form, Waiter),
    now: Now,
) -> Option<Response> {
    let (mut response, mut parts, by) = (CreateTopicsResponse::default(), Vec::new(), changer.by);
    let mut times = BTreeMap::<&str, usize>::new();
    request.topics.iter().for_each(|topic| *times.entry(&topic.name).or_default() += 1);
    for (number, topic) in request.topics.iter().enumerate() {
        let judged = if times.get(topic.name.as_str()) != Some(&1) {
            Err((ErrorCode::InvalidRequest, String::from("the topic is named twice")))
        } else if let Err(error) = node.may(by, TOPIC_CREATE, &topic.name) {
            Err((error, String::from("the client may not create the topic")))
        } else {
            node.judge_new(topic).and_then(|new| {
                let charged = changer.charge(node, usize::try_from(new.partitions).unwrap_or(0), now);
                let late =
                    |error| (error, String::from("the client has changed too many partitions of late"));
                charged.map(|()| new).map_err(late)
            })
        };
        let may_see = node.may(by, TOPIC_DESCRIBE_CONFIGS, &topic.name);
        response.topics.push(result_of(topic, judged.as_ref(), may_see));
        if let Ok(new) = judged
            && !request.validate_only
        {
            let compute = change::create(&new, node.draw_id(), node.config.node_id);
            parts.push(Part { number, path: paths::topic(&new.name), compute });
        }
    }
    response.throttle_time_ms = node.access.throttle_time_ms();
    let (answer, timeout_ms) = (Box::new(response), request.timeout_ms);
    calls.begin(node, CouncilCall { waiter, form, answer, parts, timeout_ms }, now)
}

fn delete_topics(
    node: &mut Node,
    calls: &mut CouncilCalls,
    changer: Changer<'_>,
    request: &DeleteTopicsRequest,
    (form, waiter): (Form, Waiter),
    now: Now,
) -> Option<Response> {
    let by_name = |name: &String| DeleteTopicState { name: Some(name.clone()), topic_id: [0; 16] };
    let topics: Vec<DeleteTopicState> = match form.version >= DELETE_BY_STATE {
        true => request.topics.clone(),
        false => request.topic_names.iter().map(by_name).collect(),
    };
    let (mut response, mut parts, by) = (DeleteTopicsResponse::default(), Vec::new(), changer.by);
    for (number, topic) in topics.iter().enumerate() {
        let (name, topic_id) = (topic.name.clone(), topic.topic_id);
        let mut result = DeletableTopicResult { name, topic_id, ..Default::default() };
        let judged = may_delete(node, by, topic, &mut result).and_then(|()| node.judge_deletion(topic));
        let judged = judged.and_then(|(name, id)| {
            let partitions = node.catalog.find(TopicName::Id(id)).map_or(0, |topic| topic.partitions.len());
            changer.charge(node, partitions, now).map(|()| (name, id))
        });
        match judged {
            Ok((name, id)) => {
                (result.name, result.topic_id) = (Some(name.to_string()), id);
                let path = paths::topic(&name);
                parts.push(Part { number, path, compute: change::delete(name, id) });
            }
            Err(error) => result.error_code = error.code(),
        }
        response.responses.push(result);
    }
    response.throttle_time_ms = node.access.throttle_time_ms();
    let open = parts.iter().map(|part| part.number).collect();
    let (answer, timeout_ms) = (Box::new(DeleteAnswer { response, open }), request.timeout_ms);
    calls.begin(node, CouncilCall { waiter, form, answer, parts, timeout_ms }, now)
}

/// Whether a client may delete a topic. What it may see of the topic goes into the result.
fn may_delete(
    node: &Node,
    by: By<'_>,
    topic: &DeleteTopicState,
    result: &mut DeletableTopicResult,
) -> Result<(), ErrorCode> {
    let named = topic.name.as_deref().map_or(TopicName::Id(topic.topic_id), TopicName::Name);
    node.may_on_topic(by, TOPIC_DESCRIBE, named)?;
    // Of one that is not there the client is told that, whether or not it may delete it.
    let Ok(found) = node.catalog.find(named) else { return Ok(()) };
    result.name = Some(found.name.to_string());
    node.may(by, TOPIC_DELETE, &found.name)
}

fn result_of(
    topic: &CreatableTopic,
    judged: Result<&NewTopic, &(ErrorCode, String)>,
    may_see: Result<(), ErrorCode>,
) -> CreatableTopicResult {
    let mut result = CreatableTopicResult { name: topic.name.clone(), ..CreatableTopicResult::default() };
    match judged {
        Ok(new) => match may_see {
            Ok(()) => {
                (result.num_partitions, result.replication_factor) = (new.partitions, 1);
                result.configs = Some(Vec::new());
            }
            Err(error) => {
                (result.topic_config_error_code, result.configs) = (error.code(), None);
            }
        },
        Err((error, why)) => {
            (result.error_code, result.error_message) = (error.code(), Some(why.clone()));
        }
    }
    result
}
