//! One run of an object's module: the engine runs it, its pages and its acts become the state's, or nothing of it does.

use twox_hash::XxHash3_64;

use super::host::Records;
use super::long::{self, Moment, Work};
use super::{GUARD_LEVEL, Guest, LINES_LEVEL, PAGES, REGISTERS, acts, guard};
use crate::bytes;
use crate::command::Invocation;
use crate::group::Deadly;
use crate::guest::{Act, Ended, Entry, Failure, PAGE_BYTES, Pages, Run, VersionHash};
use crate::json::Json;
use crate::key;
use crate::limits::{
    MEMORY_BYTES_MAX, PAGES_PER_OBJECT_MAX, SLICE_FUEL, TOPIC_BYTES_MAX, UNCALLED_FUEL_MAX, VALUE_BYTES_MAX,
};
use crate::object::{Ctx, Live};
use crate::place::Place;
use crate::problem::{Problem, Slug};
use crate::ticket::Ticket;
use crate::types::{self, AboutMethod};

/// Units of fuel that take about as long as writing a byte.
const FUEL_PER_BYTE: u64 = 10;

/// What is entered, and what the run may do.
#[derive(Clone, Copy)]
pub(super) struct Visit<'a> {
    pub(super) entry: Entry<'a>,
    /// A ticket that ends by it.
    pub(super) ended: Option<u64>,
    /// Whether its call may wait.
    pub(super) may_park: bool,
    /// Whether its call takes and gives bytes.
    pub(super) gives_bytes: bool,
    /// The fuel that it may take, if its version may take more.
    pub(super) fuel_max: u64,
    /// The fuel behind which it is to go on beside the commands, if it is where commands are applied.
    pub(super) slice: Option<u64>,
    /// What it sees of the log, if that is not the present.
    pub(super) at: Option<Moment>,
    /// The ticket of the call, if it has one already.
    pub(super) own: Option<&'a (Place, Ticket)>,
}

/// Why there is nothing of a run: the caller takes everything back.
pub(super) enum Stop {
    Refused(Problem),
    /// It is to go on beside the commands. This is what it sees of the log.
    Unfinished(Moment),
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

impl Stop {
    /// The refusal, where nothing can go on beside the commands.
    pub(super) fn refusal(self) -> Problem {
        match self {
            Self::Refused(problem) => problem,
            Self::Unfinished(_) => {
                let detail =
                    format!("a call of a batch takes {SLICE_FUEL} units of fuel at the most: make it alone");
                Problem::new(Slug::OutOfFuel, detail)
            }
        }
    }
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
/// It was refused, or is unfinished; the caller takes everything back.
pub(super) fn enter(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, visit: &Visit<'_>) -> Result<Visited, Stop> {
    guard::check(ctx.core, ctx.object, ctx.space(), live.root.version)?;
    let (ended, at) = run(&live.root, ctx, visit, false);
    if ended.outcome == Err(Failure::Unfinished) {
        return Err(Stop::Unfinished(at));
    }
    Ok(kept(live, ctx, (visit, &at), ended)?)
}

/// Enters the module of an object for what it says alone: what it has written is not the object's, and what it asked for is not done.
///
/// # Errors
/// It was refused, or is unfinished.
pub(super) fn ask(live: &Live<Guest>, ctx: &mut Ctx<'_>, visit: &Visit<'_>) -> Result<String, Stop> {
    guard::check(ctx.core, ctx.object, ctx.space(), live.root.version)?;
    let (ended, at) = run(&live.root, ctx, visit, false);
    note_deadly(ctx, live.root.version, &ended);
    match ended.outcome {
        Err(Failure::Unfinished) => Err(Stop::Unfinished(at)),
        outcome => Ok(text(outcome.map_err(problem)?, visit.entry, false)?),
    }
}

/// The member's process has died in a run as often as it may: its object goes into quarantine when the command has ended.
fn note_deadly(ctx: &mut Ctx<'_>, version: VersionHash, ended: &Ended) {
    if let Err(Failure::Deadly { detail }) = &ended.outcome {
        let (object, space, detail) = (ctx.object.clone(), ctx.header.incarnation, detail.clone());
        ctx.core.deadly.push(Deadly { object, space, version, detail });
    }
}

/// Runs the module of another version on its image, for an object that is to go to that version. Nothing is done to the state.
///
/// # Errors
/// It is refused, or unfinished.
pub(super) fn enter_anew(
    live: &Live<Guest>,
    ctx: &mut Ctx<'_>,
    to: VersionHash,
    visit: &Visit<'_>,
) -> Result<(Ended, Moment), Stop> {
    guard::check(ctx.core, ctx.object, ctx.space(), to)?;
    let (ended, at) = run(&super::Root { version: to, changed: 0, ..live.root.clone() }, ctx, visit, true);
    match ended.outcome {
        Err(Failure::Unfinished) => Err(Stop::Unfinished(at)),
        _ => Ok((ended, at)),
    }
}

/// What a run that has ended did is done to the state.
pub(super) fn kept(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    (visit, at): (&Visit<'_>, &Moment),
    ended: Ended,
) -> Result<Visited, Problem> {
    note_deadly(ctx, live.root.version, &ended);
    let result = ended.outcome.map_err(problem)?;
    let parks = ended.acts.iter().any(|act| matches!(act, Act::Park { .. }));
    let kept = keep_memory(live, ctx, &ended.pages, ended.registers.as_deref())
        .and_then(|()| if parks { Ok(String::new()) } else { text(result, visit.entry, visit.gives_bytes) })
        .and_then(|result| {
            Ok(Visited { result, parked: acts::perform(live, ctx, (visit, at), ended.acts)? })
        });
    ctx.core.engine.get().reuse(ended.pages);
    if kept.is_ok() && !matches!(visit.entry, Entry::Init(_) | Entry::Save | Entry::Migrate(_)) {
        guard::count_run(ctx.core, ctx.header.incarnation);
    }
    if kept.is_err() {
        // The engine has kept what is taken back now.
        ctx.core.engine.get().forget(ctx.space());
    }
    kept
}

/// Has the engine run. `is_new`: on the image of the version, whatever the object's memory is.
fn run(root: &super::Root, ctx: &mut Ctx<'_>, visit: &Visit<'_>, is_new: bool) -> (Ended, Moment) {
    ctx.core.runs += 1;
    let space = ctx.space();
    let at = visit.at.unwrap_or_else(|| Moment {
        position: ctx.position(),
        stamp_ms: ctx.now_ms(),
        seed: seed(ctx.core, space),
    });
    let bytes = types::has_bytes(ctx.core, ctx.object.kind, root.version);
    let run = as_run((root, bytes), space, visit, &at);
    let run = Run { slice: visit.slice, kept_at: ctx.position(), ..run };
    let host = Records { core: &*ctx.core, space, claim: Some(ctx.claim), ended: visit.ended, is_new };
    let ended = ctx.core.engine.get().run(&run, &host);
    // What went on beside the commands has held nobody up.
    let is_beside = visit.at.is_some() && visit.slice.is_none();
    if !is_beside {
        ctx.core.spent += (ended.fuel / FUEL_PER_BYTE) as usize;
    }
    ctx.core.ran.note((ctx.core.meta.position, space), &ended, !is_beside);
    (ended, at)
}

/// The run of a visit, as a whole. `bytes`: whether some methods of its version take them.
pub(super) const fn as_run<'a>(
    (root, bytes): (&super::Root, bool),
    space: u64,
    visit: &Visit<'a>,
    at: &Moment,
) -> Run<'a> {
    Run {
        version: root.version,
        space,
        changed: root.changed,
        entry: visit.entry,
        now_ms: at.stamp_ms,
        position: at.position,
        kept_at: at.position,
        seed: at.seed,
        fuel_max: visit.fuel_max,
        bytes,
        slice: None,
    }
}

/// Where a run's random numbers begin: they are no secret.
pub(super) fn seed(core: &crate::group::Core, space: u64) -> u64 {
    seed_of(core, space, u64::from(core.runs))
}

/// The same, by a number of the run at its position.
pub(super) fn seed_of(core: &crate::group::Core, space: u64, number: u64) -> u64 {
    let parts = [core.meta.position, core.meta.stamp_ms as u64, number];
    XxHash3_64::oneshot_with_seed(space, parts.map(u64::to_le_bytes).as_flattened())
}

/// A result must be JSON, unless the method gives bytes. What is not called has none, or whatever it likes.
pub(super) fn text(result: Vec<u8>, entry: Entry<'_>, gives_bytes: bool) -> Result<String, Problem> {
    let broken = |detail: &str| Err(Problem::new(Slug::GuestTrap, detail));
    let is_called = matches!(entry, Entry::Call { .. });
    if !is_called && result.is_empty() {
        return Ok(String::new());
    }
    if result.len() > VALUE_BYTES_MAX {
        return broken("the result has more than 1 MiB");
    }
    if gives_bytes {
        return Ok(bytes::shown(&result));
    }
    match String::from_utf8(result) {
        Ok(text) if Json::check(text.as_bytes()).is_ok() => Ok(text),
        _ => broken("the result is not JSON"),
    }
}

/// The result of a query that has ended.
pub(crate) fn query_result(ended: Ended, gives_bytes: bool) -> Result<String, Problem> {
    // A result that is no text is told like that of a call.
    let of_a_call = Entry::Call { method: "", args: &[] };
    text(ended.outcome.map_err(problem)?, of_a_call, gives_bytes)
}

/// The pages that a run has changed become records.
fn keep_memory(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    pages: &Pages,
    registers: Option<&[u8]>,
) -> Result<(), Problem> {
    if pages.is_empty() && registers.is_none() {
        return Ok(());
    }
    let before = live.root.pages;
    if !pages.is_empty() {
        let by_lines = ctx.core.meta.feature_level >= LINES_LEVEL;
        let table = key::entry(ctx.space(), PAGES, &[]);
        let (more, fewer) = ctx.core.store.put_pages(&table, pages, by_lines);
        live.root.pages = live.root.pages + more - fewer;
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

/// What the module says to something that nobody called; nothing if that comes later, for it takes long or others are before it.
pub(super) fn uncalled(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, work: Work) -> Option<Option<String>> {
    if ctx.core.has_slices() && long::is_occupied(ctx.core, ctx.space()) {
        long::stand_behind(live, ctx, work);
        return None;
    }
    let slice = ctx.core.has_slices().then_some(SLICE_FUEL);
    match enter_uncalled(live, ctx, work, (None, slice)) {
        Ok(said) => Some(said),
        Err(at) => {
            long::go_beside(live, ctx, at, work);
            None
        }
    }
}

/// Enters a module for what nobody called. What fails is taken back and counted.
///
/// # Errors
/// It is to go on beside the commands.
pub(super) fn enter_uncalled(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    work: Work,
    (at, slice): (Option<Moment>, Option<u64>),
) -> Result<Option<String>, Moment> {
    let (mark, header, root) = (ctx.core.mark(), ctx.header.clone(), live.root.clone());
    let visit = Visit { at, slice, ..Visit::of_uncalled(ctx.core, &work) };
    let stop = match enter(live, ctx, &visit) {
        Ok(visited) => return Ok(Some(visited.result)),
        Err(stop) => stop,
    };
    ctx.core.rollback(mark);
    (*ctx.header, live.root) = (header, root);
    match stop {
        Stop::Unfinished(at) => Err(at),
        Stop::Refused(problem) => {
            let words = problem.code.as_deref().unwrap_or(problem.slug.name());
            live.root.failed(format!("{words}: {}", problem.detail));
            Ok(None)
        }
    }
}

impl<'a> Visit<'a> {
    /// For an entry of that kind.
    pub(super) const fn of_call(entry: Entry<'a>, may_park: bool) -> Self {
        let (ended, slice, at, own) = (None, None, None, None);
        Self { entry, ended, may_park, gives_bytes: false, fuel_max: u64::MAX, slice, at, own }
    }

    /// For a call of that method, which may wait.
    pub(super) fn of_method(about: &Result<AboutMethod, Problem>, invocation: &'a Invocation) -> Self {
        let gives_bytes = about.as_ref().is_ok_and(|about| about.is_of_bytes);
        let args: &[u8] = if invocation.args.is_empty() && !gives_bytes { b"{}" } else { &invocation.args };
        let entry = Entry::Call { method: &invocation.method, args };
        Self { gives_bytes, ..Self::of_call(entry, true) }
    }

    /// For what nobody called.
    pub(super) const fn of_uncalled(core: &crate::group::Core, work: &Work) -> Self {
        let (entry, ended) = match *work {
            Work::SessionExpired(session) => (Entry::SessionExpired(session), None),
            Work::TicketEnded(id) | Work::End(id, _) => (Entry::TicketEnded(id), Some(id)),
            // Calls, creation and migrations come otherwise.
            Work::Timer(id) | Work::Call(id) | Work::Init(id) | Work::Move(id) => (Entry::Timer(id), None),
        };
        // Builds that know nothing of it would come to other results.
        let is_bounded = core.meta.feature_level >= GUARD_LEVEL;
        let fuel_max = if is_bounded { UNCALLED_FUEL_MAX } else { u64::MAX };
        Self { ended, fuel_max, ..Self::of_call(entry, false) }
    }
}

/// What a caller is told of a failure.
pub(super) fn problem(failure: Failure) -> Problem {
    match failure {
        Failure::Refused { code, detail } => refused(code, detail),
        Failure::Trapped { detail } | Failure::Broken { detail } => Problem::new(Slug::GuestTrap, detail),
        Failure::Deadly { detail } => Problem::new(Slug::Quarantined, detail),
        // Whoever gives a slice looks for it.
        Failure::OutOfFuel | Failure::Unfinished => {
            Problem::new(Slug::OutOfFuel, "the call used up its fuel")
        }
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
