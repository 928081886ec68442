//! O31 bounds: nothing grows beyond its limit.

use std::collections::BTreeMap;

use objects_state::limits::{
    HOLDINGS_PER_SESSION_MAX, REQUESTS_PER_SESSION_MAX, TICKETS_PER_OBJECT_MAX, TICKETS_PER_SESSION_MAX,
};
use objects_state::{Command, Identity};
use sim_kit::Judged;

use super::requests::caller_of;
use super::{Seen, Wrong, judged, object_of};

pub(super) fn see(seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
    if let Some(object) = object_of(seen.command)
        && let Some(description) = seen.state.describe(object)
    {
        judged(all, 31, "objects");
        if description.waiting > TICKETS_PER_OBJECT_MAX {
            return Err((31, format!("{} calls wait for {object:?}", description.waiting)));
        }
        if let Some(wrong) = too_much(seen) {
            return Err((31, format!("{object:?} {wrong}")));
        }
    }
    let Some(caller) = caller_of(seen.command) else { return Ok(()) };
    let Identity::Session { session, .. } = caller.identity else { return Ok(()) };
    let Some(open) = seen.state.session(session) else { return Ok(()) };
    judged(all, 31, "sessions");
    let is_within = open.unacknowledged <= REQUESTS_PER_SESSION_MAX
        && open.tickets <= TICKETS_PER_SESSION_MAX
        && open.holdings <= HOLDINGS_PER_SESSION_MAX;
    if is_within { Ok(()) } else { Err((31, format!("{session} has more than it may: {open:?}"))) }
}

/// What an object that was created with limits has beyond them.
fn too_much(seen: &Seen<'_>) -> Option<String> {
    let object = object_of(seen.command)?;
    let limits = seen.group.limits(object)?;
    if let Command::Call(_) | Command::Batch(_) = seen.command {
        for (method, field, most) in limits {
            let answer = seen.state.query(object, None, true, method, b"").ok()?;
            let has = crate::outcome::parsed(&answer)[field].as_i64().unwrap_or_default();
            if has > most {
                return Some(format!("has {has} {field}, and may have {most}"));
            }
        }
    }
    None
}
