//! Runs that take long go on beside the commands, so that a slow object, or one that never ends, holds up itself alone.
//!
//! # The way of a run
//! A run is given a slice of fuel where commands are applied ([`crate::limits::SLICE_FUEL`]). Most end within it. One that does
//! not is undone, and becomes a record of the state: what is run, and what it sees of the log (`record.rs`). Its object is
//! *occupied* from then on. Each member's engine runs it beside the commands, on that object's memory alone
//! ([`crate::guest::Engine::begin`]). When it has ended, the leader proposes [`crate::Command::Finish`]; at that position what
//! it did is done, at all members. What has come for the object meanwhile stands behind it (`behind.rs`), in the order of the
//! positions at which it came, and has its turn then, in ticks, each again with a slice (`turn.rs`).
//!
//! # Invariants
//! - *The log alone decides.* A slice is counted in fuel. What is under way is a record, so a member that starts, or takes over a
//!   snapshot, runs it again; [`crate::Command::Finish`] names it, and is without effect on anything else.
//! - *Nothing that a run under way can see changes.* Nothing else runs the object's module or changes its memory. A waiting call
//!   does not end by its time or by a cancel before the run has; a session's end ends it at once, and then the run is begun
//!   anew. So how it ends is the same whenever and wherever it is carried out, and it grants nothing that has ended.
//! - *What has not taken effect may be called off*: a call whose session ends, or which is cancelled, before its turn or while its
//!   run is under way has none.
//! - *A run sees the log as of its arrival* (position, stamp, random bytes), however late its turn is. Positions that a module sees
//!   rise.
//! - *Nothing is lost that stands behind.* An object with something behind it has a record which says so, until that is empty;
//!   while there is one and no run is under way, the leader proposes ticks.
//! - *Bounded*: a call that waits for its turn is a waiting call, with the limits of these. A timer, the end of a wait and of a
//!   session stand there once at the most. So many runs are under way in a group at a time; the next ones wait for room.
//!
//! # Walks
//! *A call.* At p its slice is used up. It becomes a ticket, p, in a queue of its own; its request is kept as one that waits. The
//! record says that run p is under way. At q `Finish` is applied: the engine gives how the run has ended, pages and acts
//! become the state's, and the ticket is granted with the result; if the module has parked it goes to the queue of the calls
//! that wait, under the same number. What fails is taken back, and the ticket is refused.
//!
//! *A crash.* The member's state has the record, from its snapshot or its log. The engine is asked to begin what was not begun
//! here ([`begin_anew`]). If `Finish` is the next that is applied, the engine runs it there and then.
//!
//! *A deadly run.* What the process dies in is known by the run's position and seed, which are those of its slice: the deaths count
//! together, and a slice that is unfinished does not show that the run is harmless. After two of them it fails at its `Finish`.
//!
//! *A quarantine.* The run is called off and stands in front of what is behind it. Each is refused at its turn, and timers are
//! put off.
//!
//! *A migration* is two runs, each with a slice: `save` of the old version, of which nothing but the result is kept, then `migrate`
//! of the new one, on that version's image. Its ticket says which is next, with what was saved. The object stays on its version,
//! with its memory, until the second has ended: at the position of that `Finish` it goes over whole, or stays as it was.
//!
//! # Not done, and what that costs
//! - Imports and exports run where commands are applied, or queries are answered, as a whole. While something is under way migrations
//!   and the way back are refused.
//! - A call of a batch may take one slice, and all of them ten together.
//! - A message that waits for its turn at an object which is deleted does not count as a failure of its sender.

mod behind;
mod record;
mod turn;

use std::collections::VecDeque;

use self::record::{Asked, Item, Occupied, Running};
use self::turn::Turn;
use super::enter::seed_of;
use super::migrate::Moving;
use super::{CREATED_WITH, CREATING, Guest, NOT_RUN, WAITING, guard, outbox};
use crate::codec::{Malformed, decoded, encoded};
use crate::command::{Begun, Invocation, ObjectName, TypeId};
use crate::group::Core;
use crate::guest::RunId;
use crate::key::{self, kind, table};
use crate::limits::{LONG_RUNS_MAX, PUT_OFF_MS, RUNS_PER_TICK, SLICE_FUEL, USER_RUNS_PER_SESSION_MAX};
use crate::object::{self, Claim, Ctx, Header, Live, Open, Why};
use crate::place::{Place, Queue};
use crate::problem::{Problem, Slug};
use crate::session;
use crate::ticket;
use crate::types;

pub(crate) use self::record::{Moment, Work};

fn of(core: &Core, space: u64) -> Option<Occupied> {
    core.read(&key::occupied(space))
}

/// All objects that are occupied, by their spaces.
fn all(core: &Core) -> impl Iterator<Item = (u64, Occupied)> + '_ {
    core.store.prefix(&[kind::OCCUPIED]).filter_map(|(key, value)| {
        let space = u64::from_be_bytes(*key.last_chunk()?);
        Some((space, decoded(value).ok()?))
    })
}

/// Whether a run is under way at an object, or something waits for its turn.
pub(crate) fn is_occupied(core: &Core, space: u64) -> bool {
    core.store.age(kind::OCCUPIED) > 0 && core.store.get(&key::occupied(space)).is_some()
}

/// The refusal of what cannot wait for its turn. It has no effect.
pub(crate) fn occupied() -> Problem {
    let detail = "a run of the object's module is under way that takes long: ask again";
    Problem { retry_after_ms: Some(100), ..Problem::new(Slug::Rate, detail) }
}

pub(super) fn check_free(core: &Core, space: u64) -> Result<(), Problem> {
    if is_occupied(core, space) { Err(occupied()) } else { Ok(()) }
}

/// An object whose `init` is under way is not there yet for who would create it.
pub(super) fn check_created(core: &Core, space: u64) -> Result<(), Problem> {
    let creating = key::entry(space, table::TICKET, &Queue::of(CREATING).prefix());
    if core.store.prefix(&creating).next().is_some() { Err(occupied()) } else { Ok(()) }
}

/// Whether a caller cannot cancel a waiting call for now: it ends when what is under way has ended.
pub(crate) fn keeps_waiting(core: &Core, place: &Place) -> bool {
    let waits = match place.queue.tag {
        WAITING => is_occupied(core, place.space),
        CREATING => true,
        _ => false,
    };
    types::is_user(place.object.kind) && waits
}

fn has_room(core: &Core) -> bool {
    all(core).filter(|(_, occupied)| occupied.running.is_some()).count() < LONG_RUNS_MAX
}

/// What is begun now.
fn now(ctx: &mut Ctx<'_>) -> Begun {
    Begun { position: ctx.position(), number: next_number(ctx.core) }
}

fn next_number(core: &mut Core) -> u32 {
    core.put_off += 1;
    core.put_off
}

/// A call is unfinished: it goes on beside the commands. Gives its ticket.
pub(super) fn call_beside(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    at: Moment,
    invocation: &Invocation,
) -> Result<u64, Problem> {
    let ticket = park(ctx, invocation)?;
    go_beside(live, ctx, at, Work::Call(ticket));
    Ok(ticket)
}

/// A call waits for its turn. Gives its ticket.
pub(super) fn call_behind(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    invocation: &Invocation,
) -> Result<u64, Problem> {
    let ticket = park(ctx, invocation)?;
    stand_behind(live, ctx, Work::Call(ticket));
    Ok(ticket)
}

/// Whether another call of a session may wait here: all of them end at one position.
fn check_session(ctx: &Ctx<'_>) -> Result<(), Problem> {
    match ctx.claim.session {
        Some(id) if session::find(ctx.core, id)?.tickets >= USER_RUNS_PER_SESSION_MAX => {
            Err(Problem::new(Slug::WaitersFull, "too many calls of this session wait"))
        }
        _ => Ok(()),
    }
}

fn park(ctx: &mut Ctx<'_>, invocation: &Invocation) -> Result<u64, Problem> {
    check_session(ctx)?;
    let (invocation, wait_ms) = (invocation.clone(), ctx.claim.wait_ms);
    let asked = Asked { invocation, wait_ms, sender: ctx.core.sender.clone(), hops: ctx.core.hops };
    ctx.park(Queue::of(NOT_RUN), encoded(&asked), true, 0)
}

/// A run of a migration is unfinished. Gives the ticket of who waits for it.
pub(super) fn move_beside(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    at: Moment,
    moving: &Moving,
) -> Result<u64, Problem> {
    check_session(ctx)?;
    let ticket = ctx.park(Queue::of(NOT_RUN), encoded(moving), true, 0)?;
    go_beside(live, ctx, at, Work::Move(ticket));
    Ok(ticket)
}

/// The method of a call, a migration too, that has not had its turn, by what its ticket says.
pub(super) fn method_of(wants: &[u8]) -> Option<String> {
    if let Ok(moving) = decoded::<Moving>(wants) {
        return Some(String::from(if moving.back.is_some() { ":rollback" } else { ":migrate" }));
    }
    decoded::<Asked>(wants).ok().map(|asked| asked.invocation.method)
}

/// An object's `init` is unfinished. Gives the creator's ticket.
pub(super) fn create_beside(
    live: &mut Live<Guest>,
    ctx: &mut Ctx<'_>,
    at: Moment,
    args: &[u8],
) -> Result<u64, Problem> {
    let ticket = ctx.park(Queue::of(CREATING), Vec::new(), true, 0)?;
    ctx.core.store.put(key::entry(ctx.space(), CREATED_WITH, &[]), args);
    go_beside(live, ctx, at, Work::Init(ticket));
    Ok(ticket)
}

/// A run that is unfinished goes on beside the commands.
pub(super) fn go_beside(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, at: Moment, work: Work) {
    let number = next_number(ctx.core);
    begin(live, ctx, &Item { at, number, work });
}

/// What has come stands behind what is there.
pub(super) fn stand_behind(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, work: Work) {
    let number = next_number(ctx.core);
    // No run at this position has that number.
    let seed = seed_of(ctx.core, ctx.space(), u64::from(u32::MAX) + u64::from(number));
    let at = Moment { position: ctx.position(), stamp_ms: ctx.now_ms(), seed };
    behind::put(live, ctx, &Item { at, number, work });
}

/// Begins a run beside the commands. Without room it waits for its turn again.
fn begin(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, item: &Item) {
    if !has_room(ctx.core) {
        return behind::put(live, ctx, item);
    }
    let running = Running { item: *item, begun: now(ctx) };
    let occupied = Occupied { object: ctx.object.clone(), running: Some(running) };
    ctx.core.write(key::occupied(ctx.space()), &occupied);
    begin_in_engine(ctx.core, (ctx.object.kind, &live.root, ctx.space()), item);
}

fn begin_in_engine(core: &Core, of: (TypeId, &super::Root, u64), item: &Item) {
    turn::with_run(core, of, item, |run, host| core.engine.get().begin(run, host));
}

/// A run that is under way is so no more. What stands behind it has its turn.
fn call_off(ctx: &mut Ctx<'_>) -> Option<Item> {
    let space = ctx.space();
    let running = of(ctx.core, space)?.running?;
    ctx.core.engine.get().forget(space);
    let occupied = Occupied { object: ctx.object.clone(), running: None };
    ctx.core.write(key::occupied(space), &occupied);
    Some(running.item)
}

/// Nothing is said of an object at which nothing is under way, and nothing waits for its turn.
fn settle(core: &mut Core, space: u64) {
    if of(core, space).is_some_and(|occupied| occupied.running.is_none()) && behind::is_empty(core, space) {
        core.store.remove(&key::occupied(space));
    }
}

/// A call that has not had its turn, or whose run is under way, ends: it has no effect.
pub(super) fn leave(ctx: &mut Ctx<'_>, call: u64) {
    let running = of(ctx.core, ctx.space()).and_then(|occupied| occupied.running);
    if running.is_some_and(|running| running.item.work.is_of(call)) {
        call_off(ctx);
    } else {
        behind::leave(ctx.core, ctx.space(), call);
    }
    settle(ctx.core, ctx.space());
}

/// The session of a waiting call is gone, and so is the ticket. Whether the module knows of that call.
pub(crate) fn caller_died(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, place: &Place, id: u64) -> bool {
    match place.queue.tag {
        NOT_RUN => {
            leave(ctx, id);
            false
        }
        // The object is created all the same.
        CREATING => false,
        _ => {
            begin_again(live, ctx);
            true
        }
    }
}

/// What a run under way sees has changed.
fn begin_again(live: &Live<Guest>, ctx: &mut Ctx<'_>) {
    let Some(Occupied { object, running: Some(running) }) = of(ctx.core, ctx.space()) else { return };
    ctx.core.engine.get().forget(ctx.space());
    let again = Occupied { object, running: Some(Running { begun: now(ctx), ..running }) };
    ctx.core.write(key::occupied(ctx.space()), &again);
    begin_in_engine(ctx.core, (ctx.object.kind, &live.root, ctx.space()), &running.item);
}

/// A timer that is due and stands behind is set again, or cleared.
pub(super) fn leave_timer(ctx: &mut Ctx<'_>, id: u64) -> bool {
    behind::leave_timer(ctx.core, ctx.space(), id)
}

/// A timer comes later, for its object runs nothing.
fn put_timer_off(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, id: u64) {
    live.root.timers += 1;
    ctx.set_timer(&id.to_be_bytes(), Some(ctx.now_ms().saturating_add(PUT_OFF_MS)));
}

/// A call that only tries has its time behind it as soon as it waits: its end is next.
fn end_try(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, item: &Item, id: u64) {
    let now_ms = ctx.now_ms();
    let is_over = |at: i64| at <= now_ms;
    let deadline = ticket::waiting(ctx.core, id).and_then(|(_, ticket)| ticket.deadline_ms);
    if deadline.is_some_and(is_over) {
        ticket::set_deadline(ctx.core, id, None);
        let seed = seed_of(ctx.core, ctx.space(), item.at.seed);
        let (at, number) = (Moment { seed, ..item.at }, item.number | 1 << 31);
        behind::put(live, ctx, &Item { at, number, work: Work::End(id, Why::TimedOut) });
    }
}

/// An object goes into quarantine: what is under way is called off, and refused at its turn.
pub(super) fn stop(core: &mut Core, object: &ObjectName, opened: Open<Guest>) {
    let done = object::run(core, object, opened, true, &Claim::default(), |live, ctx| {
        match call_off(ctx) {
            Some(Item { work: Work::Timer(id), .. }) => put_timer_off(live, ctx, id),
            Some(item) => behind::put(live, ctx, &item),
            None => {}
        }
        settle(ctx.core, ctx.space());
        Ok(())
    });
    debug_assert!(done.is_ok(), "work that cannot fail has failed");
}

/// A run has ended beside the commands. Now it takes effect.
pub(crate) fn finish(core: &mut Core, space: u64, begun: Begun) {
    let Some(Occupied { object, running: Some(running) }) = of(core, space) else { return };
    if running.begun != begun {
        return;
    }
    // A start, or a snapshot, may come right before this.
    begin_anew(core, space);
    core.write(key::occupied(space), &Occupied { object: object.clone(), running: None });
    carry_out(core, (&object, space), |_, _| Some(running.item), None);
}

/// Gives the next run of an object its turn.
fn carry_out(
    core: &mut Core,
    (object, space): (&ObjectName, u64),
    next: impl FnOnce(&mut Live<Guest>, &mut Ctx<'_>) -> Option<Item>,
    slice: Option<u64>,
) {
    let mut turned = Turn::Over;
    object::run_in_space::<Guest>(core, object, space, |live, ctx| {
        let Some(item) = next(live, ctx) else { return };
        turned = turn::turn(live, ctx, &item, slice);
        match turned {
            Turn::Unfinished => begin(live, ctx, &item),
            Turn::GoesOn(next) => begin(live, ctx, &next),
            _ => {}
        }
    });
    match turned {
        Turn::Over | Turn::Unfinished | Turn::GoesOn(_) => {}
        Turn::Refused(sender, problem) => {
            let kind = core.user_type_name(object.kind).unwrap_or_default();
            outbox::refused(core, &sender, &format!("{kind}/{}", object.name), &problem);
        }
        Turn::NotCreated => {
            if let Some(header) = core.read::<Header>(&key::object(object)) {
                super::deleted(core, object, &header);
                object::remove(core, object, &header);
            }
        }
    }
    settle(core, space);
}

/// The objects at which nothing is under way and something waits for its turn.
fn ready(core: &Core) -> impl Iterator<Item = (u64, ObjectName)> + '_ {
    all(core)
        .filter(|(_, occupied)| occupied.running.is_none())
        .map(|(space, occupied)| (space, occupied.object))
}

/// Whether a tick is to give turns.
pub(crate) fn has_turns(core: &Core) -> bool {
    ready(core).next().is_some() && has_room(core)
}

/// Gives turns to what waits for them, object by object, as many as one tick may.
pub(crate) fn give_turns(core: &mut Core) {
    let mut ready: VecDeque<_> = ready(core).collect();
    if ready.is_empty() {
        return;
    }
    // None is the first at each tick.
    let first = core.meta.position % ready.len() as u64;
    ready.rotate_left(first as usize);
    for _ in 0..RUNS_PER_TICK {
        if core.has_run_enough() || core.has_spent_enough() || !has_room(core) {
            return;
        }
        let Some((space, object)) = ready.pop_front() else { return };
        carry_out(core, (&object, space), behind::take, Some(SLICE_FUEL));
        if of(core, space).is_some_and(|occupied| occupied.running.is_none()) {
            ready.push_back((space, object));
        }
    }
}

/// A run that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongRun {
    /// The object, by its space.
    pub space: u64,
    /// What [`crate::Command::Finish`] names.
    pub begun: Begun,
    /// As the engine knows it.
    pub run: RunId,
}

/// The runs that are under way.
pub(crate) fn under_way(core: &Core) -> impl Iterator<Item = LongRun> + '_ {
    all(core).filter_map(|(space, occupied)| {
        let Running { item, begun } = occupied.running?;
        let run = RunId { position: item.at.position, seed: item.at.seed };
        Some(LongRun { space, begun, run })
    })
}

/// The engine is asked to begin a run that it knows nothing of.
pub(crate) fn begin_anew(core: &Core, space: u64) {
    let Some(Occupied { object, running: Some(running) }) = of(core, space) else { return };
    let Some(opened) = object::open::<Guest>(core, &object) else { return };
    // One that runs nothing any more is refused when it is finished.
    let (version, is_creation) = (opened.live.root.version, matches!(running.item.work, Work::Init(_)));
    let may_be_created = !is_creation || types::check_creations(core, object.kind, version).is_ok();
    if may_be_created && guard::check(core, &object, space, version).is_ok() {
        begin_in_engine(core, (object.kind, &opened.live.root, space), &running.item);
    }
}

pub(super) fn is_readable(table: u8, value: &[u8]) -> bool {
    if table == super::PLACES { decoded::<(u64, u32)>(value).is_ok() } else { decoded::<Item>(value).is_ok() }
}

/// How many timers are due and wait for their turn.
pub(super) fn timers_behind(core: &Core, space: u64) -> usize {
    behind::timers(core, space)
}

/// Whether what is under way, what stands behind it and the tickets of calls fit together.
pub(crate) fn sound(core: &Core) -> Result<(), Malformed> {
    let must = |holds: bool, why: &'static str| if holds { Ok(()) } else { Err(Malformed(why)) };
    for (key, value) in core.store.prefix(&[kind::OCCUPIED]) {
        let space = key.get(1..).and_then(|space| space.try_into().ok()).map(u64::from_be_bytes);
        let space = space.ok_or(Malformed("check: an occupied object's key"))?;
        let occupied: Occupied = decoded(value)?;
        let header: Option<Header> = core.read(&key::object(&occupied.object));
        let is_there = header.is_some_and(|header| header.incarnation == space);
        must(
            is_there && types::is_user(occupied.object.kind),
            "check: an occupied object that there is not",
        )?;
        let has_more = !behind::is_empty(core, space);
        must(occupied.running.is_some() || has_more, "check: an object is occupied by nothing")?;
    }
    Ok(())
}

/// The same of one object that there is.
pub(super) fn sound_object(core: &Core, space: u64) -> Result<(), Malformed> {
    let must = |holds: bool, why: &'static str| if holds { Ok(()) } else { Err(Malformed(why)) };
    let occupied = of(core, space);
    must(occupied.is_some() || behind::is_empty(core, space), "check: what stands behind is forgotten")?;
    must(behind::is_sound(core, space), "check: what stands behind is not where it should be")?;
    let running = occupied.and_then(|occupied| occupied.running).map(|running| running.item);
    let items = behind::all(core, space).chain(running);
    let calls = items.filter_map(|item| match item.work {
        Work::Call(id) | Work::Move(id) => Some((id, NOT_RUN)),
        Work::Init(id) => Some((id, CREATING)),
        _ => None,
    });
    let mut found = 0;
    for (id, tag) in calls {
        let waits = ticket::waiting(core, id)
            .is_some_and(|(place, _)| place.space == space && place.queue.tag == tag);
        must(waits || tag == CREATING, "check: a call has its turn that does not wait")?;
        found += usize::from(waits);
    }
    let count = |tag| core.store.prefix(&key::entry(space, table::TICKET, &Queue::of(tag).prefix())).count();
    must(found == count(NOT_RUN) + count(CREATING), "check: a call waits that never has its turn")
}
