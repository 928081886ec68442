//! Changes of configurations: IncrementalAlterConfigs, AlterConfigs, and the configurations of a topic that is created. What is
//! set now and what a request says go in; what is to be set, or why not, comes out. Nothing is stored here.
//!
//! A request is judged in two steps, in Kafka's order. First [`incremental`] or [`replacing`] judge its resources: the request's
//! form, and the names. Then the function for the kind of the resource judges what would be set. All changes of a resource are
//! made or none. That a topic exists is judged by the caller, last ([`Refusal::unknown_topic`]).
//!
//! Source: what a Kafka 4.3.1 answered to each mistake; `tests/golden/changes.txt` holds it.

pub mod broker;
pub mod client_metrics;
pub mod group;
pub mod loggers;
mod operations;
pub mod topic;

use std::collections::BTreeSet;

use log_wire::messages::configs::{
    AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsResource, IncrementalAlterableConfig,
};

use crate::definition::Definition;
use crate::drain;
use crate::layers::Overrides;
use crate::reading::BadValue;
use crate::refusal::Refusal;
use crate::resource::Resource;
use crate::value::Value;

pub use operations::Operation;

/// How many bytes of names and values one resource may set: above it, `INVALID_CONFIG`. Kafka has no limit. What is set for a
/// topic is in one node of the council, which takes 1 MiB.
pub const OVERRIDES_BYTES_MAX: usize = 256 * 1024;

/// Judges the resources of an IncrementalAlterConfigs request: a verdict for each, in their order.
#[must_use]
pub fn incremental<'a>(
    resources: &'a [IncrementalAlterConfigsResource],
    node_id: i32,
) -> Vec<Result<Resource, Refusal>> {
    let named = resources.iter().map(|request| (request.resource_type, request.resource_name.as_str()));
    let twice = twice(named);
    let verdict = |request: &'a IncrementalAlterConfigsResource| {
        let (resource_type, name) = (request.resource_type, request.resource_name.as_str());
        check_once(&twice, resource_type, name)?;
        check_names(request.configs.iter().map(|change| change.name.as_str()))?;
        let without = |change: &&IncrementalAlterableConfig| {
            change.value.is_none() && change.config_operation != Operation::DELETE
        };
        check_nulls(request.configs.iter().filter(without).map(|change| change.name.as_str()))?;
        let names = request.configs.iter().map(|change| change.name.as_str());
        let resource = match drain::of_other_broker((resource_type, name), names, node_id) {
            Some(id) => Resource::OtherBroker(id),
            None => Resource::to_alter(resource_type, name, node_id)?,
        };
        Ok((resource, request.configs.as_slice()))
    };
    refuse_unknown_operations(resources.iter().map(verdict).collect())
}

/// A resource with the changes of it.
type Asked<'a> = (Resource, &'a [IncrementalAlterableConfig]);

/// An operation that there is not is refused for a broker. For any other resource it ends the whole request, but for what was
/// refused before.
fn refuse_unknown_operations(verdicts: Vec<Result<Asked<'_>, Refusal>>) -> Vec<Result<Resource, Refusal>> {
    const UNKNOWN: &str = "the request has an operation that there is not";
    let has_unknown = |changes: &[IncrementalAlterableConfig]| {
        changes.iter().any(|change| !Operation::is_known(change.config_operation))
    };
    let is_broker = |resource: &Resource| {
        matches!(resource, Resource::Broker | Resource::OtherBroker(_) | Resource::Cluster)
    };
    let refused_for_broker = verdicts.into_iter().map(|verdict| match verdict? {
        (resource, changes) if is_broker(&resource) && has_unknown(changes) => Err(Refusal::request(UNKNOWN)),
        other => Ok(other),
    });
    let verdicts: Vec<_> = refused_for_broker.collect();
    let ends = verdicts.iter().flatten().any(|(_, changes)| has_unknown(changes));
    let end = |verdict: Result<Asked<'_>, Refusal>| match verdict? {
        _ if ends => Err(Refusal::request(UNKNOWN)),
        (resource, _) => Ok(resource),
    };
    verdicts.into_iter().map(end).collect()
}

/// Judges the resources of an AlterConfigs request: a verdict for each, in their order. A resource that is named twice is
/// refused; Kafka 4.3.1 never answers such a request.
#[must_use]
pub fn replacing(resources: &[AlterConfigsResource], node_id: i32) -> Vec<Result<Resource, Refusal>> {
    let named = resources.iter().map(|request| (request.resource_type, request.resource_name.as_str()));
    let twice = twice(named);
    let verdict = |request: &AlterConfigsResource| {
        check_once(&twice, request.resource_type, &request.resource_name)?;
        check_names(request.configs.iter().map(|config| config.name.as_str()))?;
        let without = |config: &&AlterableConfig| config.value.is_none();
        check_nulls(request.configs.iter().filter(without).map(|config| config.name.as_str()))?;
        Resource::to_replace(request.resource_type, &request.resource_name, node_id)
    };
    resources.iter().map(verdict).collect()
}

/// The resources that a request names more than once.
fn twice<'a>(named: impl Iterator<Item = (i8, &'a str)>) -> BTreeSet<(i8, &'a str)> {
    let mut known = BTreeSet::new();
    named.filter(|resource| !known.insert(*resource)).collect()
}

fn check_once(twice: &BTreeSet<(i8, &str)>, resource_type: i8, name: &str) -> Result<(), Refusal> {
    if twice.contains(&(resource_type, name)) {
        return Err(Refusal::request("a resource may be named once"));
    }
    Ok(())
}

fn check_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
    let mut known = BTreeSet::new();
    for name in names {
        if !known.insert(name) {
            return Err(Refusal::request(format!("`{name}` may be named once")));
        }
    }
    Ok(())
}

fn check_nulls<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(Refusal::request(format!("the value is missing: {}", names.join(", "))))
}

/// The values of an AlterConfigs request, which replace all that are set.
fn replacement(configs: &[AlterableConfig]) -> Overrides {
    let value = |config: &AlterableConfig| Some((config.name.clone(), config.value.clone()?));
    configs.iter().filter_map(value).collect()
}

/// How many characters of a wrong value are repeated in the answer.
const SHOWN_MAX: usize = 100;

/// A value that a request sets, in a sentence. Secrets are not repeated.
fn bad_value(definition: &Definition, name: &str, raw: &str, bad: &BadValue) -> String {
    if definition.is_sensitive() {
        return format!("the value of `{name}` {}", bad.what);
    }
    let shown: String = raw.chars().take(SHOWN_MAX).collect();
    format!("`{shown}` as the value of `{name}` {}", bad.what)
}

/// Reads every value that is to be set. Names that are not known are refused by `unknown`.
fn check_values(
    set: &Overrides,
    find: impl Fn(&str) -> Option<&'static Definition>,
    refusal: impl Fn(String) -> Refusal,
) -> Result<(), Refusal> {
    for (name, raw) in set {
        let Some(definition) = find(name) else { continue };
        // What asks for something that is not there is `INVALID_CONFIG` for every resource.
        Value::read(definition, raw).map_err(|bad| {
            let message = bad_value(definition, name, raw, &bad);
            if bad.is_not_given { Refusal::config(message) } else { refusal(message) }
        })?;
    }
    Ok(())
}

fn check_size(set: &Overrides) -> Result<(), Refusal> {
    let bytes: usize = set.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes <= OVERRIDES_BYTES_MAX {
        return Ok(());
    }
    Err(Refusal::config(format!(
        "all names and values would be {bytes} bytes, and may be {OVERRIDES_BYTES_MAX}"
    )))
}
