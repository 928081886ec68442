//! Ends at one position: of a session, with all that it held and waited for; of an object, with its waiters.

use std::collections::BTreeSet;

use crate::builtin::{Builtin, Guest, Lost, Why, class, dispatch};
use crate::codec::{Cursor, encoded};
use crate::command::{ObjectName, SessionId};
use crate::effects::{Effect, EventKind, TicketEnd};
use crate::ended;
use crate::group::Core;
use crate::key::{self, Key, table};
use crate::object::{self, Claim, Ctx};
use crate::place::Place;
use crate::problem::{Outcome, Problem, Slug};
use crate::request;
use crate::ticket;
use crate::types;
use crate::user;

/// A session ends: it leaves memberships, returns leases, releases holdings in the order taken, drops its tickets; then
/// those are granted who are next, object by object in the order in which the session lost something of them.
pub(crate) fn of_session(core: &mut Core, id: SessionId, expired: bool) {
    let (mut touched, mut spaces): (Vec<(ObjectName, u64)>, BTreeSet<u64>) = Default::default();
    let mut told = Vec::new();
    let mut touch = |object: &ObjectName, space: u64| {
        if spaces.insert(space) {
            touched.push((object.clone(), space));
        }
    };
    for key in keys(core, &key::holdings(id)) {
        match core.read::<ObjectName>(&key).zip(read_holding(&key, expired)) {
            Some((object, (lost, space))) if lost.class == class::LISTENER => {
                stop_listening(core, space, lost);
                told.push((object, space, user::Ended::Session(id)));
            }
            Some((object, (lost, space))) => {
                lose(core, &object, space, lost);
                touch(&object, space);
            }
            None => {}
        }
        core.store.remove(&key);
    }
    for key in keys(core, &key::session_tickets(id)) {
        let ticket = key.last_chunk::<8>().map_or(0, |id| u64::from_be_bytes(*id));
        if let Some((place, is_told)) = end_of_session(core, ticket) {
            match is_told {
                true => told.push((place.object, place.space, user::Ended::Ticket(ticket))),
                false => touch(&place.object, place.space),
            }
        }
    }
    remove(core, id);
    for (object, space) in touched {
        dispatch!(object.kind, K => object::run_in_space::<K>(core, &object, space, |_, _| {}), else ());
    }
    user::tell_ends(core, &told);
    core.out.push(Effect::SessionEnded { session: id, expired });
}

/// A session is gone, and with it the replies that were kept for it.
fn remove(core: &mut Core, id: SessionId) {
    for key in keys(core, &key::replies(id)) {
        _ = request::forget(core, &key);
    }
    if core.store.remove(&key::session(id)) {
        core.meta.sessions -= 1;
        ended::note(core, id);
    }
}

/// An object of a user's type has no such session any more; its module is told when everything has ended.
fn stop_listening(core: &mut Core, space: u64, lost: Lost) {
    let holder = key::holder(lost.session, lost.class, lost.position);
    core.store.remove(&key::entry(space, table::HOLDER, &holder));
}

/// A waiting call of a dead session ends: where it waited, and whether a module is to be told when all have.
fn end_of_session(core: &mut Core, ticket: u64) -> Option<(Place, bool)> {
    let (place, waiting) = ticket::waiting(core, ticket)?;
    if !types::is_user(place.object.kind) {
        end_ticket(core, ticket, Why::Died, false);
        return Some((place, false));
    }
    let is_told = died(core, &place, &waiting);
    is_told.then_some((place, true))
}

/// A waiting call of a dead session ends at an object of a user's type. Whether its module knows it, and hears of it when all
/// have.
fn died(core: &mut Core, place: &Place, waiting: &ticket::Ticket) -> bool {
    let mut is_told = false;
    work::<Guest>(core, &place.object, place.space, |live, ctx| {
        let problem = Problem::new(Slug::SessionExpired, "the session of the waiting call has ended");
        let outcome = Outcome::Refused(Problem { position: ctx.position(), ..problem });
        ctx.end(place, waiting, TicketEnd::Ended, outcome);
        is_told = user::long::caller_died(live, ctx, place, waiting.id);
    });
    is_told
}

fn keys(core: &Core, prefix: &[u8]) -> Vec<Key> {
    core.store.prefix(prefix).map(|(key, _)| Key::from(key)).collect()
}

/// What a holding's key says, and whose space it is in.
fn read_holding(key: &[u8], expired: bool) -> Option<(Lost, u64)> {
    let mut cursor = Cursor::new(key.get(1..)?);
    let session = SessionId(cursor.array().ok()?);
    let (class, position) = (cursor.u8().ok()?, cursor.ordered().ok()?);
    Some((Lost { session, class, position, expired }, cursor.ordered().ok()?))
}

/// A session loses something; who is next is not granted yet.
fn lose(core: &mut Core, object: &ObjectName, space: u64, lost: Lost) {
    core.store.remove(&key::entry(
        space,
        table::HOLDER,
        &key::holder(lost.session, lost.class, lost.position),
    ));
    dispatch!(object.kind, K => work::<K>(core, object, space, |live, ctx| {
        let why = if lost.expired { EventKind::Lost } else { EventKind::Released };
        ctx.core.event(why, object, Some(lost.session));
        K::lost(live, ctx, lost);
    }), else ());
}

/// Works on an object without granting anything, and without dropping it.
pub(crate) fn work<K: Builtin>(
    core: &mut Core,
    object: &ObjectName,
    space: u64,
    work: impl FnOnce(&mut object::Live<K>, &mut Ctx<'_>),
) {
    let Some(mut opened) = object::open::<K>(core, object) else { return };
    if opened.header.incarnation != space {
        return;
    }
    let claim = Claim::default();
    work(&mut opened.live, &mut Ctx { core: &mut *core, header: &mut opened.header, object, claim: &claim });
    opened.header.root = encoded(&opened.live.root);
    core.write(key::object(object), &opened.header);
}

/// Ends a waiting call for that reason; afterwards grants who is next, if asked to.
pub(crate) fn end_ticket(core: &mut Core, id: u64, why: Why, grants: bool) {
    let Some(found) = ticket::waiting(core, id) else { return };
    let (object, space) = (found.0.object.clone(), found.0.space);
    dispatch!(object.kind, K => {
        let end = |live: &mut object::Live<K>, ctx: &mut Ctx<'_>| object::end_ticket(live, ctx, found, why);
        if grants {
            object::run_in_space::<K>(core, &object, space, end);
        } else {
            work::<K>(core, &object, space, end);
        }
    }, else ());
}
