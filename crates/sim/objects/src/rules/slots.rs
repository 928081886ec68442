//! O28 one group accepts a slot's commands: what is in a slot of another group is refused as such and never comes to be, and nothing
//! else is.

use std::collections::BTreeMap;

use sim_kit::Judged;

use super::{Seen, Wrong, judged, object_of};
use crate::model::Told;

/// Whether a refusal is that of another group's object.
pub(super) fn is_elsewhere(told: &Told) -> bool {
    matches!(told, Told::Answered(_, Err(refusal)) if refusal.slug == "wrong-group")
}

pub(super) fn see(seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
    let Some(object) = object_of(seen.command) else { return Ok(()) };
    let is_refused = seen.shown.iter().any(is_elsewhere);
    if !seen.group.elsewhere.has(object) {
        return match is_refused {
            true => Err((28, format!("{object:?} is this group's, and: {:?}", seen.shown))),
            false => Ok(()),
        };
    }
    judged(all, 28, "commands about another group's objects");
    if seen.state.describe(object).is_some() {
        return Err((28, format!("{object:?} is another group's, and is here")));
    }
    // What is said of a caller, a number or a key comes first.
    let refusals = ["wrong-group", "unauthenticated", "forbidden", "session-expired", "request-forgotten"];
    let others = ["key-reused", "quota", "bad-argument"];
    match seen.shown {
        [Told::Answered(_, Err(refusal))] if refusals.contains(&refusal.slug) => Ok(()),
        [Told::Answered(_, Err(refusal))] if others.contains(&refusal.slug) => Ok(()),
        other => Err((28, format!("{object:?} is another group's, and: {other:?}"))),
    }
}
