//! Whether the records of a state fit together: each can be read, each index leads to what it names and back, each count
//! is right. A loader asks it of every snapshot, tests ask it after every command.

use std::collections::{BTreeMap, BTreeSet};

use crate::access;
use crate::builtin::{Builtin, dispatch};
use crate::codec::{Field, Malformed, decoded};
use crate::command::{ObjectName, SessionId, TypeId};
use crate::deadline;
use crate::ended;
use crate::group::Core;
use crate::key::{self, ENTRY_HEAD, Key, kind, table};
use crate::object::Header;
use crate::place::{ReplyRef, TicketAt};
use crate::placement;
use crate::quota;
use crate::request::{Kept, Remembered};
use crate::session::Session;
use crate::ticket::{self, Ticket};
use crate::types;
use crate::user;

type Sound = Result<(), Malformed>;

fn must(holds: bool, why: &'static str) -> Sound {
    if holds { Ok(()) } else { Err(Malformed(why)) }
}

fn reads<F: Field>(value: &[u8]) -> Sound {
    decoded::<F>(value).map(|_| ())
}

/// What the records amount to, beside what the headers say.
#[derive(Default)]
struct Tally {
    spaces: BTreeMap<u64, (ObjectName, Header)>,
    tickets: BTreeMap<u64, (u32, u64)>,
    sessions: BTreeMap<SessionId, (Session, [u32; 3])>,
    keys: u64,
    graves: BTreeSet<Vec<u8>>,
    waiting: u64,
}

/// Nothing is missing and nothing is left over.
///
/// # Errors
/// With what is wrong.
pub(crate) fn sound(core: &Core) -> Sound {
    let mut tally = Tally::default();
    for (key, value) in core.store.prefix(&[]) {
        let rest = key.get(1..).unwrap_or_default();
        match key.first() {
            Some(&kind::OBJECT) => object(&mut tally, rest, value)?,
            Some(&kind::SESSION) => {
                let id = SessionId(rest.try_into().map_err(|_| Malformed("check: a session's key"))?);
                tally.sessions.insert(id, (decoded(value)?, [0; 3]));
            }
            Some(&kind::GRAVE) => {
                reads::<()>(value)?;
                tally.graves.insert(rest.to_vec());
            }
            _ => {}
        }
    }
    for (key, value) in core.store.prefix(&[]) {
        let rest = key.get(1..).unwrap_or_default();
        match key.first() {
            Some(&(kind::OBJECT | kind::SESSION | kind::GRAVE)) => {}
            Some(&kind::SPACE) => entry(core, &mut tally, key, value)?,
            Some(&kind::REPLY) => reply(core, &mut tally, rest, value)?,
            Some(&kind::HOLDING) => holding(core, &mut tally, rest, value)?,
            Some(&kind::SESSION_TICKET) => session_ticket(core, &mut tally, rest, value)?,
            Some(&kind::PROCESS_TICKET) => process_ticket(core, rest, value)?,
            Some(&kind::KEY) => remembered(core, &mut tally, rest, value)?,
            Some(&kind::TICKET_AT) => ticket_at(core, rest, value)?,
            Some(&kind::DEADLINE) => due(core, key, value)?,
            Some(kind) if has_own_check(*kind) => {}
            _ => return Err(Malformed("check: an unknown record")),
        }
    }
    let (versions, pages) = user::tally(core, tally.spaces.values())?;
    types::sound(core, &versions, pages)?;
    parts(core)?;
    totals(core, &tally)
}

/// What is looked at by those who write it.
fn parts(core: &Core) -> Sound {
    user::sound_messages(core)?;
    ended::sound(core)?;
    user::long::sound(core)?;
    access::sound(core)?;
    placement::sound(core)?;
    quota::sound(core)
}

/// Whether records of that kind are looked at together, by those who write them.
const fn has_own_check(kind: u8) -> bool {
    matches!(
        kind,
        kind::TYPE_TOTALS..=kind::ENDED_TOTAL
            | kind::STOPPED
            | kind::OF_BYTES
            | kind::MESSAGE..=kind::OCCUPIED
            | kind::CLOSED..=kind::ROLES_OF
            | kind::SLOTS
    )
}

fn number(bytes: &[u8]) -> Result<u64, Malformed> {
    let bytes = bytes.try_into().map_err(|_| Malformed("check: a number within a key"))?;
    Ok(u64::from_be_bytes(bytes))
}

fn object(tally: &mut Tally, rest: &[u8], value: &[u8]) -> Sound {
    let (kind, name) = rest.split_first().ok_or(Malformed("check: an object's key"))?;
    let name = core::str::from_utf8(name).map_err(|_| Malformed("check: an object's name"))?;
    let object = ObjectName { kind: TypeId(*kind), name: name.into() };
    let header: Header = decoded(value)?;
    dispatch!(object.kind, K => reads::<<K as Builtin>::Root>(&header.root)?,
        else return Err(Malformed("check: an unknown type")));
    must(object.is_valid(), "check: an object's name")?;
    let is_new = tally.spaces.insert(header.incarnation, (object, header)).is_none();
    must(is_new, "check: two objects in one space")
}

fn entry(core: &Core, tally: &mut Tally, key: &[u8], value: &[u8]) -> Sound {
    let (head, sub) = key.split_at_checked(ENTRY_HEAD).ok_or(Malformed("check: an entry's key"))?;
    let space = number(&head[1..ENTRY_HEAD - 1])?;
    // A grave names a space, or an era within a table of it.
    let is_buried = |length: usize| key.get(1..length).is_some_and(|prefix| tally.graves.contains(prefix));
    if is_buried(ENTRY_HEAD - 1) || is_buried(ENTRY_HEAD + 8) {
        return Ok(());
    }
    let (object, _) = tally.spaces.get(&space).ok_or(Malformed("check: a record of no object"))?;
    match head[ENTRY_HEAD - 1] {
        table::CONFIG => dispatch!(object.kind, K => reads::<<K as Builtin>::Config>(value), else Ok(())),
        table::HOLDER => {
            reads::<()>(value)?;
            let holding = Key::of(&[&[kind::HOLDING], sub, &space.to_be_bytes()]);
            must(core.store.get(&holding).is_some(), "check: a holder without a holding")
        }
        table::TIMER => {
            let id = [&space.to_be_bytes()[..], sub].concat();
            let key = key::deadline(decoded(value)?, deadline::TIMER, &id);
            must(core.read::<ObjectName>(&key).as_ref() == Some(object), "check: a timer without a deadline")
        }
        table::TICKET => queued(core, tally, space, key, value),
        table::METERED => must(quota::is_readable(value), "check: what is counted of an object"),
        own => {
            let readable = dispatch!(object.kind, K => K::is_readable(own, value), else false);
            must(readable, "check: a record that its type cannot read")
        }
    }
}

/// A ticket in its object's queue.
fn queued(core: &Core, tally: &mut Tally, space: u64, key: &[u8], value: &[u8]) -> Sound {
    let ticket: Ticket = decoded(value)?;
    let at_its_place =
        ticket::waiting(core, ticket.id).is_some_and(|(place, _)| place.key(ticket.id)[..] == *key);
    must(at_its_place, "check: a ticket that is not found by its id")?;
    let count = tally.tickets.entry(space).or_default();
    count.0 += 1;
    count.1 += ticket.wants.len() as u64;
    tally.waiting += 1;
    let has_index =
        ticket.session.is_none_or(|id| core.store.get(&key::session_ticket(id, ticket.id)).is_some());
    let has_deadline = ticket.deadline_ms.is_none_or(|at| {
        core.store.get(&key::deadline(at, deadline::TICKET, &ticket.id.to_be_bytes())).is_some()
    });
    let has_process = ticket
        .process
        .is_none_or(|process| core.store.get(&key::process_ticket(process, ticket.id)).is_some());
    must(access::sound_ticket(core, &ticket), "check: a ticket that is not found by its principal")?;
    must(has_index && has_deadline && has_process, "check: a ticket without its session, process or deadline")
}

fn of_session<'a>(tally: &'a mut Tally, rest: &[u8]) -> Result<&'a mut [u32; 3], Malformed> {
    let id = rest.first_chunk().map(|id| SessionId(*id));
    let session = id.and_then(|id| tally.sessions.get_mut(&id));
    session.map(|(_, counts)| counts).ok_or(Malformed("check: a record of no session"))
}

fn reply(core: &Core, tally: &mut Tally, rest: &[u8], value: &[u8]) -> Sound {
    of_session(tally, rest)?[0] += 1;
    must(rest.len() == 24, "check: a reply's key")?;
    kept(core, &decoded(value)?)
}

fn kept(core: &Core, kept: &Kept) -> Sound {
    match kept {
        Kept::Waits(ticket) => {
            must(ticket::waiting(core, *ticket).is_some(), "check: a request waits without a ticket")
        }
        Kept::Ended(Some(ticket), _) => {
            let at = core.read(&key::ticket_at(*ticket));
            must(matches!(at, Some(TicketAt::Ended(_))), "check: a reply that its ticket does not find")
        }
        Kept::Ended(None, _) => Ok(()),
    }
}

fn holding(core: &Core, tally: &mut Tally, rest: &[u8], value: &[u8]) -> Sound {
    of_session(tally, rest)?[1] += 1;
    reads::<ObjectName>(value)?;
    let (holder, space) = rest.split_last_chunk::<8>().ok_or(Malformed("check: a holding's key"))?;
    let holder = key::entry(u64::from_be_bytes(*space), table::HOLDER, holder);
    must(core.store.get(&holder).is_some(), "check: a holding without a holder")
}

fn session_ticket(core: &Core, tally: &mut Tally, rest: &[u8], value: &[u8]) -> Sound {
    of_session(tally, rest)?[2] += 1;
    reads::<()>(value)?;
    let ticket = number(rest.get(16..).unwrap_or_default())?;
    let owner = ticket::waiting(core, ticket).and_then(|(_, ticket)| ticket.session);
    must(owner.is_some_and(|id| rest.starts_with(&id.0)), "check: a session's ticket does not wait")
}

fn process_ticket(core: &Core, rest: &[u8], value: &[u8]) -> Sound {
    reads::<()>(value)?;
    let ticket = number(rest.get(9..).unwrap_or_default())?;
    let process = ticket::waiting(core, ticket).and_then(|(_, ticket)| ticket.process);
    let is_its_own =
        process.is_some_and(|process| key::process_ticket(process, ticket).get(1..) == Some(rest));
    must(is_its_own, "check: a process's ticket does not wait")
}

fn remembered(core: &Core, tally: &mut Tally, rest: &[u8], value: &[u8]) -> Sound {
    let known: Remembered = decoded(value)?;
    tally.keys += 1;
    let has_deadline =
        known.forgotten_ms.is_none_or(|at| core.store.get(&key::deadline(at, deadline::KEY, rest)).is_some());
    must(has_deadline, "check: a key is never forgotten")?;
    kept(core, &known.kept)
}

fn ticket_at(core: &Core, rest: &[u8], value: &[u8]) -> Sound {
    match decoded(value)? {
        TicketAt::Waits(_) => {
            must(ticket::waiting(core, number(rest)?).is_some(), "check: a ticket is not where it should be")
        }
        TicketAt::Ended(reply) => {
            let is_kept = match &reply {
                ReplyRef::Nowhere => false,
                ReplyRef::Session(id, request) => core.store.get(&key::reply(*id, *request)).is_some(),
                ReplyRef::Key(principal, key) => core.store.get(&key::idempotency(principal, key)).is_some(),
            };
            must(is_kept, "check: an ended ticket without a reply")
        }
    }
}

fn due(core: &Core, key: &[u8], value: &[u8]) -> Sound {
    let (at, class, id) = key::read_deadline(key)?;
    let leads_somewhere = match (class, id.split_first_chunk::<8>()) {
        (deadline::TIMER, Some((space, timer))) => {
            reads::<ObjectName>(value)?;
            core.read(&key::entry(u64::from_be_bytes(*space), table::TIMER, timer)) == Some(at)
        }
        (deadline::TICKET, Some((ticket, []))) => ticket::waiting(core, u64::from_be_bytes(*ticket))
            .is_some_and(|(_, ticket)| ticket.deadline_ms == Some(at)),
        (deadline::KEY, _) => core
            .read::<Remembered>(&Key::of(&[&[kind::KEY], id]))
            .is_some_and(|known| known.forgotten_ms == Some(at)),
        (deadline::UPLOAD, _) => types::is_upload(core, id, at),
        (deadline::REJECTED, _) => types::is_rejected(core, id, at),
        (deadline::TOKEN, Some((number, []))) => {
            access::is_end_of_token(core, u64::from_be_bytes(*number), at)
        }
        (deadline::IMAGE, Some((space, []))) => user::is_kept_until(core, u64::from_be_bytes(*space), at),
        _ => false,
    };
    must(leads_somewhere, "check: a deadline of nothing")
}

fn totals(core: &Core, tally: &Tally) -> Sound {
    let meta = &core.meta;
    let counted = [tally.spaces.len() as u64, tally.sessions.len() as u64, tally.waiting, tally.keys];
    must(counted == [meta.objects, meta.sessions, meta.tickets, meta.keys], "check: a total is wrong")?;
    must(meta.graves == tally.graves.len() as u64, "check: the number of graves is wrong")?;
    for (space, (_, header)) in &tally.spaces {
        let waiting = tally.tickets.get(space).copied().unwrap_or_default();
        must(waiting == (header.tickets, header.ticket_bytes), "check: an object's waiters are miscounted")?;
    }
    for (session, counts) in tally.sessions.values() {
        let has = [session.unacknowledged, session.holdings, session.tickets];
        must(has == *counts, "check: what a session has is miscounted")?;
    }
    Ok(())
}
