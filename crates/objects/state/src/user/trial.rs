//! A migration that is only tried: on a copy of the object at one member, of which nothing is left.

use super::{Guest, Root, enter, guard, long};
use crate::answer::find;
use crate::command::ObjectName;
use crate::group::Core;
use crate::guest::{COPIES, Entry, Host, Run, VersionHash};
use crate::limits::PAGES_PER_OBJECT_MAX;
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::types;

/// An object whose memory is its version's image, and for which nobody waits.
struct New;

impl Host for New {
    fn page(&self, _: u32) -> Option<&[u8]> {
        None
    }
    fn pages(&self) -> Vec<u32> {
        Vec::new()
    }
    fn registers(&self) -> Option<&[u8]> {
        None
    }
    fn is_waiting(&self, _: u64) -> bool {
        false
    }
    fn waiting(&self) -> Vec<u64> {
        Vec::new()
    }
}

/// What a migration of the object to that version would come to. What would be refused is refused for the same reason, in the same
/// order; one to the version that the object has does nothing.
///
/// # Errors
/// It would be refused, for this reason.
pub(crate) fn try_migration(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
    to: VersionHash,
) -> Result<String, Problem> {
    if types::find(core, object.kind).is_none() {
        return Err(Problem::new(Slug::NoSuchType, "only types of users have versions"));
    }
    let (opened, _) = find::<Guest>(core, object, incarnation, false)?;
    long::check_free(core, opened.header.incarnation)?;
    let from = opened.live.root.version;
    let reply = Reply::new().flag("would_migrate", from != to).text("from", &from.to_string());
    let reply = reply.text("version", &to.to_string());
    if from == to {
        return Ok(reply.finish());
    }
    types::ready_version(core, object.kind, to)?;
    let (_, saved) = saved(core, object, incarnation)?;
    core.engine.get().ready(to).map_err(|rejected| types::closed(&rejected.detail))?;
    let description = types::description(core, object.kind, from);
    let state = Reply::new()
        .raw("description", &description)
        .raw("state", if saved.is_empty() { "null" } else { &saved });
    let moved = run(core, (to, 0), Entry::Migrate(state.finish().as_bytes()), &New);
    let (_, pages) = moved.map_err(|problem| Problem { slug: Slug::NotMigrated, code: None, ..problem })?;
    if pages > PAGES_PER_OBJECT_MAX as usize {
        return Err(Problem::new(Slug::NotMigrated, "an object has 64 MiB of memory at the most"));
    }
    Ok(reply.number("state_bytes", saved.len() as u64).number("pages", pages as u64).finish())
}

/// What the object's module saves of it, and its root.
///
/// # Errors
/// There is no such object, or its module does not run or refuses.
pub(super) fn saved(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
) -> Result<(Root, String), Problem> {
    let (opened, _) = find::<Guest>(core, object, incarnation, false)?;
    let (space, root) = (opened.header.incarnation, opened.live.root);
    guard::check(core, object, space, root.version)?;
    let records = super::host::Records { core, space, ended: None };
    let (saved, _) = run(core, (root.version, root.changed), Entry::Save, &records)?;
    Ok((root, enter::text(saved, Entry::Save)?))
}

/// Runs on a copy. The result, and how many pages were written.
fn run(
    core: &Core,
    (version, changed): (VersionHash, u64),
    entry: Entry<'_>,
    host: &dyn Host,
) -> Result<(Vec<u8>, usize), Problem> {
    let run = Run {
        version,
        space: COPIES,
        changed,
        entry,
        now_ms: core.meta.stamp_ms,
        position: core.meta.position,
        kept_at: core.meta.position,
        seed: enter::seed(core, COPIES),
        caller: "{}",
        fuel_max: u64::MAX,
        slice: None,
    };
    let engine = core.engine.get();
    // What is left of another trial is another object's.
    engine.forget(COPIES);
    let ended = engine.run(&run, host);
    engine.forget(COPIES);
    Ok((ended.outcome.map_err(enter::problem)?, ended.pages.len()))
}
