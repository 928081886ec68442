//! O15 one end, O17 deadlines: from what the state said of tickets.

use std::collections::BTreeMap;

use objects_state::limits::DEADLINES_PER_TICK;
use objects_state::{Command, TicketEnd};
use sim_kit::Judged;

use super::{Seen, Wrong, judged};
use crate::model::Told;

/// O15: a ticket ends once, and only one that waits. A call that waits has a ticket of its own.
pub(super) fn one_end(seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
    let mut open: Vec<u64> = seen.book.open.iter().map(|ticket| ticket.id).collect();
    for told in seen.shown {
        match told {
            Told::Parked(_, id) if *id == seen.first => open.push(*id),
            Told::Parked(_, id) if !open.contains(id) => {
                return Err((15, format!("a request waits under ticket {id}, which has ended")));
            }
            Told::Ended(id, end, _) => {
                judged(all, 15, "ends");
                let Some(place) = open.iter().position(|known| known == id) else {
                    return Err((15, format!("ticket {id} ends ({end:?}), and does not wait")));
                };
                open.remove(place);
            }
            _ => {}
        }
    }
    let waiting = seen.state.counts()[2];
    if waiting != open.len() as u64 {
        return Err((15, format!("{} calls wait, and the state counts {waiting}", open.len())));
    }
    Ok(())
}

/// O17: not before, not long after, in order.
pub(super) fn deadlines(seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
    let mut last = (i64::MIN, 0);
    let mut ended = Vec::new();
    for told in seen.shown {
        let Told::Ended(id, end, _) = told else { continue };
        ended.push(*id);
        let Some(ticket) = seen.book.ticket(*id).filter(|_| *end == TicketEnd::TimedOut) else { continue };
        judged(all, 17, "timeouts");
        let due = (ticket.deadline_ms, *id);
        if *seen.command != Command::Tick || due.0 > seen.stamp_ms {
            return Err((17, format!("ticket {id} is due at {}, not at {}", due.0, seen.stamp_ms)));
        }
        if due < last {
            return Err((17, format!("ticket {id} ends behind a later one: {last:?}")));
        }
        last = due;
    }
    if *seen.command == Command::Tick && ended.len() < DEADLINES_PER_TICK {
        let is_late = |ticket: &&crate::book::Ticket| {
            ticket.deadline_ms <= seen.stamp_ms && !ended.contains(&ticket.id) && !ticket.is_of_condition()
        };
        // A tick passes over so many deadlines, those of items and keys included.
        let is_done = seen.state.next_deadline().is_none_or(|at| at.ms() > seen.stamp_ms);
        if let Some(ticket) = seen.book.open.iter().find(is_late).filter(|_| is_done) {
            return Err((17, format!("ticket {} was due at {}", ticket.id, ticket.deadline_ms)));
        }
    }
    Ok(())
}
