//! Rule 18. No lost event: the first change behind the reply that left a watch is told, or the connection ends
//! before anything later is seen on it.
//!
//! Source: ZooKeeper's programmer's guide, on watches.

use crate::rules::watching::{self, Wrong};
use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    for (number, connection) in evidence.history.connections.iter().enumerate() {
        for wrong in watching::walk(evidence, connection) {
            if let Wrong::Lost(words) = wrong {
                findings.add(format!("connection {number} to member {}: {words}", connection.member));
            }
        }
    }
}
