//! What the state has said about waiting calls: kept from its effects alone, apart from the model.

use objects_state::limits::WAIT_MS_MAX;
use objects_state::{Call, Command, Identity, ObjectName, SessionId, TicketEnd, type_name};

use crate::model::Told;
use crate::outcome::parsed;

/// A call that waits.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    pub(crate) id: u64,
    pub(crate) object: ObjectName,
    /// Type and method.
    pub(crate) what: String,
    pub(crate) session: Option<SessionId>,
    pub(crate) deadline_ms: i64,
}

impl Ticket {
    /// Whether it waits for a condition of a lock, or for the lock behind that.
    pub(crate) fn is_of_condition(&self) -> bool {
        self.what == "lock.await"
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) open: Vec<Ticket>,
}

impl Book {
    pub(crate) fn ticket(&self, id: u64) -> Option<&Ticket> {
        self.open.iter().find(|ticket| ticket.id == id)
    }

    /// Notes what a command did, at its stamp. `first` was its position.
    pub(crate) fn note(&mut self, command: &Command, first: u64, stamp_ms: i64, shown: &[Told]) {
        for told in shown {
            match (told, command) {
                (Told::Parked(_, id), Command::Call(call)) if *id == first => {
                    self.open.push(ticket_of(call, *id, stamp_ms, shown));
                }
                (Told::Ended(id, ..), _) => self.open.retain(|ticket| ticket.id != *id),
                _ => {}
            }
        }
    }
}

fn ticket_of(call: &Call, id: u64, stamp_ms: i64, shown: &[Told]) -> Ticket {
    let args = parsed(core::str::from_utf8(&call.invocation.args).unwrap_or_default());
    let asked = args["wait_ms_text"].as_str().and_then(|text| text.parse().ok());
    let asked = asked.or_else(|| args["wait_ms"].as_i64());
    let wait_ms = call.wait_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)).or(asked);
    let opened = call.opens.as_ref().map(|new| new.id);
    let session = match &call.caller.identity {
        Identity::Session { session, .. } => Some(*session),
        _ => opened,
    };
    debug_assert!(!shown.is_empty());
    Ticket {
        id,
        object: call.object.clone(),
        what: format!("{}.{}", type_name(call.object.kind).unwrap_or_default(), call.invocation.method),
        session,
        deadline_ms: stamp_ms.saturating_add(wait_ms.unwrap_or(WAIT_MS_MAX).min(WAIT_MS_MAX)),
    }
}

/// The word for how a ticket ended.
pub(crate) const fn word(end: TicketEnd) -> &'static str {
    match end {
        TicketEnd::Granted => "granted",
        TicketEnd::TimedOut => "timed-out",
        TicketEnd::Cancelled => "cancelled",
        TicketEnd::Ended => "ended",
    }
}
