//! Objects as texts: an export is JSON, which an import, here or in another group, makes an object of.
//!
//! Of a built-in type it is a script ([`crate::script`]), of a user's what its module saves. What belongs to sessions and calls
//! that wait stay behind, for they are of this group. An import is one command: it makes a whole object, or none.

use crate::answer::{Answer, find, no_such_type, once};
use crate::builtin::{Builtin, dispatch, type_name};
use crate::call;
use crate::codec::encoded;
use crate::command::{Caller, Invocation, ObjectName};
use crate::content::Content;
use crate::group::Core;
use crate::key::{self, table};
use crate::limits::{EXPORT_BYTES_MAX, IMPORT_CALLS_MAX, IMPORT_ITEMS_MAX, IMPORT_WRITTEN_MAX};
use crate::object::{Live, View};
use crate::problem::{Problem, Slug};
use crate::quota;
use crate::reply::Reply;
use crate::request;
use crate::script::Script;
use crate::types;
use crate::user;

/// The form of exports that this build writes and reads.
pub const EXPORT_FORM: i64 = 1;

/// An object as JSON.
///
/// # Errors
/// There is none, it holds too much, or its module cannot save it.
pub(crate) fn export(core: &Core, object: &ObjectName, incarnation: Option<u64>) -> Result<String, Problem> {
    let built_in = type_name(object.kind).map(String::from);
    let kind = built_in.or_else(|| core.user_type_name(object.kind)).ok_or_else(no_such_type)?;
    let reply = Reply::new()
        .int("export", EXPORT_FORM)
        .text("type", &kind)
        .text("name", &object.name)
        .number("position", core.meta.position);
    if types::is_user(object.kind) {
        return user::export(core, object, incarnation, reply);
    }
    dispatch!(object.kind, K => export_of::<K>(core, object, incarnation, reply), else Err(no_such_type()))
}

fn export_of<K: Builtin>(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
    reply: Reply,
) -> Result<String, Problem> {
    let (opened, _) = find::<K>(core, object, incarnation, false)?;
    let view = View { core, space: opened.header.incarnation, tickets: opened.header.tickets };
    written(&opened.live, &view, reply).map(Reply::finish)
}

/// An object as a script.
fn written<K: Builtin>(live: &Live<K>, view: &View<'_>, reply: Reply) -> Result<Reply, Problem> {
    let mut script = Script::default();
    let arguments = K::arguments(live).finish();
    script.begin(&arguments);
    K::script(live, view, &mut script);
    if view.tickets > 0 {
        script.leave_out("calls that wait");
    }
    if view.table(table::HOLDER).next().is_some() {
        script.leave_out("what sessions hold");
    }
    if script.is_too_large() {
        let detail = format!(
            "an export has less than {} MiB and up to {IMPORT_ITEMS_MAX} items in {IMPORT_CALLS_MAX} calls: read this \
             object page by page",
            (EXPORT_BYTES_MAX >> 20) + 1
        );
        return Err(Problem::new(Slug::TooLarge, detail));
    }
    Ok(script.shown(reply.raw("arguments", &arguments)))
}

/// Makes an object of what an export says, once for each request.
pub(crate) fn import(
    core: &mut Core,
    (caller, judged): (&Caller, Result<(), Problem>),
    object: &ObjectName,
    content: &Content,
) {
    let hash = request::hash(&[&encoded(object), b"import", &encoded(content)]);
    once(core, caller, hash, |core| {
        judged?;
        if core.store.get(&key::object(object)).is_some() {
            let detail = "there is an object of that name: delete it first, or import under another name";
            return Err(Problem::new(Slug::Exists, detail));
        }
        let first = core.meta.position;
        let made = quota::judged(core, |core| made(core, (caller, object), content));
        // Of one that is refused nothing is left, no position either.
        made.inspect_err(|_| core.meta.position = first)
    });
}

fn made(
    core: &mut Core,
    (caller, object): (&Caller, &ObjectName),
    content: &Content,
) -> Result<Answer, Problem> {
    match content {
        Content::State { .. } if !types::is_user(object.kind) => Err(wrong_content()),
        Content::State { description, state } => user::import(core, object, description, state),
        Content::Calls { .. } if types::is_user(object.kind) => Err(wrong_content()),
        Content::Calls { arguments, calls } => {
            dispatch!(object.kind, K => import_of::<K>(core, (caller, object), arguments, calls), else Err(no_such_type()))
        }
    }
}

fn wrong_content() -> Problem {
    Problem::argument("", "that is an export of an object of another kind of type")
}

fn import_of<K: Builtin>(
    core: &mut Core,
    (caller, object): (&Caller, &ObjectName),
    arguments: &[u8],
    calls: &[Invocation],
) -> Result<Answer, Problem> {
    let incarnation = core.meta.position;
    call::create_of::<K>(core, object, arguments)?;
    let (mut items, mut bytes) = (0, 0);
    for (index, invocation) in calls.iter().enumerate() {
        core.meta.position += u64::from(index > 0);
        let of_call = |problem: Problem| {
            let detail = format!("call {index} of the import, `{}`: {}", invocation.method, problem.detail);
            Problem { detail, ..problem }
        };
        let (of_items, of_result) =
            call::of_import::<K>(core, object, caller, invocation).map_err(of_call)?;
        (items, bytes) = (items + of_items, bytes + of_result);
        // What no export has: results that are long, and calls that change much more than they say.
        if items > IMPORT_ITEMS_MAX || bytes > EXPORT_BYTES_MAX || core.store.written() > IMPORT_WRITTEN_MAX {
            let detail = format!(
                "an import has {IMPORT_ITEMS_MAX} items at the most, and does no more than these take"
            );
            return Err(Problem::new(Slug::TooLarge, detail));
        }
    }
    let reply = Reply::new().flag("imported", true).number("incarnation", incarnation);
    Ok(Answer::Done(reply.finish()))
}
