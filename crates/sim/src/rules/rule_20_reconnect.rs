//! Rule 20. Reconnect: setWatches tells what changed since the last zxid seen, by the rules of ZooKeeper, and what
//! came and went meanwhile; it watches everything else.
//!
//! Source: ZooKeeper's DataTree.setWatches; docs/stronger.md on what came and went.

use crate::rules::watching::{self, Wrong};
use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    for (number, connection) in evidence.history.connections.iter().enumerate() {
        for wrong in watching::walk(evidence, connection) {
            if let Wrong::Reconnect(words) = wrong {
                findings.add(format!("connection {number} to member {}: {words}", connection.member));
            }
        }
    }
}
