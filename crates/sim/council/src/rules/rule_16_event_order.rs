//! Rule 16. Event order: the events of a connection come in the order of their zxids, and within one in that of the
//! operations: first of the node, then of its parent's children.
//!
//! Source: ZooKeeper's WatchManager, called by DataTree as it applies.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    evidence.watching(16, findings);
}
