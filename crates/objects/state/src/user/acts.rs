//! What a module asks for, done in order after its run.

use super::enter::{Visit, refused};
use super::long::{self, Moment};
use super::{Guest, WAITING, outbox, queue};
use crate::bytes;
use crate::effects::{EventKind, Said, TicketEnd};
use crate::guest::Act;
use crate::json::Json;
use crate::key::table;
use crate::limits::{
    TIMERS_PER_OBJECT_MAX, TOPIC_BYTES_MAX, USER_RUNS_PER_SESSION_MAX, VALUE_BYTES_MAX, WAIT_MS_MAX,
};
use crate::object::{Claim, Ctx, Live};
use crate::place::Place;
use crate::problem::{Outcome, Problem, Slug};
use crate::session;
use crate::ticket::{self, Ticket};

/// The longest time until a timer is due: a year.
const TIMER_MS_MAX: i64 = 366 * 24 * 3_600_000;

fn broken(detail: impl Into<String>) -> Problem {
    Problem::new(Slug::GuestTrap, detail)
}

/// Does all of it, or fails. Gives the ticket of the call, if it waits.
pub(super) fn perform(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    (visit, at): (&Visit<'_>, &Moment),
    acts: Vec<Act>,
) -> Result<Option<u64>, Problem> {
    let mut parked = None;
    for act in acts {
        match act {
            Act::Park { tag, wait_ms } => {
                if !visit.may_park || parked.is_some() {
                    return Err(broken("only a blocking method may park, once"));
                }
                parked = Some(park(ctx, (visit, at), wants(visit, tag), wait_ms)?);
            }
            Act::Wake { ticket, result } => {
                let found = waiting(ctx, visit, ticket)?;
                let result = match gives_bytes(&found.1) {
                    true => (result.len() <= VALUE_BYTES_MAX).then(|| bytes::shown(&result)),
                    false => json(result),
                };
                let result = result.ok_or_else(|| broken("the result of a waiting call is not JSON"))?;
                ctx.grant(&found, result);
            }
            Act::Fail { ticket, code, detail } => {
                let found = waiting(ctx, visit, ticket)?;
                let problem = Problem { position: ctx.position(), ..refused(code, detail) };
                ctx.end(&found.0, &found.1, TicketEnd::Granted, Outcome::Refused(problem));
            }
            Act::SetTimer { id, after_ms } => set_timer(live, ctx, id, Some((at, after_ms)))?,
            Act::ClearTimer(id) => set_timer(live, ctx, id, None)?,
            Act::Emit { topic, body } => emit(ctx, topic, body)?,
            Act::Send { target, method, args } => {
                let sender = (ctx.object, ctx.header.incarnation);
                outbox::send(ctx.core, sender, &target, method, args)?;
            }
        }
    }
    Ok(parked)
}

fn json(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok().filter(|text| text.len() <= VALUE_BYTES_MAX)?;
    Json::parse(text.as_bytes()).is_ok().then_some(text)
}

/// A call that waits for this object.
fn waiting(ctx: &Ctx<'_>, visit: &Visit<'_>, id: u64) -> Result<(Place, Ticket), Problem> {
    let found = ticket::waiting(ctx.core, id)
        .filter(|(place, _)| place.space == ctx.space() && place.queue.tag == WAITING);
    let found = found.filter(|_| visit.ended != Some(id));
    found.ok_or_else(|| broken(format!("no call of this object waits under ticket {id}")))
}

/// What a waiting call's ticket says: the module's tag, and a byte behind it if its result is bytes.
fn wants(visit: &Visit<'_>, tag: u64) -> Vec<u8> {
    let mut wants = tag.to_be_bytes().to_vec();
    if visit.gives_bytes {
        wants.push(1);
    }
    wants
}

/// Whether the result of a call that its module made wait is bytes.
pub(super) const fn gives_bytes(ticket: &Ticket) -> bool {
    ticket.wants.len() > size_of::<u64>()
}

fn park(
    ctx: &mut Ctx<'_>,
    (visit, at): (&Visit<'_>, &Moment),
    wants: Vec<u8>,
    wait_ms: i64,
) -> Result<u64, Problem> {
    // The call's own ticket is none of the others.
    let others_max = USER_RUNS_PER_SESSION_MAX + u32::from(visit.own.is_some());
    if let Some(id) = ctx.claim.session
        && session::find(ctx.core, id)?.tickets >= others_max
    {
        return Err(Problem::new(Slug::WaitersFull, "too many calls of this session wait"));
    }
    let own = (wait_ms >= 0).then_some(wait_ms);
    let wait_ms = own.into_iter().chain(ctx.claim.wait_ms).min();
    if let Some(found) = visit.own {
        let until_ms = at.stamp_ms.saturating_add(wait_ms.unwrap_or(WAIT_MS_MAX).min(WAIT_MS_MAX));
        ctx.requeue_until(found.clone(), queue(), wants, until_ms);
        return Ok(found.1.id);
    }
    let claim = Claim { wait_ms, ..ctx.claim.clone() };
    let (header, object) = (&mut *ctx.header, ctx.object);
    let mut ctx = Ctx { core: &mut *ctx.core, header, object, claim: &claim };
    ctx.park(queue(), wants, false, 0)
}

fn set_timer(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    id: u64,
    after: Option<(&Moment, i64)>,
) -> Result<(), Problem> {
    let sub = id.to_be_bytes();
    let is_set = ctx.get::<i64>(table::TIMER, &sub).is_some() || long::leave_timer(ctx, id);
    let at = after.map(|(at, after_ms)| at.stamp_ms.saturating_add(after_ms.clamp(0, TIMER_MS_MAX)));
    match (is_set, at) {
        (false, Some(_)) if live.root.timers >= TIMERS_PER_OBJECT_MAX => {
            let detail = format!("an object has {TIMERS_PER_OBJECT_MAX} timers at the most");
            return Err(Problem::new(Slug::Quota, detail));
        }
        (false, Some(_)) => live.root.timers += 1,
        (true, None) => live.root.timers -= 1,
        _ => {}
    }
    ctx.set_timer(&sub, at);
    Ok(())
}

fn emit(ctx: &mut Ctx<'_>, topic: String, body: Vec<u8>) -> Result<(), Problem> {
    if topic.len() > TOPIC_BYTES_MAX || topic.chars().any(char::is_control) {
        return Err(broken("the topic of an event is too long, or has control characters"));
    }
    let body = json(body).ok_or_else(|| broken("the body of an event is not JSON"))?;
    ctx.core.happened(EventKind::Emitted, ctx.object, None, Some(Said { topic, body }));
    Ok(())
}
