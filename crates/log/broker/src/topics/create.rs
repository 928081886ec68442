//! CreateTopics: judged here, in Kafka's order; done by the council.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use log_config::{Entry, Overrides, change};
use log_metadata::{Ended, TopicNode, paths};
use log_wire::messages::Field as _;
use log_wire::messages::topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicResult, CreateTopicsRequest,
};
use log_wire::{ErrorCode, Writer};

use super::refusal::{PARTITIONS_PER_REQUEST_MAX, Refusal};
use super::{Changer, Placed, Wanted, replicas};
use crate::catalog::{NewTopic, change as node_change};
use crate::config_layers::Layers;
use crate::configs::ShownTopics;
use crate::council_calls::{CouncilAnswer, CouncilCall, CouncilCalls, Part};
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::{By, TOPIC_CREATE, TOPIC_DESCRIBE_CONFIGS};
use crate::waits::Waiter;

/// The topic of Kafka's metadata, which no broker serves.
const METADATA_TOPIC: &str = "__cluster_metadata";
/// The first versions whose answers have configurations, and ids.
const CONFIGS: i16 = 5;
const IDS: i16 = 7;
/// The tag of the error where configurations may not be seen.
const CONFIG_ERROR_TAG: u32 = 0;

/// Handles a request. The answer comes later if there is none now.
pub(super) fn create_topics(
    node: &mut Node,
    calls: &mut CouncilCalls,
    changer: Changer<'_>,
    request: &CreateTopicsRequest,
    (form, waiter): (Form, Waiter),
) -> Option<Response> {
    let layers = Arc::clone(node.configs.layers());
    let mut answer = CreateAnswer { throttle_time_ms: 0, topics: Vec::new(), layers };
    if request.timeout_ms <= 0 {
        // So it is by Kafka: there is no time to do anything.
        let refusal = Refusal::bare(ErrorCode::RequestTimedOut);
        answer.topics = request.topics.iter().map(|topic| failed(&topic.name, &refusal)).collect();
        return Some(answer.response(form));
    }
    let mut parts = Vec::new();
    for (name, judged) in judge_all(node, changer, &request.topics) {
        let new = match judged {
            Ok(new) => new,
            Err(refusal) => {
                answer.topics.push(failed(name, &refusal));
                continue;
            }
        };
        let id = node.draw_id();
        let compute = node_change::create(&new, id);
        let mut result = made(node, changer.by, &new);
        if request.validate_only {
            result.topic_id = id;
        } else {
            parts.push(Part { number: answer.topics.len(), path: paths::topic(&new.name), compute });
        }
        answer.topics.push((result, new.settings));
    }
    answer.throttle_time_ms = node.access.throttle_time_ms();
    let (answer, timeout_ms) = (Box::new(answer), request.timeout_ms);
    calls.begin(node, CouncilCall { waiter, form, answer, parts, timeout_ms }, changer.now)
}

/// Whether a client may make a topic, where its request makes so many partitions in all.
fn judge(
    node: &mut Node,
    changer: Changer<'_>,
    topic: &CreatableTopic,
    wanted: i64,
) -> Result<JudgedTopic, Refusal> {
    let refused = |error| Refusal::new(error, "the client may not create the topic");
    node.may(changer.by, TOPIC_CREATE, &topic.name).map_err(refused)?;
    if wanted > PARTITIONS_PER_REQUEST_MAX {
        return Err(Refusal::too_many_partitions());
    }
    let judged = node.judge_new(topic)?;
    changer.charge(node, node.partitions_of(topic))?;
    Ok(judged)
}

/// A topic that may be made.
struct JudgedTopic {
    settings: Overrides,
    replicas: Replicas,
}

enum Replicas {
    /// The request says on which brokers.
    Assigned(Placed),
    /// They have to be placed.
    Wanted(Wanted),
}

/// What is told of a topic that is made. Not everybody may see how it is configured.
fn made(node: &Node, by: By<'_>, new: &NewTopic) -> CreatableTopicResult {
    let name = new.name.to_string();
    match node.may(by, TOPIC_DESCRIBE_CONFIGS, &new.name) {
        Ok(()) => CreatableTopicResult {
            name,
            num_partitions: i32::try_from(new.replicas.len()).unwrap_or(i32::MAX),
            replication_factor: new
                .replicas
                .first()
                .map_or(0, |first| i16::try_from(first.len()).unwrap_or(i16::MAX)),
            ..CreatableTopicResult::default()
        },
        Err(error) => CreatableTopicResult {
            name,
            topic_config_error_code: error.code(),
            ..CreatableTopicResult::default()
        },
    }
}

/// Whether each of these topics may be made; each name is judged once.
fn judge_all<'r>(
    node: &mut Node,
    changer: Changer<'_>,
    topics: &'r [CreatableTopic],
) -> Vec<(&'r str, Result<NewTopic, Refusal>)> {
    let mut times = BTreeMap::<&str, usize>::new();
    topics.iter().for_each(|topic| *times.entry(&topic.name).or_default() += 1);
    let is_once = |topic: &&CreatableTopic| times.get(topic.name.as_str()) == Some(&1);
    let wanted: i64 = topics.iter().filter(is_once).map(|topic| node.partitions_of(topic)).sum();
    let mut judged = |topic: &CreatableTopic| match is_once(&topic) {
        true => judge(node, changer, topic, wanted),
        false => Err(Refusal::named_twice()),
    };
    let mut named = BTreeSet::new();
    let topics = topics.iter().filter(|topic| named.insert(topic.name.as_str()));
    let judged = topics.map(|topic| (topic.name.as_str(), judged(topic))).collect();
    place(node, judged)
}

/// The new topics, with their replicas.
fn place<'r>(
    node: &Node,
    judged: Vec<(&'r str, Result<JudgedTopic, Refusal>)>,
) -> Vec<(&'r str, Result<NewTopic, Refusal>)> {
    let of = |judged: &Result<JudgedTopic, Refusal>| match judged {
        Ok(JudgedTopic { replicas: Replicas::Wanted(wanted), .. }) => Some(*wanted),
        _ => None,
    };
    let wanted: Vec<Wanted> = judged.iter().filter_map(|(_, judged)| of(judged)).collect();
    let mut placed = node.place_all(&wanted).map(Vec::into_iter);
    let mut next = || match &mut placed {
        Ok(placed) => Ok(placed.next().unwrap_or_default()),
        Err(refusal) => Err(refusal.clone()),
    };
    let mut new = |name: &str, JudgedTopic { settings, replicas }| {
        let replicas = match replicas {
            Replicas::Assigned(replicas) => replicas,
            Replicas::Wanted(_) => next()?,
        };
        Ok(NewTopic { name: name.into(), replicas, settings })
    };
    judged.into_iter().map(|(name, judged)| (name, judged.and_then(|judged| new(name, judged)))).collect()
}

fn failed(name: &str, refusal: &Refusal) -> (CreatableTopicResult, Overrides) {
    let result = CreatableTopicResult {
        name: name.into(),
        error_code: refusal.code.code(),
        error_message: refusal.message(),
        ..CreatableTopicResult::default()
    };
    (result, Overrides::new())
}

impl Node {
    /// How many partitions a topic is to have; none if that cannot be.
    fn partitions_of(&self, topic: &CreatableTopic) -> i64 {
        match topic.num_partitions {
            _ if !topic.assignments.is_empty() => i64::try_from(topic.assignments.len()).unwrap_or(i64::MAX),
            -1 => i64::from(self.config.partitions),
            partitions => i64::from(partitions.max(0)),
        }
    }

    /// Whether a topic may be made.
    ///
    /// # Errors
    /// Why not.
    fn judge_new(&self, topic: &CreatableTopic) -> Result<JudgedTopic, Refusal> {
        if topic.name == METADATA_TOPIC {
            let message = "a topic of this name cannot be made";
            return Err(Refusal::new(ErrorCode::InvalidRequest, message));
        }
        self.catalog
            .check_name(&topic.name)
            .map_err(|error| Refusal::new(error, name_trouble(error, &topic.name)))?;
        let settings = change::topic::create(&topic.configs, self.configs.broker())?;
        let replicas = if topic.assignments.is_empty() {
            Replicas::Wanted(Wanted::of(self.partitions_of(topic), self.check_counts(topic)?))
        } else {
            Replicas::Assigned(self.check_assignments(topic)?)
        };
        Ok(JudgedTopic { settings, replicas })
    }

    /// Gives how many replicas a partition gets.
    fn check_counts(&self, topic: &CreatableTopic) -> Result<i16, Refusal> {
        if !matches!(topic.replication_factor, -1 | 1..) {
            let message = "the replication factor is at least 1, or -1 for the broker's own";
            return Err(Refusal::new(ErrorCode::InvalidReplicationFactor, message));
        }
        if !matches!(topic.num_partitions, -1 | 1..) {
            let message = "a topic has at least 1 partition, or -1 stands for the broker's own number";
            return Err(Refusal::new(ErrorCode::InvalidPartitions, message));
        }
        let factor = match topic.replication_factor {
            -1 => self.config.replication_factor,
            factor => factor,
        };
        self.check_factor(factor).map(|()| factor)
    }

    /// Gives the replicas of each partition.
    fn check_assignments(&self, topic: &CreatableTopic) -> Result<Vec<Vec<i32>>, Refusal> {
        if topic.replication_factor != -1 || topic.num_partitions != -1 {
            let message = "replicas are assigned, so the numbers of partitions and replicas have to be -1";
            return Err(Refusal::new(ErrorCode::InvalidRequest, message));
        }
        let mut assigned = BTreeMap::new();
        for CreatableReplicaAssignment { partition_index, broker_ids } in &topic.assignments {
            if assigned.insert(*partition_index, broker_ids.clone()).is_some() {
                let message = format!("replicas are assigned to partition {partition_index} more than once");
                return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
            }
            replicas::check(broker_ids, &[], &self.brokers)?;
        }
        if assigned.keys().copied().ne((0..).take(assigned.len())) {
            let message = "partitions have the numbers from 0 on, without a gap";
            return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
        }
        let replicas: Vec<Vec<i32>> = assigned.into_values().collect();
        let factor = replicas.first().map_or(0, Vec::len);
        if replicas.iter().any(|of| of.len() != factor) {
            let message = "all partitions of a new topic have as many replicas";
            return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
        }
        Ok(replicas)
    }
}

fn name_trouble(error: ErrorCode, name: &str) -> String {
    match error {
        ErrorCode::TopicAlreadyExists => format!("topic '{name}' already exists"),
        _ => "the name is not one of a topic, or differs from another's only by `.` for `_`".into(),
    }
}

/// An answer. Configurations are written into it when it is written itself, for they are much longer than a request.
#[derive(Debug)]
struct CreateAnswer {
    throttle_time_ms: i32,
    /// The results, each with what the topic sets.
    topics: Vec<(CreatableTopicResult, Overrides)>,
    layers: Arc<Layers>,
}

impl CouncilAnswer for CreateAnswer {
    fn ended(&mut self, part: usize, ended: Ended) {
        let Some(topic) = self.topics.get_mut(part) else { return };
        match ended {
            Ended::Done(data) => {
                let node = data.and_then(|data| TopicNode::read(&data).ok());
                topic.0.topic_id = node.map_or([0; 16], |node| node.id);
            }
            Ended::Refused(code, message) => *topic = failed(&topic.0.name, &Refusal { code, message }),
        }
    }

    fn time_out(&mut self) {
        let is_open = |result: &CreatableTopicResult| result.error_code == 0 && result.topic_id == [0; 16];
        for topic in self.topics.iter_mut().filter(|(result, _)| is_open(result)) {
            *topic = failed(&topic.0.name, &Refusal::bare(ErrorCode::RequestTimedOut));
        }
    }

    fn extended(&self) -> Vec<String> {
        let made = self.topics.iter().filter(|(result, _)| result.error_code == 0);
        made.map(|(result, _)| result.name.clone()).collect()
    }

    fn response(&self, form: Form) -> Response {
        let write = |entry: Entry, writer: &mut Writer<'_>| entry.created().write(writer, form.version);
        let shown = ShownTopics::new(&self.layers, form, &write).showing_what_is_written();
        let mut out = Vec::new();
        Writer::new(&mut out, form.flexible).i32(self.throttle_time_ms).count(self.topics.len());
        for (result, settings) in &self.topics {
            let mut writer = Writer::new(&mut out, form.flexible);
            writer.text(&result.name);
            if form.version >= IDS {
                writer.uuid(&result.topic_id);
            }
            writer.i16(result.error_code).nullable_text(result.error_message.as_deref());
            if form.version >= CONFIGS {
                writer.i32(result.num_partitions).i16(result.replication_factor);
                match result.error_code {
                    // The client may not see them.
                    0 if result.topic_config_error_code != 0 => drop(writer.null_array()),
                    0 => shown.write(settings, &mut out),
                    _ => drop(writer.count(0)),
                }
            }
            let config_error = result.topic_config_error_code.to_be_bytes();
            let tagged: &[(u32, &[u8])] = &[(CONFIG_ERROR_TAG, &config_error)];
            let tagged = if result.topic_config_error_code == 0 { &[] } else { tagged };
            Writer::new(&mut out, form.flexible).tagged_fields(tagged);
        }
        Writer::new(&mut out, form.flexible).no_tagged_fields();
        Response::Body(out)
    }
}
