//! What a command did, for those who wait or watch: data, in the order in which it happened.

use crate::command::{ObjectName, Origin, SessionId};
use crate::problem::Outcome;

/// How a waiting call ended. Each ends once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketEnd {
    /// It got what it waited for, or its object's own refusal (a broken barrier).
    Granted,
    /// Its time ran out.
    TimedOut,
    /// Its caller cancelled it.
    Cancelled,
    /// Its session or its object is gone.
    Ended,
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It was created, by use or on purpose.
    Created,
    /// It was deleted.
    Deleted,
    /// A session holds something of it.
    Acquired,
    /// A session gave it back.
    Released,
    /// A session lost it: it ended, or somebody took it away.
    Lost,
    /// Its module says something: see [`Event::said`].
    Emitted,
}

impl EventKind {
    /// Its name in streams of events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Deleted => "deleted",
            Self::Acquired => "acquired",
            Self::Released => "released",
            Self::Lost => "holding-lost",
            Self::Emitted => "emitted",
        }
    }
}

/// What a module says to those who listen to its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// A word.
    pub topic: String,
    /// A JSON text.
    pub body: String,
}

/// One event. Its place in the order of all events is its position, then its place among the effects of its command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// To which object.
    pub object: ObjectName,
    /// The session that holds it, or held it.
    pub session: Option<SessionId>,
    /// At which position.
    pub position: u64,
    /// When, by the stamp of the log: milliseconds since 1970.
    pub at_ms: i64,
    /// The name of its type, if that is a user's.
    pub user_type: Option<String>,
    /// What its module said, if that is what happened.
    pub said: Option<Said>,
}

/// One effect of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A request is answered. A repeat is answered the same bytes.
    Answered {
        /// Whom the answer goes to.
        origin: Origin,
        /// The answer.
        outcome: Outcome,
    },
    /// A request waits; also a repeat of one that does.
    Parked {
        /// The request.
        origin: Origin,
        /// Its ticket: the position of the call that waits.
        ticket: u64,
    },
    /// A ticket ended: all requests that wait for it are answered.
    TicketEnded {
        /// The ticket.
        ticket: u64,
        /// How.
        end: TicketEnd,
        /// The answer.
        outcome: Outcome,
    },
    /// A session was opened or continued.
    SessionOpened {
        /// Which one.
        session: SessionId,
        /// Its generation.
        generation: u32,
    },
    /// A session ended.
    SessionEnded {
        /// Which one.
        session: SessionId,
        /// Whether its client was silent; otherwise it closed it.
        expired: bool,
    },
    /// Something happened to an object.
    Event(Event),
}

/// The effects of commands, in order; a command appends to them.
pub type Effects = Vec<Effect>;
