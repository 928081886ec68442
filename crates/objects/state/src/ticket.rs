//! Calls that wait. A ticket is state of its object: where it stands in which queue, whose it is, what it wants, until
//! when. Its id is the position of its call. It ends once: granted, timed out, cancelled, or with its session or object.

use crate::asked::{self, Asked};
use crate::codec::{decoded, record};
use crate::command::SessionId;
use crate::deadline;
use crate::effects::{Effect, TicketEnd};
use crate::group::Core;
use crate::key::{self, table};
use crate::place::{Place, Queue, ReplyRef, TicketAt};
use crate::problem::Outcome;
use crate::reply::{Reply, extended};
use crate::request;
use crate::session;
use crate::source::Process;

record! {
    /// A waiting call.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Ticket {
        pub(crate) id: u64,
        pub(crate) session: Option<SessionId>,
        pub(crate) principal: String,
        pub(crate) reply: ReplyRef,
        /// The time to live of the session that the call opened, if it did: its result names that session.
        pub(crate) opened_ttl_ms: Option<i64>,
        pub(crate) deadline_ms: Option<i64>,
        /// The member's process through which alone its caller can be reached: it has neither session nor key.
        pub(crate) process: Option<Process>,
        /// How often newcomers had passed others when it began to wait (`Lock`).
        pub(crate) passed: u64,
        /// What it wants: the type's own.
        pub(crate) wants: Vec<u8>,
        /// By what it is asked, if anybody may want to know.
        pub(crate) asked: Asked,
    }
}

/// A ticket that waits, and where.
pub(crate) fn waiting(core: &Core, id: u64) -> Option<(Place, Ticket)> {
    match core.read(&key::ticket_at(id))? {
        TicketAt::Waits(place) => {
            let ticket = core.read(&place.key(id))?;
            Some((place, ticket))
        }
        TicketAt::Ended(_) => None,
    }
}

/// Writes a ticket with all that leads to it. The object's own count is its header's.
pub(crate) fn insert(core: &mut Core, place: &Place, ticket: &Ticket) {
    core.write(place.key(ticket.id), ticket);
    core.write(key::ticket_at(ticket.id), &TicketAt::Waits(place.clone()));
    core.meta.tickets += 1;
    if let Some(process) = ticket.process {
        core.write(key::process_ticket(process, ticket.id), &());
    }
    if let Some(at) = ticket.deadline_ms {
        deadline::set(core, at, deadline::TICKET, &ticket.id.to_be_bytes(), &());
    }
    if let Some(id) = ticket.session {
        core.write(key::session_ticket(id, ticket.id), &());
        session::update(core, id, |session| session.tickets += 1);
    }
}

/// Puts a ticket at the end of another queue of its object, that wants something else, without a deadline.
pub(crate) fn requeue(core: &mut Core, mut place: Place, mut ticket: Ticket, queue: Queue, wants: Vec<u8>) {
    core.store.remove(&place.key(ticket.id));
    if let Some(at) = ticket.deadline_ms.take() {
        deadline::clear(core, at, deadline::TICKET, &ticket.id.to_be_bytes());
    }
    (place.queue, place.order, ticket.wants) = (queue, core.meta.position, wants);
    core.write(place.key(ticket.id), &ticket);
    core.write(key::ticket_at(ticket.id), &TicketAt::Waits(place));
}

/// A ticket's time is out then, or never.
pub(crate) fn set_deadline(core: &mut Core, id: u64, at_ms: Option<i64>) {
    let Some((place, mut ticket)) = waiting(core, id) else { return };
    if let Some(old) = ticket.deadline_ms {
        deadline::clear(core, old, deadline::TICKET, &id.to_be_bytes());
    }
    if let Some(at) = at_ms {
        deadline::set(core, at, deadline::TICKET, &id.to_be_bytes(), &());
    }
    ticket.deadline_ms = at_ms;
    core.write(place.key(id), &ticket);
}

/// Ends a ticket: it is in no queue any more, its outcome is kept with its request, those who wait for it are told.
pub(crate) fn end(core: &mut Core, place: &Place, ticket: &Ticket, end: TicketEnd, outcome: Outcome) {
    core.store.remove(&place.key(ticket.id));
    core.meta.tickets = core.meta.tickets.saturating_sub(1);
    asked::ended(core, &ticket.principal, &ticket.asked, ticket.id);
    if let Some(process) = ticket.process {
        core.store.remove(&key::process_ticket(process, ticket.id));
    }
    if let Some(at) = ticket.deadline_ms {
        deadline::clear(core, at, deadline::TICKET, &ticket.id.to_be_bytes());
    }
    if let Some(id) = ticket.session {
        core.store.remove(&key::session_ticket(id, ticket.id));
        session::update(core, id, |session| session.tickets = session.tickets.saturating_sub(1));
    }
    let outcome = match end {
        // The session is ending, or its object has: nothing to name.
        TicketEnd::Ended => outcome,
        _ => with_session(core, ticket.session, ticket.opened_ttl_ms, outcome),
    };
    request::settle(core, &ticket.reply, ticket.id, &outcome);
    core.out.push(Effect::TicketEnded { ticket: ticket.id, end, outcome });
}

/// A result that names the session which its call opened. A session that got nothing by it ends at once.
pub(crate) fn with_session(
    core: &mut Core,
    session: Option<SessionId>,
    opened_ttl_ms: Option<i64>,
    outcome: Outcome,
) -> Outcome {
    let (Some(id), Some(ttl_ms)) = (session, opened_ttl_ms) else { return outcome };
    let Ok(open) = session::find(core, id) else { return outcome };
    let has_acknowledged = open.floor > 0 || !open.above.is_empty();
    if open.holdings == 0 && open.tickets == 0 && open.unacknowledged == 0 && !has_acknowledged {
        core.store.remove(&key::session(id));
        core.meta.sessions = core.meta.sessions.saturating_sub(1);
        core.out.push(Effect::SessionEnded { session: id, expired: false });
        return outcome;
    }
    match outcome {
        Outcome::Done(result) => {
            let more = Reply::new().text("session", &id.to_string()).int("expires_in_ms", ttl_ms);
            Outcome::Done(extended(&result, more))
        }
        refused @ Outcome::Refused(_) => refused,
    }
}

/// The first ticket of a queue, or the last one.
pub(crate) fn at_end_of(core: &Core, space: u64, queue: &Queue, newest: bool) -> Option<(Place, Ticket)> {
    let prefix = key::entry(space, table::TICKET, &queue.prefix());
    let mut tickets = core.store.prefix(&prefix);
    let (_, record) = if newest { tickets.next_back() } else { tickets.next() }?;
    waiting(core, decoded::<Ticket>(record).ok()?.id)
}
