//! Rule 27. Expired is final: no session is taken up again that has ended, nor is one said to have ended that
//! lives.
//!
//! Source: ZooKeeper's handshake: a session that is closed is refused everywhere.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, .. } = evidence;
    for (number, connection) in history.connections.iter().enumerate() {
        if let Some(grant) = connection.grant {
            findings.judged("grants");
            let story = oracle.sessions.get(&grant.session);
            let known = story.is_some_and(|story| {
                story.generations.iter().any(|(generation, ..)| *generation == grant.generation)
            });
            if !known {
                findings.add(format!(
                    "connection {number} was given session {:x}, which no log gives it",
                    grant.session
                ));
            }
            if connection.asked != 0 && connection.asked != grant.session {
                findings
                    .add(format!("connection {number} asked for {:x}, and got another", connection.asked));
            }
        }
        let Some(refused_ms) = connection.refused_ms.filter(|_| connection.rightful) else { continue };
        findings.judged("refusals");
        let lives = oracle
            .sessions
            .get(&connection.asked)
            .is_some_and(|story| story.ended.as_ref().is_none_or(|end| end.at_ms > refused_ms));
        if lives {
            findings.add(format!("session {:x} was reported as ended, and still exists", connection.asked));
        }
    }
}
