//! Configuration: a file (`diwan.toml`, or ZooKeeper's own `zoo.cfg`), `-D` properties and flags become one
//! [`ServerConfig`], and every line of the file gets a verdict that can be shown.

mod check;
pub(crate) mod directories;
mod document;
mod draft;
mod effect;
pub(crate) mod failure;
mod finish;
mod keys;
mod members;
mod root_token;
mod services;
mod stores;

use std::path::{Path, PathBuf};

use council_connect::properties;
use council_service::ServerConfig;

pub(crate) use check::{CheckOptions, check};
pub(crate) use document::{describe_keys, document_keys};
use draft::{Draft, FileKind};
pub(crate) use draft::{LogConfig, LogFormat};
use effect::Situation;
use keys::KEYS;
use keys::broker::BrokerKey;
pub(crate) use keys::is_usual;
use log_config::Effect;
pub(crate) use node_config::{Checked, Problem};
use node_config::{Meaning, Names, Setting};
pub(crate) use services::{BrokerPlan, OBJECTS_DIRECTORY, ObjectsPlan};

use crate::broker::read_properties;

/// Where settings come from, weakest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// A `diwan.toml` or a `zoo.cfg`; the name decides: only the former ends in `.toml`.
    pub(crate) file: Option<PathBuf>,
    /// `KEY=VALUE`, by ZooKeeper's names (with or without `zookeeper.`) or Diwan's own.
    pub(crate) properties: Vec<String>,
    /// Diwan's own names and values, from flags.
    pub(crate) flags: Vec<(&'static str, String)>,
}

/// What became of one setting.
#[derive(Clone, Debug)]
pub(crate) struct Notice {
    /// The line in the file, if it came from one that has lines.
    pub(crate) line: Option<usize>,
    /// The key as written.
    pub(crate) key: String,
    /// Its value, if that is no secret.
    pub(crate) value: String,
    /// What it means.
    pub(crate) verdict: Verdict,
}

/// What a setting means.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// It is taken; perhaps with something odd about it.
    Honoured {
        /// What the key is.
        about: &'static str,
        /// What is odd.
        warnings: Vec<String>,
        /// Why it does nothing beside the other settings, if that is so.
        idle: Option<&'static str>,
    },
    /// It does nothing here.
    NoMeaningHere(&'static str),
    /// Kafka's clients are shown it, and it does nothing else.
    OnlyShown,
    /// The key is unknown.
    Unknown(Option<String>),
    /// It stops the start.
    Refused(Problem),
}

/// What is to be served, and how it is logged.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    /// The council; nothing if only the log is served.
    pub(crate) council: Option<ServerConfig>,
    /// What is logged.
    pub(crate) logging: LogConfig,
    /// The log.
    pub(crate) broker: Option<BrokerPlan>,
    /// Live objects.
    pub(crate) objects: Option<ObjectsPlan>,
}

/// A configuration that was read, with all that there is to say about it.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// What became of each setting, in order.
    pub(crate) notices: Vec<Notice>,
    /// The configuration, or every reason why there is none.
    pub(crate) result: Result<Configuration, Vec<Problem>>,
}

/// Reads all sources.
pub(crate) fn load(sources: &Sources) -> Loaded {
    let mut loading = Loading { draft: Draft::default(), notices: Vec::new(), problems: Vec::new() };
    if let Err(problem) = loading.sources(sources) {
        loading.problems.push(problem);
    }
    let Loading { draft, mut notices, mut problems } = loading;
    let situation = Situation::of(&draft);
    let finished = draft.finish();
    if let Ok(Configuration { council: Some(config), .. }) = &finished {
        effect::judge(&mut notices, &situation, config);
    }
    let result = match finished {
        Ok(config) if problems.is_empty() => Ok(config),
        // What is missing may be missing because of what was refused: that comes first.
        Ok(_) => Err(problems),
        Err(more) => {
            problems.extend(more);
            Err(problems)
        }
    };
    Loaded { notices, result }
}

/// The council of all sources.
///
/// # Errors
/// Every reason why there is none.
pub(crate) fn load_council(sources: &Sources) -> Result<ServerConfig, Vec<Problem>> {
    let none = || vec![Problem::new("this configuration serves no council").hint("name that of a council")];
    load(sources).result?.council.ok_or_else(none)
}

/// Whether these properties name keys that there are.
pub(crate) fn check_properties(properties: &[String]) -> Checked<()> {
    let mut loading = Loading { draft: Draft::default(), notices: Vec::new(), problems: Vec::new() };
    properties.iter().try_for_each(|property| loading.property(property))?;
    loading.problems.into_iter().next().map_or(Ok(()), Err)
}

struct Loading {
    draft: Draft,
    notices: Vec<Notice>,
    problems: Vec<Problem>,
}

impl Loading {
    fn sources(&mut self, sources: &Sources) -> Checked<()> {
        if let Some(file) = &sources.file {
            let bytes = read(file)?;
            if file.extension().is_some_and(|extension| extension == "toml") {
                self.toml(file, &bytes)?;
            } else if is_of_broker(file, &bytes) {
                self.draft.file = FileKind::Broker;
                self.server_properties(file)?;
            } else {
                self.draft.file = FileKind::Zoo;
                self.draft.zoo = true;
                self.zoo(file, &bytes)?;
                if let Some(dynamic) = self.draft.dynamic_file.take() {
                    self.zoo(&dynamic, &read(&dynamic)?)?;
                }
            }
        }
        for property in &sources.properties {
            self.property(property)?;
        }
        for (key, value) in &sources.flags {
            self.take(Names::Own, None, key, value);
        }
        Ok(())
    }

    fn zoo(&mut self, file: &Path, bytes: &[u8]) -> Checked<()> {
        let properties = properties::parse(bytes).map_err(|line| {
            Problem::new(format!("`{}`, line {line}: `\\u` without four hexadecimal digits", file.display()))
                .hint("write a backslash as `\\\\`")
        })?;
        for (index, found) in properties.iter().enumerate() {
            // The last of equal keys counts, as in Java's tables.
            if properties.iter().skip(index + 1).all(|later| later.key.trim() != found.key.trim()) {
                self.take(Names::Foreign, Some(found.line), found.key.trim(), found.value.trim());
            }
        }
        Ok(())
    }

    fn toml(&mut self, file: &Path, bytes: &[u8]) -> Checked<()> {
        let wrong = |what: String| Problem::new(format!("`{}`: {what}", file.display()));
        let settings = node_config::toml_settings(bytes).map_err(wrong)?;
        let council = settings.iter().any(|(_, name, _)| name.starts_with("council."));
        self.draft.file = FileKind::Toml { council };
        for (at, name, value) in settings {
            match value {
                Some(text) => self.take(Names::Own, Some(at), &name, &text),
                None => self
                    .problems
                    .push(wrong(format!("line {at}: `{name}` is neither text, number, flag nor list"))),
            }
        }
        Ok(())
    }

    fn server_properties(&mut self, file: &Path) -> Checked<()> {
        let properties = read_properties(file)?;
        for property in &properties {
            let verdict = broker_verdict(log_config::definitions::broker(&property.key));
            let (line, key) = (Some(property.line), property.key.clone());
            self.notices.push(Notice { line, value: shown_value(&key, &property.value), key, verdict });
        }
        self.draft.broker.take_file(properties);
        Ok(())
    }

    fn property(&mut self, property: &str) -> Checked<()> {
        let Some((key, value)) = property.split_once('=') else {
            return Err(Problem::new(format!("`-D {property}` has no `=`")).hint("write `-D KEY=VALUE`"));
        };
        let bare = key.strip_prefix("zookeeper.").unwrap_or(key);
        if KEYS.find(Names::Own, key).is_some() || BrokerKey::of(key).is_some() {
            self.take(Names::Own, None, key, value.trim());
        } else if KEYS.find(Names::Foreign, bare).is_some() {
            self.take(Names::Foreign, None, bare, value.trim());
        } else {
            // Unlike a line of a file that ZooKeeper reads too, this was meant for this program.
            let hint = keys::suggestion(Names::Foreign, bare).or_else(|| keys::suggestion(Names::Own, key));
            return Err(Problem::new(format!("`-D {property}`: there is no key `{bare}`"))
                .hint(hint.unwrap_or_else(|| String::from("see `diwan config keys`"))));
        }
        Ok(())
    }

    fn take(&mut self, names: Names, line: Option<usize>, key: &str, value: &str) {
        let verdict = match KEYS.find(names, key).map(|row| (row.about, row.meaning)) {
            Some((about, Meaning::Honoured(apply))) => match apply(&mut self.draft, Setting { key, value }) {
                Ok(()) => Verdict::Honoured { about, warnings: self.draft.take_warnings(), idle: None },
                Err(problem) => Verdict::Refused(problem),
            },
            Some((_, Meaning::NoMeaningHere(why))) => Verdict::NoMeaningHere(why),
            Some((_, Meaning::RefusesStart(why, hint))) => {
                Verdict::Refused(Problem::new(format!("`{key}`: {why}")).hint(hint))
            }
            None if names == Names::Own => match BrokerKey::of(key) {
                Some(of_broker) => {
                    self.draft.broker.take(of_broker.name(), value);
                    broker_verdict(of_broker.definition())
                }
                None => return self.unknown_own(line, key),
            },
            None => Verdict::Unknown(keys::suggestion(names, key)),
        };
        if let Verdict::Refused(problem) = &verdict {
            self.problems.push(Problem { what: at(line, &problem.what), hint: problem.hint.clone() });
        }
        self.draft.config.settings.retain(|(known, _)| *known != shown_key(names, key));
        self.draft.config.settings.push((shown_key(names, key), shown_value(key, value)));
        self.notices.push(Notice { line, key: String::from(key), value: shown_value(key, value), verdict });
    }

    fn unknown_own(&mut self, line: Option<usize>, key: &str) {
        let problem = Problem {
            what: format!("there is no key `{key}`"),
            hint: keys::suggestion(Names::Own, key).or_else(|| Some("see `diwan config keys`".into())),
        };
        self.problems.push(Problem { what: at(line, &problem.what), hint: problem.hint.clone() });
        let (key, value) = (String::from(key), String::new());
        self.notices.push(Notice { line, key, value, verdict: Verdict::Refused(problem) });
    }
}

/// Whether a file is a `server.properties` of a broker. Kafka's own files for ZooKeeper end in `.properties`, too.
fn is_of_broker(file: &Path, bytes: &[u8]) -> bool {
    let is_zookeepers = |key: &str| matches!(key, "dataDir" | "clientPort" | "secureClientPort" | "tickTime");
    let has_name = file.extension().is_some_and(|extension| extension == "properties");
    let read = || log_config::properties::read(bytes).unwrap_or_default();
    has_name && !read().iter().any(|property| is_zookeepers(&property.key))
}

/// What a key of Kafka's brokers does.
fn broker_verdict(definition: Option<&log_config::Definition>) -> Verdict {
    match definition.map(|definition| definition.effect) {
        Some(Effect::Acts(about) | Effect::ActsWith(_, about) | Effect::ActsFor { what: about, .. }) => {
            Verdict::Honoured { about, warnings: Vec::new(), idle: None }
        }
        Some(Effect::Shown | Effect::Refused { .. }) => Verdict::OnlyShown,
        None => Verdict::Honoured { about: "a key of Kafka's", warnings: Vec::new(), idle: None },
    }
}

/// A setting's name among the system properties.
fn shown_key(names: Names, key: &str) -> String {
    match names {
        Names::Foreign => format!("zookeeper.{key}"),
        Names::Own => format!("diwan.{key}"),
    }
}

/// A setting's value, if it is no secret.
fn shown_value(key: &str, value: &str) -> String {
    let key = key.to_ascii_lowercase();
    let secret = (key.contains("password") && !key.ends_with("path") && !key.ends_with("file"))
        || key.contains("superdigest")
        || key.contains("super-digest");
    String::from(if secret { "(hidden)" } else { value })
}

/// The byte order mark in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

fn at(line: Option<usize>, what: &str) -> String {
    line.map_or_else(|| String::from(what), |line| format!("line {line}: {what}"))
}

fn read(file: &Path) -> Checked<Vec<u8>> {
    let mut bytes = std::fs::read(file).map_err(|error| {
        Problem::new(format!("cannot read `{}`: {error}", file.display()))
            .hint("name a `diwan.toml` or a `zoo.cfg` with `--config`")
    })?;
    // Some editors begin a file with it, and it would become a part of the first key.
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
