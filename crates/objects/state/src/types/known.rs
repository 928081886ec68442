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
    let KnownVersions { age: read_at, versions } = &core.versions;
    let known = versions.iter().find(|known| known.kind == kind && known.version == version)?;
    (*read_at == age(&core.store)).then_some(known)
}

/// A method of a version that is kept.
pub(super) fn method(known: &KnownVersion, name: &str) -> Option<AboutMethod> {
    decoded(&[known.method(name)?]).ok()
}

/// A version is about to be asked for more than once.
pub(crate) fn remember(core: &mut Core, kind: TypeId, version: VersionHash) {
    if known(core, kind, version).is_some() {
        return;
    }
    let now = age(&core.store);
    if core.versions.age != now {
        core.versions = KnownVersions { age: now, versions: Vec::new() };
    }
    if core.versions.versions.len() < KNOWN_MAX {
        core.versions.versions.extend(read(&core.store, kind, version));
    }
}

fn read(store: &Store, kind: TypeId, version: VersionHash) -> Option<KnownVersion> {
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
    Some(KnownVersion { kind, version, methods, has_bytes, is_closed, hears_sessions })
}
