//! Deadlines: one ordered index of all that happens when time passes.
//!
//! Only a tick lets a deadline pass, so that what a deadline ends has one position. Those that are due come in the order
//! of their times; of the same time first the timers of objects (what they free is granted before a wait for it ends),
//! then tickets by id, then keys, uploads, rejections, kept memory, tokens.

use crate::codec::Field;
use crate::group::Core;
use crate::key;

/// A timer of an object: a lease, a delay, a time to live, the end of a lock's delay.
pub(crate) const TIMER: u8 = 1;
/// A waiting call's time runs out.
pub(crate) const TICKET: u8 = 2;
/// A key is forgotten.
pub(crate) const KEY: u8 = 3;
/// An upload that no type uses is thrown away.
pub(crate) const UPLOAD: u8 = 4;
/// A version that was rejected is forgotten.
pub(crate) const REJECTED: u8 = 5;
/// The memory that an object had before it was migrated is kept no longer.
pub(crate) const IMAGE: u8 = 6;
/// A token ends.
pub(crate) const TOKEN: u8 = 7;

pub(crate) fn set<F: Field>(core: &mut Core, at_ms: i64, class: u8, id: &[u8], what: &F) {
    core.write(key::deadline(at_ms, class, id), what);
}

pub(crate) fn clear(core: &mut Core, at_ms: i64, class: u8, id: &[u8]) {
    core.store.remove(&key::deadline(at_ms, class, id));
}

/// The earliest deadline.
pub(crate) fn first(core: &Core) -> Option<(i64, u8, Vec<u8>)> {
    let (key, _) = core.store.prefix(&[key::kind::DEADLINE]).next()?;
    let (at, class, id) = key::read_deadline(key).ok()?;
    Some((at, class, id.to_vec()))
}
