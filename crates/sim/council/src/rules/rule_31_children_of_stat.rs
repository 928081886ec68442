//! Rule 31. cversion and pzxid: a Stat's cversion counts children that came and that went, its pzxid is the transaction of
//! the last of both, or that of the node itself.
//!
//! Source: ZooKeeper's DataNode.copyStat and DataTree; ZOOKEEPER-3125, pzxids that fuzzy snapshots had lost.

use crate::rules::lives::Life;
use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    for shown in evidence.shown() {
        let Some(life) = evidence.lives().at(shown.path, shown.zxid) else { continue };
        findings.judged("Stats");
        let count = |zxids: &[i64]| Life::count(zxids, shown.zxid);
        let cversion = count(&life.came) + count(&life.went) - life.built_in;
        let last = |zxids: &[i64]| Life::last(zxids, shown.zxid).unwrap_or(0);
        let pzxid = life.born_zxid.max(last(&life.came)).max(last(&life.went));
        if (shown.stat.cversion, shown.stat.pzxid) != (cversion, pzxid) {
            findings.add(format!(
                "{} at {:x} shows cversion {} and pzxid {:x}, expected {cversion} and {pzxid:x}",
                shown.tell(evidence),
                shown.zxid,
                shown.stat.cversion,
                shown.stat.pzxid
            ));
        }
    }
}
