//! Requests that were sent to a Kafka 4.3.1, sent to this crate in the same order: the same error codes, and the same values,
//! sources and synonyms shown.

use std::collections::BTreeMap;

use log_config::change::{self, broker::Target};
use log_config::{
    BrokerLayers, Entry, GroupLayers, Overrides, Refusal, Resource, Synonym, TopicLayers, describe,
};
use log_wire::ErrorCode;
use log_wire::messages::configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsResource, IncrementalAlterableConfig,
};
use log_wire::messages::topics::CreatableTopicConfig;

use crate::{golden, quoted, type_name};

const NODE_ID: i32 = 1;

/// A broker with what is set for it.
#[derive(Default)]
struct World {
    file: Overrides,
    broker: Overrides,
    cluster: Overrides,
    topics: BTreeMap<String, Overrides>,
    groups: BTreeMap<String, Overrides>,
    subscriptions: BTreeMap<String, Overrides>,
    loggers: Overrides,
}

impl World {
    fn start(lines: &[String]) -> Self {
        let always = [("node.id", "1"), ("broker.id", "1"), ("process.roles", "broker,controller")];
        let mut file: Overrides =
            always.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        for line in lines {
            let (key, value) = line.split_once('=').expect("it is KEY=VALUE");
            file.insert(key.into(), value.trim_start().into());
        }
        let loggers = ["root", "org.apache.kafka.server.logger.LoggingController"];
        Self {
            file,
            topics: [("t1".into(), Overrides::new())].into(),
            loggers: loggers.iter().map(|name| ((*name).into(), "WARN".into())).collect(),
            ..Self::default()
        }
    }

    fn layers(&self) -> BrokerLayers<'_> {
        BrokerLayers { broker: &self.broker, cluster: &self.cluster, file: &self.file }
    }

    fn incremental(
        &self,
        resource_type: i8,
        name: &str,
        changes: Vec<IncrementalAlterableConfig>,
    ) -> Result<(Resource, Overrides), Refusal> {
        let named = IncrementalAlterConfigsResource {
            resource_type,
            resource_name: name.into(),
            configs: changes.clone(),
        };
        let verdict = change::incremental(&[named], NODE_ID).pop().expect("there is one for each");
        let (resource, nothing) = (verdict?, Overrides::new());
        let set = match &resource {
            Resource::Topic(name) => {
                let current = self.topics.get(name);
                let set = change::topic::alter(current.unwrap_or(&nothing), &changes, self.layers())?;
                current.ok_or_else(|| Refusal::unknown_topic(name))?;
                set
            }
            Resource::Broker | Resource::OtherBroker(_) => {
                change::broker::alter(Target::Broker, self.layers(), &changes)?
            }
            Resource::Cluster => change::broker::alter(Target::Cluster, self.layers(), &changes)?,
            Resource::Loggers => change::loggers::alter(&self.loggers, &changes)?,
            Resource::ClientMetrics(name) => {
                change::client_metrics::alter(self.subscriptions.get(name).unwrap_or(&nothing), &changes)?
            }
            Resource::Group(name) => {
                change::group::alter(self.groups.get(name).unwrap_or(&nothing), &changes, self.layers())?
            }
        };
        Ok((resource, set))
    }

    fn replace(
        &self,
        resource_type: i8,
        name: &str,
        configs: Vec<AlterableConfig>,
    ) -> Result<(Resource, Overrides), Refusal> {
        let named =
            AlterConfigsResource { resource_type, resource_name: name.into(), configs: configs.clone() };
        let verdict = change::replacing(&[named], NODE_ID).pop().expect("there is one for each");
        let resource = verdict?;
        let set = match &resource {
            Resource::Topic(name) => {
                let set = change::topic::replace(&configs, self.layers())?;
                self.topics.get(name).ok_or_else(|| Refusal::unknown_topic(name))?;
                set
            }
            Resource::Broker | Resource::OtherBroker(_) => {
                change::broker::replace(Target::Broker, self.layers(), &configs)?
            }
            Resource::Cluster => change::broker::replace(Target::Cluster, self.layers(), &configs)?,
            Resource::Loggers => panic!("AlterConfigs has no loggers"),
            Resource::ClientMetrics(_) => change::client_metrics::replace(&configs)?,
            Resource::Group(_) => change::group::replace(&configs, self.layers())?,
        };
        Ok((resource, set))
    }

    fn take(&mut self, resource: Resource, set: Overrides) {
        match resource {
            Resource::Topic(name) => drop(self.topics.insert(name, set)),
            Resource::Broker | Resource::OtherBroker(_) => self.broker = set,
            Resource::Cluster => self.cluster = set,
            Resource::Loggers => self.loggers = set,
            Resource::ClientMetrics(name) => drop(self.subscriptions.insert(name, set)),
            Resource::Group(name) => drop(self.groups.insert(name, set)),
        }
    }

    fn describe(&self, resource_type: i8, name: &str, asked: &[String]) -> Result<Vec<Entry>, Refusal> {
        let (broker, nothing) = (self.layers(), Overrides::new());
        Ok(match Resource::to_describe(resource_type, name, NODE_ID)? {
            Resource::Topic(name) => {
                let topic = self.topics.get(&name).ok_or_else(|| Refusal::unknown_topic(&name))?;
                describe::topic(&TopicLayers { topic, broker }, Some(asked))
            }
            Resource::Broker | Resource::OtherBroker(_) => describe::broker(&broker, Some(asked)),
            Resource::Cluster => describe::cluster(&broker, Some(asked)),
            Resource::Loggers => describe::loggers(&self.loggers, Some(asked)),
            Resource::ClientMetrics(name) => {
                describe::client_metrics(self.subscriptions.get(&name).unwrap_or(&nothing), Some(asked))
            }
            Resource::Group(name) => {
                let group = self.groups.get(&name).unwrap_or(&nothing);
                describe::group(&GroupLayers { group, broker }, Some(asked))
            }
        })
    }

    fn create(&self, configs: &[CreatableTopicConfig]) -> Result<Overrides, Refusal> {
        change::topic::create(configs, self.layers())
    }
}

fn code<T>(result: &Result<T, Refusal>) -> i16 {
    result.as_ref().err().map_or(0, |refusal| refusal.code.code())
}

/// `NAME|VALUE`.
fn pair(text: &str) -> (String, Option<String>) {
    let (name, value) = text.split_once('|').expect("it is NAME|VALUE");
    (name.into(), quoted(value))
}

/// `NAME|OPERATION|VALUE`.
fn operation(text: &str) -> IncrementalAlterableConfig {
    let (name, rest) = text.split_once('|').expect("it is NAME|OPERATION|VALUE");
    let (operation, value) = rest.split_once('|').expect("it is NAME|OPERATION|VALUE");
    let config_operation = operation.parse().expect("it is a number");
    IncrementalAlterableConfig { name: name.into(), config_operation, value: quoted(value) }
}

/// An entry as the files write it.
fn line_of(entry: &Entry) -> String {
    let text = |value: &Option<String>| value.as_ref().map_or("null".into(), |value| format!("\"{value}\""));
    let synonym =
        |synonym: &Synonym| format!("{}|{}|{}", synonym.name, text(&synonym.value), synonym.source as i8);
    let mut words = vec![
        String::from("entry"),
        entry.name.clone(),
        text(&entry.value),
        (entry.source as i8).to_string(),
        if entry.is_read_only { "read-only".into() } else { "-".into() },
        if entry.is_sensitive { "secret".into() } else { "-".into() },
        type_name(entry.value_type).into(),
    ];
    words.extend(entry.synonyms.iter().map(synonym));
    words.join("\t")
}

fn number(text: &str) -> i16 {
    text.parse().expect("it is a number")
}

fn name(text: &str) -> String {
    quoted(text).expect("there is a name")
}

/// What one line of a file asks, answered by this crate: our error code and Kafka's. The entries that are shown are left in
/// `shown`.
fn answer(world: &mut World, line: &[String], shown: &mut Vec<String>) -> Option<(i16, i16)> {
    let (result, mode, expected) = match (line[0].as_str(), &line[1..]) {
        ("start", file) => {
            *world = World::start(file);
            return None;
        }
        ("incremental", [resource_type, resource, mode, expected, operations @ ..]) => {
            let changes = operations.iter().map(|text| operation(text)).collect();
            (world.incremental(number(resource_type) as i8, &name(resource), changes), mode, expected)
        }
        ("replace", [resource_type, resource, mode, expected, configs @ ..]) => {
            let config = |(name, value)| AlterableConfig { name, value };
            let configs = configs.iter().map(|text| config(pair(text))).collect();
            (world.replace(number(resource_type) as i8, &name(resource), configs), mode, expected)
        }
        ("create", [_, expected, configs @ ..]) => {
            let config = |(name, value)| CreatableTopicConfig { name, value };
            let configs: Vec<_> = configs.iter().map(|text| config(pair(text))).collect();
            return Some((code(&world.create(&configs)), number(expected)));
        }
        ("describe", [resource_type, resource, expected, asked @ ..]) => {
            let result = world.describe(number(resource_type) as i8, &name(resource), asked);
            let code = code(&result);
            *shown = lines_of(&result.unwrap_or_default(), asked.is_empty());
            return Some((code, number(expected)));
        }
        _ => panic!("{line:?}"),
    };
    let code = code(&result);
    if let (Ok((resource, set)), "change") = (result, mode.as_str()) {
        world.take(resource, set);
    }
    Some((code, number(expected)))
}

fn lines_of(entries: &[Entry], are_counted: bool) -> Vec<String> {
    if are_counted {
        vec![format!("count\t{}", entries.len())]
    } else {
        entries.iter().map(line_of).collect()
    }
}

fn is_of_same_name(own: &str, line: &[String]) -> bool {
    own.split('\t').nth(1) == line.get(1).map(String::as_str)
}

fn replay(file: &str, on_purpose: impl Fn(&[String]) -> bool) -> usize {
    let (mut world, mut shown, mut wrong, mut count) = (World::default(), Vec::new(), Vec::new(), 0);
    for line in golden(file) {
        if matches!(line[0].as_str(), "entry" | "count") {
            let expected = line.join("\t");
            let is_same =
                |own: &String| *own == expected || (on_purpose(&line) && is_of_same_name(own, &line));
            match shown.iter().position(is_same) {
                Some(place) => drop(shown.remove(place)),
                None => wrong.push(format!("Kafka shows {expected}\n  and we show {shown:?}")),
            }
            continue;
        }
        if !shown.is_empty() {
            wrong.push(format!("before {line:?} we showed besides: {shown:?}"));
        }
        shown.clear();
        count += 1;
        if let Some((own, expected)) = answer(&mut world, &line, &mut shown)
            && (own == expected) == on_purpose(&line)
        {
            wrong.push(format!("{line:?}: we say {own}"));
        }
    }
    assert!(wrong.is_empty(), "{file}: {} differ:\n{}", wrong.len(), wrong.join("\n"));
    count
}

#[test]
fn changes_have_kafkas_error_codes() {
    // Kafka did not foresee operations that are not known, and answers -1; here they are an invalid request.
    let is_unforeseen = |line: &[String]| {
        line.get(4).is_some_and(|code| code == "-1") && line.iter().any(|change| change.contains("|9|"))
    };
    assert!(replay("changes.tsv", is_unforeseen) > 500);
}

#[test]
fn values_come_from_where_kafka_takes_them() {
    // When `log.retention.ms` is changed while a Kafka runs, it shows `log.retention.hours` with its default value, and still with the
    // source of what the file says. Here it keeps the value of the file.
    let coarse = ["log.retention.hours", "log.roll.hours", "log.flush.scheduler.interval.ms"];
    let is_forgotten =
        |line: &[String]| line.len() > 3 && coarse.contains(&line[1].as_str()) && line[3] == "4";
    assert!(replay("resolution.tsv", is_forgotten) > 40);
}

#[test]
fn unknown_operation_ends_the_whole_request() {
    let resource = |name: &str, operations: &[&str]| IncrementalAlterConfigsResource {
        resource_type: 2,
        resource_name: name.into(),
        configs: operations.iter().map(|text| operation(text)).collect(),
    };
    let codes = |resources: &[IncrementalAlterConfigsResource]| {
        change::incremental(resources, NODE_ID).iter().map(code).collect::<Vec<_>>()
    };
    let (good, bad) = (resource("b", &["a|0|\"1\""]), resource("a", &["a|9|\"1\""]));
    // Kafka did not foresee it, and answers -1.
    assert_eq!(codes(&[bad.clone(), good.clone()]), [42, 42]);
    let twice = resource("c", &["a|9|\"1\"", "a|0|\"1\""]);
    assert_eq!(codes(std::slice::from_ref(&twice)), [42]);
    assert_eq!(codes(&[good.clone(), good.clone(), resource("d", &[])]), [42, 42, 0]);
    assert_eq!(ErrorCode::InvalidRequest.code(), 42);
}
