//! Rule 20. Reconnect: setWatches tells what changed since the last zxid seen, by the rules of ZooKeeper, and what
//! came and went meanwhile, and what persistent watches have missed; it watches everything else.
//!
//! Source: ZooKeeper's DataTree.setWatches; docs/stronger.md on what came and went.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    evidence.watching(20, findings);
}
