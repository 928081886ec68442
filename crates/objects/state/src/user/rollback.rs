//! An object goes back to the version that it was migrated from: to its memory of then, if nothing was done since; otherwise by
//! a migration back; otherwise to its memory of then all the same, if what was done since may be lost.

use super::guard::{self, Before};
use super::migrate::{clear, take_over};
use super::{Guest, enter, long};
use crate::answer::{Answer, find, once};
use crate::command::{Caller, ObjectName};
use crate::group::Core;
use crate::object::{self, Claim, Ctx, Live};
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::request;
use crate::types;

/// How it went back, and how many runs were lost by it.
type Done = (&'static str, u64);

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
        if types::find(core, object.kind).is_none() {
            return Err(Problem::new(Slug::NoSuchType, "only types of users have versions"));
        }
        let (opened, _) = find::<Guest>(core, object, incarnation, false)?;
        let (space, from) = (opened.header.incarnation, opened.live.root.version);
        long::check_free(core, space)?;
        let nothing = || {
            let detail =
                "the object was not migrated in the last 24 hours, or what it was before is not kept";
            Problem::new(Slug::NotMigrated, detail)
        };
        let before = guard::of(core, space).before.ok_or_else(nothing)?;
        let to = before.version;
        types::ready_version(core, object.kind, to)?;
        let (how, lost) = object::run(core, object, opened, true, &Claim::default(), |live, ctx| {
            let back = go_back(live, ctx, &before, lose_commands);
            // Its copy may be that of a run which is taken back.
            ctx.core.engine.get().forget(ctx.space());
            back
        })?;
        let reply = Reply::new().flag("rolled_back", true).text("from", &from.to_string());
        let reply = reply.text("version", &to.to_string()).text("by", how).number("lost", lost);
        Ok(Answer::Done(reply.finish()))
    });
}

fn go_back(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    before: &Before,
    lose_commands: bool,
) -> Result<Done, Problem> {
    if before.commands == 0 {
        restore(live, ctx, before)?;
        return Ok(("memory", 0));
    }
    let (mark, header, root) = (ctx.core.mark(), ctx.header.clone(), live.root.clone());
    let Err(problem) = take_over(live, ctx, before.version) else { return Ok(("migrate", 0)) };
    ctx.core.rollback(mark);
    (*ctx.header, live.root) = (header, root);
    if !lose_commands {
        let detail = format!(
            "{} runs since the migration would be lost, for the earlier version does not take the state over ({}): go back \
             with `lose_commands` if they may be",
            before.commands, problem.detail
        );
        return Err(Problem::new(Slug::NotMigrated, detail));
    }
    restore(live, ctx, before)?;
    Ok(("memory", before.commands))
}

/// The object's memory is that of before.
fn restore(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, before: &Before) -> Result<(), Problem> {
    let kind = ctx.object.kind;
    clear(live, ctx)?;
    types::count_object(ctx.core, kind, live.root.version, -1);
    types::count_object(ctx.core, kind, before.version, 1);
    guard::take_before(ctx.core, ctx.space(), before);
    (live.root.version, live.root.pages, live.root.changed) = (before.version, before.pages, ctx.position());
    enter::count_pages(ctx, 0, before.pages)
}
