//! What stands behind a run that is under way: in the order of the positions at which it came.
//!
//! A timer and the end of a wait stand there once at the most, and are found by what they are: a run that sets the timer again,
//! or clears it, takes it out. So there is no more than there are tickets, timers and sessions.

use super::record::{Item, Occupied, Work};
use crate::codec::decoded;
use crate::group::Core;
use crate::key::{self, Key};
use crate::object::{Ctx, Live};
use crate::user::{BEHIND, Guest, PLACES};

/// Classes of what is found by what it is.
const TIMER: u8 = 1;
const END: u8 = 2;

fn key_of(space: u64, item: &Item) -> Key {
    let sub = [&item.at.position.to_be_bytes()[..], &item.number.to_be_bytes()].concat();
    key::entry(space, BEHIND, &sub)
}

/// The key under which it is found by what it is.
fn place_of(space: u64, work: &Work) -> Option<Key> {
    let (class, id) = match work {
        Work::Timer(id) => (TIMER, id),
        Work::End(id, _) => (END, id),
        _ => return None,
    };
    Some(key::entry(space, PLACES, &[&[class][..], &id.to_be_bytes()].concat()))
}

/// Puts it behind the others that came at its position or before, unless it stands there.
pub(super) fn put(live: &mut Live<Guest>, ctx: &mut Ctx<'_>, item: &Item) {
    let space = ctx.space();
    if let Some(place) = place_of(space, &item.work) {
        if ctx.core.store.get(&place).is_some() {
            return;
        }
        ctx.core.write(place, &(item.at.position, item.number));
    }
    live.root.timers += u32::from(matches!(item.work, Work::Timer(_)));
    ctx.core.write(key_of(space, item), item);
    if !super::is_occupied(ctx.core, space) {
        let occupied = Occupied { object: ctx.object.clone(), running: None };
        ctx.core.write(key::occupied(space), &occupied);
    }
}

fn first(core: &Core, space: u64) -> Option<Item> {
    let (_, record) = core.store.prefix(&key::entry(space, BEHIND, &[])).next()?;
    decoded(record).ok()
}

pub(super) fn is_empty(core: &Core, space: u64) -> bool {
    first(core, space).is_none()
}

/// Takes out what is next.
pub(super) fn take(live: &mut Live<Guest>, ctx: &mut Ctx<'_>) -> Option<Item> {
    let item = first(ctx.core, ctx.space())?;
    remove(ctx.core, ctx.space(), &item);
    live.root.timers -= u32::from(matches!(item.work, Work::Timer(_)));
    Some(item)
}

fn remove(core: &mut Core, space: u64, item: &Item) {
    core.store.remove(&key_of(space, item));
    if let Some(place) = place_of(space, &item.work) {
        core.store.remove(&place);
    }
}

/// A call that has not had its turn stands there no more.
pub(super) fn leave(core: &mut Core, space: u64, call: u64) {
    let at_its_position = key::entry(space, BEHIND, &call.to_be_bytes());
    let items = core.store.prefix(&at_its_position).filter_map(|(_, record)| decoded::<Item>(record).ok());
    let found = items.into_iter().find(|item| item.work.is_of(call));
    if let Some(item) = found {
        remove(core, space, &item);
    }
}

/// A timer that is due stands there no more, for it was set again or cleared. Says whether it did. It still counts as one.
pub(super) fn leave_timer(core: &mut Core, space: u64, timer: u64) -> bool {
    let Some(place) = place_of(space, &Work::Timer(timer)) else { return false };
    let Some((position, number)) = core.read::<(u64, u32)>(&place) else { return false };
    let sub = [&position.to_be_bytes()[..], &number.to_be_bytes()].concat();
    core.store.remove(&key::entry(space, BEHIND, &sub));
    core.store.remove(&place)
}

/// How many timers stand there.
pub(super) fn timers(core: &Core, space: u64) -> usize {
    core.store.prefix(&key::entry(space, PLACES, &[TIMER])).count()
}

/// All that stands there, in order.
pub(super) fn all<'a>(core: &'a Core, space: u64) -> impl Iterator<Item = Item> + use<'a> {
    let items = core.store.prefix(&key::entry(space, BEHIND, &[]));
    items.filter_map(|(_, record)| decoded(record).ok())
}

/// Whether a record of a place leads to what is found by it.
pub(super) fn is_sound(core: &Core, space: u64) -> bool {
    let count = |table| core.store.prefix(&key::entry(space, table, &[])).count();
    let found = all(core, space).filter_map(|item| Some((place_of(space, &item.work)?, item)));
    let mut places = 0;
    let all_lead = found.fold(true, |so_far, (place, item)| {
        places += 1;
        so_far && core.read(&place) == Some((item.at.position, item.number))
    });
    all_lead && places == count(PLACES) && all(core, space).count() == count(BEHIND)
}
