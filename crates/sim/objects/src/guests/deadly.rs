//! Which runs kill the process of a member that begins them, as `kill -9` does: told by what is called. At whom it strikes, and
//! how often, is part of that, so that it is known what must become of the run.

use objects_state::guest::Entry;

use super::number_of;

/// The command that kills.
pub(crate) const METHOD: &str = "kill";
/// The command that kills where it goes on beside the others.
pub(crate) const LONG_METHOD: &str = "overrun";
/// The query that kills.
pub(crate) const QUERY: &str = "quit";

/// A constructor's number that kills always.
pub(crate) const START: u64 = 84;

/// The last number of what is imported, that kills always; no object has it by itself.
pub(crate) const IMPORT: u64 = 2_000_000;
/// The same of what kills each member once.
pub(crate) const IMPORT_ONCE: u64 = IMPORT + 1;

/// Whom a run kills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kills {
    Nobody,
    /// Each member's process, whenever it begins the run.
    Always,
    /// Each member's process, the first time.
    EachOnce,
    /// The process of the member of that number, the first time.
    OneOnce(u64),
}

/// A call of [`METHOD`] with that number.
pub(crate) const fn of_call(number: u64) -> Kills {
    match number % 5 {
        0 | 1 => Kills::Always,
        2 => Kills::EachOnce,
        3 => Kills::OneOnce(1 + number / 5 % 3),
        _ => Kills::Nobody,
    }
}

/// A constructor with that number.
pub(crate) const fn of_constructor(start: u64) -> Kills {
    match start {
        START..87 => Kills::Always,
        87..90 => Kills::EachOnce,
        _ => Kills::Nobody,
    }
}

/// An import, by its content or what of that its module is given.
pub(crate) fn of_import(content: &[u8]) -> Kills {
    let content = crate::outcome::parsed(&String::from_utf8_lossy(content));
    let last = content["state"]["s"].as_array().and_then(|all| all.last()?.as_u64());
    match last {
        Some(IMPORT) => Kills::Always,
        Some(IMPORT_ONCE) => Kills::EachOnce,
        _ => Kills::Nobody,
    }
}

/// Whether a call kills always.
pub(crate) fn is_deadly(method: &str, number: u64) -> bool {
    [METHOD, LONG_METHOD].contains(&method) && of_call(number) == Kills::Always
}

/// A run of the log, in the part that goes on beside the commands.
pub(crate) fn of_long_run(entry: Entry<'_>) -> Kills {
    match entry {
        Entry::Call { method: LONG_METHOD, args } => of_call(number_of(args)),
        _ => Kills::Nobody,
    }
}

/// A run of the log, where commands are applied.
pub(crate) fn of_run(entry: Entry<'_>) -> Kills {
    match entry {
        Entry::Call { method: METHOD, args } => of_call(number_of(args)),
        Entry::Init(args) => of_constructor(number_of(args)),
        Entry::Migrate(content) => of_import(content),
        _ => Kills::Nobody,
    }
}

/// A query.
pub(crate) fn of_query(entry: Entry<'_>) -> Kills {
    match entry {
        Entry::Call { method: QUERY, .. } => Kills::Always,
        _ => Kills::Nobody,
    }
}
