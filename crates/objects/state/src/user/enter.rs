//! One run of an object's module: the engine runs it, its pages and its acts become the state's, or nothing of it does.

use twox_hash::XxHash3_64;

use super::host::Records;
use super::{GUARD_LEVEL, Guest, PAGES, REGISTERS, acts, caller_json, guard};
use crate::guest::{Act, Ended, Entry, Failure, PAGE_BYTES, Run};
use crate::json::Json;
use crate::key;
use crate::limits::{
    MEMORY_BYTES_MAX, PAGES_PER_OBJECT_MAX, TOPIC_BYTES_MAX, UNCALLED_FUEL_MAX, VALUE_BYTES_MAX,
};
use crate::object::{Ctx, Live};
use crate::problem::{Problem, Slug};
use crate::types;

/// Units of fuel that take about as long as writing a byte.
const FUEL_PER_BYTE: u64 = 10;
/// What is entered, and what the run may do.
pub(super) struct Visit<'a> {
    pub(super) entry: Entry<'a>,
    /// A ticket that ends by it.
    pub(super) ended: Option<u64>,
    /// Whether its call may wait.
    pub(super) may_park: bool,
    /// The fuel that it may take, if its version may take more.
    pub(super) fuel_max: u64,
}

/// What a run that succeeded gave.
pub(super) struct Visited {
    /// JSON, or nothing.
    pub(super) result: String,
    /// The ticket of the call, if it waits.
    pub(super) parked: Option<u64>,
}

/// Enters the module of an object.
///
/// # Errors
/// It was refused; the caller takes everything back.
pub(super) fn enter(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    visit: &Visit<'_>,
) -> Result<Visited, Problem> {
    guard::check(ctx.core, ctx.object, ctx.space(), live.root.version)?;
    let ended = run(live, ctx, visit);
    if let Err(Failure::Deadly { detail }) = &ended.outcome {
        ctx.core.deadly.push((ctx.object.clone(), ctx.header.incarnation, detail.clone()));
    }
    let result = ended.outcome.map_err(problem)?;
    let parks = ended.acts.iter().any(|act| matches!(act, Act::Park { .. }));
    let kept = keep_memory(live, ctx, &ended.pages, ended.registers.as_deref())
        .and_then(|()| if parks { Ok(String::new()) } else { text(result, visit.entry) })
        .and_then(|result| Ok(Visited { result, parked: acts::perform(live, ctx, visit, ended.acts)? }));
    if kept.is_ok() && !matches!(visit.entry, Entry::Init(_) | Entry::Save | Entry::Migrate(_)) {
        guard::count_run(ctx.core, ctx.header.incarnation);
    }
    if kept.is_err() {
        // The engine has kept what is taken back now.
        ctx.core.engine.get().forget(ctx.space());
    }
    kept
}

fn run(live: &Live<Guest>, ctx: &mut Ctx<'_>, visit: &Visit<'_>) -> Ended {
    ctx.core.runs += 1;
    let (space, version) = (ctx.space(), live.root.version);
    let run = Run {
        version,
        space,
        changed: live.root.changed,
        entry: visit.entry,
        now_ms: ctx.now_ms(),
        position: ctx.position(),
        seed: seed(ctx.core, space),
        caller: &caller_json(ctx.claim),
        fuel_max: visit.fuel_max,
    };
    let host = Records { core: &*ctx.core, space, ended: visit.ended };
    let ended = ctx.core.engine.get().run(&run, &host);
    ctx.core.spent += (ended.fuel / FUEL_PER_BYTE) as usize;
    ended
}

/// Where a run's random numbers begin: they are no secret.
pub(super) fn seed(core: &crate::group::Core, space: u64) -> u64 {
    let parts = [core.meta.position, core.meta.stamp_ms as u64, u64::from(core.runs)];
    let bytes = parts.map(u64::to_le_bytes).concat();
    XxHash3_64::oneshot_with_seed(space, &bytes)
}

/// A result must be JSON. What is not called has none, or whatever it likes.
pub(super) fn text(result: Vec<u8>, entry: Entry<'_>) -> Result<String, Problem> {
    let broken = |detail: &str| Err(Problem::new(Slug::GuestTrap, detail));
    let is_called = matches!(entry, Entry::Call { .. });
    if !is_called && result.is_empty() {
        return Ok(String::new());
    }
    if result.len() > VALUE_BYTES_MAX {
        return broken("the result has more than 1 MiB");
    }
    match String::from_utf8(result) {
        Ok(text) if Json::parse(text.as_bytes()).is_ok() => Ok(text),
        _ => broken("the result is not JSON"),
    }
}

/// The pages that a run has changed become records.
fn keep_memory(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    pages: &[(u32, Option<Vec<u8>>)],
    registers: Option<&[u8]>,
) -> Result<(), Problem> {
    if pages.is_empty() && registers.is_none() {
        return Ok(());
    }
    let before = live.root.pages;
    for (number, page) in pages {
        let key = key::entry(ctx.space(), PAGES, &number.to_be_bytes());
        match page {
            Some(page) => {
                debug_assert_eq!(page.len(), PAGE_BYTES, "a page is whole");
                live.root.pages += u32::from(ctx.core.store.get(&key).is_none());
                ctx.core.store.put(key, page);
            }
            None => live.root.pages -= u32::from(ctx.core.store.remove(&key)),
        }
    }
    if let Some(registers) = registers {
        ctx.core.store.put(key::entry(ctx.space(), REGISTERS, &[]), registers);
    }
    live.root.changed = ctx.position();
    count_pages(ctx, before, live.root.pages)
}

/// An object has so many pages now.
pub(super) fn count_pages(ctx: &mut Ctx<'_>, before: u32, now: u32) -> Result<(), Problem> {
    if now > PAGES_PER_OBJECT_MAX {
        return Err(Problem::new(Slug::OutOfMemory, "an object has 64 MiB of memory at the most"));
    }
    if now == before {
        return Ok(());
    }
    let others = types::totals(ctx.core).memory_bytes.saturating_sub(u64::from(before) * PAGE_BYTES as u64);
    let memory_bytes = others + u64::from(now) * PAGE_BYTES as u64;
    if now > before && memory_bytes > MEMORY_BYTES_MAX {
        let detail = "the objects of users' types have 1 GiB of memory together at the most";
        return Err(Problem::new(Slug::Quota, detail));
    }
    types::update_totals(ctx.core, |totals| totals.memory_bytes = memory_bytes);
    Ok(())
}

/// Enters a module for what nobody called. What fails is taken back and counted.
pub(super) fn uncalled(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    entry: Entry<'_>,
    ended: Option<u64>,
) -> Option<String> {
    let (mark, header, root) = (ctx.core.mark(), ctx.header.clone(), live.root.clone());
    // Builds that know nothing of it would come to other results.
    let is_bounded = ctx.core.meta.feature_level >= GUARD_LEVEL;
    let fuel_max = if is_bounded { UNCALLED_FUEL_MAX } else { u64::MAX };
    let problem = match enter(live, ctx, &Visit { entry, ended, may_park: false, fuel_max }) {
        Ok(visited) => return Some(visited.result),
        Err(problem) => problem,
    };
    ctx.core.rollback(mark);
    (*ctx.header, live.root) = (header, root);
    let words = problem.code.as_deref().unwrap_or(problem.slug.name());
    live.root.failed(format!("{words}: {}", problem.detail));
    None
}

/// What a caller is told of a failure.
pub(super) fn problem(failure: Failure) -> Problem {
    match failure {
        Failure::Refused { code, detail } => refused(code, detail),
        Failure::Trapped { detail } | Failure::Broken { detail } => Problem::new(Slug::GuestTrap, detail),
        Failure::Deadly { detail } => Problem::new(Slug::Quarantined, detail),
        Failure::OutOfFuel => Problem::new(Slug::OutOfFuel, "the call used up its fuel"),
        Failure::StackExhausted => Problem::new(Slug::StackExhausted, "the call used up its stack"),
        Failure::OutOfMemory => {
            Problem::new(Slug::OutOfMemory, "the object needs more memory than it may have")
        }
    }
}

/// A refusal in the module's own words.
pub(super) fn refused(mut code: String, detail: String) -> Problem {
    code.truncate(code.floor_char_boundary(TOPIC_BYTES_MAX));
    Problem { code: Some(code.into_boxed_str()), ..Problem::new(Slug::GuestError, detail) }
}
