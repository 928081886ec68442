//! Rule 1. Zxid order: every committed transaction has a unique zxid, strictly increasing in commit order; within
//! an epoch counts are contiguous, failed writes included; no epoch is used by two leaders.
//!
//! Source: ZAB (Junqueira, Reed, Serafini 2011), primary order; ZooKeeper's zxids.

use base::LogIndex;
use std::collections::BTreeMap;

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, record, .. } = evidence;
    for (epoch, terms) in &oracle.epochs {
        if terms.len() > 1 {
            findings.add(format!("epoch {epoch:x} was used in the terms {terms:?}"));
        }
    }
    let mut last: BTreeMap<(u64, u64), i64> = BTreeMap::new();
    for apply in &record.applies {
        findings.judged("places of members");
        // It may be in the midst of the next entry.
        let end_of = |index: LogIndex| oracle.zxids.get(index.since(LogIndex::FIRST) as usize).copied();
        let ended = end_of(apply.index).unwrap_or(i64::MAX);
        let next = end_of(apply.index.next()).unwrap_or(ended);
        if !(ended..=next).contains(&apply.zxid) {
            findings.add(format!(
                "member {} is at {:x} after entry {}, which ends at {ended:x}, and the next at {next:x}",
                apply.member, apply.zxid, apply.index
            ));
        }
        let last = last.entry((apply.member, apply.life)).or_default();
        if apply.zxid < *last {
            findings.add(format!("member {} went from {last:x} back to {:x}", apply.member, apply.zxid));
        }
        *last = apply.zxid;
    }
}
