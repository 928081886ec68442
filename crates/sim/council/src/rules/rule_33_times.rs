//! Rule 33. Times: ctime and mtime are those of the transactions that made a node and last wrote to it, which its leader
//! set once; every member shows the same.
//!
//! Source: ZooKeeper's TxnHeader, whose time its leader sets.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    for shown in evidence.shown() {
        let Some(life) = evidence.lives().at(shown.path, shown.zxid) else { continue };
        findings.judged("Stats");
        let (.., mtime) = life.written(shown.zxid);
        let (expected, told) = ((life.born_ms, mtime), (shown.stat.ctime, shown.stat.mtime));
        if told != expected {
            let (who, zxid) = (shown.tell(evidence), shown.zxid);
            findings.add(format!("{who} at {zxid:x} shows the times {told:?}, expected {expected:?}"));
        }
    }
}
