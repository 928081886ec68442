//! AlterConfigs and IncrementalAlterConfigs: judged with what this broker knows, made by the council from what it holds.

use std::sync::Arc;

use base::Now;
use log_config::{Overrides, Refusal, Resource, change, drain};
use log_metadata::{Compute, ConfigNode, Decision, Ended, Found, configs_bytes, paths, read_configs};
use log_wire::messages::configs::{
    AlterConfigsResourceResponse, AlterConfigsResponse, IncrementalAlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
};
use log_wire::{ErrorCode, TopicName};

use super::{Asked, Request, may};
use crate::catalog::change as topic_change;
use crate::config_layers::Layers;
use crate::configs::alteration::Alteration;
use crate::council_calls::{CouncilAnswer, CouncilCall, CouncilCalls, Part};
use crate::node::Node;
use crate::notice::Notice;
use crate::response::{Form, Response};
use crate::rights::{By, CLUSTER_ALTER_CONFIGS, GROUP_ALTER_CONFIGS, Need, TOPIC_ALTER_CONFIGS};
use crate::waits::Waiter;

/// How long a change may take, in milliseconds: `request.timeout.ms` of Kafka's brokers. The requests do not say.
const TIMEOUT_MS: i32 = 30_000;
/// Groups, and subscriptions to client metrics, that set something: above it, another one is refused.
const NAMED_MAX: usize = 100_000;
/// Bytes of the path of such a node. The council takes 8,192.
const PATH_BYTES_MAX: usize = 4_096;

/// What a client needs for a topic, for a group, for all others.
const NEEDS: [Need; 3] = [TOPIC_ALTER_CONFIGS, GROUP_ALTER_CONFIGS, CLUSTER_ALTER_CONFIGS];

/// Handles a request. The answer comes later if there is none now.
pub(super) fn alter_configs(
    node: &mut Node,
    calls: &mut CouncilCalls,
    (by, request): (By<'_>, Request),
    (form, waiter): (Form, Waiter),
    now: Now,
) -> Option<Response> {
    let (is_incremental, validate_only) = (request.is_incremental, request.validate_only);
    let mut answer = AlterAnswer { is_incremental, results: Vec::new(), open: Vec::new() };
    let mut parts = Vec::new();
    for (number, Asked { resource_type, name, verdict }) in request.resources.into_iter().enumerate() {
        let judged = verdict.and_then(|(resource, alteration)| {
            may(node, by, NEEDS, (resource_type, &name))?;
            node.judge(resource, alteration)
        });
        let mut result = AlterResult { resource_type, name, ..AlterResult::default() };
        match judged {
            Ok(_) if validate_only => {}
            Ok(Judged::Council(path, compute)) => {
                answer.open.push(number);
                parts.push(Part { number, path, compute });
            }
            Ok(Judged::Levels(levels)) => {
                let root = node.configs.set_levels(levels);
                node.notices.extend(root.map(Notice::LogLevel));
            }
            Err(Refusal { code, message }) => (result.code, result.message) = (code, Some(message)),
        }
        answer.results.push(result);
    }
    let (answer, timeout_ms) = (Box::new(answer), TIMEOUT_MS);
    calls.begin(node, CouncilCall { waiter, form, answer, parts, timeout_ms }, now)
}

/// What is to be done for a resource whose change is right.
enum Judged {
    /// A node of the council is to be changed.
    Council(String, Compute),
    /// This broker's loggers have these levels.
    Levels(std::collections::BTreeMap<String, String>),
}

impl Node {
    fn judge(&self, resource: Resource, alteration: Alteration) -> Result<Judged, Refusal> {
        let layers = Arc::clone(self.configs.layers());
        let node = match &resource {
            Resource::Topic(name) => return self.judge_topic(name, &resource, alteration, layers),
            Resource::Loggers => return self.judge_levels(&alteration),
            Resource::Broker => ConfigNode::Broker(self.configs.node_id()),
            Resource::OtherBroker(id) => ConfigNode::Broker(*id),
            Resource::Cluster => ConfigNode::AllBrokers,
            Resource::ClientMetrics(name) => ConfigNode::ClientMetrics(name.clone()),
            Resource::Group(name) => ConfigNode::Group(name.clone()),
        };
        let set = alteration.of(&resource, self.configs.set_in(&node), &layers)?;
        if let ConfigNode::Broker(id) = &node
            && drain::drains(&set)
            && !self.configs.drained().contains(id)
        {
            self.check_drain(*id)?;
        }
        let path = node.path();
        self.check_named(&node, &path, &set)?;
        let set = move |current: &Overrides| alteration.of(&resource, current, &layers);
        Ok(Judged::Council(path, configure(set)))
    }

    /// Kafka says that a topic is missing only of changes that would be right.
    fn judge_topic(
        &self,
        name: &str,
        resource: &Resource,
        alteration: Alteration,
        layers: Arc<Layers>,
    ) -> Result<Judged, Refusal> {
        let found = self.catalog.find(TopicName::Name(name)).ok();
        let nothing = Overrides::new();
        let current = found.map_or(&nothing, |topic| &topic.settings);
        alteration.of(resource, current, &layers)?;
        let id = found.ok_or_else(|| Refusal::unknown_topic(name))?.id;
        let resource = resource.clone();
        let set = move |current: &Overrides| alteration.of(&resource, current, &layers);
        Ok(Judged::Council(paths::topic(name), topic_change::configure(id, set)))
    }

    fn judge_levels(&self, alteration: &Alteration) -> Result<Judged, Refusal> {
        match alteration {
            Alteration::Changes(changes) => {
                change::loggers::alter(self.configs.levels(), changes).map(Judged::Levels)
            }
            // It is refused before: AlterConfigs knows no loggers.
            Alteration::All(_) => Ok(Judged::Levels(self.configs.levels().clone())),
        }
    }

    /// What a client can make ever more of is bounded.
    fn check_named(&self, node: &ConfigNode, path: &str, set: &Overrides) -> Result<(), Refusal> {
        let (count, what) = match node {
            ConfigNode::Group(_) => (self.configs.groups().len(), "groups"),
            ConfigNode::ClientMetrics(_) => (self.configs.subscriptions().len(), "subscriptions"),
            ConfigNode::Broker(_) | ConfigNode::AllBrokers => return Ok(()),
        };
        if path.len() > PATH_BYTES_MAX {
            let message = String::from("the name is too long for the council");
            return Err(Refusal { code: ErrorCode::InvalidRequest, message });
        }
        let is_new = self.configs.set_in(node).is_empty() && !set.is_empty();
        if is_new && count >= NAMED_MAX {
            let message = format!("{NAMED_MAX} {what} have configurations: there may be no more");
            return Err(Refusal { code: ErrorCode::PolicyViolation, message });
        }
        Ok(())
    }
}

/// The node holds what `set` makes of what it holds. Where nothing is set, there is none.
fn configure(mut set: impl FnMut(&Overrides) -> Result<Overrides, Refusal> + Send + 'static) -> Compute {
    Box::new(move |found: Found<'_>| {
        let Ok(current) = read_configs(found.data.unwrap_or_default()) else {
            let message = String::from("what the council holds of it cannot be read");
            return Decision::Refuse(ErrorCode::UnknownServerError, message);
        };
        match set(&current) {
            Ok(set) if set == current => Decision::Keep,
            Ok(set) if set.is_empty() => Decision::Delete,
            Ok(set) => Decision::Write(configs_bytes(&set)),
            Err(Refusal { code, message }) => Decision::Refuse(code, message),
        }
    })
}

/// An answer, with the parts that have not ended.
#[derive(Debug)]
struct AlterAnswer {
    is_incremental: bool,
    results: Vec<AlterResult>,
    open: Vec<usize>,
}

#[derive(Debug, Default)]
struct AlterResult {
    resource_type: i8,
    name: String,
    code: ErrorCode,
    message: Option<String>,
}

impl CouncilAnswer for AlterAnswer {
    fn ended(&mut self, part: usize, ended: Ended) {
        self.open.retain(|open| *open != part);
        if let (Ended::Refused(code, message), Some(result)) = (ended, self.results.get_mut(part)) {
            (result.code, result.message) = (code, Some(message));
        }
    }

    fn time_out(&mut self) {
        for part in std::mem::take(&mut self.open) {
            if let Some(result) = self.results.get_mut(part) {
                result.code = ErrorCode::RequestTimedOut;
            }
        }
    }

    fn response(&self, form: Form) -> Response {
        let results = self.results.iter();
        if self.is_incremental {
            let responses = results.map(|result| IncrementalAlterConfigsResourceResponse {
                error_code: result.code.code(),
                error_message: result.message.clone(),
                resource_type: result.resource_type,
                resource_name: result.name.clone(),
            });
            let responses = responses.collect();
            return form.response(&IncrementalAlterConfigsResponse { throttle_time_ms: 0, responses });
        }
        let responses = results.map(|result| AlterConfigsResourceResponse {
            error_code: result.code.code(),
            error_message: result.message.clone(),
            resource_type: result.resource_type,
            resource_name: result.name.clone(),
        });
        form.response(&AlterConfigsResponse { throttle_time_ms: 0, responses: responses.collect() })
    }
}
