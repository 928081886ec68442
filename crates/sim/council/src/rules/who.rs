//! Who a client was on each of its calls, by what it had shown itself: nothing of what members made of it.

use crate::history::{Ask, Connection, History};
use crate::load::SUPER;
use crate::oracle::access::Identities;

/// The client of a connection on which nothing was shown yet: the member knows its address.
pub(super) fn stranger(connection: &Connection) -> Identities {
    Identities::of_address(&connection.address.to_string())
}

/// The calls of a connection, and who it was when it sent each.
pub(super) fn calls<'a>(
    history: &'a History,
    connection: &'a Connection,
) -> impl Iterator<Item = (usize, Identities)> {
    let mut who = stranger(connection);
    connection.calls.iter().map(move |call| {
        let before = who.clone();
        if let Ask::Auth { credentials } = &history.calls[*call].ask {
            who.show(credentials, SUPER);
        }
        (*call, before)
    })
}

/// Whether anything was shown on it at all.
pub(super) fn says_who(history: &History, connection: &Connection) -> bool {
    connection.calls.iter().any(|call| matches!(history.calls[*call].ask, Ask::Auth { .. }))
}

/// The auths of a connection, and who it was behind each.
pub(super) fn auths<'a>(
    history: &'a History,
    connection: &'a Connection,
) -> impl Iterator<Item = (usize, Identities)> {
    let mut who = stranger(connection);
    connection.calls.iter().filter_map(move |call| {
        let Ask::Auth { credentials } = &history.calls[*call].ask else { return None };
        who.show(credentials, SUPER);
        Some((*call, who.clone()))
    })
}
