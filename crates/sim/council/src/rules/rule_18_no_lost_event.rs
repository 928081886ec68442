//! Rule 18. No lost event: the first change behind the reply that left a watch is told, or the connection ends
//! before anything later is seen on it.
//!
//! Source: ZooKeeper's programmer's guide, on watches.
//!
//! Alone it catches the planted bug `45-loses-watches-at-a-reconnection`.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    evidence.watching(18, findings);
}
