//! O2: every query is evaluated again at the position that its answer names; none is older than it may be.

use std::collections::BTreeSet;

use objects_state::{Act, ObjectName, Outcome, State, type_name, type_named};

use super::Evidence;
use crate::guests::judge::Guests;
use crate::guests::{bytes, deadly};
use crate::members::history::{About, Attempt, Call};
use crate::members::record::Death;
use crate::model::{self, Group};
use crate::outcome::{self, parsed};
use crate::rules::{Rules, Wrong};
use crate::told::{Answer, Object};

/// How much older than two leases a stale answer may be, milliseconds: clocks drift, and a thread looks at its clock before it works.
/// One lease is that of the member; what was committed within another one its leader does not ask it for.
const ROOM_MS: u64 = 100;

/// See the module.
pub(super) struct Queries<'a> {
    evidence: &'a Evidence<'a>,
    /// Attempts that were answered, by the position that the answer names, from the last on.
    left: Vec<(u64, usize)>,
    /// Attempts of commands whose refusals by members are right at the positions that they name.
    pub(super) refused_rightly: BTreeSet<u64>,
}

impl<'a> Queries<'a> {
    pub(super) fn of(evidence: &'a Evidence<'a>) -> Self {
        let history = evidence.history;
        let position = |(number, attempt): (usize, &Attempt)| {
            let answer = attempt.answer.as_ref()?;
            let call = &history.calls[attempt.call];
            let is_read = match call.about {
                About::Query { .. }
                | About::TryMigration { .. }
                | About::Export { .. }
                | About::Access { .. }
                | About::Renew => true,
                About::Command { .. } => {
                    is_for_want_of_rights(answer) || call.is_anonymous() && answer.status == 404
                }
                About::Stream | About::Upload | About::Backup => false,
            };
            Some((answer.position.filter(|_| is_read)?, number))
        };
        let mut left: Vec<_> = history.attempts.iter().enumerate().filter_map(position).collect();
        left.sort_unstable_by(|one, other| other.cmp(one));
        Self { evidence, left, refused_rightly: BTreeSet::new() }
    }

    /// Those that were answered at the group's position.
    ///
    /// # Errors
    /// An answer differs.
    pub(super) fn ask(
        &mut self,
        state: &State,
        (group, guests): (Option<&Group>, Option<&Guests>),
        rules: &mut Rules,
    ) -> Result<(), Wrong> {
        let here = state.position();
        while let Some((position, number)) = self.left.pop_if(|(position, _)| *position <= here) {
            let attempt = &self.evidence.history.attempts[number];
            let call = &self.evidence.history.calls[attempt.call];
            if position < here && !matches!(call.about, About::Command { .. }) {
                return Err((
                    2,
                    format!("a query is answered at position {position}, within a command: {attempt:?}"),
                ));
            }
            if let Some(answer) = &attempt.answer {
                self.judge(state, (position, number), (call, answer), (group, guests), rules)?;
            }
        }
        Ok(())
    }

    /// The answer to one of them, at the position that it names.
    fn judge(
        &mut self,
        state: &State,
        (position, number): (u64, usize),
        (call, answer): (&Call, &Answer),
        (group, guests): (Option<&Group>, Option<&Guests>),
        rules: &mut Rules,
    ) -> Result<(), Wrong> {
        let here = state.position();
        let attempt = &self.evidence.history.attempts[number];
        let is_not_own = group.is_some_and(|group| is_of_anothers_session(group, call));
        let is_refused = is_not_own || group.is_some_and(|group| may_not(group, call));
        match &call.about {
            // No member refuses before it knows all that was committed when the request came. Whose a session is never changes.
            About::Command { .. } if position == here && (is_not_own || position >= attempt.told_before) => {
                let is_for_rights = is_refused && is_for_want_of_rights(answer);
                let is_right = is_for_rights || is_not_there(state, guests, call, answer);
                self.refused_rightly.extend(is_right.then_some(number as u64));
            }
            About::Command { .. } => {}
            About::Query { object, .. } if is_stopped(answer) => {
                let guests = guests.filter(|_| position == here);
                guests.map_or(Ok(()), |guests| self.may_be_stopped(guests, object, attempt, rules))?;
            }
            _ if says_nothing(answer) => {}
            About::Export { .. } | About::TryMigration { .. } => {
                guests.map_or(Ok(()), |guests| of_a_copy(guests, call, answer, rules))?;
                self.is_fresh(here, (number, is_not_own), call, rules)?;
            }
            About::Renew if is_refused || is_for_want_of_rights(answer) => {
                is_refused_rightly(is_refused, call, answer)?;
            }
            About::Renew => renewed(state, call, answer, rules)?,
            About::Access { .. } if !is_refused => {
                group.map_or(Ok(()), |group| shows_access(group, call, answer, rules))?;
                self.is_fresh(here, (number, is_not_own), call, rules)?;
            }
            _ if is_refused || is_for_want_of_rights(answer) => {
                rules.count(32, "queries that are refused", 1);
                is_refused_rightly(is_refused, call, answer)?;
                self.is_fresh(here, (number, is_not_own), call, rules)?;
            }
            _ => {
                evaluated(state, group, call, answer)?;
                guests.map_or(Ok(()), |guests| as_modelled(guests, call, answer, rules))?;
                self.is_fresh(here, (number, is_not_own), call, rules)?;
            }
        }
        Ok(())
    }

    /// It is no older than it may be.
    fn is_fresh(
        &self,
        position: u64,
        (number, is_of_anothers): (usize, bool),
        call: &Call,
        rules: &mut Rules,
    ) -> Result<(), Wrong> {
        let attempt = &self.evidence.history.attempts[number];
        let (is_stale, min_position) = match &call.about {
            About::Query { is_stale, min_position, .. } => (is_stale, min_position),
            About::TryMigration { .. } | About::Export { .. } => (&false, &None),
            About::Access { is_stale } => (is_stale, &None),
            _ => return Ok(()),
        };
        rules.count(2, if *is_stale { "stale queries" } else { "linearizable queries" }, 1);
        // Whose a session is never changes, so another one is told so before; and so is who does not get in by all that was
        // committed when the query came.
        let is_refused = attempt.answer.as_ref().is_some_and(is_for_want_of_rights);
        let may_be_earlier = is_of_anothers || is_refused && !is_stale;
        if min_position.is_some_and(|least| position < least) && !may_be_earlier {
            return Err((2, format!("answered at {position}, below its `min_position`: {call:?}")));
        }
        let least = match is_stale {
            false => attempt.told_before,
            true => {
                let taken_ms =
                    self.evidence.record.taken_ms(number as u64, attempt).unwrap_or(attempt.sent_ms);
                let room_ms = 2 * self.evidence.lease_ms + ROOM_MS;
                self.evidence.history.highest_at(taken_ms.saturating_sub(room_ms))
            }
        };
        if position < least {
            let words =
                format!("answered at {position}, and {least} had been told before: {call:?}\n{attempt:?}");
            return Err((2, words));
        }
        Ok(())
    }

    /// O23: a member refuses the queries of an object that is not stopped if its process has died twice in such queries.
    fn may_be_stopped(
        &self,
        guests: &Guests,
        object: &Object,
        attempt: &Attempt,
        rules: &mut Rules,
    ) -> Result<(), Wrong> {
        let Some((space, version)) = guests.runs_in(object) else { return Ok(()) };
        rules.count(23, "queries that a member stops", 1);
        let is_its = |death: &&Death| {
            let is_before = attempt.answered_ms.is_some_and(|at_ms| death.at_ms <= at_ms);
            let of_queries = (death.member, death.space, death.of_queries);
            is_before && of_queries == (attempt.at.0, space, Some(version))
        };
        match self.evidence.record.deaths.iter().filter(is_its).count() {
            0 | 1 => Err((23, format!("a query is refused of what is not stopped: {attempt:?}"))),
            _ => Ok(()),
        }
    }

    /// # Errors
    /// A query was answered at a position that the log has not reached.
    pub(super) fn are_done(&self) -> Result<(), Wrong> {
        let calls = &self.evidence.history.calls;
        let is_query = |number: usize| {
            !matches!(calls[self.evidence.history.attempts[number].call].about, About::Command { .. })
        };
        let Some((position, number)) = self.left.iter().rev().find(|(_, number)| is_query(*number)) else {
            return Ok(());
        };
        let attempt = &self.evidence.history.attempts[*number];
        Err((7, format!("a query was answered at position {position}, which is lost: {attempt:?}")))
    }
}

/// Whether a member cannot serve.
fn says_nothing(answer: &Answer) -> bool {
    [503, 429].contains(&answer.status)
}

/// What is done on a copy of an object: an export, or a migration that is tried.
fn of_a_copy(guests: &Guests, call: &Call, answer: &Answer, rules: &mut Rules) -> Result<(), Wrong> {
    match &call.about {
        About::Export { object } => guests.exported(object, answer, rules),
        About::TryMigration { object, to } => guests.tried((object, *to), answer, rules),
        _ => Ok(()),
    }
}

/// Whether an object runs nothing, by this answer.
fn is_stopped(answer: &Answer) -> bool {
    answer.status == 503 && parsed(&answer.body)["type"] == "urn:diwan:problem:quarantined"
}

fn is_for_want_of_rights(answer: &Answer) -> bool {
    [401, 403].contains(&answer.status)
}

/// O32: whether a client may not do that, at this position.
fn may_not(group: &Group, call: &Call) -> bool {
    let principal = call.by.principal();
    let object = match &call.about {
        About::Query { object, .. } | About::Command { object: Some(object), .. } => Some(object),
        _ => None,
    };
    let name = object.and_then(|object| {
        Some(ObjectName { kind: type_named(&object.type_name)?, name: object.name.clone() })
    });
    let act = match (&call.about, &name, call.http.method) {
        (About::Query { method, .. } | About::Command { method: Some(method), .. }, Some(name), _) => {
            Act::Method(name, method)
        }
        (About::Command { .. }, Some(name), "PUT") => Act::Create(name),
        (About::Command { .. }, Some(name), "DELETE") => Act::LookAfter(name),
        _ if call.change.is_some() => Act::Administer,
        _ => Act::Know,
    };
    group.judge_query(&principal, &act).is_err()
}

fn is_of_anothers_session(group: &Group, call: &Call) -> bool {
    let name = call.by.principal().name;
    call.session.is_some_and(|id| group.is_anothers_session(id, &name))
}

fn is_refused_rightly(is_refused: bool, call: &Call, answer: &Answer) -> Result<(), Wrong> {
    match (is_refused, is_for_want_of_rights(answer)) {
        (true, false) => Err((32, format!("it is answered what it may not know: {call:?}\n{answer:?}"))),
        (false, true) => Err((32, format!("it may know what it is refused: {call:?}\n{answer:?}"))),
        _ => Ok(()),
    }
}

/// The answer is what the models, or a state that never saw a snapshot, say at that position.
fn evaluated(state: &State, group: Option<&Group>, call: &Call, answer: &Answer) -> Result<(), Wrong> {
    let About::Query { object, method, args, .. } = &call.about else { return Ok(()) };
    match told(state, group, object, (method, args)) {
        Some(told) if !is_same(&told, answer) => {
            Err((2, format!("{call:?}\nthe log {told:?}\nthe member {answer:?}")))
        }
        _ => Ok(()),
    }
}

/// Whether a call is told that its object is not there, and it is not at that position. A member answers such a call as a query if
/// the object is of a type of users.
fn is_not_there(state: &State, guests: Option<&Guests>, call: &Call, answer: &Answer) -> bool {
    let About::Command { object: Some(object), method: Some(method) } = &call.about else { return false };
    let is_of_users = type_named(&object.type_name).is_none();
    let shows_nothing = |guests: &Guests| guests.query(object) == Some(Err("no-such-object"));
    let is_told = || told(state, None, object, (method, &call.http.body));
    is_of_users && guests.is_none_or(shows_nothing) && is_told().is_some_and(|told| is_same(&told, answer))
}

/// What a query of an object is told at that position, if its type is known.
fn told(
    state: &State,
    group: Option<&Group>,
    object: &Object,
    (method, args): (&str, &[u8]),
) -> Option<model::Answer> {
    let kind = state.type_named(&object.type_name)?;
    let create = type_name(kind).is_some();
    let name = ObjectName { kind, name: object.name.clone() };
    Some(match group {
        Some(group) => group.query(&name, None, create, method, args),
        None => outcome::answer(&match state.query(&name, None, create, method, args) {
            Ok(result) => Outcome::Done(result),
            Err(problem) => Outcome::Refused(problem),
        }),
    })
}

/// The answer of a type of users in WebAssembly is what its model shows.
fn as_modelled(guests: &Guests, call: &Call, answer: &Answer, rules: &mut Rules) -> Result<(), Wrong> {
    let About::Query { object, method, args, .. } = &call.about else { return Ok(()) };
    let due = match *method {
        bytes::VIEW => guests.view(object, args),
        _ => guests.query(object),
    };
    let Some(due) = due else { return Ok(()) };
    if *method == deadly::QUERY && due.is_ok() {
        return Err((23, format!("what kills whoever runs it is answered: {call:?}\n{answer:?}")));
    }
    let is_right = match &due {
        Ok(due) => answer.status == 200 && *due == answer.body,
        Err("no-such-object") => answer.status == 404,
        Err(_) => answer.status == 503,
    };
    rules.count(2, "queries of guests", 1);
    if is_right { Ok(()) } else { Err((2, format!("{call:?}\nthe model {due:?}\nthe member {answer:?}"))) }
}

/// O32: a client is shown its rights, and one that administers those of all, and what is used of quotas.
fn shows_access(group: &Group, call: &Call, answer: &Answer, rules: &mut Rules) -> Result<(), Wrong> {
    rules.count(32, "shown rights and quotas", 1);
    let due = group.shown_access(&call.by.principal());
    match answer.status == 200 && due == outcome::plain(parsed(&answer.body)) {
        true => Ok(()),
        false => Err((32, format!("{call:?}\nthe log {due}\nthe member {answer:?}"))),
    }
}

/// A renewal is answered from a state that has the session, or has not.
fn renewed(state: &State, call: &Call, answer: &Answer, rules: &mut Rules) -> Result<(), Wrong> {
    let open = call.session.and_then(|id| state.session(id));
    let is_right = match (answer.status, &open) {
        (200, Some(open)) => parsed(&answer.body)["ttl_ms"].as_i64() == Some(open.ttl_ms),
        (410, None) => true,
        (200 | 410, _) => false,
        _ => return Ok(()),
    };
    rules.count(2, "renewals", 1);
    if is_right { Ok(()) } else { Err((2, format!("a session is renewed: {call:?}\n{answer:?}\n{open:?}"))) }
}

/// Whether a member answers what the model does.
fn is_same(told: &model::Answer, answer: &Answer) -> bool {
    let body = parsed(&answer.body);
    match told {
        Ok(result) => answer.status == 200 && *result == body,
        Err(refusal) => {
            let effect = if refusal.unknown { "unknown" } else { "none" };
            body["type"] == format!("urn:diwan:problem:{}", refusal.slug).as_str()
                && body["effect"] == effect
                && body["position"].as_u64() == Some(refusal.position)
        }
    }
}
