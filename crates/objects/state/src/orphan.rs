//! Waits of callers that nobody can reach any more: those without session or key, whose member's process is over. What
//! such a wait were granted would go to nobody, so ticks cancel them.
//!
//! A process is over when a command of a later one of the same member is applied.

use std::ops::Bound;

use crate::builtin::Why;
use crate::codec::Cursor;
use crate::death;
use crate::group::Core;
use crate::key::{self, kind};
use crate::source::Process;
use crate::ticket;

/// The first wait of a process that is over: its process, and its ticket.
pub(crate) fn first(core: &Core) -> Option<(Process, u64)> {
    let mut member = 0;
    // Most groups have no such waits, and then this is one look.
    while let Some((process, ticket)) = first_from(core, member) {
        let last = core.sources.last(process.member).map_or(0, |source| source.incarnation);
        if process.incarnation < last {
            return Some((process, ticket));
        }
        member = process.member.checked_add(1)?;
    }
    None
}

/// The oldest process with waits among the members from that number on.
fn first_from(core: &Core, member: u8) -> Option<(Process, u64)> {
    let from = [kind::PROCESS_TICKET, member];
    let (key, _) = core.store.range(Bound::Included(&from), Bound::Unbounded).next()?;
    let mut cursor = Cursor::new(key.strip_prefix(&[kind::PROCESS_TICKET])?);
    let process = Process { member: cursor.u8().ok()?, incarnation: cursor.ordered().ok()? };
    Some((process, cursor.ordered().ok()?))
}

/// Cancels up to so many.
pub(crate) fn end_some(core: &mut Core, most: usize) {
    for _ in 0..most {
        if core.has_run_enough() || core.has_slices() && core.has_spent_enough() {
            return;
        }
        let Some((process, id)) = first(core) else { return };
        core.store.remove(&key::process_ticket(process, id));
        if let Some((place, mut waiting)) = ticket::waiting(core, id) {
            waiting.process = None;
            core.write(place.key(id), &waiting);
        }
        death::end_ticket(core, id, Why::Cancelled, true);
    }
}
