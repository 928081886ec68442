//! An object goes back to the version that it was migrated from: to its memory of then, if nothing was done since; otherwise by
//! a migration back; otherwise to its memory of then all the same, if what was done since may be lost.

use super::Guest;
use super::enter::{self, Stop};
use super::guard::{self, Before};
use super::long::{self, Moment};
use super::migrate::{self, By, Moving, clear, take_over};
use crate::answer::{find, once};
use crate::asked;
use crate::command::{Caller, ObjectName};
use crate::group::Core;
use crate::object::{Claim, Ctx, Live};
use crate::problem::{Problem, Slug};
use crate::quota;
use crate::reply::Reply;
use crate::request;
use crate::types;

/// Takes an object back, once for each request.
pub(crate) fn rollback(
    core: &mut Core,
    (caller, judged): (&Caller, Result<(), Problem>),
    object: &ObjectName,
    incarnation: Option<u64>,
    lose_commands: bool,
) {
    let hash = request::hash(&[&super::call::named(object), b"rollback", &[u8::from(lose_commands)]]);
    once(core, caller, hash, |core| {
        judged?;
        if !types::is_there(core, object.kind) {
            return Err(Problem::new(Slug::NoSuchType, "only types of users have versions"));
        }
        let (opened, _) = find::<Guest>(core, object, incarnation, false)?;
        let space = opened.header.incarnation;
        long::check_free(core, space)?;
        let to = guard::of(core, space).before.ok_or_else(nothing)?.version;
        types::ready_version(core, object.kind, to)?;
        let claim = Claim::of(core, caller, asked::CARE);
        let moving = Moving { to, back: Some(lose_commands), saved: None };
        let back = quota::judged(core, |core| {
            migrate::begin(core, (object, opened), &claim, (caller.origin, hash), moving)
        });
        // Its copy may be that of a run which is taken back.
        if !long::is_occupied(core, space) {
            core.engine.get().forget(space);
        }
        back
    });
}

/// There is no way back.
fn nothing() -> Problem {
    let detail = "the object was not migrated in the last 24 hours, or what it was before is not kept";
    Problem::new(Slug::NotMigrated, detail)
}

/// Goes back, from where it has come to. Gives what is said of it.
///
/// # Errors
/// It is refused, or a run is unfinished; the caller takes everything back.
pub(super) fn go_back(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    moving: &mut Moving,
    lose_commands: bool,
    way: (Option<Moment>, Option<u64>),
) -> Result<String, Stop> {
    let (from, to) = (live.root.version, moving.to);
    let said = |how: &str, lost: u64| {
        let reply = Reply::new().flag("rolled_back", true).text("from", &from.to_string());
        reply.text("version", &to.to_string()).text("by", how).number("lost", lost).finish()
    };
    // While a run of it was under way its day may have passed.
    let before = guard::of(ctx.core, ctx.space()).before.filter(|before| before.version == to);
    let before = before.ok_or_else(nothing)?;
    types::ready_version(ctx.core, ctx.object.kind, to)?;
    if before.commands == 0 {
        restore(live, ctx, &before)?;
        return Ok(said("memory", 0));
    }
    let (mark, header, root) = (ctx.core.mark(), ctx.header.clone(), live.root.clone());
    let problem = match take_over(live, ctx, moving, way) {
        Ok(By::Migrate) => return Ok(said("migrate", 0)),
        Ok(By::Layout) => return Ok(said("layout", 0)),
        Err(Stop::Refused(problem)) => problem,
        Err(unfinished) => return Err(unfinished),
    };
    ctx.core.rollback(mark);
    (*ctx.header, live.root) = (header, root);
    if !lose_commands {
        let detail = format!(
            "{} runs since the migration would be lost, for the earlier version does not take the state over ({}): go back \
             with `lose_commands` if they may be",
            before.commands, problem.detail
        );
        return Err(Stop::Refused(Problem::new(Slug::NotMigrated, detail)));
    }
    restore(live, ctx, &before)?;
    Ok(said("memory", before.commands))
}

/// The object's memory is that of before.
fn restore(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, before: &Before) -> Result<(), Problem> {
    let kind = ctx.object.kind;
    ctx.core.engine.get().forget(ctx.space());
    clear(live, ctx)?;
    types::count_object(ctx.core, kind, live.root.version, -1);
    types::count_object(ctx.core, kind, before.version, 1);
    guard::take_before(ctx.core, ctx.space(), before);
    (live.root.version, live.root.pages, live.root.changed) = (before.version, before.pages, ctx.position());
    enter::count_pages(ctx, 0, before.pages)
}
