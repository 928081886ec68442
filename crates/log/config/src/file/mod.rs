//! `server.properties` as a whole: every key is checked, what cannot be given refuses the start, and what has no effect is named.

mod council;
mod listeners;
mod other_names;
mod problem;
mod security;
mod warnings;

use std::collections::BTreeMap;

use crate::definition::{Definition, Effect};
use crate::definitions::BrokerName;
use crate::layers::{BrokerLayers, Overrides, Values};
use crate::properties::{self, Property};
use crate::rules;
use crate::value::Value;

pub use council::Council;
pub use listeners::{Advertised, Listener, Protocol};
pub use problem::Problem;
pub use security::{Authorizer, ClientAuth, Given, ListenerSecurity, Sasl, Store, Tls};

use listeners::Listeners;
pub(crate) use other_names::LEADER_IMBALANCE_PERCENTAGE;
use other_names::OtherName;

/// What a broker is started with.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StaticConfig {
    /// Keys and values as they are written: the lowest of [`BrokerLayers`]. `node.id` and `broker.id` are both there if one is.
    pub file: Overrides,
    /// `node.id`, or `broker.id`.
    pub node_id: Option<i32>,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// `log.dirs`, or `log.dir`: nothing if neither is set.
    pub directory: Option<String>,
    /// `zookeeper.connect`.
    pub council: Option<Council>,
    /// Where clients connect.
    pub listeners: Vec<Listener>,
    /// The security of each of them, in their order.
    pub security: Vec<ListenerSecurity>,
    /// The place of the listener whose security holds between brokers: `inter.broker.listener.name`, or
    /// `security.inter.broker.protocol`; nothing if neither is set.
    pub between_brokers: Option<usize>,
    /// What decides who may do what; nothing if everybody may do everything.
    pub authorizer: Option<Authorizer>,
    /// Lines for the log: what is ignored, and what is likely a mistake.
    pub warnings: Vec<String>,
}

impl StaticConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// Every reason not to start.
    pub fn read(bytes: &[u8], given: &Given<'_>) -> Result<Self, Vec<Problem>> {
        let properties = properties::read(bytes).map_err(|bad| {
            let what = format!("line {} of the file cannot be read: {}", bad.line, bad.what);
            vec![Problem { key: String::new(), line: bad.line, what, hint: None }]
        })?;
        Self::of(&properties, given)
    }

    /// The same of keys and values that are read already. A later one counts, so options of a command line come last, with 0 for
    /// their lines.
    ///
    /// # Errors
    /// Every reason not to start.
    pub fn of(properties: &[Property], given: &Given<'_>) -> Result<Self, Vec<Problem>> {
        let lines: BTreeMap<&str, usize> =
            properties.iter().map(|property| (property.key.as_str(), property.line)).collect();
        let line = |key: &str| lines.get(key).copied().unwrap_or_default();
        let last = properties.iter().map(|property| (property.key.clone(), property.value.clone()));
        let mut file: Overrides = last.collect();
        let mut problems: Vec<Problem> =
            file.iter().filter_map(|(key, value)| check_value(key, value, line(key))).collect();
        problems.extend(with_both_ids(&mut file, line).err());
        let nothing = Overrides::new();
        let layers = BrokerLayers { broker: &nothing, cluster: &nothing, file: &file };
        let broken = rules::violations(&layers).into_iter();
        // A value that cannot be read is one problem, not two.
        let broken = broken.filter(|rule| !problems.iter().any(|problem| problem.key == rule.name));
        let broken: Vec<Problem> =
            broken.map(|rule| Problem::of(&rule.name, line(&rule.name), rule.what)).collect();
        problems.extend(broken);
        problems.extend(check_roles(&layers, line).err());
        let directory = keep(directory(&layers, &file, line), &mut problems).flatten();
        let council = keep(council::read(&file, line), &mut problems).flatten();
        let is_set = |key: &str| file.contains_key(key);
        let read = keep(listeners::read(&layers, is_set, line), &mut problems).unwrap_or_default();
        let Listeners { all: listeners, between_brokers } = read;
        let security = listeners.iter().map(|own| security::of_listener(&layers, own, given, line));
        let security: Vec<_> = security.filter_map(|own| keep(own, &mut problems)).collect();
        let authorizer = keep(security::authorizer(&layers, &file, given, line), &mut problems).flatten();
        if !problems.is_empty() {
            return Err(problems);
        }
        let node_id = layers.whole("node.id").and_then(|id| i32::try_from(id).ok());
        let rack = layers.text("broker.rack");
        let warnings = warnings::of(properties, &listeners, used(&security, authorizer.as_ref()));
        let of_node = Self { node_id, rack, directory, council, ..Self::default() };
        Ok(Self { file, listeners, security, between_brokers, authorizer, warnings, ..of_node })
    }

    /// This with what was set for the broker, and for all brokers, while they ran.
    #[must_use]
    pub const fn layers<'a>(&'a self, broker: &'a Overrides, cluster: &'a Overrides) -> BrokerLayers<'a> {
        BrokerLayers { broker, cluster, file: &self.file }
    }
}

/// Values may be secrets: only keys are shown.
impl core::fmt::Debug for StaticConfig {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("StaticConfig")
            .field("file", &self.file.keys())
            .field("node_id", &self.node_id)
            .field("rack", &self.rack)
            .field("directory", &self.directory)
            .field("council", &self.council)
            .field("listeners", &self.listeners)
            .field("security", &self.security)
            .field("between_brokers", &self.between_brokers)
            .field("authorizer", &self.authorizer)
            .field("warnings", &self.warnings)
            .finish()
    }
}

fn used(security: &[ListenerSecurity], authorizer: Option<&Authorizer>) -> warnings::Used {
    warnings::Used {
        tls: security.iter().any(|own| own.tls.is_some()),
        sasl: security.iter().any(|own| own.sasl.is_some()),
        acls: authorizer.is_some(),
    }
}

/// The value, or one problem more.
fn keep<T>(result: Result<T, Problem>, problems: &mut Vec<Problem>) -> Option<T> {
    result.map_err(|problem| problems.push(problem)).ok()
}

fn check_value(key: &str, value: &str, line: usize) -> Option<Problem> {
    let Some(definition) = BrokerName::of(key).definition() else {
        return check_other(key, value, line);
    };
    let bad = Value::read(definition, value).err()?;
    let problem = |what: String| Some(Problem::of(key, line, what));
    if bad.is_not_given {
        return problem(bad.what).map(|problem| problem.hint(hint_for_refused(definition)));
    }
    if definition.is_sensitive() {
        return problem(format!("has a value that {}", bad.what));
    }
    problem(format!("has the value `{value}`, which {}", bad.what))
}

fn check_other(key: &str, value: &str, line: usize) -> Option<Problem> {
    match OtherName::of(key)? {
        OtherName::Refused { why, taken } if !taken.contains(&value.trim().to_ascii_lowercase().as_str()) => {
            Some(Problem::of(key, line, why).hint("leave it out"))
        }
        _ => None,
    }
}

fn hint_for_refused(definition: &Definition) -> String {
    let (Effect::Refused { taken, .. } | Effect::ActsFor { taken, .. }) = definition.effect else {
        return "leave it out".into();
    };
    let taken = taken.iter().filter(|value| !value.is_empty());
    let taken: Vec<String> = taken.map(|value| format!("`{value}`")).collect();
    if taken.is_empty() {
        "leave it out".into()
    } else {
        format!("leave it out, or set {}", taken.join(" or "))
    }
}

/// `node.id` and `broker.id` are two names of one number. A `broker.id` of -1 asks for a number that nobody has yet, which is
/// not given: it counts as if it was not there.
fn with_both_ids(file: &mut Overrides, line: impl Fn(&str) -> usize) -> Result<(), Problem> {
    if file.get("broker.id").is_some_and(|id| id.trim() == "-1") {
        file.remove("broker.id");
    }
    let id = |key: &str| file.get(key).map(|id| id.trim().to_owned());
    match (id("node.id"), id("broker.id")) {
        (Some(node), Some(broker)) if node != broker => {
            let what = format!("is {broker}, and `node.id` is {node}");
            return Err(Problem::of("broker.id", line("broker.id"), what).hint("leave `broker.id` out"));
        }
        (Some(id), None) => drop(file.insert("broker.id".into(), id)),
        (None, Some(id)) => drop(file.insert("node.id".into(), id)),
        _ => {}
    }
    Ok(())
}

fn check_roles(values: &impl Values, line: impl Fn(&str) -> usize) -> Result<(), Problem> {
    let roles = values.list("process.roles");
    if roles.is_empty() || roles.iter().any(|role| role == "broker") {
        return Ok(());
    }
    let key = "process.roles";
    let hint = "the council does a controller's work: this process is not needed";
    Err(Problem::of(key, line(key), "names no `broker`").hint(hint))
}

fn directory(
    values: &impl Values,
    file: &Overrides,
    line: impl Fn(&str) -> usize,
) -> Result<Option<String>, Problem> {
    let Some(key) = ["log.dirs", "log.dir"].into_iter().find(|key| file.contains_key(*key)) else {
        return Ok(None);
    };
    let directories = values.list(key);
    if directories.len() > 1 {
        let what = format!("names {} directories, and a broker has one", directories.len());
        let hint = "name one of them; to use several disks, join them below it (LVM, RAID, ZFS)";
        return Err(Problem::of(key, line(key), what).hint(hint));
    }
    Ok(directories.into_iter().next())
}
