//! Rule 32. version and aversion: they count the setData and the setACL that a node had; each moves its own and nothing
//! else, and mzxid is the transaction of the last setData. `/zookeeper/config` has none.
//!
//! Source: ZooKeeper's programmer's guide, on the Stat structure.

use crate::oracle::model::CONFIG;
use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    for shown in evidence.shown().iter().filter(|shown| shown.path != CONFIG) {
        let Some(life) = evidence.lives().at(shown.path, shown.zxid) else { continue };
        findings.judged("Stats");
        let (sets, mzxid, _) = life.written(shown.zxid);
        let (acls, _) = life.acl(shown.zxid);
        let expected = (sets as i32, acls as i32 - 1, mzxid);
        let stat = shown.stat;
        if (stat.version, stat.aversion, stat.mzxid) != expected {
            findings.add(format!(
                "{} at {:x} shows version {}, aversion {} and mzxid {:x}, expected {expected:x?}",
                shown.tell(evidence),
                shown.zxid,
                stat.version,
                stat.aversion,
                stat.mzxid
            ));
        }
    }
}
