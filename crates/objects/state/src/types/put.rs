//! Versions come and go.

use super::description::Description;
use super::{
    Standing, UserType, VersionRecord, VersionText, closed, find, named, no_such_version, prepare, rejected,
    section, totals, update_totals, upload, version, versions,
};
use crate::command::TypeId;
use crate::deadline;
use crate::group::Core;
use crate::guest::VersionHash;
use crate::key::{self, Key};
use crate::limits::{
    DESCRIPTION_BYTES_MAX, SOURCE_BYTES_MAX, TYPE_NAME_BYTES_MAX, USER_TYPE_MAX, USER_TYPE_MIN,
    USER_TYPES_MAX, VERSIONS_MAX,
};
use crate::problem::{Problem, Slug};
use crate::reply::Reply;

/// What a version is to be made of.
pub(crate) struct New<'a> {
    pub(crate) name: &'a str,
    pub(crate) module: [u8; 32],
    pub(crate) source: Option<&'a [u8]>,
    pub(crate) description: &'a str,
}

/// Makes a version, and has the engine begin with it. One that is there already stays what it is; if it is ready, new objects
/// have it from now on.
pub(crate) fn put(core: &mut Core, new: &New<'_>) -> Result<String, Problem> {
    check_name(new.name)?;
    if new.source.is_some_and(|source| source.len() > SOURCE_BYTES_MAX) {
        return Err(Problem::new(
            Slug::TooLarge,
            format!("a source has {SOURCE_BYTES_MAX} bytes at the most"),
        ));
    }
    if new.description.len() > DESCRIPTION_BYTES_MAX {
        let detail = format!("a description has {DESCRIPTION_BYTES_MAX} bytes at the most");
        return Err(Problem::new(Slug::TooLarge, detail));
    }
    let description = Description::parse(new.description, core.meta.feature_level)?;
    let hash = VersionHash::of(new.module, new.source, new.description.as_bytes());
    let known = named(core, new.name);
    if let Some((kind, found)) = known.and_then(|kind| Some((kind, version(core, kind, hash)?))) {
        return again(core, kind, (hash, &found), new.name);
    }
    let kind = known.map_or_else(|| free_number(core), Ok)?;
    if totals(core).versions >= VERSIONS_MAX {
        return Err(Problem::new(Slug::Quota, format!("{VERSIONS_MAX} versions are kept: delete some")));
    }
    upload::begin_use(core, new.module)?;
    if known.is_none() {
        core.write(key::user_type(kind), &UserType { name: new.name.into(), current: None });
        update_totals(core, |totals| totals.last = kind.0);
    }
    write(core, kind, hash, new, &description);
    core.types_changes += 1;
    update_totals(core, |totals| {
        totals.versions += 1;
        totals.preparing += 1;
    });
    prepare(core, kind, hash, new.module);
    Ok(shown(new.name, hash, "preparing"))
}

fn write(core: &mut Core, kind: TypeId, hash: VersionHash, new: &New<'_>, description: &Description) {
    let has_export = || section::exports(&upload::bytes(core, new.module), "session_expired");
    let record = VersionRecord {
        standing: Standing::Preparing,
        module: new.module,
        since: core.meta.position,
        hears_sessions: description.hears_sessions.unwrap_or_else(has_export),
        layout: description.layout.clone(),
        objects: 0,
    };
    core.write(key::version(kind, hash), &record);
    let (description_text, source) = (new.description.into(), new.source.map(Vec::from));
    let text = VersionText { description: description_text, described: None, source };
    core.write(key::version_text(kind, hash), &text);
    write_methods(core, kind, hash, description);
}

pub(super) fn write_methods(core: &mut Core, kind: TypeId, hash: VersionHash, description: &Description) {
    for (name, is) in &description.methods {
        core.write(key::method(kind, hash, name), is);
    }
    if description.methods.iter().any(|(_, is)| is.is_of_bytes) {
        core.write(key::of_bytes(kind, hash), &());
    }
}

fn shown(name: &str, hash: VersionHash, state: &str) -> String {
    Reply::new().text("type", name).text("version", &hash.to_string()).text("state", state).finish()
}

/// The same version was put before.
fn again(
    core: &mut Core,
    kind: TypeId,
    (hash, found): (VersionHash, &VersionRecord),
    name: &str,
) -> Result<String, Problem> {
    match &found.standing {
        Standing::Rejected(detail, _) => Err(rejected(detail)),
        Standing::Closed(detail) => Err(closed(detail)),
        Standing::Preparing => Ok(shown(name, hash, "preparing")),
        Standing::Ready => {
            make_current(core, kind, Some(hash));
            Ok(shown(name, hash, "ready"))
        }
    }
}

pub(super) fn make_current(core: &mut Core, kind: TypeId, current: Option<VersionHash>) {
    if let Some(known) = find(core, kind) {
        core.write(key::user_type(kind), &UserType { current, ..known });
    }
}

/// A name of a type: as a part of a path, a name of a host and a file.
fn check_name(name: &str) -> Result<(), Problem> {
    let is_word =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    let is_name = (1..=TYPE_NAME_BYTES_MAX).contains(&name.len())
        && name.as_bytes()[0].is_ascii_lowercase()
        && name.bytes().all(is_word);
    if !is_name {
        let detail = format!(
            "a type's name has 1 to {TYPE_NAME_BYTES_MAX} small letters, digits, `-` and `_`, and begins with a letter"
        );
        return Err(Problem::argument("name", detail));
    }
    Ok(())
}

/// A number that no record names: the next one, or, when all were given, one that is free and whose objects' records are all
/// swept.
fn free_number(core: &Core) -> Result<TypeId, Problem> {
    let count = super::all(core).count();
    let last = totals(core).last.max(USER_TYPE_MIN - 1);
    if count < USER_TYPES_MAX && last < USER_TYPE_MAX {
        return Ok(TypeId(last + 1));
    }
    let mut free = (USER_TYPE_MIN..=USER_TYPE_MAX).filter(|number| find(core, TypeId(*number)).is_none());
    match free.next().filter(|_| core.meta.graves == 0) {
        Some(number) => Ok(TypeId(number)),
        None => Err(Problem::new(Slug::Quota, format!("there are {USER_TYPES_MAX} types: delete some"))),
    }
}

/// The time for which a rejection is remembered is over.
pub(crate) fn forget_rejected(core: &mut Core, id: &[u8]) {
    if let Some((kind, hash)) = id.split_first()
        && let Some(hash) = hash.first_chunk()
    {
        remove(core, TypeId(*kind), VersionHash(*hash));
    }
}

/// Deletes a version that no object has. New objects get the latest one that is left; without any the type is gone.
pub(crate) fn delete(core: &mut Core, name: &str, hash: VersionHash) -> Result<String, Problem> {
    let kind = named(core, name).ok_or_else(crate::answer::no_such_type)?;
    let found = version(core, kind, hash).ok_or_else(|| no_such_version(hash))?;
    if found.objects > 0 {
        let detail = format!("{} objects have this version: migrate or delete them first", found.objects);
        return Err(Problem::new(Slug::InUse, detail));
    }
    match found.standing {
        Standing::Preparing => {
            update_totals(core, |totals| totals.preparing -= 1);
            upload::end_use(core, found.module);
        }
        Standing::Ready | Standing::Closed(_) => upload::end_use(core, found.module),
        Standing::Rejected(_, until_ms) => {
            deadline::clear(core, until_ms, deadline::REJECTED, &[&[kind.0][..], &hash.0].concat());
        }
    }
    remove(core, kind, hash);
    forget_in_engine(core, hash);
    Ok(Reply::new().flag("deleted", true).finish())
}

/// The engine may forget a version that no type has.
pub(super) fn forget_in_engine(core: &Core, hash: VersionHash) {
    let has = |found: VersionRecord| !matches!(found.standing, Standing::Rejected(..));
    if !super::all(core).any(|(kind, _)| version(core, kind, hash).is_some_and(has)) {
        core.engine.get().forget_version(hash);
    }
}

/// Removes the records of a version.
fn remove(core: &mut Core, kind: TypeId, hash: VersionHash) {
    core.types_changes += 1;
    core.store.remove(&key::version(kind, hash));
    core.store.remove(&key::version_text(kind, hash));
    core.store.remove(&key::stopped(kind, hash));
    core.store.remove(&key::of_bytes(kind, hash));
    let methods = key::method(kind, hash, "");
    let methods: Vec<_> = core.store.prefix(&methods).map(|(key, _)| Key::from(key)).collect();
    for key in &methods {
        core.store.remove(key);
    }
    update_totals(core, |totals| totals.versions -= 1);
    if versions(core, kind).next().is_none() {
        core.store.remove(&key::user_type(kind));
        return;
    }
    leave_current(core, kind, hash);
}

/// New objects get the latest version that is ready, if that one was theirs.
pub(super) fn leave_current(core: &mut Core, kind: TypeId, hash: VersionHash) {
    if find(core, kind).is_some_and(|known| known.current == Some(hash)) {
        let ready = versions(core, kind).filter(|(_, left)| left.standing == Standing::Ready);
        let latest = ready.max_by_key(|(_, left)| left.since).map(|(hash, _)| hash);
        make_current(core, kind, latest);
    }
}
