//! DeleteTopics: judged here, done by the council.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use log_metadata::{Ended, paths};
use log_wire::messages::topics::{
    DeletableTopicResult, DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse,
};
use log_wire::{ErrorCode, TopicName};

use super::Changer;
use super::refusal::Refusal;
use crate::catalog::change;
use crate::council_calls::{CouncilAnswer, CouncilCall, CouncilCalls, Part};
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::{By, TOPIC_REMOVE, TOPIC_SEE_REMOVED};
use crate::waits::Waiter;

/// The first version that names topics in a list of structs.
const BY_STATE: i16 = 6;
/// The first version that knows that deletion may be disabled.
const KNOWS_DISABLED: i16 = 3;
/// In place of an id: none.
const NO_ID: [u8; 16] = [0; 16];

/// Handles a request. The answer comes later if there is none now.
pub(super) fn delete_topics(
    node: &mut Node,
    calls: &mut CouncilCalls,
    changer: Changer<'_>,
    request: &DeleteTopicsRequest,
    (form, waiter): (Form, Waiter),
) -> Option<Response> {
    let by_name = |name: &String| DeleteTopicState { name: Some(name.clone()), topic_id: [0; 16] };
    let topics: Vec<DeleteTopicState> = match form.version >= BY_STATE {
        true => request.topics.clone(),
        false => request.topic_names.iter().map(by_name).collect(),
    };
    let mut response = DeleteTopicsResponse::default();
    if let Some(refusal) = refused_at_all(node, request.timeout_ms, form) {
        response.responses = topics.into_iter().map(|topic| failed(topic, &refusal)).collect();
        return Some(form.response(&response));
    }
    let twice = Twice::of(&topics);
    let (mut parts, mut told) = (Vec::new(), BTreeSet::new());
    for topic in topics {
        let (topic, judged) = match twice.named(node, &topic) {
            Some(named) if !told.insert((named.name.clone(), named.topic_id)) => continue,
            Some(named) => (named, Err(Refusal::named_twice())),
            None => {
                let mut topic = topic;
                let judged = judge(node, changer, &mut topic);
                (topic, judged)
            }
        };
        let result = match judged {
            Ok((name, id)) => {
                let (number, path) = (response.responses.len(), paths::topic(&name));
                let result =
                    DeletableTopicResult { name: Some(name.to_string()), topic_id: id, ..Default::default() };
                parts.push(Part { number, path, compute: change::delete(name, id) });
                result
            }
            Err(refusal) => failed(topic, &refusal),
        };
        response.responses.push(result);
    }
    response.throttle_time_ms = node.access.throttle_time_ms();
    let open = parts.iter().map(|part| part.number).collect();
    let (answer, timeout_ms) = (Box::new(DeleteAnswer { response, open }), request.timeout_ms);
    calls.begin(node, CouncilCall { waiter, form, answer, parts, timeout_ms }, changer.now)
}

/// Whether a client may delete a topic, and the topic may be deleted.
fn judge(
    node: &mut Node,
    changer: Changer<'_>,
    topic: &mut DeleteTopicState,
) -> Result<(Arc<str>, [u8; 16]), Refusal> {
    may_delete(node, changer.by, topic)?;
    let (name, id) = node.judge_deletion(topic)?;
    let partitions = node.catalog.find(TopicName::Id(id)).map_or(0, |found| found.partitions.len());
    changer.charge(node, i64::try_from(partitions).unwrap_or(i64::MAX))?;
    Ok((name, id))
}

/// Whether a client may delete a topic. One that is named by its id is told by its name to whoever may see it.
fn may_delete(node: &Node, by: By<'_>, topic: &mut DeleteTopicState) -> Result<(), Refusal> {
    let named = topic.name.as_deref().map_or(TopicName::Id(topic.topic_id), TopicName::Name);
    let refused = |error| Refusal::new(error, "the client may not delete the topic");
    if topic.name.is_some() && topic.topic_id != [0; 16] {
        return Ok(());
    }
    let found = node.catalog.find(named);
    if let (TopicName::Id(_), Err(_)) = (named, &found) {
        return Ok(());
    }
    node.may_on_topic(by, TOPIC_SEE_REMOVED, named).map_err(refused)?;
    // Of one that is not there the client is told that, whether or not it may delete it.
    let Ok(found) = found else { return Ok(()) };
    let may = node.may(by, TOPIC_REMOVE, &found.name);
    if may.is_err() && topic.name.is_none() {
        topic.name = Some(found.name.to_string());
    }
    may.map_err(refused)
}

fn refused_at_all(node: &Node, timeout_ms: i32, form: Form) -> Option<Refusal> {
    if !node.config.delete_topics {
        let message = "topics are not deleted here: see `delete.topic.enable`";
        let knows = form.version >= KNOWS_DISABLED;
        let code = if knows { ErrorCode::TopicDeletionDisabled } else { ErrorCode::InvalidRequest };
        return Some(Refusal::new(code, message));
    }
    (timeout_ms <= 0).then(|| Refusal::bare(ErrorCode::RequestTimedOut))
}

fn failed(topic: DeleteTopicState, refusal: &Refusal) -> DeletableTopicResult {
    DeletableTopicResult {
        name: topic.name,
        topic_id: topic.topic_id,
        error_code: refusal.code.code(),
        error_message: refusal.message(),
    }
}

/// Topics that a request names more than once: by their names, by their ids, or once by each.
struct Twice {
    names: BTreeMap<String, usize>,
    ids: BTreeMap<[u8; 16], usize>,
}

impl Twice {
    fn of(topics: &[DeleteTopicState]) -> Self {
        let mut twice = Self { names: BTreeMap::new(), ids: BTreeMap::new() };
        for topic in topics {
            match &topic.name {
                Some(name) if topic.topic_id == NO_ID => *twice.names.entry(name.clone()).or_default() += 1,
                None if topic.topic_id != NO_ID => *twice.ids.entry(topic.topic_id).or_default() += 1,
                _ => {}
            }
        }
        twice
    }

    /// How the response names a topic that the request names more than once; nothing if it does not.
    fn named(&self, node: &Node, topic: &DeleteTopicState) -> Option<DeleteTopicState> {
        let named = match &topic.name {
            Some(_) if topic.topic_id != NO_ID => return None,
            Some(name) if self.names.get(name).is_some_and(|times| *times > 1) => return Some(topic.clone()),
            Some(name) => TopicName::Name(name),
            None if self.ids.get(&topic.topic_id).is_some_and(|times| *times > 1) => {
                return Some(topic.clone());
            }
            None => TopicName::Id(topic.topic_id),
        };
        let found = node.catalog.find(named).ok()?;
        let is_both = self.names.contains_key(&*found.name) && self.ids.contains_key(&found.id);
        is_both.then(|| DeleteTopicState { name: Some(found.name.to_string()), topic_id: found.id })
    }
}

impl Node {
    /// Whether a topic may be deleted.
    ///
    /// # Errors
    /// Why not.
    fn judge_deletion(&self, topic: &DeleteTopicState) -> Result<(Arc<str>, [u8; 16]), Refusal> {
        let has_id = topic.topic_id != [0; 16];
        let name = match &topic.name {
            Some(_) if has_id => {
                let message = "a topic is named by its name or by its id, not by both";
                return Err(Refusal::new(ErrorCode::InvalidRequest, message));
            }
            Some(name) => TopicName::Name(name),
            None if has_id => TopicName::Id(topic.topic_id),
            None => {
                let message = "neither the name of the topic nor its id is given";
                return Err(Refusal::new(ErrorCode::InvalidRequest, message));
            }
        };
        let missing = |error| Refusal::new(error, "there is no such topic");
        let found = self.catalog.find(name).map_err(missing)?;
        if found.is_internal() {
            let message = "brokers keep their state in this topic: it is not deleted";
            return Err(Refusal::new(ErrorCode::InvalidTopic, message));
        }
        Ok((Arc::clone(&found.name), found.id))
    }
}

/// An answer, with the parts that have not ended.
#[derive(Debug)]
struct DeleteAnswer {
    response: DeleteTopicsResponse,
    open: Vec<usize>,
}

impl CouncilAnswer for DeleteAnswer {
    fn ended(&mut self, part: usize, ended: Ended) {
        self.open.retain(|open| *open != part);
        if let (Ended::Refused(error, why), Some(result)) = (ended, self.response.responses.get_mut(part)) {
            (result.error_code, result.error_message) = (error.code(), Some(why));
        }
    }

    fn time_out(&mut self) {
        for part in std::mem::take(&mut self.open) {
            if let Some(result) = self.response.responses.get_mut(part) {
                result.error_code = ErrorCode::RequestTimedOut.code();
            }
        }
    }

    fn response(&self, form: Form) -> Response {
        form.response(&self.response)
    }
}
