//! Rule 19. No spurious event: each event is of a change that happened, to a node that the connection watched.
//!
//! Source: ZooKeeper's programmer's guide, on watches.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    evidence.watching(19, findings);
}
