//! O1, and with it what only the model knows: O14 no lost wake-up, O16 first come first served, O18 conditions, O31 refusals at
//! limits. Of two accounts of one command it finds where they differ first, and which rule that breaks.

use std::collections::BTreeMap;

use objects_state::{Command, Effect, TicketEnd, type_name};
use sim_kit::Judged;

use super::requests::Requests;
use super::{Seen, Wrong, judged};
use crate::model::{Answer, Told};

/// Refusals that say that a limit is reached.
const LIMITS: [&str; 5] = ["waiters-full", "quota", "full", "queue-full", "too-large"];

pub(crate) fn compare(
    seen: &Seen<'_>,
    requests: &Requests,
    all: &mut BTreeMap<u32, Judged>,
) -> Result<(), Wrong> {
    count(seen, all);
    if seen.told == seen.shown {
        return Ok(());
    }
    let command = crate::outcome::brief(seen.command);
    let both = format!("\nmodel {:?}\nstate {:?}\nafter {command}", seen.told, seen.shown);
    let (rule, what) = why(seen, requests);
    Err((rule, format!("{what}{both}")))
}

fn count(seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) {
    for told in seen.shown {
        judged(all, 1, "answers and ends");
        match told {
            Told::Ended(id, TicketEnd::Granted, _) => {
                judged(all, 14, "grants");
                judged(all, 16, "grants");
                if seen.book.ticket(*id).is_some_and(crate::book::Ticket::is_of_condition) {
                    judged(all, 18, "returns");
                }
            }
            Told::Answered(_, Err(refusal)) if LIMITS.contains(&refusal.slug) => {
                judged(all, 31, "refusals");
            }
            _ => {}
        }
    }
}

fn why(seen: &Seen<'_>, requests: &Requests) -> (u32, &'static str) {
    of_request(seen, requests).or_else(|| of_tickets(seen)).unwrap_or_else(|| of_answers(seen))
}

fn of_request(seen: &Seen<'_>, requests: &Requests) -> Option<(u32, &'static str)> {
    let (due, shown) = (answer_of(seen.told), answer_of(seen.shown));
    match (due.is_some_and(is_of_access), shown.is_some_and(is_of_access)) {
        (true, false) => return Some((32, "what may not be done is done")),
        (false, true) => return Some((32, "what may be done is refused")),
        (true, true) if due != shown => return Some((32, "it is refused otherwise")),
        _ if forbidden(seen.told) != forbidden(seen.shown) => return Some((32, "other waits may not go on")),
        _ if matches!(seen.command, Command::Access { .. }) && due != shown => {
            return Some((32, "a change comes to something else"));
        }
        _ => {}
    }
    if let Some(Err(refusal)) = due
        && LIMITS.contains(&refusal.slug)
        && shown.is_none_or(Result::is_ok)
    {
        return Some((31, "a limit is passed"));
    }
    if let (Command::CancelTicket { .. }, Some(Err(_)), Some(Ok(_))) = (seen.command, due, shown) {
        return Some((15, "a call that does not wait is cancelled"));
    }
    let outcome = seen.effects.iter().find_map(|effect| match effect {
        Effect::Answered { outcome, .. } => Some(outcome),
        _ => None,
    });
    if due != shown && outcome.is_some_and(|outcome| requests.is_anothers(seen, outcome)) {
        return Some((5, "a new request is answered what another one was"));
    }
    is_of_condition(seen).then_some((18, "a condition's wait differs"))
}

fn of_tickets(seen: &Seen<'_>) -> Option<(u32, &'static str)> {
    let (due, granted) = (ends(seen.told, TicketEnd::Granted), ends(seen.shown, TicketEnd::Granted));
    let is_missing = due.iter().any(|id| !granted.contains(id));
    let is_more = granted.iter().any(|id| !due.contains(id));
    match (is_missing, is_more) {
        (true, true) => return Some((16, "another call is granted than the one whose turn it is")),
        (true, false) => return Some((14, "a call that is due is not granted")),
        (false, true) => return Some((9, "a call is granted that is not due")),
        (false, false) if due != granted => return Some((16, "calls are granted in another order")),
        (false, false) => {}
    }
    let differ = |end| ends(seen.told, end) != ends(seen.shown, end);
    if differ(TicketEnd::TimedOut) {
        return Some((17, "other calls run out of time"));
    }
    if differ(TicketEnd::Cancelled) {
        return Some((15, "other calls are cancelled"));
    }
    let is_other = differ(TicketEnd::Ended) || closed(seen.told) != closed(seen.shown);
    is_other.then_some((13, "other calls or sessions end"))
}

fn of_answers(seen: &Seen<'_>) -> (u32, &'static str) {
    let is_parked = |told: &[Told]| told.iter().any(|told| matches!(told, Told::Parked(..)));
    match (is_parked(seen.told), is_parked(seen.shown)) {
        (true, false) if is_fair_grant(seen) => return (16, "a call goes past those that wait"),
        (true, false) => return (9, "a call that should wait does not"),
        (false, true) => return (14, "a call waits for what it could have"),
        _ => {}
    }
    (1, "an answer differs")
}

/// Whether the command got what others wait for.
fn is_fair_grant(seen: &Seen<'_>) -> bool {
    let Command::Call(call) = seen.command else { return false };
    seen.book.open.iter().any(|ticket| ticket.object == call.object)
}

fn is_of_condition(seen: &Seen<'_>) -> bool {
    if let Command::Call(call) = seen.command
        && type_name(call.object.kind) == Some("lock")
        && ["await", "signal", "signal_all"].contains(&&*call.invocation.method)
    {
        return true;
    }
    let mut odd = seen.told.iter().filter(|told| !seen.shown.contains(told));
    let mut more = seen.shown.iter().filter(|told| !seen.told.contains(told));
    let is_it = |told: &Told| match told {
        Told::Ended(id, ..) => seen.book.ticket(*id).is_some_and(crate::book::Ticket::is_of_condition),
        _ => false,
    };
    odd.any(is_it) || more.any(is_it)
}

fn is_of_access(answer: &Answer) -> bool {
    matches!(answer, Err(refusal) if ["forbidden", "unauthenticated"].contains(&refusal.slug))
}

/// The waits that end because they may not go on.
fn forbidden(told: &[Told]) -> Vec<u64> {
    let id = |told: &Told| match told {
        Told::Ended(id, _, answer) if is_of_access(answer) => Some(*id),
        _ => None,
    };
    told.iter().filter_map(id).collect()
}

fn ends(told: &[Told], which: TicketEnd) -> Vec<u64> {
    let id = |told: &Told| match told {
        Told::Ended(id, end, _) if *end == which => Some(*id),
        _ => None,
    };
    told.iter().filter_map(id).collect()
}

fn closed(told: &[Told]) -> Vec<&Told> {
    told.iter().filter(|told| matches!(told, Told::Opened(..) | Told::Closed(..))).collect()
}

fn answer_of(told: &[Told]) -> Option<&Answer> {
    told.iter().find_map(|told| match told {
        Told::Answered(_, answer) => Some(answer),
        _ => None,
    })
}
