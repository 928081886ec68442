//! Rule 20. Reconnect: setWatches tells what changed since the last zxid seen, by the rules of ZooKeeper, and what
//! came and went meanwhile, and what persistent watches have missed; it watches everything else.
//!
//! Source: ZooKeeper's DataTree.setWatches; docs/stronger.md on what came and went.
//!
//! Alone it catches the planted bugs `46-judges-children-by-the-data`, `75-remembers-nothing`, `76-catches-up-twice`,
//! `77-catches-up-backwards`.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    evidence.watching(20, findings);
}
