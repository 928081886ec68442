//! Exactly once: which requests have been carried out, and what they were answered.
//!
//! A session's requests are known by their numbers, others by a key that their principal chose. The reply is written
//! with the command, so a repeat gets the same bytes at any member, after any failover, snapshot or restart. A request
//! that waits is known by its ticket, and a repeat joins it. What was acknowledged, at or below a session's floor or above it,
//! is not carried out again.

use core::ops::Bound;

use twox_hash::XxHash3_64;

use crate::codec::{Cursor, Field, Malformed, record};
use crate::command::{Caller, Identity, SessionId};
use crate::deadline;
use crate::effects::Effect;
use crate::group::Core;
use crate::key::{self, Key};
use crate::limits::{KEY_MS, KEYS_MAX, REQUESTS_PER_SESSION_MAX};
use crate::place::{ReplyRef, TicketAt};
use crate::problem::{Outcome, Problem, Slug};
use crate::ranges::Ranges;
use crate::session::{self, Session};

/// Replies that are looked for one by one; where more may be acknowledged, those that there are are looked through.
const FEW: u64 = 4;

/// What is known of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It waits under this ticket.
    Waits(u64),
    /// It was answered, after it had waited under that ticket.
    Ended(Option<u64>, Outcome),
}

impl Field for Kept {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Waits(ticket) => {
                out.push(0);
                ticket.put(out);
            }
            Self::Ended(ticket, outcome) => {
                out.push(1);
                ticket.put(out);
                outcome.put(out);
            }
        }
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        match cursor.u8()? {
            0 => Ok(Self::Waits(Field::take(cursor)?)),
            1 => Ok(Self::Ended(Field::take(cursor)?, Field::take(cursor)?)),
            _ => Err(Malformed("request: neither waiting nor answered")),
        }
    }
}

record! {
    /// A remembered key.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Remembered {
        /// Of the call that was made under it.
        pub(crate) hash: u64,
        /// When it is forgotten; not set while the call waits.
        pub(crate) forgotten_ms: Option<i64>,
        pub(crate) kept: Kept,
    }
}

/// The hash of what a request asks for.
pub(crate) fn hash(parts: &[&[u8]]) -> u64 {
    parts.iter().fold(0, |seed, part| XxHash3_64::oneshot_with_seed(seed ^ part.len() as u64, part))
}

/// Whether a copy of a request has been carried out, was refused for good, or waits: its own principal is told so, whatever it may
/// do by now.
pub(crate) fn is_known(core: &Core, caller: &Caller) -> bool {
    match &caller.identity {
        Identity::Anonymous => false,
        Identity::Session { session, request, .. } => session::find(core, *session).is_ok_and(|open| {
            session::is_of(core, &open, &caller.principal.name)
                && (open.is_forgotten(*request) || core.store.get(&key::reply(*session, *request)).is_some())
        }),
        Identity::Key(key) => core.store.get(&key::idempotency(&caller.principal.name, key)).is_some(),
    }
}

/// What is known of a request: `None` if it is new and may be carried out.
pub(crate) fn known(core: &mut Core, caller: &Caller, hash: u64) -> Result<Option<Kept>, Problem> {
    match &caller.identity {
        Identity::Anonymous => Ok(None),
        Identity::Session { session, request, acknowledged, above } => {
            of_session(core, &caller.principal.name, *session, *request, (*acknowledged, above))
        }
        Identity::Key(key) => {
            if key.is_empty() {
                return Err(Problem::argument("", "an idempotency key is empty"));
            }
            match core.read::<Remembered>(&key::idempotency(&caller.principal.name, key)) {
                Some(known) if known.hash != hash => {
                    Err(Problem::new(Slug::KeyReused, "the key was used for another call"))
                }
                Some(known) => Ok(Some(known.kept)),
                None if core.meta.keys >= KEYS_MAX => {
                    Err(Problem::not_remembered(Slug::Quota, "too many keys are remembered"))
                }
                None => Ok(None),
            }
        }
    }
}

fn of_session(
    core: &mut Core,
    principal: &str,
    id: SessionId,
    request: u64,
    (floor, above): (u64, &Ranges),
) -> Result<Option<Kept>, Problem> {
    let mut session = session::find(core, id)?;
    if !session::is_of(core, &session, principal) {
        return Err(session::not_own());
    }
    let floor_before = session.floor;
    let acknowledges = note(&mut session, floor, above);
    if acknowledges {
        forget_acknowledged(core, id, &mut session, floor_before);
    }
    let known = known_of_session(core, id, &session, request);
    let is_new = known == Ok(None);
    // Its reply, or that it waits, is kept with the command: see `keep`.
    session.unacknowledged += u32::from(is_new);
    if acknowledges || is_new {
        core.write(key::session(id), &session);
    }
    known
}

fn known_of_session(
    core: &Core,
    id: SessionId,
    session: &Session,
    request: u64,
) -> Result<Option<Kept>, Problem> {
    if session.is_forgotten(request) {
        return Err(Problem::new(Slug::RequestForgotten, "its reply was acknowledged"));
    }
    // Where no reply is kept, none is looked for.
    if session.unacknowledged > 0
        && let Some(kept) = core.read(&key::reply(id, request))
    {
        return Ok(Some(kept));
    }
    if session.unacknowledged >= REQUESTS_PER_SESSION_MAX {
        return Err(Problem::not_remembered(Slug::Quota, "too many replies are not acknowledged"));
    }
    Ok(None)
}

/// Notes what is acknowledged, and says whether that is anything new. A range for which there is no room is not: its replies
/// are kept.
fn note(session: &mut Session, floor: u64, above: &Ranges) -> bool {
    if floor <= session.floor && above.is_empty() {
        return false;
    }
    let before = (session.floor, session.above.clone());
    session.floor = session.above.raise(session.floor.max(floor));
    for (first, last) in above.iter() {
        if first <= session.floor.saturating_add(1) {
            session.floor = session.above.raise(session.floor.max(last));
        } else {
            session.above.insert(first, last);
        }
    }
    before != (session.floor, session.above.clone())
}

/// Forgets the replies that were acknowledged. Mostly that is the one before.
fn forget_acknowledged(core: &mut Core, id: SessionId, session: &mut Session, floor_before: u64) {
    if session.above.is_empty() && session.floor - floor_before <= FEW {
        for request in floor_before + 1..=session.floor {
            let is_kept = forget(core, &key::reply(id, request));
            session.unacknowledged = session.unacknowledged.saturating_sub(u32::from(is_kept));
        }
        return;
    }
    let last = session.above.iter().last().map_or(session.floor, |(_, last)| last);
    let (from, to) = (key::replies(id), key::reply(id, last));
    let replies = core.store.range(Bound::Included(&from), Bound::Included(&to)).map(|(key, _)| key);
    let is_forgotten = |key: &&[u8]| {
        key.last_chunk().is_some_and(|number| session.is_forgotten(u64::from_be_bytes(*number)))
    };
    let forgotten: Vec<_> = replies.filter(is_forgotten).map(Key::from).collect();
    session.unacknowledged = session.unacknowledged.saturating_sub(forgotten.len() as u32);
    forgotten.iter().for_each(|key| _ = forget(core, key));
}

/// The ticket under which an answered request has waited; the answer is not read.
fn ended_ticket(record: &[u8]) -> Option<u64> {
    let mut cursor = Cursor::new(record);
    (cursor.u8() == Ok(1)).then(|| Field::take(&mut cursor).ok()).flatten().flatten()
}

/// Removes a kept reply, and the way to it by its ticket. Says whether there was one.
pub(crate) fn forget(core: &mut Core, key: &Key) -> bool {
    let Some(record) = core.store.take(key) else { return false };
    if let Some(ticket) = ended_ticket(record) {
        core.store.remove(&key::ticket_at(ticket));
    }
    true
}

/// Forgets a key whose time has passed.
pub(crate) fn forget_key(core: &mut Core, id: &[u8]) {
    let key = Key::of(&[&[key::kind::KEY], id]);
    if let Some(Remembered { kept: Kept::Ended(Some(ticket), _), .. }) = core.read(&key) {
        core.store.remove(&key::ticket_at(ticket));
    }
    if core.store.remove(&key) {
        core.meta.keys -= 1;
    }
}

/// Keeps what a new request was answered, or that it waits. Gives it back.
pub(crate) fn keep(core: &mut Core, reply: &ReplyRef, hash: u64, kept: Kept) -> Kept {
    match reply {
        ReplyRef::Nowhere => kept,
        ReplyRef::Session(id, request) => {
            // The call may have closed its session. Otherwise that counts the reply already.
            if !has_ended(core, *id) {
                core.write(key::reply(*id, *request), &kept);
            }
            kept
        }
        ReplyRef::Key(principal, key) => {
            core.meta.keys += 1;
            remember(core, principal, key, hash, kept)
        }
    }
}

/// Whether the running command has ended a session that was open when it began.
fn has_ended(core: &Core, id: SessionId) -> bool {
    core.out.iter().any(|effect| matches!(effect, Effect::SessionEnded { session, .. } if *session == id))
}

fn remember(core: &mut Core, principal: &str, key: &str, hash: u64, kept: Kept) -> Kept {
    let record_key = key::idempotency(principal, key);
    let has_ended = matches!(kept, Kept::Ended(..));
    let forgotten_ms = has_ended.then(|| core.meta.stamp_ms.saturating_add(KEY_MS));
    if let Some(at) = forgotten_ms {
        deadline::set(core, at, deadline::KEY, &record_key[1..], &());
    }
    let remembered = Remembered { hash, forgotten_ms, kept };
    core.write(record_key, &remembered);
    remembered.kept
}

/// Nothing is kept of a waiting request: it is to be refused for a reason that passes.
pub(crate) fn forget_waiting(core: &mut Core, reply: &ReplyRef) {
    match reply {
        ReplyRef::Nowhere => {}
        ReplyRef::Session(id, request) => {
            if core.store.remove(&key::reply(*id, *request)) {
                let fewer = |session: &mut Session| {
                    session.unacknowledged = session.unacknowledged.saturating_sub(1);
                };
                session::update(core, *id, fewer);
            }
        }
        ReplyRef::Key(principal, key) => {
            if core.store.remove(&key::idempotency(principal, key)) {
                core.meta.keys -= 1;
            }
        }
    }
}

/// Keeps how a waiting request ended. Without a place for it the ticket is unknown from now on.
pub(crate) fn settle(core: &mut Core, reply: &ReplyRef, ticket: u64, outcome: &Outcome) {
    let ended = Kept::Ended(Some(ticket), outcome.clone());
    let is_kept = match reply {
        ReplyRef::Nowhere => false,
        ReplyRef::Session(id, request) => {
            let key = key::reply(*id, *request);
            let is_kept = core.store.get(&key).is_some();
            if is_kept {
                core.write(key, &ended);
            }
            is_kept
        }
        ReplyRef::Key(principal, key) => match core.read::<Remembered>(&key::idempotency(principal, key)) {
            Some(known) => {
                remember(core, principal, key, known.hash, ended);
                true
            }
            None => false,
        },
    };
    if is_kept {
        core.write(key::ticket_at(ticket), &TicketAt::Ended(reply.clone()));
    } else {
        core.store.remove(&key::ticket_at(ticket));
    }
}

/// How a request whose ticket has ended was answered.
pub(crate) fn outcome(core: &Core, reply: &ReplyRef) -> Option<Outcome> {
    let kept = match reply {
        ReplyRef::Nowhere => None,
        ReplyRef::Session(id, request) => core.read(&key::reply(*id, *request)),
        ReplyRef::Key(principal, key) => {
            Some(core.read::<Remembered>(&key::idempotency(principal, key))?.kept)
        }
    };
    match kept? {
        Kept::Ended(_, outcome) => Some(outcome),
        Kept::Waits(_) => None,
    }
}
