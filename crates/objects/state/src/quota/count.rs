//! Counts what there is: of a principal at once, of a namespace piece by piece, for it may have as many objects as there are.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::settle::{Delta, add, metered, worth};
use crate::allowance::{Metered, Quota, QuotaOf, Walk};
use crate::codec::{decoded, encoded};
use crate::command::{ObjectName, TypeId};
use crate::group::Core;
use crate::key::{self, kind};
use crate::limits::{COUNTED_PER_TICK, USER_TYPE_MAX};
use crate::object::Header;
use crate::session::Session;
use crate::store::RECORD_BYTES;
use crate::ticket::{self, Ticket};

/// Whether a tick is to count.
pub(crate) const fn is_counting(core: &Core) -> bool {
    core.quotas.walks > 0
}

/// What those principals have that are meant: their sessions and their calls that wait.
pub(super) fn of_principals(core: &Core, is_meant: impl Fn(&str) -> bool) -> BTreeMap<String, Delta> {
    let mut all: BTreeMap<String, Delta> = BTreeMap::new();
    for (_, value) in core.store.prefix(&[kind::SESSION]) {
        let session: Option<Session> = decoded(value).ok();
        if let Some(session) = session.filter(|session| is_meant(&session.principal)) {
            all.entry(session.principal).or_default().sessions += 1;
        }
    }
    for (key, _) in core.store.prefix(&[kind::TICKET_AT]) {
        let id = key.last_chunk().map(|id| u64::from_be_bytes(*id));
        let ticket: Option<Ticket> = id.and_then(|id| ticket::waiting(core, id)).map(|(_, ticket)| ticket);
        if let Some(ticket) = ticket.filter(|ticket| is_meant(&ticket.principal)) {
            all.entry(ticket.principal).or_default().waiters += 1;
        }
    }
    all
}

/// The objects of a namespace are to be counted, or uncounted, from the first one on.
pub(super) fn begin(core: &mut Core, namespace: &str) {
    let key = key::quota_walk(namespace);
    core.quotas.walks += usize::from(core.store.get(&key).is_none());
    core.write(key, &Walk::default());
    count_some(core);
}

/// Counts some. What the command has changed before is settled.
pub(crate) fn count_some(core: &mut Core) {
    let mut left = COUNTED_PER_TICK;
    while left > 0 {
        let Some((namespace, walk)) = first(core) else { break };
        match next(core, &namespace, walk.behind.as_ref()) {
            Some((object, header)) => {
                left = left.saturating_sub(1 + one(core, &namespace, &object, &header));
                let behind = Some((object.kind.0, object.name));
                core.write(key::quota_walk(&namespace), &Walk { behind });
            }
            None => {
                core.store.remove(&key::quota_walk(&namespace));
                core.quotas.walks -= 1;
            }
        }
    }
    core.settled = core.store.changes();
}

fn first(core: &Core) -> Option<(String, Walk)> {
    let (key, value) = core.store.prefix(&[kind::QUOTA_WALK]).next()?;
    Some((core::str::from_utf8(key.get(1..)?).ok()?.into(), decoded(value).ok()?))
}

/// The next object of a namespace, in the order of the types' numbers and of names.
fn next(core: &Core, namespace: &str, behind: Option<&(u8, String)>) -> Option<(ObjectName, Header)> {
    (behind.map_or(0, |behind| behind.0)..=USER_TYPE_MAX).find_map(|kind| {
        let all = key::objects_of(TypeId(kind));
        let beginning = [&all[..], namespace.as_bytes(), b"/"].concat();
        let last = behind.filter(|behind| behind.0 == kind);
        let last = last.map(|(_, name)| [&all[..], name.as_bytes()].concat());
        let from = last.as_deref().map_or(Bound::Included(&beginning[..]), Bound::Excluded);
        let end = crate::store::successor(&beginning);
        let to = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let (key, value) = core.store.range(from, to).next()?;
        let name = core::str::from_utf8(key.get(2..)?).ok()?.into();
        Some((ObjectName { kind: TypeId(kind), name }, decoded(value).ok()?))
    })
}

/// Counts an object, or uncounts it if there is no quota any more. Gives how many records were looked at.
fn one(core: &mut Core, namespace: &str, object: &ObjectName, header: &Header) -> usize {
    let space = header.incarnation;
    let Some(Quota { since, .. }) = core.quotas.namespaces.get(namespace).copied() else {
        core.store.remove(&key::metered(space));
        return 0;
    };
    if metered(core, space).is_some() {
        return 0;
    }
    let (delta, looked_at) = of_object(core, object, header);
    let (bytes, waiters) = (delta.bytes as u64, delta.waiters as u64);
    let counted = Metered { namespace: namespace.into(), since, bytes, waiters };
    core.write(key::metered(space), &counted);
    add(core, QuotaOf::Namespace(namespace.into()), Delta { objects: 1, ..delta });
    looked_at
}

/// What an object has, and how many records that took a look at.
pub(super) fn of_object(core: &Core, object: &ObjectName, header: &Header) -> (Delta, usize) {
    let (mut delta, mut looked_at) = (Delta::default(), 0);
    let header_bytes = RECORD_BYTES + key::object(object).len() + encoded(header).len();
    delta.bytes = header_bytes as i64;
    for (key, value) in core.store.prefix(&key::space(header.incarnation)) {
        looked_at += 1;
        let (worth, _) = worth(key, value);
        delta.bytes += worth.bytes;
        delta.waiters += worth.waiters;
    }
    (delta, looked_at)
}
