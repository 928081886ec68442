//! CreateTopics: judged here, in Kafka's order; done by the council.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::Now;
use log_config::{Entry, Overrides, change};
use log_metadata::{Ended, TopicNode, paths};
use log_wire::messages::Field as _;
use log_wire::messages::topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicResult, CreateTopicsRequest,
};
use log_wire::{ErrorCode, Writer};

use super::refusal::{PARTITIONS_PER_REQUEST_MAX, Refusal};
use super::replicas;
use crate::catalog::{NewTopic, change as node_change};
use crate::config_layers::Layers;
use crate::configs::ShownTopics;
use crate::council_calls::{CouncilAnswer, CouncilCall, CouncilCalls, Part};
use crate::node::Node;
use crate::response::{Form, Response};
use crate::waits::Waiter;

/// The topic of Kafka's metadata, which no broker serves.
const METADATA_TOPIC: &str = "__cluster_metadata";
/// The first versions whose answers have configurations, and ids.
const CONFIGS: i16 = 5;
const IDS: i16 = 7;

/// Handles a request. The answer comes later if there is none now.
pub(super) fn create_topics(
    node: &mut Node,
    calls: &mut CouncilCalls,
    request: &CreateTopicsRequest,
    (form, waiter): (Form, Waiter),
    now: Now,
) -> Option<Response> {
    let mut answer = CreateAnswer { topics: Vec::new(), layers: Arc::clone(node.configs.layers()) };
    if request.timeout_ms <= 0 {
        // So it is by Kafka: there is no time to do anything.
        let refusal = Refusal::bare(ErrorCode::RequestTimedOut);
        answer.topics = request.topics.iter().map(|topic| failed(&topic.name, &refusal)).collect();
        return Some(answer.response(form));
    }
    let mut parts = Vec::new();
    for (name, judged) in judge_all(node, &request.topics) {
        let new = match judged {
            Ok(new) => new,
            Err(refusal) => {
                answer.topics.push(failed(name, &refusal));
                continue;
            }
        };
        let id = node.draw_id();
        let compute = node_change::create(&new, id, node.config.node_id);
        let mut result = CreatableTopicResult {
            name: new.name.to_string(),
            num_partitions: new.partitions,
            replication_factor: 1,
            ..CreatableTopicResult::default()
        };
        if request.validate_only {
            result.topic_id = id;
        } else {
            parts.push(Part { number: answer.topics.len(), path: paths::topic(&new.name), compute });
        }
        answer.topics.push((result, new.settings));
    }
    let (answer, timeout_ms) = (Box::new(answer), request.timeout_ms);
    calls.begin(node, CouncilCall { waiter, form, answer, parts, timeout_ms }, now)
}

/// Whether each of these topics may be made; each name is judged once.
fn judge_all<'r>(node: &Node, topics: &'r [CreatableTopic]) -> Vec<(&'r str, Result<NewTopic, Refusal>)> {
    let mut times = BTreeMap::<&str, usize>::new();
    topics.iter().for_each(|topic| *times.entry(&topic.name).or_default() += 1);
    let is_once = |topic: &&CreatableTopic| times.get(topic.name.as_str()) == Some(&1);
    let wanted: i64 = topics.iter().filter(is_once).map(|topic| node.partitions_of(topic)).sum();
    let judge = |topic: &CreatableTopic| match () {
        () if !is_once(&topic) => Err(Refusal::named_twice()),
        () if wanted > PARTITIONS_PER_REQUEST_MAX => Err(Refusal::too_many_partitions()),
        () => node.judge_new(topic),
    };
    let mut named = BTreeSet::new();
    let topics = topics.iter().filter(|topic| named.insert(topic.name.as_str()));
    topics.map(|topic| (topic.name.as_str(), judge(topic))).collect()
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
    fn judge_new(&self, topic: &CreatableTopic) -> Result<NewTopic, Refusal> {
        if topic.name == METADATA_TOPIC {
            let message = "a topic of this name cannot be made";
            return Err(Refusal::new(ErrorCode::InvalidRequest, message));
        }
        self.catalog
            .check_name(&topic.name)
            .map_err(|error| Refusal::new(error, name_trouble(error, &topic.name)))?;
        let settings = change::topic::create(&topic.configs, self.configs.broker())?;
        if topic.assignments.is_empty() {
            self.check_counts(topic)?;
        } else {
            self.check_assignments(topic)?;
        }
        let partitions = i32::try_from(self.partitions_of(topic)).unwrap_or(i32::MAX);
        Ok(NewTopic { name: topic.name.as_str().into(), partitions, settings })
    }

    fn check_counts(&self, topic: &CreatableTopic) -> Result<(), Refusal> {
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
        if factor > 1 {
            let message = format!("there is one broker, which cannot have {factor} replicas of a partition");
            return Err(Refusal::new(ErrorCode::InvalidReplicationFactor, message));
        }
        Ok(())
    }

    fn check_assignments(&self, topic: &CreatableTopic) -> Result<(), Refusal> {
        if topic.replication_factor != -1 || topic.num_partitions != -1 {
            let message = "replicas are assigned, so the numbers of partitions and replicas have to be -1";
            return Err(Refusal::new(ErrorCode::InvalidRequest, message));
        }
        let mut indexes = BTreeSet::new();
        for CreatableReplicaAssignment { partition_index, broker_ids } in &topic.assignments {
            if !indexes.insert(*partition_index) {
                let message = format!("replicas are assigned to partition {partition_index} more than once");
                return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
            }
            replicas::check(broker_ids, self.config.node_id)?;
        }
        if indexes.iter().copied().ne((0..).take(indexes.len())) {
            let message = "partitions have the numbers from 0 on, without a gap";
            return Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, message));
        }
        Ok(())
    }
}

fn name_trouble(error: ErrorCode, name: &str) -> String {
    match error {
        ErrorCode::TopicAlreadyExists => format!("there is a topic `{name}`"),
        _ => "the name is not one of a topic, or differs from another's only by `.` for `_`".into(),
    }
}

/// An answer. Configurations are written into it when it is written itself, for they are much longer than a request.
#[derive(Debug)]
struct CreateAnswer {
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

    fn response(&self, form: Form) -> Response {
        let write = |entry: Entry, writer: &mut Writer<'_>| entry.created().write(writer, form.version);
        let shown = ShownTopics::new(&self.layers, form, &write).as_written();
        let mut out = Vec::new();
        Writer::new(&mut out, form.flexible).i32(0).count(self.topics.len());
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
                    0 => shown.write(settings, &mut out),
                    _ => drop(writer.count(0)),
                }
            }
            Writer::new(&mut out, form.flexible).no_tagged_fields();
        }
        Writer::new(&mut out, form.flexible).no_tagged_fields();
        Response::Body(out)
    }
}
