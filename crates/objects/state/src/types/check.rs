//! Whether the records of types fit together.

use std::collections::BTreeMap;

use super::upload::{Module, digest};
use super::{AboutMethod, Standing, Totals, UserType, VersionRecord, VersionText};
use crate::codec::{Malformed, decoded};
use crate::command::TypeId;
use crate::deadline;
use crate::group::Core;
use crate::guest::{PAGE_BYTES, VersionHash};
use crate::key::{self, kind};
use crate::limits::PIECE_BYTES;

type Sound = Result<(), Malformed>;

fn must(holds: bool, why: &'static str) -> Sound {
    if holds { Ok(()) } else { Err(Malformed(why)) }
}

/// Nothing is missing and nothing is left over. `objects` says how many objects each version has, and `pages` how many pages
/// they have together.
pub(crate) fn sound(core: &Core, objects: &BTreeMap<(u8, VersionHash), u64>, pages: u64) -> Sound {
    let mut counted = Totals { memory_bytes: pages * PAGE_BYTES as u64, ..Totals::default() };
    let mut users: BTreeMap<[u8; 32], u32> = BTreeMap::new();
    for (key, value) in core.store.prefix(&[kind::VERSION]) {
        let (number, hash) = named(key)?;
        let found: VersionRecord = decoded(value)?;
        counted.versions += 1;
        counted.preparing += u32::from(found.standing == Standing::Preparing);
        if !matches!(found.standing, Standing::Rejected(..)) {
            *users.entry(found.module).or_default() += 1;
        }
        version(core, (number, hash), &found)?;
        let has = objects.get(&(number.0, hash)).copied().unwrap_or(0);
        must(has == found.objects, "check: objects of a version are miscounted")?;
    }
    for (number, hash) in objects.keys() {
        let found = super::version(core, TypeId(*number), *hash);
        must(
            found.is_some_and(|found| matches!(found.standing, Standing::Ready | Standing::Closed(_))),
            "check: an object without a version",
        )?;
    }
    modules(core, &users, &mut counted)?;
    counted.last = super::totals(core).last;
    must(counted == super::totals(core), "check: the totals of types are wrong")?;
    super::stopped::sound(core)?;
    of_versions(core)
}

fn named(key: &[u8]) -> Result<(TypeId, VersionHash), Malformed> {
    let number = key.get(1).ok_or(Malformed("check: a type's number"))?;
    let hash = key.get(2..).and_then(<[u8]>::first_chunk).ok_or(Malformed("check: a version's hash"))?;
    Ok((TypeId(*number), VersionHash(*hash)))
}

fn version(core: &Core, (number, hash): (TypeId, VersionHash), found: &VersionRecord) -> Sound {
    must(super::find(core, number).is_some(), "check: a version without a type")?;
    let text: Option<VersionText> = core.read(&key::version_text(number, hash));
    let text = text.ok_or(Malformed("check: a version without a description"))?;
    let of = VersionHash::of(found.module, text.source.as_deref(), text.description.as_bytes());
    must(of == hash, "check: a version of another hash")?;
    if let Standing::Rejected(_, until_ms) = found.standing {
        let key = key::deadline(until_ms, deadline::REJECTED, &[&[number.0][..], &hash.0].concat());
        must(core.store.get(&key).is_some(), "check: a rejection is never forgotten")?;
    }
    Ok(())
}

/// Modules and their pieces.
fn modules(core: &Core, users: &BTreeMap<[u8; 32], u32>, counted: &mut Totals) -> Sound {
    let mut pieces = 0;
    for (key, value) in core.store.prefix(&[kind::MODULE]) {
        let hash = *key.get(1..).and_then(<[u8]>::first_chunk).ok_or(Malformed("check: a module's key"))?;
        let module: Module = decoded(value)?;
        must(
            users.get(&hash).copied().unwrap_or(0) == module.users,
            "check: a module's users are miscounted",
        )?;
        counted.uploads += u32::from(module.users == 0);
        counted.module_bytes += module.size;
        let has_deadline = module
            .until_ms
            .is_some_and(|at| core.store.get(&key::deadline(at, deadline::UPLOAD, &hash)).is_some());
        must(has_deadline == (module.users == 0), "check: an upload is never thrown away")?;
        let mut bytes = 0;
        for (number, (key, piece)) in (0..).zip(core.store.prefix(&key::pieces(hash))) {
            must(
                *key == key::piece(hash, number)[..] && piece.len() <= PIECE_BYTES,
                "check: a piece is missing",
            )?;
            bytes += piece.len() as u64;
            pieces += 1;
        }
        must(bytes == module.received && bytes <= module.size, "check: bytes of a module are missing")?;
        must(bytes < module.size || digest(core, hash) == hash, "check: a module of another hash")?;
    }
    must(pieces == core.store.prefix(&[kind::PIECE]).count(), "check: a piece of no module")?;
    let is_there = |hash: &[u8; 32]| core.read::<Module>(&key::module(*hash)).is_some();
    must(users.keys().all(is_there), "check: a version without a module")
}

/// Types, descriptions and methods lead to versions.
fn of_versions(core: &Core) -> Sound {
    for (key, value) in core.store.prefix(&[kind::TYPE]) {
        let known: UserType = decoded(value)?;
        let number = TypeId(*key.get(1).ok_or(Malformed("check: a type's number"))?);
        must(key.len() == 2 && super::is_user(number), "check: a type's number")?;
        must(super::versions(core, number).next().is_some(), "check: a type without a version")?;
        let is_ready =
            |hash| super::version(core, number, hash).is_some_and(|found| found.standing == Standing::Ready);
        must(known.current.is_none_or(is_ready), "check: a type's version is not ready")?;
    }
    for (key, value) in core.store.prefix(&[kind::METHOD]) {
        decoded::<AboutMethod>(value)?;
        let (number, hash) = named(key)?;
        must(super::version(core, number, hash).is_some(), "check: a method of no version")?;
    }
    for (key, value) in core.store.prefix(&[kind::OF_BYTES]) {
        decoded::<()>(value)?;
        let (number, hash) = named(key)?;
        let methods = core.store.prefix(&key::method(number, hash, ""));
        let has_one =
            methods.filter_map(|(_, value)| decoded::<AboutMethod>(value).ok()).any(|of| of.is_of_bytes);
        must(has_one, "check: a version has no method that takes bytes")?;
    }
    for (key, _) in core.store.prefix(&[kind::VERSION_TEXT]) {
        let (number, hash) = named(key)?;
        must(super::version(core, number, hash).is_some(), "check: a description of no version")?;
    }
    Ok(())
}

/// Whether a module is thrown away then.
pub(crate) fn is_upload(core: &Core, id: &[u8], at: i64) -> bool {
    let module = id.first_chunk().and_then(|hash| core.read::<Module>(&key::module(*hash)));
    module.is_some_and(|module| module.until_ms == Some(at))
}

/// Whether a rejection is forgotten then.
pub(crate) fn is_rejected(core: &Core, id: &[u8], at: i64) -> bool {
    let Some((kind, Some(hash))) = id.split_first().map(|(kind, hash)| (kind, hash.first_chunk())) else {
        return false;
    };
    let found = super::version(core, TypeId(*kind), VersionHash(*hash));
    matches!(found.map(|found| found.standing), Some(Standing::Rejected(_, until_ms)) if until_ms == at)
}
