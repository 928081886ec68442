//! Who waits for whom: the objects for which calls wait, those calls, and the sessions that hold something of the object.
//!
//! It is for people and their tools. A page has a bound on the objects that are looked at and on the calls and holders that are
//! read, however many there are: a page may be empty and still have a next one.

use std::ops::Bound;

use base::WallTime;

use crate::asked;
use crate::builtin::{Builtin, class, dispatch};
use crate::codec::decoded;
use crate::command::{ObjectName, SessionId, TypeId};
use crate::group::Core;
use crate::key::{self, table};
use crate::limits::USER_TYPE_MAX;
use crate::object::{self, Header, Live, Open, entries_of};
use crate::place::Queue;
use crate::session;
use crate::state::State;
use crate::ticket::Ticket;

/// Objects that one page looks at.
pub const WAITS_LOOKED_AT_MAX: usize = 10_000;
/// Calls that are shown of an object, and holders.
pub const WAITS_OF_OBJECT_MAX: usize = 500;
/// A page ends with the object that brings it to so many calls and holders.
pub const WAITS_ROWS: usize = 1_000;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitsOf<'a> {
    /// Only objects of this type.
    pub kind: Option<TypeId>,
    /// Only objects whose names begin so.
    pub prefix: &'a str,
    /// Only objects behind this one, in the order of the types' numbers and of names.
    pub after: Option<&'a ObjectName>,
    /// At most so many objects.
    pub limit: usize,
}

/// A page of objects for which calls wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// The objects.
    pub objects: Vec<WaitedFor>,
    /// Behind which object the next page begins, if there is one.
    pub next: Option<ObjectName>,
}

/// An object for which calls wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitedFor {
    /// Which one.
    pub object: ObjectName,
    /// How many calls wait for it.
    pub waiting: u32,
    /// The first of them: those of one queue in the order in which they are granted.
    pub calls: Vec<WaitingCall>,
    /// Who holds something of it: the first of them, in the order of their sessions.
    pub holders: Vec<Holder>,
    /// Whether there are more holders.
    pub has_more_holders: bool,
}

/// A call that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingCall {
    /// Its ticket: the position at which it was made.
    pub ticket: u64,
    /// The method, if that is known: of users' types it is, of calls that come by a token or have not had their turn.
    pub method: Option<String>,
    /// Whether it waits until holders give something back. Otherwise somebody has to do something else: to put an item, to
    /// signal.
    pub for_holders: bool,
    /// Its session, if it has one.
    pub session: Option<NamedSession>,
    /// Who made it.
    pub principal: String,
    /// When its time runs out.
    pub deadline: Option<WallTime>,
}

/// A session that holds something of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Which one.
    pub session: NamedSession,
    /// Who opened it.
    pub principal: String,
    /// What it has.
    pub holds: Holds,
    /// The position at which it got it: the fence of a lock, a permit, a term. Of a lease the id of the item.
    pub position: u64,
}

/// A session, and its name for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSession {
    /// Its id.
    pub id: SessionId,
    /// Its name.
    pub name: Option<String>,
}

/// What a session has of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A lock, permits, the lead.
    Lock,
    /// An item, for a time.
    Lease,
    /// A membership.
    Membership,
}

impl Holds {
    /// Whether the position of a holding is its fence. That of a lease is the id of its item.
    #[must_use]
    pub const fn has_fence(self) -> bool {
        matches!(self, Self::Lock)
    }

    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Lease => "lease",
            Self::Membership => "membership",
        }
    }
}

impl State {
    /// A page of the objects for which calls wait.
    #[must_use]
    pub fn waits(&self, of: &WaitsOf<'_>) -> Waits {
        let (mut page, mut looked_at, mut rows) = (Waits::default(), 0, 0);
        for (object, header) in headers(&self.core, of) {
            if looked_at >= WAITS_LOOKED_AT_MAX || page.objects.len() >= of.limit || rows >= WAITS_ROWS {
                return page;
            }
            looked_at += 1;
            page.next = Some(object.clone());
            if header.tickets > 0 {
                let found = waited_for(&self.core, object, &header);
                rows += found.calls.len() + found.holders.len();
                page.objects.push(found);
            }
        }
        Waits { next: None, ..page }
    }
}

/// The objects that are asked for, whether calls wait for them or not.
fn headers<'a>(core: &'a Core, of: &WaitsOf<'_>) -> impl Iterator<Item = (ObjectName, Header)> + use<'a> {
    let (prefix, after) = (String::from(of.prefix), of.after.cloned());
    let first = of.kind.or(after.as_ref().map(|after| after.kind)).map_or(0, |kind| kind.0);
    let last = of.kind.map_or(USER_TYPE_MAX, |kind| kind.0);
    (first..=last).map(TypeId).flat_map(move |kind| {
        let all = key::objects_of(kind);
        let beginning = [&all[..], prefix.as_bytes()].concat();
        let behind = after.as_ref().filter(|after| after.kind == kind);
        let behind = behind.map(|after| [&all[..], after.name.as_bytes()].concat());
        let from = match &behind {
            Some(behind) if *behind >= beginning => Bound::Excluded(&behind[..]),
            _ => Bound::Included(&beginning[..]),
        };
        let end = crate::store::successor(&beginning);
        let to = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        core.store.range(from, to).filter_map(move |(key, value)| {
            let name = core::str::from_utf8(key.get(2..)?).ok()?.into();
            Some((ObjectName { kind, name }, decoded(value).ok()?))
        })
    })
}

fn waited_for(core: &Core, object: ObjectName, header: &Header) -> WaitedFor {
    let calls = dispatch!(object.kind, K => calls_of::<K>(core, &object), else Vec::new());
    let mut held = entries_of(core, header.incarnation, table::HOLDER, Bound::Unbounded, Bound::Unbounded)
        .filter_map(|(key, _)| holder(core, key));
    let holders = held.by_ref().take(WAITS_OF_OBJECT_MAX).collect();
    let has_more_holders = held.next().is_some();
    WaitedFor { object, waiting: header.tickets, calls, holders, has_more_holders }
}

fn calls_of<K: Builtin>(core: &Core, object: &ObjectName) -> Vec<WaitingCall> {
    let Some(Open { header, live }) = object::open::<K>(core, object) else { return Vec::new() };
    let tickets = entries_of(core, header.incarnation, table::TICKET, Bound::Unbounded, Bound::Unbounded);
    let calls = tickets.take(WAITS_OF_OBJECT_MAX).filter_map(|(key, record)| {
        Some(waiting_call::<K>(core, &live, &queue_of(key)?, decoded(record).ok()?))
    });
    calls.collect()
}

/// The queue of a ticket, by its key in the table.
fn queue_of(key: &[u8]) -> Option<Queue> {
    let (tag, rest) = key.split_first()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    Some(Queue { tag: *tag, sub: rest.get(..usize::from(u16::from_be_bytes(*length)))?.to_vec() })
}

fn waiting_call<K: Builtin>(core: &Core, live: &Live<K>, queue: &Queue, ticket: Ticket) -> WaitingCall {
    let asked = ticket.asked.0.map(|by| by.method).filter(|method| method != asked::CREATION);
    WaitingCall {
        ticket: ticket.id,
        method: asked.or_else(|| K::waits_by(live, queue, &ticket.wants)),
        for_holders: K::waits_for_holders(queue),
        session: ticket.session.map(|id| named(core, id)),
        principal: ticket.principal,
        deadline: ticket.deadline_ms.map(WallTime::of_ms),
    }
}

fn named(core: &Core, id: SessionId) -> NamedSession {
    let name = session::find(core, id).ok().and_then(|session| session.name);
    NamedSession { id, name }
}

/// Who has a holding, by its key in the table. An object of a user's type that wants to know of a session's end is held by
/// nobody for that.
fn holder(core: &Core, key: &[u8]) -> Option<Holder> {
    let (id, rest) = key.split_first_chunk::<16>()?;
    let (class, position) = rest.split_first()?;
    let holds = match *class {
        class::HOLDING => Holds::Lock,
        class::LEASE => Holds::Lease,
        class::MEMBERSHIP => Holds::Membership,
        _ => return None,
    };
    let id = SessionId(*id);
    let session = session::find(core, id).ok()?;
    let position = u64::from_be_bytes(*position.first_chunk()?);
    Some(Holder {
        session: NamedSession { id, name: session.name },
        principal: session.principal,
        holds,
        position,
    })
}
