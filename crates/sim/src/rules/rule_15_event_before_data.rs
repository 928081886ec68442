//! Rule 15. Event before data: an event comes before any reply that shows its cause.
//!
//! Source: ZooKeeper's programmer's guide, on watches: a client sees the event before the new data.

use crate::rules::watching::{self, Wrong};
use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    for (number, connection) in evidence.history.connections.iter().enumerate() {
        for wrong in watching::walk(evidence, connection) {
            if let Wrong::Late(words) = wrong {
                findings.add(format!("connection {number} to member {}: {words}", connection.member));
            }
        }
    }
}
