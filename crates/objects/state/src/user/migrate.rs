//! An object goes to another version of its type: the old module saves, the new one takes over. What fails leaves the object
//! as it was. Its waiting calls, its timers and the sessions that it listens to stay.
//!
//! From feature level 8 on either run has a slice, and goes on beside the commands behind it (`long`); and nothing of `save` is kept
//! but its result, whether it was quick or not: what it has written is not the object's, and what it asked for is not done.
//!
//! # Memory as it is
//! From feature level 9 on memory and globals go over as they are, and nothing is run, between two versions that name the same layout,
//! if the engine finds that they may ([`crate::guest::Engine::takes_memory_over`]). Then what differs from the one image differs from the
//! other in the same way, so the records of pages and registers are right as they stand. Where they may not the object goes over
//! by `save` and `migrate` like any other.

use super::call::named;
use super::enter::{self, Stop, Visit};
use super::host::Records;
use super::long::{self, Moment};
use super::{GUARD_LEVEL, Guest, PAGES, REGISTERS, guard, rollback};
use crate::answer::{Answer, find, once};
use crate::asked;
use crate::codec::record;
use crate::command::{Caller, ObjectName, Origin, TypeId};
use crate::effects::Effect;
use crate::group::Core;
use crate::guest::{Entry, VersionHash};
use crate::key::{self, Key};
use crate::object::{self, Claim, Ctx, Live, Open};
use crate::problem::{Problem, Slug};
use crate::quota;
use crate::reply::Reply;
use crate::request::{self, Kept};
use crate::types;

record! {
    /// How an object goes to another version, and how far it has come: what its ticket says while runs of it are under way.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Moving {
        pub(crate) to: VersionHash,
        /// It goes back; whether what commands have done since may be lost.
        pub(crate) back: Option<bool>,
        /// What the old version has saved, once it has.
        pub(crate) saved: Option<String>,
    }
}

/// What the next run sees of the log, if it is not the present, and its slice.
type Way = (Option<Moment>, Option<u64>);

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
        if !types::is_there(core, object.kind) {
            return Err(Problem::new(Slug::NoSuchType, "only types of users have versions"));
        }
        let (opened, _) = find::<Guest>(core, object, incarnation, false)?;
        long::check_free(core, opened.header.incarnation)?;
        let from = opened.live.root.version;
        if from == to {
            return Ok(Answer::Done(migrated(from, to)));
        }
        types::ready_version(core, object.kind, to)?;
        let claim = Claim::of(core, caller, asked::CARE);
        let moving = Moving { to, back: None, saved: None };
        quota::judged(core, |core| begin(core, (object, opened), &claim, (caller.origin, hash), moving))
    });
}

fn migrated(from: VersionHash, to: VersionHash) -> String {
    told(from, to).finish()
}

fn migrated_by_layout(from: VersionHash, to: VersionHash) -> String {
    told(from, to).text("by", "layout").finish()
}

fn told(from: VersionHash, to: VersionHash) -> Reply {
    let reply = Reply::new().flag("migrated", from != to).text("from", &from.to_string());
    reply.text("version", &to.to_string())
}

/// An object begins to go to another version: it is there, or who asked for it waits.
pub(super) fn begin(
    core: &mut Core,
    (object, opened): (&ObjectName, Open<Guest>),
    claim: &Claim,
    (origin, hash): (Origin, u64),
    mut moving: Moving,
) -> Result<Answer, Problem> {
    object::run(core, object, opened, true, claim, |live, ctx| {
        let (mark, header, root) = (ctx.core.mark(), ctx.header.clone(), live.root.clone());
        let slice = ctx.core.slice_of_moves();
        let nobody = Claim::default();
        let of_nobody =
            &mut Ctx { core: &mut *ctx.core, header: &mut *ctx.header, object: ctx.object, claim: &nobody };
        match go_over(live, of_nobody, &mut moving, (None, slice)) {
            Ok(result) => Ok(Answer::Done(result)),
            Err(Stop::Refused(problem)) => {
                // Its memory may be that of a run which is taken back.
                ctx.core.engine.get().forget(ctx.space());
                Err(problem)
            }
            Err(Stop::Unfinished(at)) => {
                ctx.core.rollback(mark);
                (*ctx.header, live.root) = (header, root);
                let ticket = long::move_beside(live, ctx, at, &moving)?;
                request::keep(ctx.core, &ctx.claim.reply, hash, Kept::Waits(ticket));
                ctx.core.out.push(Effect::Parked { origin, ticket });
                Ok(Answer::Waits)
            }
        }
    })
}

/// An object goes to another version, from where it has come to. Gives what is said of it.
///
/// # Errors
/// It is refused, or a run is unfinished; the caller takes everything back.
pub(super) fn go_over(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    moving: &mut Moving,
    way: Way,
) -> Result<String, Stop> {
    let (from, to) = (live.root.version, moving.to);
    match moving.back {
        Some(lose_commands) => rollback::go_back(live, ctx, moving, lose_commands, way),
        None => take_over(live, ctx, moving, way).map(|by| match by {
            By::Layout => migrated_by_layout(from, to),
            By::Migrate => migrated(from, to),
        }),
    }
}

/// How an object's state has gone over to another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Its memory has, as it was, for both versions have one layout.
    Layout,
    /// The old module has saved it, and the new one has taken it over.
    Migrate,
}

/// The feature level from which on memory goes over as it is.
const LAYOUTS_LEVEL: u32 = 9;

/// Whether an object's memory goes over to another version as it is.
pub(super) fn goes_by_layout(
    core: &Core,
    (kind, space): (TypeId, u64),
    from: VersionHash,
    to: VersionHash,
) -> bool {
    if core.meta.feature_level < LAYOUTS_LEVEL || !types::share_layout(core, kind, from, to) {
        return false;
    }
    let engine = core.engine.get();
    let host = Records { core, space, claim: None, ended: None, is_new: false };
    engine.ready(from).is_ok()
        && engine.ready(to).is_ok()
        && engine.takes_memory_over(from, to, &host).is_ok()
}

/// The object's memory goes over as it is. Its records are right for both versions.
fn take_memory_over(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, to: VersionHash) {
    let (kind, space, from) = (ctx.object.kind, ctx.space(), live.root.version);
    ctx.core.engine.get().forget(space);
    guard::keep_copy_before(ctx.core, space, &live.root);
    types::count_object(ctx.core, kind, from, -1);
    types::count_object(ctx.core, kind, to, 1);
    live.root.version = to;
    if live.root.changed != 0 {
        live.root.changed = ctx.position();
    }
}

/// The object's memory goes over as it is; or the old module saves, and the new one takes over.
pub(super) fn take_over(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    moving: &mut Moving,
    mut way: Way,
) -> Result<By, Stop> {
    let of = (ctx.object.kind, ctx.space());
    if moving.saved.is_none() && goes_by_layout(ctx.core, of, live.root.version, moving.to) {
        // As before a run.
        guard::check(ctx.core, ctx.object, ctx.space(), live.root.version)?;
        types::ready_version(ctx.core, of.0, moving.to)?;
        take_memory_over(live, ctx, moving.to);
        return Ok(By::Layout);
    }
    let saved = match &moving.saved {
        Some(saved) => saved.clone(),
        None => {
            let saved = save(live, ctx, way)?;
            moving.saved = Some(saved.clone());
            way = (way.0.map(|at| next(ctx, &at)), ctx.core.slice_of_moves());
            saved
        }
    };
    let (kind, from, to) = (ctx.object.kind, live.root.version, moving.to);
    types::ready_version(ctx.core, kind, to)?;
    if ctx.core.slice_of_moves().is_some() {
        // It may have been put into quarantine meanwhile: that passes, and says nothing of the versions.
        guard::check(ctx.core, ctx.object, ctx.space(), to)?;
    }
    let state = state(ctx.core, kind, from, &saved);
    let (at, slice) = way;
    if slice.is_some() || at.is_none() {
        // No run of it is under way, and its copy is that of the old version.
        ctx.core.engine.get().forget(ctx.space());
    }
    let visit = Visit { at, slice, ..Visit::of_call(Entry::Migrate(state.as_bytes()), false) };
    let (ended, at) = enter::enter_anew(live, ctx, to, &visit).map_err(not_migrated)?;
    // Builds that know nothing of it would have another state.
    if ctx.core.meta.feature_level >= GUARD_LEVEL {
        guard::keep_before(ctx.core, ctx.space(), &live.root);
    }
    clear(live, ctx)?;
    types::count_object(ctx.core, kind, from, -1);
    types::count_object(ctx.core, kind, to, 1);
    live.root.version = to;
    let kept = enter::kept(live, ctx, (&visit, &at), ended);
    kept.map(|_| By::Migrate).map_err(|problem| not_migrated(Stop::Refused(problem)))
}

/// What the module of an object saves of it.
fn save(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, (at, slice): Way) -> Result<String, Stop> {
    let visit = Visit { at, slice, ..Visit::of_call(Entry::Save, false) };
    match ctx.core.slice_of_moves() {
        Some(_) => enter::ask(live, ctx, &visit),
        None => Ok(enter::enter(live, ctx, &visit)?.result),
    }
}

/// What the second run of a migration sees of the log: the same as the first, but for its random bytes.
fn next(ctx: &Ctx<'_>, at: &Moment) -> Moment {
    Moment { seed: enter::seed_of(ctx.core, ctx.space(), at.seed), ..*at }
}

/// What the new module is given: what the old one saved, and its description.
pub(super) fn state(core: &Core, kind: TypeId, from: VersionHash, saved: &str) -> String {
    let state = if saved.is_empty() { "null" } else { saved };
    Reply::new().raw("description", &types::description(core, kind, from)).raw("state", state).finish()
}

fn not_migrated(stop: Stop) -> Stop {
    match stop {
        Stop::Refused(problem) if problem.slug != Slug::Quota => {
            Stop::Refused(Problem { slug: Slug::NotMigrated, code: None, ..problem })
        }
        stop => stop,
    }
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
    enter::count_pages(ctx, before, 0)
}
