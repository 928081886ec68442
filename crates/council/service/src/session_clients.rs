//! Where the client of each session was last connected here, for the line of the log that says that the session ended.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use council_wire::SessionId;
use parking_lot::Mutex;

/// Sessions that are remembered; at the bound the one that was opened first is forgotten.
const SESSIONS_MAX: usize = 100_000;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct SessionClients {
    addresses: Mutex<BTreeMap<SessionId, SocketAddr>>,
}

impl SessionClients {
    /// The session's client is connected from that address.
    pub(crate) fn note(&self, session: SessionId, client: SocketAddr) {
        let mut addresses = self.addresses.lock();
        if addresses.len() >= SESSIONS_MAX && !addresses.contains_key(&session) {
            // A server's ids rise.
            addresses.pop_first();
        }
        addresses.insert(session, client);
    }

    /// The last address of a session that has ended, if its client was connected here.
    pub(crate) fn take(&self, session: SessionId) -> Option<SocketAddr> {
        self.addresses.lock().remove(&session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], port))
    }

    #[test]
    fn session_client_is_the_last_one_and_told_once() {
        let clients = SessionClients::default();
        clients.note(SessionId(1), client(7));
        clients.note(SessionId(1), client(8));
        assert_eq!(clients.take(SessionId(1)), Some(client(8)));
        assert_eq!(clients.take(SessionId(1)), None);
    }

    #[test]
    fn session_clients_are_bounded_and_the_oldest_session_is_forgotten() {
        let clients = SessionClients::default();
        for session in 0..=SESSIONS_MAX as i64 {
            clients.note(SessionId(session), client(1));
        }
        assert_eq!(clients.addresses.lock().len(), SESSIONS_MAX);
        assert_eq!((clients.take(SessionId(0)), clients.take(SessionId(1))), (None, Some(client(1))));
    }
}
