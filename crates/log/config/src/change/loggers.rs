//! The levels of a broker's loggers. They last until the broker stops.

use std::collections::BTreeMap;

use log_wire::messages::configs::IncrementalAlterableConfig;

use super::Operation;
use crate::refusal::Refusal;

/// The logger that all others have their level from, until they are given one.
pub const ROOT: &str = "root";

/// The levels.
pub const LEVELS: &[&str] = &["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"];

/// The levels after these changes. `current` holds every logger that there is, with its level. A logger whose level is deleted
/// has the root's from then on.
///
/// # Errors
/// `INVALID_CONFIG`: there is no such logger or level. `INVALID_REQUEST`: the operation is none for a level.
pub fn alter(
    current: &BTreeMap<String, String>,
    changes: &[IncrementalAlterableConfig],
) -> Result<BTreeMap<String, String>, Refusal> {
    let mut levels = current.clone();
    for change in changes {
        let level = change.value.as_deref().unwrap_or_default();
        match Operation::of(change.config_operation) {
            Some(Operation::Set | Operation::Delete) if !current.contains_key(&change.name) => {
                return Err(Refusal::config(format!("there is no logger `{}`", change.name)));
            }
            Some(Operation::Set) if LEVELS.contains(&level) => {
                levels.insert(change.name.clone(), level.into());
            }
            Some(Operation::Set) => {
                return Err(Refusal::config(format!("there is no level `{level}`: {}", LEVELS.join(", "))));
            }
            Some(Operation::Delete) if change.name == ROOT => {
                return Err(Refusal::request("the root logger has to have a level"));
            }
            Some(Operation::Delete) => {
                levels.remove(&change.name);
            }
            _ => return Err(Refusal::request("a level is set or deleted")),
        }
    }
    let root = levels.get(ROOT).cloned().unwrap_or_else(|| String::from("INFO"));
    for name in current.keys() {
        levels.entry(name.clone()).or_insert_with(|| root.clone());
    }
    Ok(levels)
}
