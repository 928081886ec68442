//! Sessions that have ended: their ids are not used again. A client brings an id of its own, so that it can repeat the request
//! that opens its session. Such a repeat may be on its way for long; were it to open a session that has ended, late copies of
//! that session's requests would be carried out once more, and a verdict on the old one could end the new one.
//!
//! Nothing happens when the time of such an id is over: ids that are out of date leave when further sessions end.

use crate::codec::{Malformed, decoded, record};
use crate::command::SessionId;
use crate::group::Core;
use crate::key::{self, kind};
use crate::limits::{ENDED_SESSION_MS, ENDED_SESSIONS_MAX};

/// The feature level from which on they are kept.
const ENDED_LEVEL: u32 = 4;
/// How many leave for each that comes: more than one, so that a crowd is gone in time.
const LEAVING: usize = 2;

record! {
    /// An id that was used.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Ended {
        position: u64,
        at_ms: i64,
    }
}

/// A session has ended.
pub(crate) fn note(core: &mut Core, id: SessionId) {
    if core.meta.feature_level < ENDED_LEVEL {
        return;
    }
    let (position, at_ms) = (core.meta.position, core.meta.stamp_ms);
    core.write(key::ended_session(id), &Ended { position, at_ms });
    core.write(key::ended_at(position, id), &());
    count(core, 1);
    for _ in 0..LEAVING {
        leave(core);
    }
}

/// Whether a session with this id has ended so lately that no other may have it.
pub(crate) fn is_used(core: &Core, id: SessionId) -> bool {
    core.read(&key::ended_session(id)).is_some_and(|ended: Ended| !is_over(core, ended))
}

/// A session with this id is opened, long after another one had it.
pub(crate) fn forget(core: &mut Core, id: SessionId) {
    if let Some(Ended { position, .. }) = core.read(&key::ended_session(id)) {
        remove(core, position, id);
    }
}

fn remove(core: &mut Core, position: u64, id: SessionId) {
    core.store.remove(&key::ended_session(id));
    core.store.remove(&key::ended_at(position, id));
    count(core, -1);
}

fn is_over(core: &Core, ended: Ended) -> bool {
    core.meta.stamp_ms.saturating_sub(ended.at_ms) >= ENDED_SESSION_MS
}

/// The oldest leaves, if its time is over or there are too many.
fn leave(core: &mut Core) {
    let oldest = core.store.prefix(&[kind::ENDED_AT]).next();
    let Some(id) = oldest.and_then(|(key, _)| key.last_chunk::<16>().map(|id| SessionId(*id))) else {
        return;
    };
    let Some(ended) = core.read::<Ended>(&key::ended_session(id)) else { return };
    if is_over(core, ended) || total(core) > ENDED_SESSIONS_MAX {
        remove(core, ended.position, id);
    }
}

fn total(core: &Core) -> u64 {
    core.read(&key::ended_total()).unwrap_or_default()
}

fn count(core: &mut Core, change: i64) {
    let total = total(core).saturating_add_signed(change);
    core.write(key::ended_total(), &total);
}

/// Whether both indexes name the same sessions, none of them open, as many as are counted.
pub(crate) fn sound(core: &Core) -> Result<(), Malformed> {
    let wrong = Err(Malformed("check: an ended session"));
    let mut found = 0;
    for (key, value) in core.store.prefix(&[kind::ENDED_SESSION]) {
        let Ended { position, .. } = decoded(value)?;
        let Ok(id) = key[1..].try_into().map(SessionId) else { return wrong };
        let is_open = core.store.get(&key::session(id)).is_some();
        if is_open || core.store.get(&key::ended_at(position, id)).is_none() {
            return wrong;
        }
        found += 1;
    }
    if found == total(core) && core.store.prefix(&[kind::ENDED_AT]).count() as u64 == found {
        Ok(())
    } else {
        wrong
    }
}
