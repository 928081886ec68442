//! Rule 17. One-shot: an event is of a change that happened, and comes once for each watch that was left before it.
//!
//! Source: ZooKeeper's programmer's guide, on watches; etcd #17247, an event that came twice.

use crate::rules::watching::{self, Wrong};
use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    for (number, connection) in evidence.history.connections.iter().enumerate() {
        for wrong in watching::walk(evidence, connection) {
            if let Wrong::Spurious(words) = wrong {
                findings.add(format!("connection {number} to member {}: {words}", connection.member));
            }
        }
    }
}
