//! Fetch sessions (KIP-227): a client names its partitions once, and then only what changes.
//!
//! The table is bounded by sessions and by partitions. When it is full a client gets no session, and names all its
//! partitions each time; a session that was not used for a while gives its place to a new one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::{MonoTime, Random};
use log_wire::ErrorCode;

use super::set::FetchSet;
use crate::client::Client;
use crate::waits::Waiter;

/// The number of a session: positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionId(pub(crate) i32);

/// A session with that epoch is asked for: one that begins, or none.
pub(crate) const NEW_SESSION: i32 = 0;
/// See [`NEW_SESSION`].
pub(crate) const NO_SESSION: i32 = -1;

/// How long a session is safe from being replaced after its last use, milliseconds.
const KEPT_MS: u64 = 120_000;
/// How many partitions all sessions have together.
const PARTITIONS_MAX: usize = 1_000_000;

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) set: FetchSet,
    owner: SessionOwner,
    /// Whether its topics are named by id.
    by_id: bool,
    /// The number of its next request.
    next_epoch: i32,
    used: MonoTime,
    /// The fetch of it that waits.
    pub(crate) waiting: Option<Waiter>,
}

/// Whose a session is.
#[derive(Clone, Debug)]
pub(crate) struct SessionOwner {
    /// Who has begun it. Nobody else goes on with it or ends it.
    pub(crate) client: Arc<Client>,
    /// The rules of access under which its partitions were looked at last.
    pub(crate) rules_version: u64,
}

/// All sessions. See the module.
#[derive(Debug)]
pub(crate) struct Sessions {
    sessions: BTreeMap<SessionId, Session>,
    by_use: BTreeSet<(MonoTime, SessionId)>,
    partitions: usize,
    sessions_max: usize,
    random: Random,
}

impl Session {
    /// Rules of access have changed since its partitions were looked at: all of them are looked at again.
    pub(crate) fn follow_rules(&mut self, rules_version: u64) {
        if self.owner.rules_version != rules_version {
            self.owner.rules_version = rules_version;
            let all: Vec<_> = self.set.all().map(|(place, _)| place).collect();
            all.into_iter().for_each(|place| self.set.enqueue(place));
        }
    }
}

impl Sessions {
    pub(crate) const fn new(sessions_max: usize, seed: u64) -> Self {
        Self {
            sessions: BTreeMap::new(),
            by_use: BTreeSet::new(),
            partitions: 0,
            sessions_max,
            random: Random::new(seed),
        }
    }

    /// Which sessions must end for one of so many partitions to begin; nothing if it must not begin.
    pub(crate) fn room_for(&self, partitions: usize, now: MonoTime) -> Option<Option<SessionId>> {
        if self.partitions + partitions > PARTITIONS_MAX || self.sessions_max == 0 {
            return None;
        }
        if self.sessions.len() < self.sessions_max {
            return Some(None);
        }
        let (used, oldest) = *self.by_use.first()?;
        (used.plus_ms(KEPT_MS) < now).then_some(Some(oldest))
    }

    /// A session begins.
    pub(crate) fn begin(
        &mut self,
        set: FetchSet,
        owner: SessionOwner,
        by_id: bool,
        now: MonoTime,
    ) -> SessionId {
        let mut id = SessionId(0);
        while id.0 == 0 || self.sessions.contains_key(&id) {
            id = SessionId(i32::try_from(self.random.below(i32::MAX as u64)).unwrap_or(0));
        }
        self.partitions += set.len();
        self.by_use.insert((now, id));
        self.sessions.insert(id, Session { set, owner, by_id, next_epoch: 1, used: now, waiting: None });
        id
    }

    /// Whether there is such a session, and it is that client's.
    pub(crate) fn is_of(&self, id: SessionId, client: &Client) -> bool {
        self.sessions.get(&id).is_some_and(|session| session.owner.client.principal == client.principal)
    }

    /// A session ends.
    pub(crate) fn end(&mut self, id: SessionId) -> Option<Session> {
        let session = self.sessions.remove(&id)?;
        self.by_use.remove(&(session.used, id));
        self.partitions -= session.set.len();
        Some(session)
    }

    /// The next request of a session.
    ///
    /// # Errors
    /// `FETCH_SESSION_ID_NOT_FOUND`, `INVALID_FETCH_SESSION_EPOCH`, or `FETCH_SESSION_TOPIC_ID_ERROR`: topics are named in
    /// another way than until now.
    pub(crate) fn go_on(
        &mut self,
        id: SessionId,
        epoch: i32,
        by_id: bool,
        now: MonoTime,
    ) -> Result<(), ErrorCode> {
        let session = self.sessions.get_mut(&id).ok_or(ErrorCode::FetchSessionIdNotFound)?;
        if session.next_epoch != epoch {
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.by_id != by_id {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        session.next_epoch = if epoch == i32::MAX { 1 } else { epoch + 1 };
        self.by_use.remove(&(session.used, id));
        session.used = now;
        self.by_use.insert((now, id));
        Ok(())
    }

    /// Changes a session's partitions.
    pub(crate) fn change<T>(&mut self, id: SessionId, change: impl FnOnce(&mut FetchSet) -> T) -> Option<T> {
        let session = self.sessions.get_mut(&id)?;
        let before = session.set.len();
        let result = change(&mut session.set);
        self.partitions = self.partitions + session.set.len() - before;
        Some(result)
    }

    pub(crate) fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.sessions.get_mut(&id)
    }
}

#[cfg(test)]
mod tests {
    use log_access::Principal;

    use super::*;
    use crate::client::Peer;

    fn owner() -> SessionOwner {
        let peer = Peer { ip: [10, 0, 0, 1].into(), listener: 0, certified: None };
        SessionOwner { client: Arc::new(Client::of(&peer)), rules_version: 0 }
    }

    #[test]
    fn requests_of_a_session_are_numbered() {
        let mut sessions = Sessions::new(2, 1);
        let now = MonoTime::of_ms(1);
        let id = sessions.begin(FetchSet::default(), owner(), true, now);
        let own = owner().client;
        let other = Client { principal: Principal::user("eve"), ..(*own).clone() };
        assert!(id.0 > 0 && sessions.is_of(id, &own) && !sessions.is_of(id, &other));
        assert_eq!(sessions.go_on(id, 2, true, now), Err(ErrorCode::InvalidFetchSessionEpoch));
        assert_eq!(sessions.go_on(id, 1, false, now), Err(ErrorCode::FetchSessionTopicIdError));
        assert_eq!(sessions.go_on(id, 1, true, now), Ok(()));
        assert_eq!(sessions.go_on(id, 1, true, now), Err(ErrorCode::InvalidFetchSessionEpoch));
        sessions.get_mut(id).expect("it is there").next_epoch = i32::MAX;
        assert_eq!(sessions.go_on(id, i32::MAX, true, now), Ok(()));
        assert_eq!(sessions.go_on(id, 1, true, now), Ok(()));
        assert!(sessions.end(id).is_some());
        assert_eq!(sessions.go_on(id, 2, true, now), Err(ErrorCode::FetchSessionIdNotFound));
    }

    #[test]
    fn session_is_replaced_only_when_it_was_not_used_for_a_while() {
        let mut sessions = Sessions::new(2, 1);
        let first = sessions.begin(FetchSet::default(), owner(), true, MonoTime::of_ms(0));
        let second = sessions.begin(FetchSet::default(), owner(), true, MonoTime::of_ms(10));
        assert_eq!(sessions.room_for(1, MonoTime::of_ms(KEPT_MS)), None);
        sessions.go_on(first, 1, true, MonoTime::of_ms(20)).expect("it goes on");
        assert_eq!(sessions.room_for(1, MonoTime::of_ms(KEPT_MS + 11)), Some(Some(second)));
        assert_eq!(sessions.room_for(PARTITIONS_MAX + 1, MonoTime::of_ms(KEPT_MS * 2)), None);
    }
}
