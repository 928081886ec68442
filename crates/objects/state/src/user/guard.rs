//! What is out of the ordinary about an object: its quarantine, and the memory that it had before it was migrated. One record,
//! which most objects do not have.
//!
//! # Quarantine
//! An object in quarantine runs nothing and keeps its state: calls and queries are refused, its timers are put off, and its
//! module is told of no ends. Somebody puts it there, or a run does that has killed the member's process: the same run of the
//! log is deadly at each member, or the members that it does not kill have another state than the others, which is found.
//! Or members came to different results of one of its runs ([`disagreed`]): the leader says so in the log, and names the
//! position. What it says has no effect on an object that was released behind that.
//!
//! A deadly run of an object that was to be created (`init`, or `migrate` of an import) leaves no object behind: its version is
//! stopped instead (`types/stopped.rs`), for a client may create again and again.
//!
//! # Memory of before
//! For a day the pages that an object had before its migration are moved aside and kept, so that it can be taken back.

use super::{DISAGREED_LEVEL, Guest, KEPT_PAGES, KEPT_REGISTERS, PAGES, REGISTERS, RELEASED, Root};
use crate::answer::{Answer, find, once};
use crate::codec::{decoded, record};
use crate::command::{Caller, ObjectName};
use crate::deadline;
use crate::group::{Core, Deadly};
use crate::guest::{PAGE_BYTES, VersionHash};
use crate::key::{self, Key};
use crate::limits::{IMAGE_MS, MEMORY_BYTES_MAX, REASON_BYTES_MAX};
use crate::object::{self, Header};
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::request;
use crate::types;

record! {
    /// See the module.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Guard {
        /// Why the object is in quarantine, if it is.
        pub(crate) quarantined: Option<String>,
        pub(crate) before: Option<Before>,
    }
}

record! {
    /// What an object was before it was migrated.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Before {
        pub(crate) version: VersionHash,
        /// How many pages are kept.
        pub(crate) pages: u32,
        /// Runs that have succeeded since.
        pub(crate) commands: u64,
        /// Until when it is kept.
        pub(crate) until_ms: i64,
    }
}

fn key_of(space: u64) -> Key {
    key::entry(space, super::GUARD, &[])
}

pub(crate) fn of(core: &Core, space: u64) -> Guard {
    if core.store.is_unused(super::GUARD) {
        return Guard::default();
    }
    core.read(&key_of(space)).unwrap_or_default()
}

/// Writes an object's record, if it has anything in it.
pub(super) fn write(core: &mut Core, space: u64, guard: &Guard) {
    if *guard == Guard::default() {
        core.store.remove(&key_of(space));
    } else {
        core.write(key_of(space), guard);
    }
}

/// Whether an object may be run.
///
/// # Errors
/// It is in quarantine, its version is closed, or this build rejects it.
pub(super) fn check(
    core: &Core,
    object: &ObjectName,
    space: u64,
    version: VersionHash,
) -> Result<(), Problem> {
    if core.deadly.iter().any(|deadly| deadly.space == space) {
        return Err(in_quarantine("the process of a member has died in a call before this one"));
    }
    if let Some(reason) = of(core, space).quarantined {
        return Err(in_quarantine(&reason));
    }
    if types::runs(core, object.kind, version) {
        return Ok(());
    }
    types::check_open(core, object.kind, version)?;
    // After a start the engine may not be done yet with what the log says is ready.
    core.engine.get().ready(version).map_err(|rejected| types::closed(&rejected.detail))
}

fn in_quarantine(reason: &str) -> Problem {
    Problem::new(
        Slug::Quarantined,
        format!("the object is in quarantine, keeps its state and runs nothing: {reason}"),
    )
}

/// A run has succeeded.
pub(super) fn count_run(core: &mut Core, space: u64) {
    let mut guard = of(core, space);
    if let Some(before) = &mut guard.before {
        before.commands += 1;
        write(core, space, &guard);
    }
}

/// Puts an object into quarantine, or releases it; once for each request.
pub(crate) fn quarantine(
    core: &mut Core,
    (caller, judged): (&Caller, Result<(), Problem>),
    object: &ObjectName,
    incarnation: Option<u64>,
    reason: Option<&str>,
) {
    let what: &[u8] = if reason.is_some() { b"quarantine" } else { b"release" };
    let hash = request::hash(&[&super::call::named(object), what, reason.unwrap_or("").as_bytes()]);
    once(core, caller, hash, |core| {
        judged?;
        if !types::is_there(core, object.kind) {
            return Err(Problem::new(Slug::NoSuchType, "only objects of users' types run modules"));
        }
        let (opened, _) = find::<Guest>(core, object, incarnation, false)?;
        let space = opened.header.incarnation;
        let mut guard = of(core, space);
        guard.quarantined = reason.map(shortened);
        write(core, space, &guard);
        if reason.is_none() && core.meta.feature_level >= DISAGREED_LEVEL {
            let position = core.meta.position;
            core.write(released_key(space), &position);
        }
        if reason.is_some() {
            super::long::stop(core, object, opened);
        } else {
            core.engine.get().forgive(space, core.meta.position);
        }
        Ok(Answer::Done(Reply::new().flag("quarantined", reason.is_some()).finish()))
    });
}

fn released_key(space: u64) -> Key {
    key::entry(space, RELEASED, &[])
}

/// Whether an object may go into quarantine for what members say of its runs: it is there, and is not in quarantine. Of runs up to
/// the position that this gives nothing counts any more: it was released there.
pub(crate) fn may_disagree(core: &Core, object: &ObjectName, space: u64) -> Option<u64> {
    let header: Option<Header> = core.read(&key::object(object));
    let is_it = types::is_user(object.kind) && header.is_some_and(|header| header.incarnation == space);
    let runs = is_it && of(core, space).quarantined.is_none();
    runs.then(|| core.read(&released_key(space)).unwrap_or_default())
}

/// Members came to different results of a run of that object.
pub(crate) fn disagreed(core: &mut Core, object: &ObjectName, space: u64, position: u64) {
    if may_disagree(core, object, space).is_none_or(|released| position <= released) {
        return;
    }
    let Some(opened) = object::open::<Guest>(core, object) else { return };
    let reason = format!("members came to different results of its run at position {position}");
    let guard = Guard { quarantined: Some(reason), ..of(core, space) };
    write(core, space, &guard);
    super::long::stop(core, object, opened);
}

fn shortened(reason: &str) -> String {
    let mut reason = String::from(if reason.is_empty() { "no reason was given" } else { reason });
    reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
    reason
}

/// The command has ended in whose runs the member's process has died: their objects go into quarantine. One that is not there was
/// to be created: of its version no more are.
pub(crate) fn quarantine_deadly(core: &mut Core) {
    for Deadly { object, space, version, detail } in core::mem::take(&mut core.deadly) {
        let header: Option<Header> = core.read(&key::object(&object));
        if header.is_some_and(|header| header.incarnation == space) {
            let mut guard = of(core, space);
            guard.quarantined = Some(shortened(&detail));
            write(core, space, &guard);
        } else {
            types::stop_creations(core, object.kind, version, &shortened(&detail));
        }
    }
}

/// Whether there is room to keep an object's pages beside those that it will have.
fn has_room(core: &Core, pages: u32) -> bool {
    types::totals(core).memory_bytes + u64::from(pages) * PAGE_BYTES as u64 <= MEMORY_BYTES_MAX
}

/// Moves an object's memory aside, in the place of what was kept before; without room it is not kept. The object's memory is
/// then that of an image.
pub(super) fn keep_before(core: &mut Core, space: u64, root: &Root) {
    keep(core, space, root, move_table);
}

/// Keeps a copy of an object's memory likewise; the object has it, too.
pub(super) fn keep_copy_before(core: &mut Core, space: u64, root: &Root) {
    keep(core, space, root, copy_table);
}

fn keep(core: &mut Core, space: u64, root: &Root, carry: fn(&mut Core, u64, u8, u8)) {
    forget_before(core, space);
    if !has_room(core, root.pages) {
        return;
    }
    carry(core, space, PAGES, KEPT_PAGES);
    carry(core, space, REGISTERS, KEPT_REGISTERS);
    let until_ms = core.meta.stamp_ms.saturating_add(IMAGE_MS);
    deadline::set(core, until_ms, deadline::IMAGE, &space.to_be_bytes(), &());
    let before = Before { version: root.version, pages: root.pages, commands: 0, until_ms };
    // What is kept goes on counting as memory of objects.
    add_memory(core, before.pages, 0);
    let guard = Guard { before: Some(before), ..of(core, space) };
    write(core, space, &guard);
}

/// Takes the memory back that was kept: pages and version of then. What the object had in its place is removed before.
pub(super) fn take_before(core: &mut Core, space: u64, before: &Before) {
    move_table(core, space, KEPT_PAGES, PAGES);
    move_table(core, space, KEPT_REGISTERS, REGISTERS);
    deadline::clear(core, before.until_ms, deadline::IMAGE, &space.to_be_bytes());
    add_memory(core, 0, before.pages);
    let guard = Guard { before: None, ..of(core, space) };
    write(core, space, &guard);
}

/// What was kept is kept no longer.
pub(crate) fn forget_before(core: &mut Core, space: u64) {
    let mut guard = of(core, space);
    let Some(before) = guard.before.take() else { return };
    for table in [KEPT_PAGES, KEPT_REGISTERS] {
        for key in keys_of(core, space, table) {
            core.store.remove(&key);
        }
    }
    deadline::clear(core, before.until_ms, deadline::IMAGE, &space.to_be_bytes());
    add_memory(core, 0, before.pages);
    write(core, space, &guard);
}

/// Whether memory is kept until then.
pub(crate) fn is_kept_until(core: &Core, space: u64, at: i64) -> bool {
    of(core, space).before.is_some_and(|before| before.until_ms == at)
}

fn add_memory(core: &mut Core, more: u32, less: u32) {
    let bytes = |pages: u32| u64::from(pages) * PAGE_BYTES as u64;
    if more != less {
        types::update_totals(core, |totals| {
            totals.memory_bytes = (totals.memory_bytes + bytes(more)).saturating_sub(bytes(less));
        });
    }
}

fn keys_of(core: &Core, space: u64, table: u8) -> Vec<Key> {
    core.store.prefix(&key::entry(space, table, &[])).map(|(key, _)| Key::from(key)).collect()
}

fn move_table(core: &mut Core, space: u64, from: u8, to: u8) {
    for key in keys_of(core, space, from) {
        let Some(record) = core.store.get(&key).map(<[u8]>::to_vec) else { continue };
        core.store.remove(&key);
        core.store.put(key::entry(space, to, key.get(key::ENTRY_HEAD..).unwrap_or_default()), &record);
    }
}

fn copy_table(core: &mut Core, space: u64, from: u8, to: u8) {
    for key in keys_of(core, space, from) {
        let Some(record) = core.store.get(&key).map(<[u8]>::to_vec) else { continue };
        core.store.put(key::entry(space, to, key.get(key::ENTRY_HEAD..).unwrap_or_default()), &record);
    }
}

/// How many pages are kept of an object, for a loader, which counts them.
pub(super) fn kept_pages(core: &Core, space: u64) -> u32 {
    of(core, space).before.map_or(0, |before| before.pages)
}

/// Whether a record can be read.
pub(super) fn is_readable(value: &[u8]) -> bool {
    decoded::<Guard>(value).is_ok_and(|guard| guard != Guard::default())
}
