//! Rule 13. Password: a wrong password attaches nothing, gets the answer of an expired session, and does not
//! disturb the owner.
//!
//! Source: ZooKeeper's handshake; docs/stronger.md on the owner.
//!
//! Alone it catches the planted bug `34-accepts-any-password`.

use std::collections::BTreeMap;

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, .. } = evidence;
    let mut rightful: BTreeMap<i64, usize> = BTreeMap::new();
    for (number, connection) in history.connections.iter().enumerate() {
        if connection.rightful {
            *rightful.entry(connection.asked).or_default() += 1;
        } else if connection.asked != 0 {
            findings.judged("wrong passwords");
            if let Some(grant) = connection.grant {
                let session = grant.session;
                findings.add(format!("connection {number} took session {session:x} with a wrong password"));
            }
        }
    }
    let is_known = evidence.is_known();
    for (session, story) in oracle.sessions.iter().filter(|(session, _)| is_known(**session)) {
        let asked = rightful.get(session).copied().unwrap_or(0);
        if story.generations.len() > 1 + asked {
            findings.add(format!(
                "session {session:x} was attached {} times, and requested with the right password {asked} times",
                story.generations.len() - 1
            ));
        }
    }
}
