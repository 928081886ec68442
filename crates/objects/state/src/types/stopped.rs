//! Versions whose creations have killed members: no objects are created of them until somebody who looks after the type says
//! otherwise. The objects that there are go on.
//!
//! A copy of a creation is no repeat of it, and who asks without a key asks anew each time. Each would kill each member twice
//! before it is refused, for as long as somebody asks. So the first whose run is refused for good stops the next ones, at the
//! position at which it is refused, at all members.

use super::{find, named, no_such_version, version};
use crate::codec::{Malformed, decoded};
use crate::command::TypeId;
use crate::group::Core;
use crate::guest::VersionHash;
use crate::key::{self, kind};
use crate::limits::REASON_BYTES_MAX;
use crate::problem::{Problem, Slug};
use crate::reply::Reply;

/// The feature level from which on creations are stopped, and released. Builds before it would go on to run them.
const LEVEL: u32 = 9;

/// The process of a member has died in the creation of an object of that version as often as it may.
pub(crate) fn stop(core: &mut Core, kind: TypeId, hash: VersionHash, reason: &str) {
    if core.meta.feature_level < LEVEL || version(core, kind, hash).is_none() {
        return;
    }
    core.types_changes += 1;
    core.write(key::stopped(kind, hash), &String::from(reason));
}

/// Why no objects of a version are created, if none are.
pub(super) fn reason(core: &Core, kind: TypeId, hash: VersionHash) -> Option<String> {
    core.read(&key::stopped(kind, hash))
}

/// Whether objects of a version may be created.
///
/// # Errors
/// A creation has killed members.
pub(crate) fn check(core: &Core, kind: TypeId, hash: VersionHash) -> Result<(), Problem> {
    let Some(reason) = reason(core, kind, hash) else { return Ok(()) };
    let detail = format!(
        "no objects of this version are created, for the creation of one has killed members ({reason}): upload a version that \
         does not, or allow it again with `POST types/{}/{hash}:release`",
        find(core, kind).map_or_else(String::new, |known| known.name)
    );
    Err(Problem::new(Slug::Quarantined, detail))
}

/// Objects of a version may be created again. Repeating it changes nothing.
///
/// # Errors
/// There is no such version.
pub(crate) fn release(core: &mut Core, name: &str, hash: VersionHash) -> Result<String, Problem> {
    let kind = named(core, name).ok_or_else(crate::answer::no_such_type)?;
    version(core, kind, hash).ok_or_else(|| no_such_version(hash))?;
    let was_stopped = core.store.remove(&key::stopped(kind, hash));
    core.types_changes += u64::from(was_stopped);
    Ok(Reply::new().flag("released", was_stopped).finish())
}

/// Each record is of a version that there is, and says why.
pub(super) fn sound(core: &Core) -> Result<(), Malformed> {
    for (key, value) in core.store.prefix(&[kind::STOPPED]) {
        let number = TypeId(*key.get(1).ok_or(Malformed("check: a type's number"))?);
        let hash = key.get(2..).and_then(|hash| hash.try_into().ok()).map(VersionHash);
        let hash = hash.ok_or(Malformed("check: a version's hash"))?;
        let reason: String = decoded(value)?;
        if find(core, number).is_none() || version(core, number, hash).is_none() {
            return Err(Malformed("check: creations of no version are stopped"));
        }
        if reason.len() > REASON_BYTES_MAX {
            return Err(Malformed("check: creations are stopped for a reason that is too long"));
        }
    }
    Ok(())
}
