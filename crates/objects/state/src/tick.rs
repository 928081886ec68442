//! Time passes: deadlines that are due by the stamp, in their order, and the records of dead objects.

use crate::access;
use crate::builtin::{Builtin, Why, dispatch};
use crate::command::{ObjectName, SessionId};
use crate::deadline;
use crate::death;
use crate::group::Core;
use crate::key::{self, ENTRY_HEAD, Key, kind, table};
use crate::limits::{DEADLINES_PER_TICK, ORPHANS_PER_TICK};
use crate::messages;
use crate::object;
use crate::orphan;
use crate::request;
use crate::session;
use crate::types;
use crate::user;

/// Lets pass what is due, as much as one tick may.
pub(crate) fn pass(core: &mut Core) {
    orphan::end_some(core, ORPHANS_PER_TICK);
    core.begin_part();
    messages::deliver(core);
    core.begin_part();
    user::long::give_turns(core);
    core.begin_part();
    for _ in 0..DEADLINES_PER_TICK {
        let is_long = core.has_spent_enough() && core.meta.feature_level >= user::GUARD_LEVEL;
        if core.has_run_enough() || is_long {
            return;
        }
        match deadline::first(core) {
            Some((at, class, id)) if at <= core.meta.stamp_ms => one(core, at, class, &id),
            _ => return,
        }
    }
}

fn one(core: &mut Core, at: i64, class: u8, id: &[u8]) {
    let key = key::deadline(at, class, id);
    let object = core.read::<ObjectName>(&key);
    core.store.remove(&key);
    match (class, id.split_first_chunk::<8>()) {
        (deadline::TICKET, Some((ticket, []))) => {
            death::end_ticket(core, u64::from_be_bytes(*ticket), Why::TimedOut, true);
        }
        (deadline::TIMER, Some((space, timer))) => {
            let space = u64::from_be_bytes(*space);
            core.store.remove(&key::entry(space, table::TIMER, timer));
            let Some(object) = object else { return };
            dispatch!(object.kind, K => object::run_in_space::<K>(core, &object, space, |live, ctx| {
                K::due(live, ctx, timer);
            }), else ());
        }
        (deadline::KEY, _) => request::forget_key(core, id),
        (deadline::UPLOAD, _) => types::expire(core, id),
        (deadline::REJECTED, _) => types::forget_rejected(core, id),
        (deadline::IMAGE, Some((space, []))) => user::forget_before(core, u64::from_be_bytes(*space)),
        (deadline::TOKEN, Some((number, []))) => access::end_token(core, u64::from_be_bytes(*number)),
        _ => {}
    }
}

/// Removes up to so many records of dead objects.
pub(crate) fn sweep(core: &mut Core, most: usize) {
    if core.meta.graves == 0 {
        return;
    }
    let Some(grave) = core.store.prefix(&[kind::GRAVE]).next().map(|(key, _)| Key::from(key)) else { return };
    let Some(space) = grave[1..].first_chunk::<8>().map(|space| u64::from_be_bytes(*space)) else { return };
    let prefix = [&[kind::SPACE][..], &grave[1..]].concat();
    let records = core.store.prefix(&prefix).take(most).map(|(key, _)| Key::from(key));
    let records: Vec<_> = records.collect();
    for key in &records {
        let sub = key.get(ENTRY_HEAD..).unwrap_or_default();
        match key.get(ENTRY_HEAD - 1) {
            Some(&table::HOLDER) => unlink_holding(core, space, sub),
            Some(&table::TIMER) => {
                if let Some(at) = core.read::<i64>(key) {
                    let id = [&space.to_be_bytes()[..], sub].concat();
                    deadline::clear(core, at, deadline::TIMER, &id);
                }
            }
            _ => {}
        }
        core.store.remove(key);
    }
    if records.len() < most {
        core.store.remove(&grave);
        core.meta.graves -= 1;
    }
}

/// A session holds nothing of a dead object.
fn unlink_holding(core: &mut Core, space: u64, holder: &[u8]) {
    let key = Key::of(&[&[kind::HOLDING], holder, &space.to_be_bytes()]);
    if let (true, Some(id)) = (core.store.remove(&key), holder.first_chunk::<16>()) {
        session::update(core, SessionId(*id), |session| {
            session.holdings = session.holdings.saturating_sub(1)
        });
    }
}
