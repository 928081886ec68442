//! Objects that come from elsewhere and go there: what a module saves, and what the type's latest version takes over, as it does
//! in a migration.

use super::enter::{self, Stop, Visit};
use super::{Guest, trial};
use crate::answer::{Answer, find};
use crate::command::ObjectName;
use crate::group::Core;
use crate::guest::Entry;
use crate::json::Json;
use crate::limits::EXPORT_BYTES_MAX;
use crate::object::{self, Claim};
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::request;
use crate::types;

/// An object as JSON.
///
/// # Errors
/// There is none, or its module cannot save it, or that is too much.
pub(crate) fn export(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
    reply: Reply,
) -> Result<String, Problem> {
    let (root, saved) = trial::saved(core, object, incarnation)?;
    let description = types::description(core, object.kind, root.version);
    if saved.len() + description.len() > EXPORT_BYTES_MAX {
        let mib = (EXPORT_BYTES_MAX >> 20) + 1;
        return Err(Problem::new(Slug::TooLarge, format!("what it saves has more than {mib} MiB")));
    }
    let state = if saved.is_empty() { "null" } else { &saved };
    let reply = reply.text("version", &root.version.to_string()).raw("description", &description);
    Ok(reply.raw("state", state).finish())
}

/// Makes an object of its type's latest version of what a module saved.
///
/// # Errors
/// The module does not take it over.
pub(crate) fn import(
    core: &mut Core,
    object: &ObjectName,
    description: &[u8],
    state: &[u8],
) -> Result<Answer, Problem> {
    let known = types::find(core, object.kind).ok_or_else(crate::answer::no_such_type)?;
    let json = |name: &str, text: &[u8]| {
        let json = Json::parse(text).map_err(|_| Problem::argument(name, "not JSON"))?;
        Ok(json.canonical())
    };
    let (description, state) = (json("description", description)?, json("state", state)?);
    let (mut opened, _) = find::<Guest>(core, object, None, true)?;
    let version = types::version_of_new(core, object.kind, &known)?;
    types::ready_version(core, object.kind, version)?;
    types::check_creations(core, object.kind, version)?;
    opened.header.explicit = true;
    // It was made by no constructor: `PUT` finds another object, whatever its arguments are.
    let arguments = request::hash(&[b"import", state.as_bytes()]);
    (opened.live.root.version, opened.live.root.arguments) = (version, arguments);
    types::count_object(core, object.kind, version, 1);
    let state = Reply::new().raw("description", &description).raw("state", &state).finish();
    let incarnation = opened.header.incarnation;
    object::run(core, object, opened, false, &Claim::default(), |live, ctx| {
        let visit = Visit::of_call(Entry::Migrate(state.as_bytes()), false);
        enter::enter(live, ctx, &visit).map(drop).map_err(Stop::refusal).map_err(|problem| {
            // Its memory is that of a run which is taken back.
            ctx.core.engine.get().forget(incarnation);
            match problem.slug {
                Slug::Quota => problem,
                _ => Problem { slug: Slug::NotMigrated, code: None, ..problem },
            }
        })
    })?;
    let reply = Reply::new().flag("imported", true).number("incarnation", incarnation);
    Ok(Answer::Done(reply.text("version", &version.to_string()).finish()))
}
