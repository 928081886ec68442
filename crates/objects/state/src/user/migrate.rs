//! An object goes to another version of its type: the old module saves, the new one takes over. What fails leaves the object
//! as it was. Its waiting calls, its timers and the sessions that it listens to stay.
//!
//! Memory as it is cannot be taken over, not even of an equal layout: pages are kept as far as they differ from the image of
//! their own version.

use super::call::named;
use super::enter::{self, Stop, Visit};
use super::long;
use super::{GUARD_LEVEL, Guest, PAGES, REGISTERS, guard};
use crate::answer::{Answer, find, once};
use crate::command::{Caller, ObjectName};
use crate::group::Core;
use crate::guest::{Entry, VersionHash};
use crate::key::{self, Key};
use crate::object::{self, Claim, Ctx, Live};
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::request;
use crate::types;

/// Migrates, once for each request.
pub(crate) fn migrate(
    core: &mut Core,
    (caller, judged): (&Caller, Result<(), Problem>),
    object: &ObjectName,
    incarnation: Option<u64>,
    to: VersionHash,
) {
    let hash = request::hash(&[&named(object), b"migrate", &to.0]);
    once(core, caller, hash, |core| {
        judged?;
        if types::find(core, object.kind).is_none() {
            return Err(Problem::new(Slug::NoSuchType, "only types of users have versions"));
        }
        let (opened, _) = find::<Guest>(core, object, incarnation, false)?;
        long::check_free(core, opened.header.incarnation)?;
        let from = opened.live.root.version;
        if from != to {
            types::ready_version(core, object.kind, to)?;
            object::run(core, object, opened, true, &Claim::default(), |live, ctx| {
                let moved = take_over(live, ctx, to);
                if moved.is_err() {
                    // Its memory may be that of a run which is taken back.
                    ctx.core.engine.get().forget(ctx.space());
                }
                moved
            })?;
        }
        let reply = Reply::new().flag("migrated", from != to).text("from", &from.to_string());
        Ok(Answer::Done(reply.text("version", &to.to_string()).finish()))
    });
}

/// The old module saves, the new one takes over.
pub(super) fn take_over(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, to: VersionHash) -> Result<(), Problem> {
    let (kind, from) = (ctx.object.kind, live.root.version);
    let saved = enter::enter(live, ctx, &Visit::of_call(Entry::Save, false)).map_err(Stop::refusal)?.result;
    let description = types::description(ctx.core, kind, from);
    // Builds that know nothing of it would have another state.
    if ctx.core.meta.feature_level >= GUARD_LEVEL {
        guard::keep_before(ctx.core, ctx.space(), &live.root);
    }
    clear(live, ctx)?;
    types::count_object(ctx.core, kind, from, -1);
    types::count_object(ctx.core, kind, to, 1);
    live.root.version = to;
    let state = Reply::new()
        .raw("description", &description)
        .raw("state", if saved.is_empty() { "null" } else { &saved })
        .finish();
    let entered = enter::enter(live, ctx, &Visit::of_call(Entry::Migrate(state.as_bytes()), false));
    entered.map(drop).map_err(Stop::refusal).map_err(|problem| match problem.slug {
        Slug::Quota => problem,
        _ => Problem { slug: Slug::NotMigrated, code: None, ..problem },
    })
}

/// Its memory is the image of a version again.
pub(super) fn clear(live: &mut Live<Guest>, ctx: &mut Ctx<'_>) -> Result<(), Problem> {
    let keys: Vec<_> = [PAGES, REGISTERS]
        .iter()
        .flat_map(|table| ctx.core.store.prefix(&key::entry(ctx.space(), *table, &[])))
        .map(|(key, _)| Key::from(key))
        .collect();
    for key in &keys {
        ctx.core.store.remove(key);
    }
    let before = core::mem::take(&mut live.root.pages);
    live.root.changed = 0;
    ctx.core.engine.get().forget(ctx.space());
    enter::count_pages(ctx, before, 0)
}
