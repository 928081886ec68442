//! Rule 23. Registration on failure: an exists that finds nothing leaves its watch; getData, getChildren and whatever is
//! refused leave none.
//!
//! Source: ZooKeeper's programmer's guide, on watches; FinalRequestProcessor.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    evidence.watching(23, findings);
}
