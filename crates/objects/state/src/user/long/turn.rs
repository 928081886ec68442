//! One run has its turn: a slice of it where commands are applied, or all of it when it has ended beside them.

use super::record::{Asked, Item, Work};
use crate::answer::is_for_now;
use crate::codec::{decoded, encoded};
use crate::command::{ObjectName, TypeId};
use crate::effects::TicketEnd;
use crate::group::Core;
use crate::guest::{Entry, Run};
use crate::key;
use crate::object::{Claim, Ctx, Live, Why};
use crate::place::{Place, Queue};
use crate::problem::{Outcome, Problem, SideEffect};
use crate::quota;
use crate::request;
use crate::ticket::{self, Ticket};
use crate::types;
use crate::user::call::{created, step};
use crate::user::enter::{self, Stop, Visit};
use crate::user::host::Records;
use crate::user::migrate::{self, Moving};
use crate::user::{CREATED_WITH, Guest, NOT_RUN, Root, acts, guard, said_to_end};

/// What came of it.
pub(super) enum Turn {
    /// It has ended, or is of no use any more.
    Over,
    /// It is to go on beside the commands.
    Unfinished,
    /// The next run of a migration is to go on so.
    GoesOn(Item),
    /// A message was refused.
    Refused((ObjectName, u64), Problem),
    /// The object could not be created: it is to be removed.
    NotCreated,
}

/// Whose call it is.
fn claim_of(ticket: &Ticket, wait_ms: Option<i64>) -> Claim {
    Claim {
        session: ticket.session,
        principal: ticket.principal.clone(),
        asked: ticket.asked.clone(),
        reply: ticket.reply.clone(),
        opened_ttl_ms: ticket.opened_ttl_ms,
        wait_ms,
    }
}

/// The run of an item, as the engine begins it beside the commands; nothing if it is of no use any more.
pub(super) fn with_run<R>(
    core: &Core,
    (kind, root, space): (TypeId, &Root, u64),
    item: &Item,
    work: impl Fn(&Run<'_>, &Records<'_>) -> R,
) -> Option<R> {
    let begin = |visit: &Visit<'_>, claim: &Claim| {
        let host = Records { core, space, claim: Some(claim), ended: visit.ended, is_new: false };
        let bytes = types::has_bytes(core, kind, root.version);
        work(&enter::as_run((root, bytes), space, visit, &item.at), &host)
    };
    let nobody = Claim::default();
    Some(match item.work {
        Work::Call(id) => {
            let (_, ticket) = ticket::waiting(core, id)?;
            let asked: Asked = decoded(&ticket.wants).ok()?;
            let about = types::method(core, kind, root.version, &asked.invocation.method);
            begin(&Visit::of_method(&about, &asked.invocation), &claim_of(&ticket, None))
        }
        Work::Init(_) => {
            let args = core.store.get(&key::entry(space, CREATED_WITH, &[]))?;
            begin(&Visit::of_call(Entry::Init(args), false), &nobody)
        }
        Work::Move(id) => {
            let (_, ticket) = ticket::waiting(core, id)?;
            let moving: Moving = decoded(&ticket.wants).ok()?;
            let Some(saved) = &moving.saved else {
                return Some(begin(&Visit::of_call(Entry::Save, false), &nobody));
            };
            types::ready_version(core, kind, moving.to).ok()?;
            let state = migrate::state(core, kind, root.version, saved);
            let visit = Visit::of_call(Entry::Migrate(state.as_bytes()), false);
            let anew = Root { version: moving.to, changed: 0, ..root.clone() };
            let host = Records { core, space, claim: Some(&nobody), ended: None, is_new: true };
            let bytes = types::has_bytes(core, kind, moving.to);
            work(&enter::as_run((&anew, bytes), space, &visit, &item.at), &host)
        }
        other => begin(&Visit::of_uncalled(core, &other), &nobody),
    })
}

/// Gives a run its turn, with that slice of fuel; with all that it may take if there is none.
pub(super) fn turn(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, item: &Item, slice: Option<u64>) -> Turn {
    match item.work {
        Work::Call(id) => call(live, ctx, (item, id), slice),
        Work::Init(id) => init(live, ctx, (item, id), slice),
        Work::Move(id) => going_over(live, ctx, (item, id), slice),
        Work::End(id, why) => end(live, ctx, (item, id, why), slice),
        Work::Timer(id) if put_off(live, ctx, id) => Turn::Over,
        work @ (Work::Timer(_) | Work::SessionExpired(_) | Work::TicketEnded(_)) => {
            match enter::enter_uncalled(live, ctx, work, (Some(item.at), slice)) {
                Ok(_) => Turn::Over,
                Err(_) => Turn::Unfinished,
            }
        }
    }
}

/// A timer of an object that runs nothing comes later.
fn put_off(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, id: u64) -> bool {
    let runs = guard::check(ctx.core, ctx.object, ctx.space(), live.root.version).is_ok();
    if !runs {
        super::put_timer_off(live, ctx, id);
    }
    !runs
}

fn call(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, (item, id): (&Item, u64), slice: Option<u64>) -> Turn {
    let Some(found) = ticket::waiting(ctx.core, id) else { return Turn::Over };
    let Ok(asked) = decoded::<Asked>(&found.1.wants) else { return Turn::Over };
    let claim = claim_of(&found.1, asked.wait_ms);
    let ctx = &mut Ctx { core: &mut *ctx.core, header: &mut *ctx.header, object: ctx.object, claim: &claim };
    quota::settle(ctx.core);
    let (mark, header, root) = (ctx.core.mark(), ctx.header.clone(), live.root.clone());
    let about = types::method(ctx.core, ctx.object.kind, live.root.version, &asked.invocation.method);
    let visit =
        Visit { slice, at: Some(item.at), own: Some(&found), ..Visit::of_method(&about, &asked.invocation) };
    let hops = core::mem::replace(&mut ctx.core.hops, asked.hops);
    let stepped = step(live, ctx, about, &visit);
    ctx.core.hops = hops;
    // A message was accepted: no quota has it lost.
    let stepped = match asked.sender {
        None => within_quotas(ctx, stepped),
        Some(_) => stepped,
    };
    let problem = match stepped {
        Ok(enter::Visited { parked: Some(_), .. }) => {
            super::end_try(live, ctx, item, id);
            return Turn::Over;
        }
        Ok(visited) => {
            ctx.grant(&found, visited.result);
            return Turn::Over;
        }
        Err(Stop::Refused(problem)) => problem,
        Err(Stop::Unfinished(_)) => {
            ctx.core.rollback(mark);
            (*ctx.header, live.root) = (header, root);
            return Turn::Unfinished;
        }
    };
    ctx.core.rollback(mark);
    (*ctx.header, live.root) = (header, root);
    refuse(ctx, &found, problem.clone());
    asked.sender.map_or(Turn::Over, |sender| Turn::Refused(sender, problem))
}

/// A run that somebody waits for may be refused by a quota.
fn within_quotas<R>(ctx: &mut Ctx<'_>, done: Result<R, Stop>) -> Result<R, Stop> {
    let done = done?;
    quota::check(ctx.core)?;
    Ok(done)
}

/// A waiting call is refused. What passes is not kept, as of a call that did not wait.
fn refuse(ctx: &mut Ctx<'_>, (place, ticket): &(Place, Ticket), problem: Problem) {
    let mut problem = Problem { position: ctx.position(), ..problem };
    if is_for_now(&problem) {
        problem.effect = SideEffect::Unknown;
        request::forget_waiting(ctx.core, &ticket.reply);
    }
    ctx.end(place, ticket, TicketEnd::Granted, Outcome::Refused(problem));
}

/// An object is created. Its creator may have gone meanwhile.
fn init(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, (item, id): (&Item, u64), slice: Option<u64>) -> Turn {
    let (found, args_key) = (ticket::waiting(ctx.core, id), key::entry(ctx.space(), CREATED_WITH, &[]));
    let args = ctx.core.store.get(&args_key).map(<[u8]>::to_vec).unwrap_or_default();
    quota::settle(ctx.core);
    let (mark, header, root) = (ctx.core.mark(), ctx.header.clone(), live.root.clone());
    let visit = Visit { slice, at: Some(item.at), ..Visit::of_call(Entry::Init(&args), false) };
    // Another creation of its version may have killed members meanwhile.
    let may_run = types::check_creations(ctx.core, ctx.object.kind, live.root.version);
    let entered = may_run.map_err(Stop::from).and_then(|()| enter::enter(live, ctx, &visit));
    let entered = within_quotas(ctx, entered);
    let (problem, is_unfinished) = match entered {
        Ok(_) => {
            ctx.core.store.remove(&args_key);
            let result = created(true, ctx.space(), live.root.version);
            found.iter().for_each(|found| ctx.grant(found, result.clone()));
            return Turn::Over;
        }
        Err(Stop::Refused(problem)) => (Some(problem), false),
        Err(Stop::Unfinished(_)) => (None, true),
    };
    ctx.core.rollback(mark);
    (*ctx.header, live.root) = (header, root);
    if let Some((found, problem)) = found.zip(problem) {
        refuse(ctx, &found, problem);
    }
    if is_unfinished { Turn::Unfinished } else { Turn::NotCreated }
}

/// An object goes to another version, as far as the runs take no longer than they may here.
fn going_over(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    (item, id): (&Item, u64),
    slice: Option<u64>,
) -> Turn {
    let Some(found) = ticket::waiting(ctx.core, id) else { return Turn::Over };
    let Ok(mut moving) = decoded::<Moving>(&found.1.wants) else { return Turn::Over };
    quota::settle(ctx.core);
    let (mark, header, root) = (ctx.core.mark(), ctx.header.clone(), live.root.clone());
    let gone_over = migrate::go_over(live, ctx, &mut moving, (Some(item.at), slice));
    let stop = match within_quotas(ctx, gone_over) {
        Ok(result) => {
            ctx.grant(&found, result);
            return Turn::Over;
        }
        Err(stop) => stop,
    };
    ctx.core.rollback(mark);
    (*ctx.header, live.root) = (header, root);
    match stop {
        Stop::Unfinished(at) => {
            // What the first run has saved is kept for the second.
            let wants = encoded(&moving);
            if wants != found.1.wants {
                ctx.requeue(found, Queue::of(NOT_RUN), wants);
            }
            Turn::GoesOn(Item { at, ..*item })
        }
        Stop::Refused(problem) => {
            ctx.core.engine.get().forget(ctx.space());
            refuse(ctx, &found, problem);
            Turn::Over
        }
    }
}

/// A waiting call ends, with what its module says to that.
fn end(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    (item, id, why): (&Item, u64, Why),
    slice: Option<u64>,
) -> Turn {
    if ticket::waiting(ctx.core, id).is_none() {
        return Turn::Over;
    }
    let Ok(said) = enter::enter_uncalled(live, ctx, item.work, (Some(item.at), slice)) else {
        return Turn::Unfinished;
    };
    // The run has woken others at the most, for this one had ended as far as it could see.
    if let Some((place, ticket)) = ticket::waiting(ctx.core, id) {
        let end = if why == Why::TimedOut { TicketEnd::TimedOut } else { TicketEnd::Cancelled };
        ctx.end(&place, &ticket, end, said_to_end(said, acts::gives_bytes(&ticket)));
    }
    Turn::Over
}
