//! O9 mutual exclusion at positions: what clients were granted and have not given back, added up from answers alone.

use std::collections::BTreeMap;

use objects_state::{Command, Identity, ObjectName, SessionId, TicketEnd, type_name};
use serde_json::Value;
use sim_kit::Judged;

use super::requests::caller_of;
use super::{Seen, Wrong, judged, object_of};
use crate::model::Told;
use crate::outcome::parsed;

/// Something that a session believes to hold.
#[derive(Clone, Debug)]
struct Hold {
    object: ObjectName,
    session: Option<SessionId>,
    fence: u64,
    /// All of it, or so many permits.
    amount: Option<u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Exclusion {
    holds: Vec<Hold>,
}

impl Exclusion {
    pub(super) fn see(&mut self, seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
        if seen.before.is_some() {
            return Ok(());
        }
        if seen.may_be_kept {
            // Whether it was carried out again is not known: nothing is known of its object from here on.
            let object = object_of(seen.command);
            self.holds.retain(|hold| Some(&hold.object) != object);
            return Ok(());
        }
        self.give_back(seen);
        self.take(seen);
        if matches!(seen.command, Command::Batch(_)) {
            // What its calls take and give back, also from those that one of them granted something, is the model's: nothing is
            // known of the object from here on.
            let object = object_of(seen.command);
            self.holds.retain(|hold| Some(&hold.object) != object);
        }
        let mut names: Vec<_> = self.holds.iter().map(|hold| hold.object.clone()).collect();
        names.dedup();
        for name in names {
            judged(all, 9, "objects with holders");
            self.check(seen, &name)?;
        }
        Ok(())
    }

    fn give_back(&mut self, seen: &Seen<'_>) {
        for told in seen.shown {
            if let Told::Closed(id, _) = told {
                self.holds.retain(|hold| hold.session != Some(*id));
            }
        }
        match seen.command {
            Command::Delete { object, .. } if is_done(seen.shown) => {
                self.holds.retain(|hold| hold.object != *object);
            }
            Command::Call(call) => {
                let args = parsed(core::str::from_utf8(&call.invocation.args).unwrap_or_default());
                let gives = match &*call.invocation.method {
                    "release" | "resign" | "downgrade" => is_done(seen.shown),
                    "await" => seen.shown.iter().any(|told| matches!(told, Told::Parked(..))),
                    "steal" => is_done(seen.shown),
                    _ => false,
                };
                if gives {
                    self.release(seen, &call.object, &call.invocation.method, &args);
                }
            }
            _ => {}
        }
    }

    fn release(&mut self, seen: &Seen<'_>, object: &ObjectName, method: &str, args: &Value) {
        let session = caller_of(seen.command).and_then(|caller| match caller.identity {
            Identity::Session { session, .. } => Some(session),
            _ => None,
        });
        if let Some(Told::Answered(_, Ok(result))) = seen.shown.last()
            && result["holds"].as_i64().is_some_and(|holds| holds > 0)
        {
            return;
        }
        if type_name(object.kind) == Some("semaphore") {
            // It may be part of a grant, or of several: what is left is not known from here.
            self.holds.retain(|hold| hold.object != *object || hold.session != session);
            return;
        }
        let fence = args["fence"].as_u64();
        let is_given = |hold: &Hold| match method {
            "steal" => true,
            _ => hold.session == session && (fence.is_none() || fence == Some(hold.fence)),
        };
        self.holds.retain(|hold| hold.object != *object || !is_given(hold));
    }

    fn take(&mut self, seen: &Seen<'_>) {
        for told in seen.shown {
            let (object, session, what, result) = match (told, seen.command) {
                (Told::Answered(_, Ok(result)), Command::Call(call)) => {
                    let opened = call.opens.as_ref().map(|new| new.id);
                    let session = match call.caller.identity {
                        Identity::Session { session, .. } => Some(session),
                        _ => opened,
                    };
                    (call.object.clone(), session, call.invocation.method.clone(), result)
                }
                (Told::Ended(id, TicketEnd::Granted, Ok(result)), _) => {
                    let Some(ticket) = seen.book.ticket(*id) else { continue };
                    let method = ticket.what.split('.').next_back().unwrap_or_default();
                    (ticket.object.clone(), ticket.session, method.to_owned(), result)
                }
                _ => continue,
            };
            let Some(fence) = result["fence"].as_u64() else { continue };
            let amount = match type_name(object.kind) {
                Some("semaphore") => result["held"].as_u64().or_else(|| result["taken"].as_u64()),
                Some("rwlock") if what != "write" => Some(0),
                Some("lock" | "rwlock" | "election") => None,
                _ => continue,
            };
            self.holds.retain(|hold| hold.object != object || hold.fence != fence || hold.session != session);
            self.holds.push(Hold { object, session, fence, amount });
        }
    }

    fn check(&self, seen: &Seen<'_>, object: &ObjectName) -> Result<(), Wrong> {
        let own: Vec<_> = self.holds.iter().filter(|hold| hold.object == *object).collect();
        let alone = own.iter().filter(|hold| hold.amount.is_none()).count();
        if alone > 1 || (alone == 1 && own.len() > 1) {
            return Err((9, format!("more than one holder: {own:?}")));
        }
        // A batch may make it smaller behind a grant.
        let is_batch = matches!(seen.command, Command::Batch(_));
        if type_name(object.kind) != Some("semaphore") || is_batch || !self.grants_now(seen, object) {
            return Ok(());
        }
        // A smaller number of permits takes none away: only a grant must find room.
        let permits = seen.state.query(object, None, true, "available", b"").map(|text| parsed(&text));
        let held: u64 = own.iter().filter_map(|hold| hold.amount).sum();
        match permits {
            Ok(permits) if permits["available"].as_i64().unwrap_or_default() < 0 => {
                Err((9, format!("permits are granted that are not there: {own:?}, {permits}")))
            }
            Ok(permits)
                if permits["available"].as_i64().unwrap_or_default() + held as i64
                    > permits["permits"].as_i64().unwrap_or_default()
                    && self.is_bounded(seen, object) =>
            {
                Err((9, format!("more permits than there may be: {own:?}, {permits}")))
            }
            _ => Ok(()),
        }
    }

    fn grants_now(&self, seen: &Seen<'_>, object: &ObjectName) -> bool {
        self.holds.iter().any(|hold| hold.object == *object && hold.fence == seen.first)
    }

    /// One without a bound has as many permits as were ever given back to it.
    fn is_bounded(&self, seen: &Seen<'_>, object: &ObjectName) -> bool {
        seen.group.is_bounded(object)
    }
}

fn is_done(shown: &[Told]) -> bool {
    shown.iter().any(|told| matches!(told, Told::Answered(_, Ok(_))))
}
