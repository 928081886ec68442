//! The records of runs that go on beside the commands, and of what stands behind them.

use crate::codec::{Cursor, Field, Malformed, record};
use crate::command::{Begun, Invocation, ObjectName, SessionId};
use crate::object::Why;

record! {
    /// What a run sees of the log, whenever it is carried out.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Moment {
        pub(crate) position: u64,
        pub(crate) stamp_ms: i64,
        pub(crate) seed: u64,
    }
}

/// Why a module is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// A call, whose ticket says what is called.
    Call(u64),
    /// The object is created, for who waits under that ticket.
    Init(u64),
    Timer(u64),
    SessionExpired(SessionId),
    /// A waiting call has ended, and the module hears of it.
    TicketEnded(u64),
    /// A waiting call is to end, with what the module says to that.
    End(u64, Why),
    /// The object goes to another version, for who waits under that ticket, which says to which.
    Move(u64),
}

impl Work {
    /// Whether it is what somebody waits for under that ticket.
    pub(super) const fn is_of(&self, ticket: u64) -> bool {
        matches!(self, Self::Call(id) | Self::Move(id) if *id == ticket)
    }
}

impl Field for Work {
    fn put(&self, out: &mut Vec<u8>) {
        let (kind, id) = match self {
            Self::Call(id) => (0, id),
            Self::Init(id) => (1, id),
            Self::Timer(id) => (2, id),
            Self::SessionExpired(session) => {
                out.push(3);
                return session.put(out);
            }
            Self::TicketEnded(id) => (4, id),
            Self::End(id, Why::TimedOut) => (5, id),
            Self::End(id, Why::Cancelled) => (6, id),
            Self::End(id, Why::Died) => (7, id),
            Self::End(id, Why::Forbidden) => (8, id),
            Self::Move(id) => (9, id),
        };
        out.push(kind);
        id.put(out);
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(match cursor.u8()? {
            0 => Self::Call(Field::take(cursor)?),
            1 => Self::Init(Field::take(cursor)?),
            2 => Self::Timer(Field::take(cursor)?),
            3 => Self::SessionExpired(Field::take(cursor)?),
            4 => Self::TicketEnded(Field::take(cursor)?),
            5 => Self::End(Field::take(cursor)?, Why::TimedOut),
            6 => Self::End(Field::take(cursor)?, Why::Cancelled),
            7 => Self::End(Field::take(cursor)?, Why::Died),
            8 => Self::End(Field::take(cursor)?, Why::Forbidden),
            9 => Self::Move(Field::take(cursor)?),
            _ => return Err(Malformed("run: for no known reason")),
        })
    }
}

record! {
    /// A run that is to be carried out.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Item {
        pub(crate) at: Moment,
        /// Its own among those of its position.
        pub(crate) number: u32,
        pub(crate) work: Work,
    }
}

record! {
    /// A run that is under way.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Running {
        pub(crate) item: Item,
        pub(crate) begun: Begun,
    }
}

record! {
    /// An object of which a run is under way, or for which something waits behind one.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Occupied {
        pub(crate) object: ObjectName,
        pub(crate) running: Option<Running>,
    }
}

record! {
    /// What a call's ticket says while the call has not had its turn.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Asked {
        pub(crate) invocation: Invocation,
        pub(crate) wait_ms: Option<i64>,
        /// If it is a message: the object that has sent it, and its space.
        pub(crate) sender: Option<(ObjectName, u64)>,
        pub(crate) hops: u32,
    }
}
