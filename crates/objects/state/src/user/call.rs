//! Creation, calls and queries of objects of users' types.

use super::enter::{self, Visit};
use super::host::Records;
use super::{GUARD_LEVEL, Guest, guard, hears_sessions};
use crate::answer::{Answer, check_incarnation, find};
use crate::args::Args;
use crate::codec::encoded;
use crate::command::{Batch, Call, Invocation, ObjectName};
use crate::effects::Effect;
use crate::group::Core;
use crate::guest::{Entry, Run};
use crate::json::Json;
use crate::key::{self, table};
use crate::limits::{SPENT_MAX, USER_RUNS_PER_SESSION_MAX};
use crate::object::{self, Claim, Ctx, Live, MethodKind, Why, class};
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::request::{self, Kept};
use crate::session;
use crate::ticket;
use crate::types;

/// Calls a method.
pub(crate) fn call(core: &mut Core, call: &Call, mut claim: Claim, hash: u64) -> Result<Answer, Problem> {
    let args = Args::parse(&call.invocation.args)?;
    let asked = args.int_in("wait_ms", 0, i64::MAX)?;
    claim.wait_ms = call.wait_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)).or(asked);
    let (opened, _) = find_there(core, &call.object, call.incarnation)?;
    let origin = call.caller.origin;
    object::run(core, &call.object, opened, true, &claim, |live, ctx| {
        let answer = step(live, ctx, &call.invocation, true)?;
        if let Some(ticket) = answer.parked {
            request::keep(ctx.core, &ctx.claim.reply, hash, Kept::Waits(ticket));
            ctx.core.out.push(Effect::Parked { origin, ticket });
            end_try(live, ctx, ticket);
            return Ok(Answer::Waits);
        }
        Ok(Answer::Done(answer.result))
    })
}

/// A call that only tries has its time behind it as soon as it waits.
fn end_try(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, id: u64) {
    let now_ms = ctx.now_ms();
    let is_over = |ticket: &ticket::Ticket| ticket.deadline_ms.is_some_and(|at| at <= now_ms);
    if let Some(found) = ticket::waiting(ctx.core, id).filter(|(_, ticket)| is_over(ticket)) {
        object::end_ticket(live, ctx, found, Why::TimedOut);
    }
}

fn find_there(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
) -> Result<(object::Open<Guest>, bool), Problem> {
    if types::find(core, object.kind).is_none() {
        return Err(crate::answer::no_such_type());
    }
    find::<Guest>(core, object, incarnation, false)
}

/// One call of an object that is open.
fn step(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    invocation: &Invocation,
    may_park: bool,
) -> Result<enter::Visited, Problem> {
    let kind = types::method(ctx.core, ctx.object.kind, live.root.version, &invocation.method)?;
    if kind == MethodKind::Query {
        return Err(Problem::argument("", "the method is a query: it has no place in the log"));
    }
    listen(live, ctx)?;
    let args: &[u8] = if invocation.args.is_empty() { b"{}" } else { &invocation.args };
    let entry = Entry::Call { method: &invocation.method, args };
    enter::enter(live, ctx, &Visit::of_call(entry, may_park && kind == MethodKind::Blocking))
}

/// The module is told when the session of this call ends, if it wants to be.
fn listen(live: &Live<Guest>, ctx: &mut Ctx<'_>) -> Result<(), Problem> {
    let Some(id) = ctx.claim.session else { return Ok(()) };
    let open = session::find(ctx.core, id)?;
    let holder = key::holder(id, class::LISTENER, 0);
    if ctx.get::<()>(table::HOLDER, &holder).is_some()
        || !hears_sessions(ctx.core, ctx.object, live.root.version)
    {
        return Ok(());
    }
    object::check_holdings(open.holdings + open.tickets)?;
    let of_session = [&key::holdings(id)[..], &[class::LISTENER]].concat();
    if ctx.core.store.prefix(&of_session).count() >= USER_RUNS_PER_SESSION_MAX as usize {
        let detail =
            format!("a session calls {USER_RUNS_PER_SESSION_MAX} objects that want to know of its end");
        return Err(Problem::new(Slug::Quota, detail));
    }
    ctx.put(table::HOLDER, &holder, &());
    ctx.core.write(key::holding(id, class::LISTENER, 0, ctx.space()), ctx.object);
    session::update(ctx.core, id, |session| session.holdings += 1);
    Ok(())
}

/// One call of a batch: it does not wait.
pub(crate) fn batch_step(
    core: &mut Core,
    batch: &Batch,
    invocation: &Invocation,
    claim: &Claim,
) -> Result<String, Problem> {
    Args::parse(&invocation.args)?;
    if core.spent > SPENT_MAX && core.meta.feature_level >= GUARD_LEVEL {
        return Err(Problem::new(Slug::OutOfFuel, "the calls before used up the fuel of the batch"));
    }
    let (opened, _) = find_there(core, &batch.object, batch.incarnation)?;
    object::run(core, &batch.object, opened, true, claim, |live, ctx| {
        step(live, ctx, invocation, false).map(|visited| visited.result)
    })
}

/// Creates an object of its type's latest version.
pub(crate) fn create(core: &mut Core, object: &ObjectName, args: &[u8]) -> Result<Answer, Problem> {
    Args::parse(args)?;
    let known = types::find(core, object.kind).ok_or_else(crate::answer::no_such_type)?;
    let args = match Json::parse(args) {
        Ok(args) => args.canonical(),
        Err(_) => String::from("{}"),
    };
    let arguments = request::hash(&[args.as_bytes()]);
    let (mut opened, existed) = find::<Guest>(core, object, None, true)?;
    let incarnation = opened.header.incarnation;
    let created = |is_new: bool, version| {
        Answer::Done(
            Reply::new()
                .flag("created", is_new)
                .number("incarnation", incarnation)
                .text("version", &format!("{version}"))
                .finish(),
        )
    };
    if existed {
        if opened.live.root.arguments != arguments {
            return Err(Problem::new(Slug::Exists, "the object exists with other arguments"));
        }
        return Ok(created(false, opened.live.root.version));
    }
    let version = known.current.ok_or_else(types::not_ready)?;
    types::ready_version(core, object.kind, version)?;
    opened.header.explicit = true;
    (opened.live.root.version, opened.live.root.arguments) = (version, arguments);
    types::count_object(core, object.kind, version, 1);
    object::run(core, object, opened, false, &Claim::default(), |live, ctx| {
        enter::enter(live, ctx, &Visit::of_call(Entry::Init(args.as_bytes()), false)).map(drop)
    })?;
    Ok(created(true, version))
}

/// Evaluates a query.
pub(crate) fn query(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
    method: &str,
    args: &[u8],
) -> Result<String, Problem> {
    let (opened, _) = find_there(core, object, incarnation)?;
    let (space, root) = (opened.header.incarnation, opened.live.root);
    if types::method(core, object.kind, root.version, method)? != MethodKind::Query {
        return Err(Problem::new(Slug::NotAQuery, "the method changes the object"));
    }
    check_incarnation(incarnation, Some(space))?;
    Args::parse(args)?;
    let entry = Entry::Call { method, args: if args.is_empty() { b"{}" } else { args } };
    guard::check(core, object, space, root.version)?;
    let run = Run {
        version: root.version,
        space,
        changed: root.changed,
        entry,
        now_ms: core.meta.stamp_ms,
        position: core.meta.position,
        seed: enter::seed(core, space),
        caller: "{}",
        fuel_max: u64::MAX,
    };
    let ended = core.engine.get().query(&run, &Records { core, space, ended: None });
    enter::text(ended.outcome.map_err(enter::problem)?, entry)
}

/// The bytes under which a key remembers a migration.
pub(super) fn named(object: &ObjectName) -> Vec<u8> {
    encoded(object)
}
