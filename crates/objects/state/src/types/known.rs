//! What calls ask of a version, as it was read from its records: kept while no record of a type changes.

use super::{AboutMethod, CLOSED, VersionRecord};
use crate::codec::decoded;
use crate::command::TypeId;
use crate::group::Core;
use crate::guest::VersionHash;
use crate::key::{self, kind};
use crate::known_versions::{KnownVersion, KnownVersions};
use crate::store::Store;

/// Versions that are kept, the first that are asked for: of further ones the records are read each time.
const KNOWN_MAX: usize = 32;

/// How often records of types have changed.
fn age(store: &Store) -> u64 {
    [kind::TYPE, kind::VERSION, kind::METHOD, kind::OF_BYTES].iter().map(|kind| store.age(*kind)).sum()
}

/// What is kept of a version, if that is as its records are.
pub(super) fn known(core: &Core, kind: TypeId, version: VersionHash) -> Option<&KnownVersion> {
    place(core, kind, version).map(|place| &core.versions.versions[place])
}

fn place(core: &Core, kind: TypeId, version: VersionHash) -> Option<usize> {
    let KnownVersions { age: read_at, versions, .. } = &core.versions;
    let place = versions.iter().position(|known| known.kind == kind && known.version == version)?;
    (*read_at == age(&core.store)).then_some(place)
}

/// The types, in the order of their names, if what is kept of them is as their records are.
pub(super) fn types(core: &Core) -> Option<&[(Box<str>, TypeId)]> {
    let KnownVersions { types_age, types, .. } = &core.versions;
    (*types_age == core.store.age(kind::TYPE)).then_some(types)
}

fn remember_types(core: &mut Core) {
    let types_age = core.store.age(kind::TYPE);
    if core.versions.types_age == types_age {
        return;
    }
    let types = super::all(core).map(|(kind, known)| (known.name.into_boxed_str(), kind));
    let mut types: Vec<_> = types.collect();
    types.sort_unstable();
    core.versions.types_age = types_age;
    core.versions.types = types;
}

/// Whether a version is known to run: it is not closed, and the engine has made it ready.
pub(crate) fn runs(core: &Core, kind: TypeId, version: VersionHash) -> bool {
    known(core, kind, version).is_some_and(|known| !known.is_closed && known.is_ready)
}

/// A method of a version that is kept.
pub(super) fn method(known: &KnownVersion, name: &str) -> Option<AboutMethod> {
    decoded(&[known.method(name)?]).ok()
}

/// Nothing that was read before is used: the engine is another one.
pub(crate) fn forget_known(core: &mut Core) {
    core.versions = KnownVersions::default();
}

/// A version is about to be asked for more than once.
pub(crate) fn remember(core: &mut Core, kind: TypeId, version: VersionHash) {
    remember_types(core);
    if let Some(place) = place(core, kind, version) {
        if !core.versions.versions[place].is_ready {
            core.versions.versions[place].is_ready = is_ready(core, version);
        }
        return;
    }
    let now = age(&core.store);
    if core.versions.age != now {
        core.versions.age = now;
        core.versions.versions.clear();
    }
    if core.versions.versions.len() < KNOWN_MAX {
        core.versions.versions.extend(read(core, kind, version));
    }
}

/// Whether the engine has made a version ready: who asks does not wait.
fn is_ready(core: &Core, version: VersionHash) -> bool {
    let engine = core.engine.get();
    engine.is_done(version) && engine.ready(version).is_ok()
}

fn read(core: &Core, kind: TypeId, version: VersionHash) -> Option<KnownVersion> {
    let store = &core.store;
    let record = store.get(&key::version(kind, version))?;
    let VersionRecord { hears_sessions, .. } = decoded(record).ok()?;
    let methods = key::method(kind, version, "");
    let named = |(key, record): (&[u8], &[u8])| {
        let name = core::str::from_utf8(key.get(methods.len()..)?).ok()?;
        Some((name.into(), *record.first()?))
    };
    let is_closed = record.first() == Some(&CLOSED);
    let has_bytes = store.get(&key::of_bytes(kind, version)).is_some();
    let methods = store.prefix(&methods).filter_map(named).collect();
    let is_ready = is_ready(core, version);
    Some(KnownVersion { kind, version, methods, has_bytes, is_closed, is_ready, hears_sessions })
}
