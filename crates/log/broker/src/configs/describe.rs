//! DescribeConfigs. The answer is written resource by resource, for it may be much longer than the request.

use log_config::{BrokerLayers, Detail, Entry, LISTED, Overrides, Refusal, Resource, describe, drain};
use log_wire::messages::Field as _;
use log_wire::messages::configs::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult,
};
use log_wire::{ErrorCode, TopicName, Writer};

use super::{ShownTopics, may};
use crate::node::Node;
use crate::response::{Form, Response};
use crate::rights::{By, CLUSTER_DESCRIBE_CONFIGS, GROUP_DESCRIBE_CONFIGS, Need, TOPIC_DESCRIBE_CONFIGS};

/// How long an answer becomes, in bytes: resources behind that are refused.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// The longest text in versions that are not flexible.
const TEXT_BYTES_MAX: usize = i16::MAX as usize;

/// What the controller shows of balance.
const REPORT: &str = "diwan.balance.report";
const LOADS: &str = "diwan.balance.loads";

/// What a client needs for a topic, for a group, for all others.
const NEEDS: [Need; 3] = [TOPIC_DESCRIBE_CONFIGS, GROUP_DESCRIBE_CONFIGS, CLUSTER_DESCRIBE_CONFIGS];

/// Handles a request.
pub(super) fn describe_configs(
    node: &Node,
    by: By<'_>,
    request: &DescribeConfigsRequest,
    form: Form,
) -> Response {
    describe_at_most(ANSWER_BYTES_MAX, (node, by), request, form)
}

fn describe_at_most(
    bytes_max: usize,
    (node, by): (&Node, By<'_>),
    request: &DescribeConfigsRequest,
    form: Form,
) -> Response {
    // So it is by Kafka: one type that there is not makes the whole request wrong.
    let unknown = request.resources.iter().find(|of| !LISTED.contains(&of.resource_type));
    let unknown = unknown.map(|of| unknown_type(of.resource_type));
    let detail = Detail { synonyms: request.include_synonyms, documentation: request.include_documentation };
    let write = |entry: Entry, writer: &mut Writer<'_>| {
        written(entry.described(detail), form).write(writer, form.version);
    };
    let topics = ShownTopics::new(node.configs.layers(), form, &write);
    let mut out = Vec::new();
    Writer::new(&mut out, form.flexible).i32(0).count(request.resources.len());
    for resource in &request.resources {
        let found = match &unknown {
            Some(refusal) => Err(refusal.clone()),
            None if out.len() > bytes_max => Err(too_long(bytes_max)),
            None => may(node, by, NEEDS, (resource.resource_type, &resource.resource_name))
                .and_then(|()| node.described(resource)),
        };
        let (code, message) = match &found {
            Ok(_) => (ErrorCode::None, ""),
            Err(refusal) => (refusal.code, refusal.message.as_str()),
        };
        let mut writer = Writer::new(&mut out, form.flexible);
        writer.i16(code.code()).text(message).i8(resource.resource_type).text(&resource.resource_name);
        match found {
            Ok(Described::Topic(settings)) => topics.write(settings, &mut out),
            Ok(Described::Entries(entries)) => {
                writer.count(entries.len());
                entries.into_iter().for_each(|entry| write(entry, &mut writer));
            }
            Err(_) => drop(writer.count(0)),
        }
        Writer::new(&mut out, form.flexible).no_tagged_fields();
    }
    Writer::new(&mut out, form.flexible).no_tagged_fields();
    Response::Body(out)
}

fn names_balance(asked: &[String]) -> bool {
    asked.iter().any(|name| name == REPORT || name == LOADS)
}

/// What a resource is described by.
enum Described<'n> {
    /// All configurations of a topic that sets this.
    Topic(&'n Overrides),
    /// These.
    Entries(Vec<Entry>),
}

fn unknown_type(resource_type: i8) -> Refusal {
    let message = format!("there is no resource of type {resource_type}");
    Refusal { code: ErrorCode::InvalidRequest, message }
}

fn too_long(bytes_max: usize) -> Refusal {
    let message = format!("the answer would be longer than {bytes_max} bytes: ask for fewer at once");
    Refusal { code: ErrorCode::InvalidRequest, message }
}

/// A value that a version cannot carry is left out.
fn written(mut entry: DescribeConfigsResourceResult, form: Form) -> DescribeConfigsResourceResult {
    let fits = |value: &String| form.flexible || value.len() <= TEXT_BYTES_MAX;
    entry.value = entry.value.filter(fits);
    for synonym in &mut entry.synonyms {
        synonym.value = synonym.value.take().filter(fits);
    }
    entry
}

impl Node {
    /// The configurations of a resource.
    fn described(&self, resource: &DescribeConfigsResource) -> Result<Described<'_>, Refusal> {
        let DescribeConfigsResource { resource_type, resource_name, configuration_keys } = resource;
        let (configs, asked) = (&self.configs, configuration_keys.as_deref());
        let keys = asked.unwrap_or_default().iter().map(String::as_str);
        let named = (*resource_type, resource_name.as_str());
        if let Some(other) = drain::of_other_broker(named, keys, configs.node_id()) {
            let drains = configs.drained().contains(&other).to_string();
            let set = Overrides::from([(drain::DRAIN.into(), drains)]);
            let layers = BrokerLayers { broker: &set, ..configs.broker() };
            return Ok(Described::Entries(describe::broker(&layers, asked)));
        }
        Ok(Described::Entries(
            match Resource::to_describe(*resource_type, resource_name, configs.node_id())? {
                Resource::Topic(name) if asked.is_none_or(<[String]>::is_empty) => {
                    return Ok(Described::Topic(self.settings_of(&name)?));
                }
                Resource::Topic(name) => describe::topic(&configs.topic(self.settings_of(&name)?), asked),
                Resource::Broker if asked.is_some_and(names_balance) => self.with_balance(asked),
                Resource::Broker | Resource::OtherBroker(_) => describe::broker(&configs.broker(), asked),
                Resource::Cluster => describe::cluster(&configs.broker(), asked),
                Resource::Loggers => describe::loggers(configs.levels(), asked),
                Resource::ClientMetrics(name) => describe::client_metrics(configs.subscription(&name), asked),
                Resource::Group(name) => describe::group(&configs.group(&name), asked),
            },
        ))
    }

    /// The same with what only the controller knows, as if it was set.
    fn with_balance(&self, asked: Option<&[String]>) -> Vec<Entry> {
        let mut set = self.configs.broker().broker.clone();
        [REPORT, LOADS].into_iter().for_each(|name| drop(set.remove(name)));
        if self.brokers.controller() == self.config.node_id && !self.balance_report.mode.is_empty() {
            set.insert(REPORT.into(), self.balance_report.to_text());
            set.insert(LOADS.into(), self.loads.shown(&self.catalog).to_text());
        }
        describe::broker(&BrokerLayers { broker: &set, ..self.configs.broker() }, asked)
    }

    fn settings_of(&self, topic: &str) -> Result<&Overrides, Refusal> {
        let found = self.catalog.find(TopicName::Name(topic));
        found.map(|topic| &topic.settings).map_err(|code| Refusal { code, message: String::new() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use log_wire::messages::configs::DescribeConfigsResponse;
    use log_wire::{ApiKey, Reader};

    use super::*;
    use crate::client::{Client, Peer};
    use crate::config::BrokerConfig;

    #[test]
    fn answer_that_becomes_too_long_says_so_of_what_is_left() {
        let node = Node::new(BrokerConfig::default(), "cluster".into(), Vec::new());
        let broker = DescribeConfigsResource {
            resource_type: log_config::kind::BROKER,
            resource_name: "1".into(),
            configuration_keys: None,
        };
        let request = DescribeConfigsRequest { resources: vec![broker; 5], ..Default::default() };
        let peer = Peer { ip: [127, 0, 0, 1].into(), listener: 0, certified: None };
        let client = Arc::new(Client::of(&peer));
        let by = By { client: &client, api: ApiKey::DescribeConfigs };
        let form = Form { version: 4, flexible: true };
        let Response::Body(body) = describe_at_most(20_000, (&node, by), &request, form) else {
            panic!("a body")
        };
        let answer = DescribeConfigsResponse::read(&mut Reader::new(&body, true), 4).expect("well formed");
        let codes: Vec<i16> = answer.results.iter().map(|result| result.error_code).collect();
        let shown = codes.iter().take_while(|code| **code == 0).count();
        assert!((1..5).contains(&shown), "{codes:?}");
        let refused = ErrorCode::InvalidRequest.code();
        assert!(codes.iter().skip(shown).all(|code| *code == refused), "{codes:?}");
        assert!(body.len() < 60_000, "{}", body.len());
    }
}
