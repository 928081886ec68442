//! Versions become ready or are rejected, are closed and opened again: what the members' engines say of them.
//!
//! The log says what they said, so that each member does the same, whatever its own build makes of the module.

use super::description::Description;
use super::put::{forget_in_engine, leave_current, make_current, write_methods};
use super::{REASONS_LEVEL, Standing, VersionRecord, VersionText, find, update_totals, upload, version};
use crate::command::{TypeId, Verdict};
use crate::deadline;
use crate::group::Core;
use crate::guest::VersionHash;
use crate::key;
use crate::limits::{DESCRIPTION_BYTES_MAX, REASON_BYTES_MAX, UPLOAD_MS};

/// The members' engines are done with a version, or one of them rejects it. Without effect on one that this is no news of.
pub(crate) fn verdict(core: &mut Core, kind: TypeId, hash: VersionHash, verdict: &Verdict) {
    let Some(found) = version(core, kind, hash) else { return };
    core.types_changes += 1;
    let rejected = verdict.rejected.clone().map(shortened);
    match (&found.standing, rejected) {
        (Standing::Preparing, rejected) => {
            let said = rejected.map_or_else(|| Ok(verdict.described.clone()), Err);
            decide(core, kind, hash, found, said);
        }
        (Standing::Ready, Some(detail)) => {
            let standing = Standing::Closed(detail);
            core.write(key::version(kind, hash), &VersionRecord { standing, ..found });
            leave_current(core, kind, hash);
        }
        (Standing::Closed(_), None) => {
            core.write(key::version(kind, hash), &VersionRecord { standing: Standing::Ready, ..found });
            if find(core, kind).is_some_and(|known| known.current.is_none()) {
                make_current(core, kind, Some(hash));
            }
        }
        _ => {}
    }
}

/// The same, as logs of feature level 2 have it: each member waits for its own engine, and asks that.
pub(crate) fn ready(core: &mut Core, kind: TypeId, hash: VersionHash) {
    let Some(found) = version(core, kind, hash).filter(|found| found.standing == Standing::Preparing) else {
        return;
    };
    core.types_changes += 1;
    let engine = core.engine.get();
    let said = engine.ready(hash).map(|()| engine.description(hash)).map_err(|why| why.detail);
    decide(core, kind, hash, found, said);
}

fn shortened(mut detail: String) -> String {
    detail.truncate(detail.floor_char_boundary(REASON_BYTES_MAX));
    detail
}

/// A version that is being prepared is ready, with what its source says of itself, or rejected.
fn decide(
    core: &mut Core,
    kind: TypeId,
    hash: VersionHash,
    mut found: VersionRecord,
    said: Result<Option<Vec<u8>>, String>,
) {
    update_totals(core, |totals| totals.preparing -= 1);
    match said.and_then(|said| describe(core, kind, hash, &mut found, said)) {
        Ok(()) => {
            core.write(key::version(kind, hash), &VersionRecord { standing: Standing::Ready, ..found });
            make_current(core, kind, Some(hash));
        }
        // Members' engines have said less; earlier builds keep all that is said of a description.
        Err(detail) if core.meta.feature_level >= REASONS_LEVEL => {
            reject(core, kind, hash, found, shortened(detail));
        }
        Err(detail) => reject(core, kind, hash, found, detail),
    }
}

/// What the runner of a version says of the source that it has loaded takes the place of a description.
///
/// # Errors
/// It is none.
fn describe(
    core: &mut Core,
    kind: TypeId,
    hash: VersionHash,
    found: &mut VersionRecord,
    said: Option<Vec<u8>>,
) -> Result<(), String> {
    let Some(mut text) = core.read::<VersionText>(&key::version_text(kind, hash)) else { return Ok(()) };
    let Some(said) = said.filter(|_| text.source.is_some()) else { return Ok(()) };
    if said.len() > DESCRIPTION_BYTES_MAX {
        return Err(String::from("what the runner says of the source is too long"));
    }
    let said =
        String::from_utf8(said).map_err(|_| String::from("what the runner says of the source is no text"))?;
    let description = Description::parse(&said, core.meta.feature_level).map_err(|problem| problem.detail)?;
    write_methods(core, kind, hash, &description);
    found.hears_sessions = description.hears_sessions.unwrap_or(found.hears_sessions);
    found.layout.clone_from(&description.layout);
    text.described = Some(said);
    core.write(key::version_text(kind, hash), &text);
    Ok(())
}

fn reject(core: &mut Core, kind: TypeId, hash: VersionHash, found: VersionRecord, detail: String) {
    let until_ms = core.meta.stamp_ms.saturating_add(UPLOAD_MS);
    let module = found.module;
    let standing = Standing::Rejected(detail, until_ms);
    core.write(key::version(kind, hash), &VersionRecord { standing, ..found });
    deadline::set(core, until_ms, deadline::REJECTED, &[&[kind.0][..], &hash.0].concat(), &());
    upload::end_use(core, module);
    forget_in_engine(core, hash);
}
