//! What a command has changed so far becomes what is used. It reads the changes of records, whoever made them.

use std::collections::{BTreeMap, BTreeSet};

use crate::allowance::Table;
use crate::allowance::{Metered, QuotaOf, Usage};
use crate::codec::{Cursor, Field as _, decoded};
use crate::group::Core;
use crate::key::{self, ENTRY_HEAD, Key, kind, table};
use crate::session::Session;
use crate::store::RECORD_BYTES;
use crate::ticket::Ticket;

/// More, or less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delta {
    pub(super) objects: i64,
    pub(super) bytes: i64,
    pub(super) waiters: i64,
    pub(super) sessions: i64,
    /// Entries, and what else objects are made of: no part of what is used.
    pub(super) records: i64,
}

impl Delta {
    fn add(&mut self, other: Self) {
        self.objects += other.objects;
        self.bytes += other.bytes;
        self.waiters += other.waiters;
        self.sessions += other.sessions;
        self.records += other.records;
    }
}

/// What a namespace or a principal has now, and had before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) of: QuotaOf,
    pub(super) before: Usage,
    pub(super) after: Usage,
    /// How many entries came to it.
    pub(super) records: i64,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Settled {
    pub(super) moved: Vec<Moved>,
    /// The spaces in which a module may have run, or has begun to.
    pub(super) ran: BTreeSet<u64>,
}

/// An object that was made, changed or removed: its namespace, its space before and now, and its header's bytes.
struct OfObject {
    namespace: String,
    since: u64,
    before: Option<u64>,
    now: Option<u64>,
    bytes: i64,
}

#[derive(Default)]
struct Changes {
    objects: Vec<OfObject>,
    spaces: BTreeMap<u64, Delta>,
    principals: BTreeMap<String, Delta>,
    ran: BTreeSet<u64>,
}

/// Takes account of what has changed since this was done last.
pub(crate) fn settle(core: &mut Core) {
    found(core);
}

/// The same, and says what came of it.
pub(super) fn found(core: &mut Core) -> Settled {
    if core.quotas.is_empty() {
        return Settled::default();
    }
    let mut changes = changes(core);
    let ran = core::mem::take(&mut changes.ran);
    let moved = take_account(core, changes);
    core.settled = core.store.changes();
    Settled { moved, ran }
}

/// All that has changed since, of what counts. Of a record that was written more than once the first and the last state count.
fn changes(core: &Core) -> Changes {
    let (mut seen, mut changes) = (BTreeSet::new(), Changes::default());
    for (key, old) in core.store.changes_since(core.settled) {
        if key.first() == Some(&kind::OCCUPIED) {
            changes.ran.extend(key.last_chunk().map(|space| u64::from_be_bytes(*space)));
        }
        let counts = matches!(key.first(), Some(&(kind::OBJECT | kind::SPACE | kind::SESSION)));
        if !counts || !seen.insert(key) {
            continue;
        }
        let now = core.store.get(key);
        match key.first() {
            Some(&kind::OBJECT) => of_object(&core.quotas, &mut changes, key, (old, now)),
            Some(&kind::SPACE) => of_space(&core.quotas, &mut changes, key, (old, now)),
            _ => of_session(&core.quotas, &mut changes, (old, now)),
        }
    }
    changes
}

fn size(key: &Key, value: &[u8]) -> i64 {
    (RECORD_BYTES + key.len() + value.len()) as i64
}

/// What a header begins with.
fn space_of(header: &[u8]) -> Option<u64> {
    u64::take(&mut Cursor::new(header)).ok()
}

fn of_object(quotas: &Table, changes: &mut Changes, key: &Key, (old, now): (Option<&[u8]>, Option<&[u8]>)) {
    let name = key.get(2..).and_then(|name| core::str::from_utf8(name).ok()).unwrap_or_default();
    let Some((namespace, quota)) = quotas.namespace_of(name) else { return };
    let (before, after) = (old.and_then(space_of), now.and_then(space_of));
    let bytes = now.map_or(0, |now| size(key, now));
    let less = if before == after { old.map_or(0, |old| size(key, old)) } else { 0 };
    changes.objects.push(OfObject {
        namespace: namespace.into(),
        since: quota.since,
        before,
        now: after,
        bytes: bytes - less,
    });
}

/// What a record of a space is worth.
pub(super) fn worth(key: &[u8], value: &[u8]) -> (Delta, Option<Ticket>) {
    let nothing = (Delta::default(), None);
    match key.get(ENTRY_HEAD - 1) {
        Some(&(table::METERED | table::HOLDER | table::TIMER)) | None => nothing,
        Some(&table::TICKET) => {
            let Ok(ticket) = decoded::<Ticket>(value) else { return nothing };
            let bytes = ticket.wants.len() as i64;
            (Delta { bytes, waiters: 1, ..Delta::default() }, Some(ticket))
        }
        Some(_) => {
            let bytes = (RECORD_BYTES + key.len() + value.len()) as i64;
            (Delta { bytes, records: 1, ..Delta::default() }, None)
        }
    }
}

fn of_space(quotas: &Table, changes: &mut Changes, key: &Key, (old, now): (Option<&[u8]>, Option<&[u8]>)) {
    let Some(space) = key.get(1..9).and_then(|space| space.try_into().ok()).map(u64::from_be_bytes) else {
        return;
    };
    if key.get(ENTRY_HEAD - 1).is_some_and(|table| *table >= table::OWN) {
        changes.ran.insert(space);
    }
    let delta = changes.spaces.entry(space).or_default();
    for (value, sign) in [(old, -1), (now, 1)] {
        let Some((worth, ticket)) = value.map(|value| worth(key, value)) else { continue };
        let Delta { bytes, waiters, records, .. } = worth;
        delta.add(Delta {
            bytes: sign * bytes,
            waiters: sign * waiters,
            records: sign * records,
            ..Delta::default()
        });
        if let Some(ticket) = ticket.filter(|ticket| quotas.principals.contains_key(&ticket.principal)) {
            changes.principals.entry(ticket.principal).or_default().waiters += sign;
        }
    }
}

/// A session that is continued stays its principal's.
fn of_session(quotas: &Table, changes: &mut Changes, (old, now): (Option<&[u8]>, Option<&[u8]>)) {
    let (record, sign) = match (old, now) {
        (None, Some(now)) => (now, 1),
        (Some(old), None) => (old, -1),
        _ => return,
    };
    let session: Option<Session> = decoded(record).ok();
    if let Some(session) = session.filter(|session| quotas.principals.contains_key(&session.principal)) {
        changes.principals.entry(session.principal).or_default().sessions += sign;
    }
}

fn take_account(core: &mut Core, mut changes: Changes) -> Vec<Moved> {
    let mut all: BTreeMap<QuotaOf, Delta> =
        changes.principals.into_iter().map(|(name, delta)| (QuotaOf::Principal(name), delta)).collect();
    let mut of_namespace = |name: &str, delta: Delta| {
        all.entry(QuotaOf::Namespace(name.into())).or_default().add(delta);
    };
    for object in changes.objects {
        let OfObject { namespace, since, before, now, bytes } = object;
        if let Some(gone) = before.filter(|_| before != now).and_then(|space| metered(core, space)) {
            of_namespace(&gone.1.namespace, less(&gone.1));
            core.store.remove(&gone.0);
        }
        let Some(space) = now else { continue };
        let mut more = Delta { bytes, ..Delta::default() };
        if before != now && metered(core, space).is_none() {
            let fresh = Metered { namespace: namespace.clone(), since, bytes: 0, waiters: 0 };
            core.write(key::metered(space), &fresh);
            more.records = 1;
            of_namespace(&namespace, Delta { objects: 1, ..Delta::default() });
        }
        changes.spaces.entry(space).or_default().add(more);
    }
    for (space, delta) in changes.spaces {
        let Some((key, mut object)) = metered(core, space).filter(|_| delta != Delta::default()) else {
            continue;
        };
        object.bytes = object.bytes.saturating_add_signed(delta.bytes);
        object.waiters = object.waiters.saturating_add_signed(delta.waiters);
        of_namespace(&object.namespace, delta);
        core.write(key, &object);
    }
    all.into_iter().filter_map(|(of, delta)| add(core, of, delta)).collect()
}

/// What is counted of the object of a space, if it is, for a quota that there is.
pub(super) fn metered(core: &Core, space: u64) -> Option<(Key, Metered)> {
    let key = key::metered(space);
    let object: Metered = core.read(&key)?;
    let quota = core.quotas.namespaces.get(&object.namespace)?;
    (quota.since == object.since).then_some((key, object))
}

/// An object is gone, with all that was counted of it.
const fn less(object: &Metered) -> Delta {
    let (bytes, waiters) = (-(object.bytes as i64), -(object.waiters as i64));
    Delta { objects: -1, bytes, waiters, sessions: 0, records: 0 }
}

/// One of them has so much more, or less.
pub(super) fn add(core: &mut Core, of: QuotaOf, delta: Delta) -> Option<Moved> {
    core.quotas.of(&of)?;
    let key = key::usage(&of);
    let before: Usage = core.read(&key).unwrap_or_default();
    let after = Usage {
        objects: before.objects.saturating_add_signed(delta.objects),
        bytes: before.bytes.saturating_add_signed(delta.bytes),
        waiters: before.waiters.saturating_add_signed(delta.waiters),
        sessions: before.sessions.saturating_add_signed(delta.sessions),
    };
    core.write(key, &after);
    Some(Moved { of, before, after, records: delta.records })
}
