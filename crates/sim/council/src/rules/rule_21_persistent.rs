//! Rule 21. Persistent: such a watch fires for every change until it is taken away; a recursive one for its node and all
//! descendants (`/ab` is none of `/a`), with the path of the node that changed, and never for children as such.
//!
//! Source: ZooKeeper's addWatch (ZOOKEEPER-1416, 4466, 4475); the properties that etcd demands of its watches.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    evidence.watching(21, findings);
}
