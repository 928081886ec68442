//! O13 one position: all that a session had goes with it, and nothing of it comes later.

use std::collections::BTreeMap;

use objects_state::{Identity, SessionId};
use sim_kit::Judged;

use super::requests::caller_of;
use super::{Seen, Wrong, judged, plain_queries};
use crate::model::Told;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    open: Vec<SessionId>,
    /// Those that have ended.
    dead: Vec<SessionId>,
}

/// Dead sessions that are remembered.
const DEAD_MAX: usize = 40;

impl Sessions {
    pub(super) fn see(&mut self, seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
        self.later_acts(seen, all)?;
        for told in seen.shown {
            match told {
                Told::Opened(id, _) => {
                    self.dead.retain(|dead| dead != id);
                    self.open.retain(|open| open != id);
                    self.open.push(*id);
                }
                Told::Closed(id, _) => {
                    judged(all, 13, "ends of sessions");
                    nothing_left(seen, *id)?;
                    self.open.retain(|open| open != id);
                    self.dead.push(*id);
                    if self.dead.len() > DEAD_MAX {
                        self.dead.remove(0);
                    }
                }
                _ => {}
            }
        }
        let open = seen.state.counts()[1];
        if open != self.open.len() as u64 {
            return Err((13, format!("{} sessions are open, and the state counts {open}", self.open.len())));
        }
        Ok(())
    }

    fn later_acts(&self, seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
        let Some(caller) = caller_of(seen.command) else { return Ok(()) };
        let Identity::Session { session, .. } = caller.identity else { return Ok(()) };
        if !self.dead.contains(&session) || seen.is_turned_away {
            return Ok(());
        }
        judged(all, 13, "later acts");
        match seen.shown {
            [Told::Answered(_, Err(refusal))] if refusal.slug == "session-expired" => Ok(()),
            other => Err((13, format!("{session} has ended, and: {other:?}"))),
        }
    }
}

/// No call of it waits, and no object shows it.
fn nothing_left(seen: &Seen<'_>, id: SessionId) -> Result<(), Wrong> {
    let has_ended = |ticket: u64| {
        seen.shown.iter().any(|told| matches!(told, Told::Ended(ended, ..) if *ended == ticket))
    };
    let own = seen.book.open.iter().filter(|ticket| ticket.session == Some(id));
    if let Some(ticket) = own.into_iter().find(|ticket| !has_ended(ticket.id)) {
        return Err((13, format!("{id} has ended, and its ticket {} waits", ticket.id)));
    }
    let text = id.to_string();
    for object in seen.group.names() {
        for method in plain_queries(&object) {
            let answer = seen.state.query(&object, None, true, method, b"");
            if answer.is_ok_and(|answer| answer.contains(&text)) {
                return Err((13, format!("{id} has ended, and {object:?} shows it in `{method}`")));
            }
        }
    }
    Ok(())
}
