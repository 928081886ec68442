//! The rules O1 to O32 that a log alone can break, each a judge of its own. All but the comparison with the model keep
//! their own small memory of what the state has said.

mod access;
mod bounds;
mod compare;
mod exclusion;
mod fences;
mod quotas;
mod requests;
mod sessions;
mod slots;
mod tickets;

use std::collections::BTreeMap;

use objects_state::{Command, Effect, ObjectName, State, type_name};
use sim_kit::Judged;

use crate::book::Book;
use crate::model::{Group, TYPES, Told, Way};

pub(crate) use compare::compare;

/// The rules, by their numbers in the specification.
pub const NAMES: &[(u32, &str)] = &[
    (1, "Linearizable built-ins"),
    (2, "Linearizable queries"),
    (3, "Exactly once"),
    (4, "Same reply"),
    (5, "Replies matched"),
    (6, "Forgotten is refused"),
    (7, "Durable"),
    (8, "Unknown is honest"),
    (9, "Mutual exclusion at positions"),
    (10, "Fences rise"),
    (11, "Never early"),
    (12, "Freed in time"),
    (13, "One position"),
    (14, "No lost wake-up"),
    (15, "One end"),
    (16, "FIFO"),
    (17, "Deadlines"),
    (18, "Conditions"),
    (19, "Determinism"),
    (20, "Rollback"),
    (21, "Isolation"),
    (22, "Quarantine"),
    (23, "Crash rule"),
    (24, "Snapshot round trip"),
    (26, "Migration is atomic"),
    (27, "No version before its verdict"),
    (28, "One group for each slot"),
    (30, "Messages"),
    (31, "Bounds"),
    (32, "Access"),
    (34, "Progress"),
];

/// What is wrong: a rule's number, and in words.
pub(crate) type Wrong = (u32, String);

/// How a wrong is told.
pub(crate) fn words((number, what): &Wrong) -> String {
    let name = NAMES.iter().find(|known| known.0 == *number).map_or("", |known| known.1);
    format!("rule {number} ({name}): {what}")
}

/// One command, and what came of it.
pub(crate) struct Seen<'a> {
    pub(crate) command: &'a Command,
    /// Its (first) position.
    pub(crate) first: u64,
    pub(crate) stamp_ms: i64,
    /// What the model says.
    pub(crate) told: &'a [Told],
    /// What the state says.
    pub(crate) shown: &'a [Told],
    pub(crate) effects: &'a [Effect],
    pub(crate) state: &'a State,
    pub(crate) group: &'a Group,
    /// The calls that waited before it.
    pub(crate) book: &'a Book,
    /// What could be seen of its object before, if it is a repeat.
    pub(crate) before: Option<String>,
    /// Its answer may be one that was kept.
    pub(crate) may_be_kept: bool,
    /// Who asks does not get in, or names another's session: it leaves no trace, and is no repeat.
    pub(crate) is_turned_away: bool,
    /// There are quotas in this run.
    pub(crate) has_quotas: bool,
    /// It is a call that the state refuses for its bytes.
    pub(crate) is_refused_for_bytes: bool,
}

/// All rules with a memory of their own.
#[derive(Default)]
pub(crate) struct Rules {
    requests: requests::Requests,
    sessions: sessions::Sessions,
    fences: fences::Fences,
    exclusion: exclusion::Exclusion,
    access: access::Access,
    quotas: quotas::Quotas,
    pub(crate) judged: BTreeMap<u32, Judged>,
}

impl Rules {
    pub(crate) fn count(&mut self, rule: u32, what: &'static str, more: u64) {
        *self.judged.entry(rule).or_default().entry(what).or_default() += more;
    }

    /// Whether the command repeats one that is known, so that nothing may change.
    pub(crate) fn is_repeat(&self, command: &Command, now_ms: i64) -> bool {
        self.requests.is_repeat(command, now_ms)
    }

    /// Whether it is answered from memory although it need not be remembered any more.
    pub(crate) fn is_late_repeat(&self, command: &Command, now_ms: i64, effects: &[Effect]) -> bool {
        self.requests.is_late_repeat(command, now_ms, effects)
    }

    /// Whether its answer may be one that was kept.
    pub(crate) fn may_be_kept(&self, command: &Command, effects: &[Effect]) -> bool {
        self.requests.may_be_kept(command, effects)
    }

    /// The first rule that is broken; the most special ones first.
    pub(crate) fn see(&mut self, seen: &Seen<'_>) -> Result<(), Wrong> {
        let judged = &mut self.judged;
        self.access.see(seen, judged)?;
        slots::see(seen, judged)?;
        self.requests.see(seen, judged)?;
        tickets::one_end(seen, judged)?;
        tickets::deadlines(seen, judged)?;
        self.sessions.see(seen, judged)?;
        self.fences.see(seen, judged)?;
        self.exclusion.see(seen, judged)?;
        bounds::see(seen, judged)?;
        if seen.has_quotas {
            self.quotas.see(seen, judged)?;
        }
        compare(seen, &self.requests, judged)
    }
}

/// Counts that a rule judged something.
pub(crate) fn judged(all: &mut BTreeMap<u32, Judged>, rule: u32, what: &'static str) {
    *all.entry(rule).or_default().entry(what).or_default() += 1;
}

/// The object that a command is about.
pub(crate) const fn object_of(command: &Command) -> Option<&ObjectName> {
    match command {
        Command::Call(call) => Some(&call.object),
        Command::Batch(batch) => Some(&batch.object),
        Command::Create { object, .. } | Command::Delete { object, .. } | Command::Import { object, .. } => {
            Some(object)
        }
        _ => None,
    }
}

/// All that queries without arguments show of an object, and what there is of everything.
pub(crate) fn visible(state: &State, object: &ObjectName) -> String {
    let [objects, sessions, tickets, _] = state.counts();
    let description = state.describe(object);
    let mut seen = format!("{objects} {sessions} {tickets} {description:?}");
    for method in plain_queries(object) {
        let answer = state.query(object, None, true, method, b"");
        let answer = answer.map_err(|problem| problem.slug.name());
        seen += &format!(" {method}: {answer:?}");
    }
    seen
}

/// Queries that need no argument. What a limiter has left rises with time alone.
pub(crate) fn plain_queries(object: &ObjectName) -> impl Iterator<Item = &'static str> {
    let name = type_name(object.kind).unwrap_or_default();
    let methods = TYPES.iter().find(|known| known.0 == name).map_or(&[][..], |known| known.2);
    let needs = ["check", "contains", "get_all", "floor", "ceiling"];
    let is_plain = move |method: &&(&'static str, Way, &[&str])| {
        matches!(method.1, Way::Query | Way::Either)
            && !needs.contains(&method.0)
            && !(name == "map" && method.0 == "get")
            && name != "ratelimiter"
    };
    methods.iter().filter(is_plain).map(|method| method.0)
}
