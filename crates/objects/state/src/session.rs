//! Sessions: who holds what, and which replies are kept for whom.
//!
//! A session is opened once and continued under a higher generation; once it has ended its id is used up (`ended.rs`). It has no deadline here: whether its client was
//! silent is found out by asking the living members, and the leader says so with the generation that it asked about.

use crate::codec::{Cursor, Field, Malformed, record};
use crate::command::{NewSession, SessionId};
use crate::effects::Effect;
use crate::ended;
use crate::group::Core;
use crate::key;
use crate::limits::{KEY_BYTES_MAX, SESSION_TTL_MS_MAX, SESSION_TTL_MS_MIN, SESSIONS_MAX};
use crate::problem::{Problem, Slug};
use crate::ranges::Ranges;
use crate::rights;

record! {
    /// An open session.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Session {
        /// A hash of its secret.
        pub secret_hash: [u8; 32],
        /// How many times it was opened or continued.
        pub generation: u32,
        /// For how long it lives without a sign of its client.
        pub ttl_ms: i64,
        /// A name for people.
        pub name: Option<String>,
        /// Who opened it.
        pub principal: String,
        /// At which position it was opened.
        pub since: u64,
        /// Requests up to this number are forgotten.
        pub floor: u64,
        /// Requests whose replies are kept.
        pub unacknowledged: u32,
        /// Calls that wait.
        pub tickets: u32,
        /// Locks, permits, leases and memberships that it holds.
        pub holdings: u32,
        /// Requests above the floor that are forgotten, too.
        pub above: Ranges,
    }
}

impl Session {
    /// Whether the reply to a request was acknowledged: it is not carried out again.
    #[must_use]
    pub fn is_forgotten(&self, request: u64) -> bool {
        request <= self.floor || self.above.contains(request)
    }
}

/// Opens a session, or continues it under a higher generation. Doing it again changes nothing.
pub(crate) fn open(core: &mut Core, new: &NewSession, principal: &str) -> Result<Session, Problem> {
    check_new(new)?;
    let key = key::session(new.id);
    let session = match core.read::<Session>(&key) {
        Some(known) if known.secret_hash != new.secret_hash => {
            return Err(Problem::new(Slug::Exists, "another session has this id"));
        }
        Some(known) if !is_of(core, &known, principal) => return Err(not_own()),
        Some(known) if new.generation <= known.generation => return Ok(known),
        Some(known) => Session { generation: new.generation, ttl_ms: new.ttl_ms, ..known },
        None if ended::is_used(core, new.id) => {
            let detail = "the session with this id has ended: open another one, with an id of its own";
            return Err(Problem::new(Slug::SessionExpired, detail));
        }
        None if core.meta.sessions >= SESSIONS_MAX => {
            let detail = format!("{SESSIONS_MAX} sessions are open");
            return Err(Problem::new(Slug::SessionsFull, detail));
        }
        None => {
            ended::forget(core, new.id);
            core.meta.sessions += 1;
            fresh(new, principal, core.meta.position)
        }
    };
    core.write(key, &session);
    core.out.push(Effect::SessionOpened { session: new.id, generation: session.generation });
    Ok(session)
}

fn check_new(new: &NewSession) -> Result<(), Problem> {
    if !(SESSION_TTL_MS_MIN..=SESSION_TTL_MS_MAX).contains(&new.ttl_ms) {
        let detail = format!("not between {SESSION_TTL_MS_MIN} and {SESSION_TTL_MS_MAX}");
        return Err(Problem::argument("ttl_ms", detail));
    }
    if new.name.as_ref().is_some_and(|name| name.len() > KEY_BYTES_MAX) {
        return Err(Problem::argument("name", format!("longer than {KEY_BYTES_MAX} bytes")));
    }
    Ok(())
}

fn fresh(new: &NewSession, principal: &str, since: u64) -> Session {
    Session {
        secret_hash: new.secret_hash,
        generation: new.generation,
        ttl_ms: new.ttl_ms,
        name: new.name.clone(),
        principal: principal.into(),
        since,
        floor: 0,
        unacknowledged: 0,
        tickets: 0,
        holdings: 0,
        above: Ranges::new(),
    }
}

/// Changes a session that is open.
pub(crate) fn update(core: &mut Core, id: SessionId, change: impl FnOnce(&mut Session)) {
    let key = key::session(id);
    if let Some(mut session) = core.read::<Session>(&key) {
        change(&mut session);
        core.write(key, &session);
    }
}

pub(crate) fn find(core: &Core, id: SessionId) -> Result<Session, Problem> {
    core.read(&key::session(id)).ok_or_else(|| gone(id))
}

/// Whether a session is that principal's. Builds before access was judged did not ask.
pub(crate) fn is_of(core: &Core, session: &Session, principal: &str) -> bool {
    session.principal == principal || core.meta.feature_level < rights::LEVEL
}

/// Whoever knows its secret, it is its principal's.
pub(crate) fn not_own() -> Problem {
    Problem::new(Slug::Forbidden, "the session is another principal's")
}

fn gone(id: SessionId) -> Problem {
    Problem::new(Slug::SessionExpired, format!("there is no session {id}"))
}

/// How many calls of a session wait, and how much it holds: together, without reading the rest.
pub(crate) fn burden(core: &Core, id: SessionId) -> Result<u32, Problem> {
    let burden = core.store.get(&key::session(id)).and_then(|record| burden_of(record).ok());
    burden.ok_or_else(|| gone(id))
}

fn burden_of(record: &[u8]) -> Result<u32, Malformed> {
    let at = &mut Cursor::new(record);
    <[u8; 32]>::skip(at)?;
    u32::skip(at)?;
    i64::skip(at)?;
    Option::<String>::skip(at)?;
    String::skip(at)?;
    u64::skip(at)?;
    u64::skip(at)?;
    u32::skip(at)?;
    Ok(u32::take(at)? + u32::take(at)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{decoded, encoded};

    #[test]
    fn record_of_a_build_that_knew_no_ranges_is_read() {
        let mut session = Session {
            secret_hash: [7; 32],
            generation: 1,
            ttl_ms: 10_000,
            name: None,
            principal: "ann".into(),
            since: 4,
            floor: 9,
            unacknowledged: 2,
            tickets: 0,
            holdings: 3,
            above: Ranges::new(),
        };
        let written = [&[7; 32][..], &[1, 0xa0, 0x9c, 1, 0, 3], b"ann", &[4, 9, 2, 0, 3]].concat();
        assert_eq!((encoded(&session), decoded(&written)), (written, Ok(session.clone())));
        session.tickets = 5;
        assert_eq!(burden_of(&encoded(&session)), Ok(8));
        assert!(session.above.insert(11, 12));
        assert_eq!(decoded(&encoded(&session)), Ok(session));
    }
}
