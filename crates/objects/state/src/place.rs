//! Where things are: a waiting call in its object's queue, a ticket by its id, the reply of a request.

use crate::codec::{Cursor, Field, Malformed, record};
use crate::command::{Caller, Identity, ObjectName, SessionId};
use crate::key::{self, Key, table};

record! {
    /// One of an object's queues: a number, and a name within it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Queue {
        pub(crate) tag: u8,
        pub(crate) sub: Vec<u8>,
    }
}

impl Queue {
    pub(crate) const fn of(tag: u8) -> Self {
        Self { tag, sub: Vec::new() }
    }

    pub(crate) fn named(tag: u8, sub: impl Into<Vec<u8>>) -> Self {
        Self { tag, sub: sub.into() }
    }

    /// The keys, within the table of tickets, of those that wait in it. Of a queue named by numbers, `all_of` its tag
    /// orders by that number first.
    pub(crate) fn prefix(&self) -> Vec<u8> {
        [&[self.tag][..], &(self.sub.len() as u16).to_be_bytes(), &self.sub].concat()
    }
}

record! {
    /// Where a ticket stands.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Place {
        pub(crate) object: ObjectName,
        pub(crate) space: u64,
        pub(crate) queue: Queue,
        /// The position at which it came into the queue.
        pub(crate) order: u64,
    }
}

impl Place {
    pub(crate) fn key(&self, ticket: u64) -> Key {
        let sub = [&self.queue.prefix()[..], &self.order.to_be_bytes(), &ticket.to_be_bytes()].concat();
        key::entry(self.space, table::TICKET, &sub)
    }
}

/// What is known of a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TicketAt {
    Waits(Place),
    /// It has ended; the outcome is kept with its request.
    Ended(ReplyRef),
}

impl Field for TicketAt {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Waits(place) => {
                out.push(0);
                place.put(out);
            }
            Self::Ended(reply) => {
                out.push(1);
                reply.put(out);
            }
        }
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        match cursor.u8()? {
            0 => Ok(Self::Waits(Field::take(cursor)?)),
            1 => Ok(Self::Ended(Field::take(cursor)?)),
            _ => Err(Malformed("ticket: neither waiting nor ended")),
        }
    }
}

/// Where a request's reply is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReplyRef {
    /// Nowhere: the caller had neither session nor key.
    #[default]
    Nowhere,
    Session(SessionId, u64),
    Key(String, String),
}

impl Field for ReplyRef {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Nowhere => out.push(0),
            Self::Session(session, request) => {
                out.push(1);
                session.put(out);
                request.put(out);
            }
            Self::Key(principal, key) => {
                out.push(2);
                principal.put(out);
                key.put(out);
            }
        }
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        match cursor.u8()? {
            0 => Ok(Self::Nowhere),
            1 => Ok(Self::Session(Field::take(cursor)?, Field::take(cursor)?)),
            2 => Ok(Self::Key(Field::take(cursor)?, Field::take(cursor)?)),
            _ => Err(Malformed("request: a reply is kept in an unknown way")),
        }
    }
}

impl ReplyRef {
    pub(crate) fn of(caller: &Caller) -> Self {
        match &caller.identity {
            Identity::Anonymous => Self::Nowhere,
            Identity::Session { session, request, .. } => Self::Session(*session, *request),
            Identity::Key(key) => Self::Key(caller.principal.name.clone(), key.clone()),
        }
    }
}
