//! An object while a command or a query works on it: its header, its type's configuration and root, its records, the
//! calls that wait for it.

mod kind;
mod run;

use core::marker::PhantomData;
use std::ops::Bound;

use crate::asked::{self, Asked};
use crate::codec::{Cursor, Field, Malformed, decoded, record};
use crate::command::{Caller, Identity, ObjectName, SessionId};
use crate::deadline;
use crate::effects::{EventKind, TicketEnd};
use crate::group::Core;
use crate::key::{self, ENTRY_HEAD, table};
use crate::limits::{
    HOLDINGS_PER_SESSION_MAX, TICKET_BYTES_PER_OBJECT_MAX, TICKETS_MAX, TICKETS_PER_OBJECT_MAX,
    TICKETS_PER_SESSION_MAX, WAIT_MS_MAX,
};
use crate::place::{Place, Queue, ReplyRef};
use crate::problem::{Outcome, Problem, Slug};
use crate::session;
use crate::ticket::{self, Ticket};

pub(crate) use kind::{Builtin, Lost, Step, Wait, Why, class};
pub use kind::{Method, MethodKind};
pub(crate) use run::{Open, end_ticket, fresh, open, remove, run, run_in_space};

record! {
    /// What is kept of every object.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Header {
        /// The position of its creation; also the name of its space.
        pub(crate) incarnation: u64,
        /// Whether it was created on purpose: then it stays until it is deleted.
        pub(crate) explicit: bool,
        /// Calls that wait.
        pub(crate) tickets: u32,
        /// Bytes that they carry.
        pub(crate) ticket_bytes: u64,
        /// What the type changes with most commands: small, whatever the object holds.
        pub(crate) root: Vec<u8>,
    }
}

impl Header {
    /// What the type changes, of a record: nothing else of that is read.
    pub(crate) fn root_in(record: &[u8]) -> Result<&[u8], Malformed> {
        let cursor = &mut Cursor::new(record);
        <(u64, bool)>::skip(cursor)?;
        <(u32, u64)>::skip(cursor)?;
        cursor.bytes()
    }
}

/// Configuration and root of an object of a type.
pub(crate) struct Live<K: Builtin> {
    pub(crate) config: K::Config,
    pub(crate) root: K::Root,
    /// The name of the queue in which a call has just stopped waiting; no part of the state.
    pub(crate) left: Option<Vec<u8>>,
    kind: PhantomData<K>,
}

/// Who calls, for what the call leaves behind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claim {
    pub(crate) session: Option<SessionId>,
    pub(crate) principal: String,
    /// By what it is asked, should it wait.
    pub(crate) asked: Asked,
    pub(crate) reply: ReplyRef,
    pub(crate) opened_ttl_ms: Option<i64>,
    pub(crate) wait_ms: Option<i64>,
}

impl Claim {
    /// Who calls, and by what it waits if it does.
    pub(crate) fn of(core: &Core, caller: &Caller, method: &str) -> Self {
        let session = match caller.identity {
            Identity::Session { session, .. } => Some(session),
            _ => None,
        };
        let (principal, reply) = (caller.principal.name.clone(), ReplyRef::of(caller));
        let asked = asked::asked(core, caller, method);
        Self { session, principal, asked, reply, opened_ttl_ms: None, wait_ms: None }
    }
}

/// An object that is read.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) core: &'a Core,
    pub(crate) space: u64,
    pub(crate) tickets: u32,
}

/// An object that is changed.
pub(crate) struct Ctx<'a> {
    pub(crate) core: &'a mut Core,
    pub(crate) header: &'a mut Header,
    pub(crate) object: &'a ObjectName,
    pub(crate) claim: &'a Claim,
}

impl<'a> View<'a> {
    pub(crate) fn get<F: Field>(&self, table: u8, sub: &[u8]) -> Option<F> {
        self.core.read(&key::entry(self.space, table, sub))
    }

    /// The entries of a table, by their keys within it.
    pub(crate) fn entries(
        &self,
        table: u8,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        entries_of(self.core, self.space, table, from, to)
    }

    pub(crate) fn table(&self, table: u8) -> impl DoubleEndedIterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.entries(table, Bound::Unbounded, Bound::Unbounded)
    }

    /// The tickets of a queue, in its order.
    pub(crate) fn waiting(&self, queue: &Queue) -> impl Iterator<Item = Ticket> + use<'a> {
        let prefix = || key::entry(self.space, table::TICKET, &queue.prefix());
        let tickets = (self.tickets > 0).then(|| self.core.store.prefix(&prefix()));
        tickets.into_iter().flatten().filter_map(|(_, record)| decoded(record).ok())
    }

    /// The names of the queues of a tag, once for each call that waits.
    pub(crate) fn queues(&self, tag: u8) -> impl Iterator<Item = Vec<u8>> + use<'a> {
        let prefix = key::entry(self.space, table::TICKET, &[tag]);
        let behind = prefix.len();
        self.core.store.prefix(&prefix).filter_map(move |(key, _)| {
            let (length, name) = key.get(behind..)?.split_first_chunk::<2>()?;
            Some(name.get(..usize::from(u16::from_be_bytes(*length)))?.to_vec())
        })
    }

    pub(crate) fn is_waiting(&self, queue: &Queue) -> bool {
        self.waiting(queue).next().is_some()
    }
}

/// The entries of a table of a space, by their keys within it.
pub(crate) fn entries_of<'a>(
    core: &'a Core,
    space: u64,
    table: u8,
    from: Bound<&[u8]>,
    to: Bound<&[u8]>,
) -> impl DoubleEndedIterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
    let whole = key::entry(space, table, &[]);
    let end = crate::store::successor(&whole);
    let key_of = |sub: &[u8]| key::entry(space, table, sub);
    let from = match from {
        Bound::Included(sub) => Bound::Included(key_of(sub)),
        Bound::Excluded(sub) => Bound::Excluded(key_of(sub)),
        Bound::Unbounded => Bound::Included(whole),
    };
    let to = match to {
        Bound::Included(sub) => Bound::Included(key_of(sub)),
        Bound::Excluded(sub) => Bound::Excluded(key_of(sub)),
        Bound::Unbounded => end.map_or(Bound::Unbounded, Bound::Excluded),
    };
    let records = core.store.range(from.as_ref().map(|key| &key[..]), to.as_ref().map(|key| &key[..]));
    records.map(|(key, value)| (key.get(ENTRY_HEAD..).unwrap_or_default(), value))
}

impl Ctx<'_> {
    pub(crate) fn view(&self) -> View<'_> {
        View { core: &*self.core, space: self.space(), tickets: self.header.tickets }
    }

    pub(crate) const fn space(&self) -> u64 {
        self.header.incarnation
    }

    pub(crate) const fn position(&self) -> u64 {
        self.core.meta.position
    }

    pub(crate) const fn now_ms(&self) -> i64 {
        self.core.meta.stamp_ms
    }

    pub(crate) fn get<F: Field>(&self, table: u8, sub: &[u8]) -> Option<F> {
        self.core.read(&key::entry(self.space(), table, sub))
    }

    pub(crate) fn put<F: Field>(&mut self, table: u8, sub: &[u8], record: &F) {
        self.core.write(key::entry(self.space(), table, sub), record);
    }

    pub(crate) fn remove(&mut self, table: u8, sub: &[u8]) -> bool {
        self.core.store.remove(&key::entry(self.space(), table, sub))
    }

    /// The session of the caller.
    pub(crate) fn session(&self) -> Result<SessionId, Problem> {
        let detail = "the method needs a session: send one, or `ttl_ms` to open one";
        self.claim.session.ok_or_else(|| Problem::argument("ttl_ms", detail))
    }

    /// A session holds something from now on.
    pub(crate) fn hold(&mut self, session: SessionId, class: u8, position: u64) {
        let holder = key::holder(session, class, position);
        if self.view().get::<()>(table::HOLDER, &holder).is_none() {
            self.put(table::HOLDER, &holder, &());
            self.core.write(key::holding(session, class, position, self.space()), self.object);
            session::update(self.core, session, |session| session.holdings += 1);
            self.core.event(EventKind::Acquired, self.object, Some(session));
        }
    }

    /// A session holds it no more.
    pub(crate) fn unhold(&mut self, session: SessionId, class: u8, position: u64, why: EventKind) {
        if self.remove(table::HOLDER, &key::holder(session, class, position)) {
            self.core.store.remove(&key::holding(session, class, position, self.space()));
            let less = |session: &mut session::Session| session.holdings = session.holdings.saturating_sub(1);
            session::update(self.core, session, less);
            self.core.event(why, self.object, Some(session));
        }
    }

    /// The object's timer of that name is due then, or never.
    pub(crate) fn set_timer(&mut self, sub: &[u8], at_ms: Option<i64>) {
        let old = self.get::<i64>(table::TIMER, sub);
        if old == at_ms {
            return;
        }
        let id = [&self.space().to_be_bytes()[..], sub].concat();
        if let Some(old) = old {
            deadline::clear(self.core, old, deadline::TIMER, &id);
            self.remove(table::TIMER, sub);
        }
        if let Some(at) = at_ms {
            deadline::set(self.core, at, deadline::TIMER, &id, self.object);
            self.put(table::TIMER, sub, &at);
        }
    }

    /// The first ticket of a queue.
    pub(crate) fn first(&self, queue: &Queue) -> Option<(Place, Ticket)> {
        self.at_end_of(queue, false)
    }

    /// The newest ticket of a queue.
    pub(crate) fn newest(&self, queue: &Queue) -> Option<(Place, Ticket)> {
        self.at_end_of(queue, true)
    }

    /// Most objects have nobody who waits: that is known without a look.
    fn at_end_of(&self, queue: &Queue, newest: bool) -> Option<(Place, Ticket)> {
        if self.header.tickets == 0 {
            return None;
        }
        ticket::at_end_of(self.core, self.space(), queue, newest)
    }

    /// The tickets of a tag that are due, which the names of its queues put before those that are not: in the order in
    /// which they came.
    pub(crate) fn due_of_tag(&self, tag: u8, is_due: impl Fn(&Ticket) -> bool) -> Vec<(Place, Ticket)> {
        if self.header.tickets == 0 {
            return Vec::new();
        }
        let prefix = key::entry(self.space(), table::TICKET, &[tag]);
        let tickets =
            self.core.store.prefix(&prefix).filter_map(|(_, record)| decoded::<Ticket>(record).ok());
        let due = tickets.take_while(|ticket| is_due(ticket));
        in_order(due.filter_map(|ticket| ticket::waiting(self.core, ticket.id)).collect())
    }

    /// A waiting call gets what it waited for.
    pub(crate) fn grant(&mut self, (place, ticket): &(Place, Ticket), result: String) {
        self.end(place, ticket, TicketEnd::Granted, Outcome::Done(result));
    }

    /// A waiting call is refused by its object.
    pub(crate) fn refuse(&mut self, (place, ticket): &(Place, Ticket), slug: Slug, detail: &str) {
        let problem = Problem { position: self.position(), ..Problem::new(slug, detail) };
        self.end(place, ticket, TicketEnd::Granted, Outcome::Refused(problem));
    }

    pub(crate) fn end(&mut self, place: &Place, ticket: &Ticket, end: TicketEnd, outcome: Outcome) {
        self.header.tickets = self.header.tickets.saturating_sub(1);
        self.header.ticket_bytes = self.header.ticket_bytes.saturating_sub(ticket.wants.len() as u64);
        ticket::end(self.core, place, ticket, end, outcome);
    }

    /// Puts a ticket into another queue: it waits for something else now, without a deadline.
    pub(crate) fn requeue(&mut self, (place, ticket): (Place, Ticket), queue: Queue, wants: Vec<u8>) {
        let bytes = self.header.ticket_bytes.saturating_sub(ticket.wants.len() as u64);
        self.header.ticket_bytes = bytes + wants.len() as u64;
        ticket::requeue(self.core, place, ticket, queue, wants);
    }

    /// The same, and until that time.
    pub(crate) fn requeue_until(
        &mut self,
        (place, mut ticket): (Place, Ticket),
        queue: Queue,
        wants: Vec<u8>,
        until_ms: i64,
    ) {
        let id = ticket.id;
        ticket.deadline_ms = None;
        self.requeue((place, ticket), queue, wants);
        ticket::set_deadline(self.core, id, Some(until_ms));
    }

    /// The caller waits. Its ticket is the position of its call.
    pub(crate) fn park(
        &mut self,
        queue: Queue,
        wants: Vec<u8>,
        forever: bool,
        passed: u64,
    ) -> Result<u64, Problem> {
        self.check_waiters(wants.len() as u64)?;
        let id = self.position();
        let wait_ms = self.claim.wait_ms.unwrap_or(WAIT_MS_MAX).min(WAIT_MS_MAX);
        let ticket = Ticket {
            id,
            session: self.claim.session,
            principal: self.claim.principal.clone(),
            reply: self.claim.reply.clone(),
            opened_ttl_ms: self.claim.opened_ttl_ms,
            deadline_ms: (!forever).then(|| self.now_ms().saturating_add(wait_ms)),
            process: self.core.process.filter(|_| self.claim.reply == ReplyRef::Nowhere),
            passed,
            wants,
            asked: self.claim.asked.clone(),
        };
        asked::began(self.core, &ticket.principal, &ticket.asked, id)?;
        self.header.tickets += 1;
        self.header.ticket_bytes += ticket.wants.len() as u64;
        let place = Place { object: self.object.clone(), space: self.space(), queue, order: id };
        ticket::insert(self.core, &place, &ticket);
        Ok(id)
    }

    fn check_waiters(&self, bytes: u64) -> Result<(), Problem> {
        let full = |what: &str| Err(Problem::new(Slug::WaitersFull, format!("too many calls wait {what}")));
        if self.header.tickets >= TICKETS_PER_OBJECT_MAX
            || self.header.ticket_bytes + bytes > TICKET_BYTES_PER_OBJECT_MAX
        {
            return full("for this object");
        }
        if self.core.meta.tickets >= TICKETS_MAX {
            return full("in this group");
        }
        let Some(id) = self.claim.session else { return Ok(()) };
        let session = session::find(self.core, id)?;
        if session.tickets >= TICKETS_PER_SESSION_MAX {
            return full("in this session");
        }
        check_holdings(session.holdings + session.tickets)
    }
}

/// Tickets in the order in which they came, whichever queues they are in.
pub(crate) fn in_order(mut tickets: Vec<(Place, Ticket)>) -> Vec<(Place, Ticket)> {
    tickets.sort_by_key(|(_, ticket)| ticket.id);
    tickets
}

/// A session may hold so much, what it waits for included.
pub(crate) fn check_holdings(burden: u32) -> Result<(), Problem> {
    if burden < HOLDINGS_PER_SESSION_MAX {
        return Ok(());
    }
    let detail =
        format!("a session holds at most {HOLDINGS_PER_SESSION_MAX} locks, permits, leases and memberships");
    Err(Problem::new(Slug::Quota, detail))
}
