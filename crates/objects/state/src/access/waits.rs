//! Calls that wait by a token or a right, and how they end when that goes.

use std::collections::BTreeSet;

use super::judge::may_wait;
use crate::asked::forbidden;
use crate::builtin::{Guest, Why, dispatch};
use crate::command::ObjectName;
use crate::death;
use crate::effects::TicketEnd;
use crate::group::Core;
use crate::key::{self, kind};
use crate::object;
use crate::principal::Authority;
use crate::ticket::{self, Ticket};
use crate::types;
use crate::user;

fn of_principal(core: &Core, principal: &str) -> Vec<u64> {
    let tickets = core.store.prefix(&key::principal_tickets(principal));
    tickets.filter_map(|(key, _)| key.last_chunk().map(|id| u64::from_be_bytes(*id))).collect()
}

/// Tokens or rights of a principal are gone: what it may not wait for any more ends.
pub(super) fn end_of(core: &mut Core, principal: &str) {
    let tickets = of_principal(core, principal);
    end_if(core, tickets, is_over);
}

/// Everybody has fewer rights, or rights are looked at from now on.
pub(super) fn end_of_all(core: &mut Core) {
    if core.access.closed {
        let tickets = core.store.prefix(&[kind::TICKET_AT]);
        let ids = tickets.filter_map(|(key, _)| key.last_chunk().map(|id| u64::from_be_bytes(*id)));
        let ids = ids.collect();
        end_if(core, ids, is_over);
    }
}

/// Whether a call may not wait any more.
fn is_over(core: &Core, ticket: &Ticket, object: &ObjectName) -> bool {
    let by = ticket.asked.0.as_ref();
    let is_revoked = match by.map(|by| by.authority) {
        Some(Authority::Root) => return false,
        Some(Authority::Token(number)) => core.access.token(number).is_none(),
        Some(Authority::Member) | None => false,
    };
    let method = by.map_or("", |by| &by.method);
    is_revoked || core.access.closed && !may_wait(core, &ticket.principal, object, method)
}

/// Ends waiting calls. None of them is granted anything, for whoever is next is granted only when all have ended.
fn end_if(core: &mut Core, ids: Vec<u64>, is_over: impl Fn(&Core, &Ticket, &ObjectName) -> bool) {
    let (mut touched, mut spaces, mut told) = (Vec::new(), BTreeSet::new(), Vec::new());
    for id in ids {
        let Some((place, waiting)) = ticket::waiting(core, id) else { continue };
        if !is_over(core, &waiting, &place.object) {
            continue;
        }
        if types::is_user(place.object.kind) {
            let mut is_told = false;
            death::work::<Guest>(core, &place.object, place.space, |live, ctx| {
                ctx.end(&place, &waiting, TicketEnd::Cancelled, forbidden(ctx.position()));
                is_told = user::long::caller_died(live, ctx, &place, id);
            });
            if is_told {
                told.push((place.object.clone(), place.space, user::Ended::Ticket(id)));
            }
        } else {
            death::end_ticket(core, id, Why::Forbidden, false);
            if spaces.insert(place.space) {
                touched.push((place.object.clone(), place.space));
            }
        }
    }
    for (object, space) in touched {
        dispatch!(object.kind, K => object::run_in_space::<K>(core, &object, space, |_, _| {}), else ());
    }
    user::tell_ends(core, &told);
}
