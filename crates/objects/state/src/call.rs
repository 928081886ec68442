//! Requests: calls, batches, creation and deletion of objects. What a request refuses it refuses without effect.

use crate::access::{self, Act};
use crate::answer::{Answer, check_incarnation, find, no_such_type, once};
use crate::args::Args;
use crate::asked;
use crate::builtin::{Builtin, Method, MethodKind, Step, dispatch};
use crate::codec::encoded;
use crate::command::{Batch, Call, Caller, Identity, Invocation, ObjectName};
use crate::effects::Effect;
use crate::group::Core;
use crate::key::{self, table};
use crate::limits::REPLY_BYTES_MAX;
use crate::object::{self, Claim, Ctx, Live};
use crate::placement;
use crate::problem::{Outcome, Problem, Slug};
use crate::quota;
use crate::reply::Reply;
use crate::request::{self, Kept};
use crate::session;
use crate::ticket;
use crate::types;
use crate::user;

/// The hash of a call or of a batch, under which an idempotency key remembers it: without a key none is needed. A batch of one
/// call is answered another way than that call.
fn hash_of(caller: &Caller, object: &ObjectName, invocations: &[Invocation], is_batch: bool) -> u64 {
    if !matches!(caller.identity, Identity::Key(_)) {
        return 0;
    }
    let name = encoded(object);
    let mut parts: Vec<&[u8]> = vec![name.as_slice()];
    if is_batch {
        parts.push(b"batch");
    }
    for invocation in invocations {
        parts.extend([invocation.method.as_bytes(), &invocation.args]);
    }
    request::hash(&parts)
}

pub(crate) fn call(core: &mut Core, call: &Call) {
    let hash = hash_of(&call.caller, &call.object, core::slice::from_ref(&call.invocation), false);
    once(core, &call.caller, hash, |core| quota::judged(core, |core| carry_out(core, call, hash)));
}

/// Carries out a call that nobody waits for, or takes it back.
///
/// # Errors
/// It was refused.
pub(crate) fn deliver(core: &mut Core, call: &Call) -> Result<(), Problem> {
    let mark = core.mark();
    let hash = hash_of(&call.caller, &call.object, core::slice::from_ref(&call.invocation), false);
    carry_out(core, call, hash).map(drop).inspect_err(|_| core.rollback(mark))
}

fn carry_out(core: &mut Core, call: &Call, hash: u64) -> Result<Answer, Problem> {
    let method = &call.invocation.method;
    access::judge(core, &call.caller.principal, &Act::Method(&call.object, method))?;
    let claim = Claim::of(core, &call.caller, method);
    if types::is_user(call.object.kind) {
        return user::call(core, call, claim, hash);
    }
    dispatch!(call.object.kind, K => call_of::<K>(core, call, claim, hash), else Err(no_such_type()))
}

fn call_of<K: Builtin>(core: &mut Core, call: &Call, mut claim: Claim, hash: u64) -> Result<Answer, Problem> {
    if let (Some(new), None) = (&call.opens, claim.session) {
        session::open(core, new, &claim.principal)?;
        claim.session = Some(new.id);
        claim.opened_ttl_ms = Some(new.ttl_ms);
    }
    let (method, args) = understood::<K>(&call.invocation)?;
    let asked = args.int_in("wait_ms", 0, i64::MAX)?;
    claim.wait_ms = call.wait_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)).or(asked);
    let (opened, existed) = find::<K>(core, &call.object, call.incarnation, call.create)?;
    let origin = call.caller.origin;
    let answer = object::run(core, &call.object, opened, existed, &claim, |live, ctx| {
        step(live, ctx, method.name, &args, |ctx, ticket| {
            request::keep(ctx.core, &ctx.claim.reply, hash, Kept::Waits(ticket));
            ctx.core.out.push(Effect::Parked { origin, ticket });
        })
    })?;
    Ok(match answer {
        Answer::Done(result) => {
            let done = Outcome::Done(result);
            match ticket::with_session(core, claim.session, claim.opened_ttl_ms, done) {
                Outcome::Done(result) => Answer::Done(result),
                Outcome::Refused(problem) => return Err(problem),
            }
        }
        waits @ Answer::Waits => waits,
    })
}

/// One call of an object that is open.
fn step<K: Builtin>(
    live: &mut Live<K>,
    ctx: &mut Ctx<'_>,
    method: &str,
    args: &Args,
    parked: impl FnOnce(&mut Ctx<'_>, u64),
) -> Result<Answer, Problem> {
    if let Some(id) = ctx.claim.session {
        object::check_holdings(session::burden(ctx.core, id)?)?;
    }
    match K::call(live, ctx, method, args)? {
        Step::Done(result) => Ok(Answer::Done(result)),
        Step::Wait(wait) if ctx.claim.wait_ms == Some(0) && !wait.forever => {
            Ok(Answer::Done(K::missed(live, &ctx.view(), &wait.queue, &wait.wants)))
        }
        Step::Wait(wait) => {
            let ticket = ctx.park(wait.queue, wait.wants, wait.forever, wait.passed)?;
            parked(ctx, ticket);
            Ok(Answer::Waits)
        }
    }
}

/// The method, if it may stand in the log, and its arguments.
fn understood<K: Builtin>(invocation: &Invocation) -> Result<(&'static Method, Args), Problem> {
    let method = method_of::<K>(&invocation.method)?;
    if method.kind == MethodKind::Query {
        return Err(Problem::argument("", "the method is a query: it has no place in the log"));
    }
    let args = Args::parse(&invocation.args)?;
    args.only(method.args)?;
    Ok((method, args))
}

pub(crate) fn method_of<K: Builtin>(name: &str) -> Result<&'static Method, Problem> {
    let method = K::METHODS.iter().find(|method| method.name == name);
    method.ok_or_else(|| Problem::new(Slug::NoSuchMethod, format!("the type has no method `{name}`")))
}

/// Several calls, each at a position of its own; the first one's is the command's. None waits.
pub(crate) fn batch(core: &mut Core, batch: &Batch) {
    let hash = hash_of(&batch.caller, &batch.object, &batch.invocations, true);
    once(core, &batch.caller, hash, |core| {
        // As a whole: none of its calls is carried out here.
        placement::check(core, &batch.object)?;
        dispatch!(batch.object.kind, K => batch_of::<K>(core, batch), else Err(no_such_type()))
    });
}

fn batch_of<K: Builtin>(core: &mut Core, batch: &Batch) -> Result<Answer, Problem> {
    if types::is_user(batch.object.kind) {
        user::check_batch(core, batch)?;
    }
    // None of them waits, so none is judged again.
    let mut claim = Claim::of(core, &batch.caller, "");
    claim.wait_ms = Some(0);
    let mut results = Vec::new();
    let mut bytes = 0;
    for (index, invocation) in batch.invocations.iter().enumerate() {
        core.meta.position += u64::from(index > 0);
        let mark = core.mark();
        let done = if bytes > REPLY_BYTES_MAX {
            Err(Problem::new(Slug::TooLarge, "the results of the calls before are too long"))
        } else {
            quota::judged(core, |core| one_of_batch::<K>(core, batch, invocation, &claim))
        };
        let result = match done {
            Ok(result) => Reply::new().raw("result", &result).finish(),
            Err(problem) => {
                core.rollback(mark);
                let problem = Problem { position: core.meta.position, ..problem };
                Reply::new().raw("problem", &problem.to_json()).finish()
            }
        };
        bytes += result.len();
        results.push(result);
    }
    Ok(Answer::Done(Reply::new().list("results", results).finish()))
}

fn one_of_batch<K: Builtin>(
    core: &mut Core,
    batch: &Batch,
    invocation: &Invocation,
    claim: &Claim,
) -> Result<String, Problem> {
    access::judge(core, &batch.caller.principal, &Act::Method(&batch.object, &invocation.method))?;
    if types::is_user(batch.object.kind) {
        return user::batch_step(core, batch, invocation, claim);
    }
    let found = (&batch.object, batch.incarnation, batch.create);
    let (method, args) = understood::<K>(invocation)?;
    run_at_once::<K>(core, found, (method, &args), claim)
}

/// A call of an import, of an object that is there. Gives how many items it has, and how long its result is.
///
/// # Errors
/// It was refused, or would wait.
pub(crate) fn of_import<K: Builtin>(
    core: &mut Core,
    object: &ObjectName,
    caller: &Caller,
    invocation: &Invocation,
) -> Result<(usize, usize), Problem> {
    let principal = caller.principal.name.clone();
    let claim = Claim { principal, wait_ms: Some(0), ..Claim::default() };
    if !K::SCRIPT.contains(&&*invocation.method) {
        return Err(Problem::argument("calls", "an import has no such calls"));
    }
    let (method, args) = understood::<K>(invocation)?;
    let result = run_at_once::<K>(core, (object, None, false), (method, &args), &claim)?;
    Ok((args.weight(), result.len()))
}

/// A call that does not wait.
fn run_at_once<K: Builtin>(
    core: &mut Core,
    (object, incarnation, create): (&ObjectName, Option<u64>, bool),
    (method, args): (&Method, &Args),
    claim: &Claim,
) -> Result<String, Problem> {
    if args.int("wait_ms")?.is_some_and(|ms| ms != 0) {
        return Err(Problem::argument("wait_ms", "a call of a batch does not wait"));
    }
    let (opened, existed) = find::<K>(core, object, incarnation, create)?;
    let answer = object::run(core, object, opened, existed, claim, |live, ctx| {
        step(live, ctx, method.name, args, |_, _| {})
    })?;
    match answer {
        Answer::Done(result) => Ok(result),
        Answer::Waits => Err(Problem::argument("wait_ms", "a call of a batch does not wait")),
    }
}

pub(crate) fn create(core: &mut Core, caller: &Caller, object: &ObjectName, args: &[u8]) {
    let hash = request::hash(&[&encoded(object), b"create", args]);
    once(core, caller, hash, |core| {
        access::judge(core, &caller.principal, &Act::Create(object))?;
        quota::judged(core, |core| created(core, caller, (object, args), hash))
    });
}

fn created(
    core: &mut Core,
    caller: &Caller,
    (object, args): (&ObjectName, &[u8]),
    hash: u64,
) -> Result<Answer, Problem> {
    if types::is_user(object.kind) {
        return user::create(
            core,
            (object, args),
            (caller.origin, hash),
            &Claim::of(core, caller, asked::CREATION),
        );
    }
    dispatch!(object.kind, K => create_of::<K>(core, object, args), else Err(no_such_type()))
}

pub(crate) fn create_of<K: Builtin>(
    core: &mut Core,
    object: &ObjectName,
    args: &[u8],
) -> Result<Answer, Problem> {
    let args = Args::parse(args)?;
    args.only(K::CONSTRUCTOR)?;
    let config = K::config(&args)?;
    let (mut opened, existed) = find::<K>(core, object, None, true)?;
    let is_same = opened.live.config == config;
    if existed && !is_same {
        return Err(Problem::new(Slug::Exists, "the object exists with other arguments"));
    }
    if !existed && !is_same {
        core.write(key::entry(opened.header.incarnation, table::CONFIG, &[]), &config);
        opened.live.config = config;
    }
    let created = !existed || !opened.header.explicit;
    let incarnation = opened.header.incarnation;
    object::run(core, object, opened, existed, &Claim::default(), |_, ctx| {
        ctx.header.explicit = true;
        Ok(())
    })?;
    Ok(Answer::Done(Reply::new().flag("created", created).number("incarnation", incarnation).finish()))
}

pub(crate) fn delete(core: &mut Core, caller: &Caller, object: &ObjectName, incarnation: Option<u64>) {
    let hash = request::hash(&[&encoded(object), b"delete", &encoded(&incarnation)]);
    once(core, caller, hash, |core| {
        access::judge(core, &caller.principal, &Act::LookAfter(object))?;
        let header: Option<object::Header> = core.read(&key::object(object));
        check_incarnation(incarnation, header.as_ref().map(|header| header.incarnation))?;
        let header = header.ok_or_else(|| Problem::new(Slug::NoSuchObject, "there is no such object"))?;
        if types::is_user(object.kind) {
            user::deleted(core, object, &header);
        }
        object::remove(core, object, &header);
        Ok(Answer::Done(Reply::new().flag("deleted", true).finish()))
    });
}
