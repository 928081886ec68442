//! Which connection a session of a share group is used by: it ends with that one. A member that has come back by another connection,
//! before it was noticed that the one before is gone, keeps what it is given.

use std::collections::{BTreeMap, BTreeSet};

use log_share::SessionKey;
use net_event_loop::ConnId;

/// By its shard.
type Connection = (u16, ConnId);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Connections {
    sessions: BTreeMap<Connection, BTreeSet<SessionKey>>,
    of: BTreeMap<SessionKey, Connection>,
}

impl Connections {
    /// A request of that session came by that connection.
    pub(super) fn uses(&mut self, session: &SessionKey, connection: Connection) {
        if self.of.get(session) == Some(&connection) {
            return;
        }
        self.ended(session);
        self.of.insert(session.clone(), connection);
        self.sessions.entry(connection).or_default().insert(session.clone());
    }

    /// The session has ended.
    pub(super) fn ended(&mut self, session: &SessionKey) {
        let Some(connection) = self.of.remove(session) else { return };
        if let Some(sessions) = self.sessions.get_mut(&connection) {
            sessions.remove(session);
            if sessions.is_empty() {
                self.sessions.remove(&connection);
            }
        }
    }

    /// The connection is gone. Gives the sessions that end with it.
    pub(super) fn gone(&mut self, connection: Connection) -> BTreeSet<SessionKey> {
        let sessions = self.sessions.remove(&connection).unwrap_or_default();
        for session in &sessions {
            self.of.remove(session);
        }
        sessions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Connection = (0, ConnId { slot: 1, generation: 1 });
    const NEW: Connection = (1, ConnId { slot: 1, generation: 1 });

    #[test]
    fn session_ends_with_the_connection_that_it_was_used_by_last() {
        let session: SessionKey = ("group".into(), "member".into());
        let mut connections = Connections::default();
        connections.uses(&session, OLD);
        connections.uses(&session, NEW);
        assert_eq!(connections.gone(OLD), BTreeSet::new());
        assert_eq!(connections.gone(NEW), BTreeSet::from([session.clone()]));
        connections.uses(&session, NEW);
        connections.ended(&session);
        assert_eq!(connections.gone(NEW), BTreeSet::new());
        assert!(connections.of.is_empty() && connections.sessions.is_empty());
    }
}
