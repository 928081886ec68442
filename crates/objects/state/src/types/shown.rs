//! What is told of types.

use super::{Standing, VersionText};
use crate::command::TypeId;
use crate::group::Core;
use crate::guest::VersionHash;
use crate::key;

/// What is known of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeInfo {
    /// Its number.
    pub kind: TypeId,
    /// Its name.
    pub name: String,
    /// The version of new objects.
    pub current: Option<VersionHash>,
    /// All versions, by their hashes.
    pub versions: Vec<VersionInfo>,
}

/// What is known of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionInfo {
    /// Its name.
    pub hash: VersionHash,
    /// `preparing`, `ready`, `rejected` or `closed`.
    pub state: &'static str,
    /// The rule that it breaks, if it is rejected or closed.
    pub rejected: Option<String>,
    /// Why no objects of it are created, if a creation has killed members.
    pub stopped: Option<String>,
    /// The position at which it came.
    pub since: u64,
    /// The hash of its module.
    pub module: [u8; 32],
    /// Objects of this version.
    pub objects: u64,
    /// JSON.
    pub description: String,
}

pub(crate) fn info(core: &Core, kind: TypeId) -> Option<TypeInfo> {
    let known = super::find(core, kind)?;
    let versions = super::versions(core, kind).map(|(hash, found)| {
        let text: Option<VersionText> = core.read(&key::version_text(kind, hash));
        let (state, rejected) = match found.standing {
            Standing::Preparing => ("preparing", None),
            Standing::Ready => ("ready", None),
            Standing::Rejected(detail, _) => ("rejected", Some(detail)),
            Standing::Closed(detail) => ("closed", Some(detail)),
        };
        let description = text.map_or_else(String::new, VersionText::shown);
        let (since, module, objects) = (found.since, found.module, found.objects);
        let stopped = super::stopped::reason(core, kind, hash);
        VersionInfo { hash, state, rejected, stopped, since, module, objects, description }
    });
    Some(TypeInfo { kind, versions: versions.collect(), name: known.name, current: known.current })
}
