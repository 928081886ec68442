//! Creation, calls and queries of objects of users' types.

use super::enter::{self, Stop, Visit};
use super::host::Records;
use super::{GUARD_LEVEL, Guest, guard, hears_sessions, long};
use crate::answer::{Answer, check_incarnation, find};
use crate::args::Args;
use crate::codec::encoded;
use crate::command::{Batch, Call, Invocation, ObjectName, Origin};
use crate::effects::Effect;
use crate::group::Core;
use crate::guest::{Entry, Failure, Run, VersionHash};
use crate::json::Json;
use crate::key::{self, table};
use crate::limits::{QUERY_FUEL_PER_PAGE, SLICE_FUEL, USER_RUNS_PER_SESSION_MAX, VALUE_BYTES_MAX};
use crate::object::{self, Claim, Ctx, Live, MethodKind, Why, class};
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::request::{self, Kept};
use crate::session;
use crate::ticket;
use crate::types::{self, AboutMethod};

/// Calls a method.
pub(crate) fn call(core: &mut Core, call: &Call, mut claim: Claim, hash: u64) -> Result<Answer, Problem> {
    let Understood { opened, asked, about } = understood(core, call)?;
    claim.wait_ms = call.wait_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)).or(asked);
    let origin = call.caller.origin;
    let is_occupied = core.has_slices() && long::is_occupied(core, opened.header.incarnation);
    let slice = core.has_slices().then_some(SLICE_FUEL);
    object::run(core, &call.object, opened, true, &claim, |live, ctx| {
        let waits = |ctx: &mut Ctx<'_>, ticket| {
            request::keep(ctx.core, &ctx.claim.reply, hash, Kept::Waits(ticket));
            ctx.core.out.push(Effect::Parked { origin, ticket });
        };
        if is_occupied {
            checked_kind(about)?;
            let ticket = long::call_behind(live, ctx, &call.invocation)?;
            waits(ctx, ticket);
            return Ok(Answer::Waits);
        }
        let mark = ctx.core.mark();
        let visit = Visit { slice, ..Visit::of_method(&about, &call.invocation) };
        match step(live, ctx, about, &visit) {
            Ok(enter::Visited { parked: Some(ticket), .. }) => {
                waits(ctx, ticket);
                end_try(live, ctx, ticket);
                Ok(Answer::Waits)
            }
            Ok(visited) => Ok(Answer::Done(visited.result)),
            Err(Stop::Refused(problem)) => Err(problem),
            Err(Stop::Unfinished(at)) => {
                ctx.core.rollback(mark);
                // Nothing was written before the call.
                let before =
                    object::open::<Guest>(ctx.core, ctx.object).expect("an object that is called is there");
                (*ctx.header, live.root) = (before.header, before.live.root);
                let ticket = long::call_beside(live, ctx, at, &call.invocation)?;
                waits(ctx, ticket);
                Ok(Answer::Waits)
            }
        }
    })
}

/// What a call is about.
struct Understood {
    opened: object::Open<Guest>,
    /// The `wait_ms` among the arguments.
    asked: Option<i64>,
    /// The method, or why there is none.
    about: Result<AboutMethod, Problem>,
}

fn understood(core: &mut Core, call: &Call) -> Result<Understood, Problem> {
    let (kind, Invocation { method, args }) = (call.object.kind, &call.invocation);
    let find = |core: &mut Core| {
        let (opened, _) = find_there(core, &call.object, call.incarnation)?;
        let version = opened.live.root.version;
        types::remember(core, kind, version);
        Ok((opened, types::method(core, kind, version, method)))
    };
    let asked = || Args::parse(args)?.int_in("wait_ms", 0, i64::MAX);
    if core.meta.feature_level < types::BYTES_LEVEL {
        // Builds that know no bytes look at the arguments first.
        let asked = asked()?;
        let (opened, about) = find(core)?;
        return Ok(Understood { opened, asked, about });
    }
    let (opened, about) = find(core)?;
    let asked = match &about {
        Ok(about) if about.is_of_bytes => check_bytes(args).map(|()| None)?,
        _ => asked()?,
    };
    Ok(Understood { opened, asked, about })
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
    if !types::is_there(core, object.kind) {
        return Err(crate::answer::no_such_type());
    }
    find::<Guest>(core, object, incarnation, false)
}

/// What kind of a method it is that is called, if that may stand in the log.
fn checked_kind(about: Result<AboutMethod, Problem>) -> Result<MethodKind, Problem> {
    match about?.kind {
        MethodKind::Query => Err(Problem::argument("", "the method is a query: it has no place in the log")),
        kind => Ok(kind),
    }
}

/// One call of an object that is open, which `visit` enters.
pub(super) fn step(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    about: Result<AboutMethod, Problem>,
    visit: &Visit<'_>,
) -> Result<enter::Visited, Stop> {
    let kind = checked_kind(about)?;
    listen(live, ctx)?;
    let may_park = visit.may_park && kind == MethodKind::Blocking;
    enter::enter(live, ctx, &Visit { may_park, ..*visit })
}

/// Whether that is a method of an object of a user's type which takes and gives bytes.
pub(crate) fn takes_bytes(core: &Core, object: &ObjectName, method: &str) -> bool {
    let version = super::version_of(core, object);
    version.is_some_and(|version| types::is_of_bytes(core, object.kind, version, method))
}

/// Bytes that are arguments.
fn check_bytes(args: &[u8]) -> Result<(), Problem> {
    if args.len() > VALUE_BYTES_MAX {
        let detail = format!("{} bytes of arguments; {VALUE_BYTES_MAX} are allowed", args.len());
        return Err(Problem::new(Slug::TooLarge, detail));
    }
    Ok(())
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

/// A batch is carried out as a whole: not while something takes long at its object.
pub(crate) fn check_batch(core: &Core, batch: &Batch) -> Result<(), Problem> {
    let header: Option<object::Header> = core.read(&key::object(&batch.object));
    header.map_or(Ok(()), |header| long::check_free(core, header.incarnation))
}

/// One call of a batch: it does not wait.
pub(crate) fn batch_step(
    core: &mut Core,
    batch: &Batch,
    invocation: &Invocation,
    claim: &Claim,
) -> Result<String, Problem> {
    if takes_bytes(core, &batch.object, &invocation.method) {
        return Err(Problem::argument("calls", "a method that takes bytes is called alone, in no batch"));
    }
    Args::parse(&invocation.args)?;
    if core.has_spent_enough() && core.meta.feature_level >= GUARD_LEVEL {
        return Err(Problem::new(Slug::OutOfFuel, "the calls before used up the fuel of the batch"));
    }
    let (opened, _) = find_there(core, &batch.object, batch.incarnation)?;
    let slice = core.has_slices().then_some(SLICE_FUEL);
    object::run(core, &batch.object, opened, true, claim, |live, ctx| {
        let about = types::method(ctx.core, batch.object.kind, live.root.version, &invocation.method);
        let visit = Visit { slice, may_park: false, ..Visit::of_method(&about, invocation) };
        step(live, ctx, about, &visit).map(|visited| visited.result).map_err(Stop::refusal)
    })
}

/// Creates an object of its type's latest version.
pub(crate) fn create(
    core: &mut Core,
    (object, args): (&ObjectName, &[u8]),
    (origin, hash): (Origin, u64),
    claim: &Claim,
) -> Result<Answer, Problem> {
    Args::parse(args)?;
    let known = types::find(core, object.kind).ok_or_else(crate::answer::no_such_type)?;
    let args = match Json::parse(args) {
        Ok(args) => args.canonical(),
        Err(_) => String::from("{}"),
    };
    let arguments = request::hash(&[args.as_bytes()]);
    let (mut opened, existed) = find::<Guest>(core, object, None, true)?;
    let incarnation = opened.header.incarnation;
    let created = |is_new, version| Answer::Done(created(is_new, incarnation, version));
    if existed {
        long::check_created(core, incarnation)?;
        if opened.live.root.arguments != arguments {
            return Err(Problem::new(Slug::Exists, "the object exists with other arguments"));
        }
        return Ok(created(false, opened.live.root.version));
    }
    let version = types::version_of_new(core, object.kind, &known)?;
    types::ready_version(core, object.kind, version)?;
    types::check_creations(core, object.kind, version)?;
    opened.header.explicit = true;
    (opened.live.root.version, opened.live.root.arguments) = (version, arguments);
    types::count_object(core, object.kind, version, 1);
    // Builds that know no slices remember nothing of who creates an object.
    let nobody = Claim::default();
    let claim = if core.has_slices() { claim } else { &nobody };
    object::run(core, object, opened, false, claim, |live, ctx| {
        let done = construct(live, ctx, args.as_bytes())?;
        if let Err(ticket) = done {
            request::keep(ctx.core, &ctx.claim.reply, hash, Kept::Waits(ticket));
            ctx.core.out.push(Effect::Parked { origin, ticket });
            return Ok(Answer::Waits);
        }
        Ok(created(true, version))
    })
}

/// Runs the constructor; `Err` has the ticket under which its caller waits, if it takes long.
fn construct(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, args: &[u8]) -> Result<Result<(), u64>, Problem> {
    let (mark, header, root) = (ctx.core.mark(), ctx.header.clone(), live.root.clone());
    let slice = ctx.core.has_slices().then_some(SLICE_FUEL);
    let nobody = Claim::default();
    let of_nobody =
        &mut Ctx { core: &mut *ctx.core, header: &mut *ctx.header, object: ctx.object, claim: &nobody };
    let visit = Visit { slice, ..Visit::of_call(Entry::Init(args), false) };
    match enter::enter(live, of_nobody, &visit) {
        Ok(_) => Ok(Ok(())),
        Err(Stop::Refused(problem)) => Err(problem),
        Err(Stop::Unfinished(at)) => {
            ctx.core.rollback(mark);
            (*ctx.header, live.root) = (header, root);
            long::create_beside(live, ctx, at, args).map(Err)
        }
    }
}

/// What is said of an object that was created.
pub(super) fn created(is_new: bool, incarnation: u64, version: VersionHash) -> String {
    let reply = Reply::new().flag("created", is_new).number("incarnation", incarnation);
    reply.text("version", &format!("{version}")).finish()
}

/// What a query has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Its result.
    Answered(String),
    /// It goes on in the background.
    UnderWay {
        /// The engine's number of it.
        number: u64,
        /// Whether it gives bytes.
        gives_bytes: bool,
    },
}

/// Evaluates a query.
pub(crate) fn query(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
    (method, args): (&str, &[u8]),
) -> Result<String, Problem> {
    ask(core, object, incarnation, (method, args), |run, host, (_, gives_bytes)| {
        enter::query_result(core.engine.get().query(run, host), gives_bytes)
    })?
}

/// Evaluates a query, or the first part of one that takes long: the rest of it goes on in the background.
pub(crate) fn begin_query(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
    (method, args): (&str, &[u8]),
) -> Result<Asked, Problem> {
    ask(core, object, incarnation, (method, args), |run, host, (pages, gives_bytes)| {
        let slice = Some(SLICE_FUEL + QUERY_FUEL_PER_PAGE * u64::from(pages));
        let ended = core.engine.get().query(&Run { slice, ..*run }, host);
        if ended.outcome != Err(Failure::Unfinished) {
            return enter::query_result(ended, gives_bytes).map(Asked::Answered);
        }
        let begun = core.engine.get().begin_query(run, host);
        begun.map(|number| Asked::UnderWay { number, gives_bytes }).ok_or_else(|| {
            let detail = "too many queries that take long are under way at this member";
            Problem { retry_after_ms: Some(100), ..Problem::new(Slug::Rate, detail) }
        })
    })?
}

/// A query as it is run; with it, how many pages its object has, and whether it gives bytes.
fn ask<R>(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
    (method, args): (&str, &[u8]),
    work: impl FnOnce(&Run<'_>, &Records<'_>, (u32, bool)) -> R,
) -> Result<R, Problem> {
    let (opened, _) = find_there(core, object, incarnation)?;
    let (space, root) = (opened.header.incarnation, opened.live.root);
    let AboutMethod { kind, is_of_bytes } = types::method(core, object.kind, root.version, method)?;
    if kind != MethodKind::Query {
        return Err(Problem::new(Slug::NotAQuery, "the method changes the object"));
    }
    check_incarnation(incarnation, Some(space))?;
    let args = match is_of_bytes {
        true => check_bytes(args).map(|()| args)?,
        false => Args::parse(args).map(|_| if args.is_empty() { b"{}" } else { args })?,
    };
    let entry = Entry::Call { method, args };
    guard::check(core, object, space, root.version)?;
    let run = Run {
        version: root.version,
        space,
        changed: root.changed,
        entry,
        now_ms: core.meta.stamp_ms,
        position: core.meta.position,
        kept_at: core.meta.position,
        seed: enter::seed(core, space),
        fuel_max: u64::MAX,
        bytes: types::has_bytes(core, object.kind, root.version),
        slice: None,
    };
    let about = (root.pages, is_of_bytes);
    Ok(work(&run, &Records { core, space, claim: None, ended: None, is_new: false }, about))
}

/// The bytes under which a key remembers a migration.
pub(super) fn named(object: &ObjectName) -> Vec<u8> {
    encoded(object)
}
