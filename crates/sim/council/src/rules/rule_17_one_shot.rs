//! Rule 17. One-shot: a watch that has fired or was taken away tells nothing more, however many calls had left it, and
//! checkWatches and removeWatches know of it or not accordingly.
//!
//! Source: ZooKeeper's programmer's guide, on watches; etcd #17247, an event that came twice.
//!
//! Alone it catches the planted bug `47-fires-one-shots-twice`.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    evidence.watching(17, findings);
}
