//! O3 exactly once, O4 the same reply, O6 forgotten is refused, of requests to types of users: what each was answered the first
//! time.

use std::collections::BTreeMap;

use objects_state::limits::KEY_MS;
use objects_state::{Caller, Identity, Outcome, SessionId};

use super::Said;
use crate::rules::Wrong;

/// Refusals that say something about the number or key of a request, and nothing of what it asks for.
const OF_NUMBER: [&str; 4] = ["request-forgotten", "session-expired", "key-reused", "quota"];
/// Refusals for a reason that passes: the request may be carried out when it comes again.
const FOR_NOW: [&str; 3] = ["quarantined", "type-not-ready", "rate"];

/// By what a request is known again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id {
    Session(SessionId, u64),
    Key(String),
}

#[derive(Clone, Debug)]
enum Progress {
    Waits(u64),
    Answered(Outcome, i64),
}

/// What is to be made of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// It is carried out now.
    Fresh,
    /// It was carried out before.
    Repeat,
    /// It is not carried out at all.
    Refused,
}

/// See the module.
#[derive(Default)]
pub(super) struct Requests {
    known: BTreeMap<Id, Progress>,
}

fn id_of(caller: &Caller) -> Option<Id> {
    match &caller.identity {
        Identity::Anonymous => None,
        Identity::Session { session, request, .. } => Some(Id::Session(*session, *request)),
        Identity::Key(key) => Some(Id::Key(key.clone())),
    }
}

fn is_refused(outcome: &Outcome, slugs: &[&str]) -> bool {
    matches!(outcome, Outcome::Refused(problem) if slugs.contains(&problem.slug.name()))
}

impl Requests {
    /// # Errors
    /// A request that is known is answered otherwise, or carried out again.
    pub(super) fn judge(&self, caller: &Caller, stamp_ms: i64, said: &Said<'_>) -> Result<Judged, Wrong> {
        let Some(id) = id_of(caller) else { return Ok(Judged::Fresh) };
        if said.answer.is_some_and(|outcome| is_refused(outcome, &OF_NUMBER)) {
            return Ok(Judged::Refused);
        }
        let is_the_same = match self.known.get(&id) {
            None => return Ok(Judged::Fresh),
            Some(Progress::Waits(ticket)) => said.parked == Some(*ticket),
            Some(Progress::Answered(outcome, at_ms)) => {
                let is_it = said.answer == Some(outcome);
                if !is_it && matches!(id, Id::Key(_)) && stamp_ms - at_ms >= KEY_MS {
                    return Ok(Judged::Fresh);
                }
                is_it
            }
        };
        match is_the_same {
            true => Ok(Judged::Repeat),
            false => Err((3, format!("a repeat of {id:?} comes to {said:?}, and was {:?}", self.known[&id]))),
        }
    }

    /// A request was carried out.
    pub(super) fn note(&mut self, caller: &Caller, stamp_ms: i64, said: &Said<'_>) {
        let Some(id) = id_of(caller) else { return };
        let progress = match (said.parked, said.answer) {
            (Some(ticket), _) => Progress::Waits(ticket),
            (None, Some(outcome)) if !is_refused(outcome, &FOR_NOW) => {
                Progress::Answered(outcome.clone(), stamp_ms)
            }
            _ => return,
        };
        self.known.insert(id, progress);
    }

    /// Deadlines have passed: keys whose time is over are forgotten, also those whose request would be answered the same again.
    pub(super) fn deadlines_passed(&mut self, stamp_ms: i64) {
        self.known.retain(|id, progress| match progress {
            Progress::Answered(_, at_ms) => !matches!(id, Id::Key(_)) || stamp_ms - *at_ms < KEY_MS,
            Progress::Waits(_) => true,
        });
    }

    /// A waiting call has ended.
    pub(super) fn ended(&mut self, ticket: u64, outcome: &Outcome, stamp_ms: i64) {
        let is_its =
            |(_, progress): &(&Id, &Progress)| matches!(progress, Progress::Waits(own) if *own == ticket);
        let Some(id) = self.known.iter().find(is_its).map(|(id, _)| id.clone()) else { return };
        match is_refused(outcome, &FOR_NOW) {
            true => drop(self.known.remove(&id)),
            false => drop(self.known.insert(id, Progress::Answered(outcome.clone(), stamp_ms))),
        }
    }
}
