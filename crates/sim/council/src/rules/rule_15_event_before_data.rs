//! Rule 15. Event before data: an event comes before any reply that shows its cause.
//!
//! Source: ZooKeeper's programmer's guide, on watches: a client sees the event before the new data.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    evidence.watching(15, findings);
}
