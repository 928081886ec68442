//! Rule 2. Agreement: for any zxid, all members that applied up to it have the same tree, Stats and sessions
//! included.
//!
//! Source: ZAB, total order; the data-loss bugs of ZooKeeper's fuzzy snapshots (ZOOKEEPER-3125, 3249) show what breaks it.

use std::collections::BTreeMap;

use crate::oracle::Oracle;
use crate::rules::{Evidence, Findings, Held, Standing};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, record, standings, .. } = evidence;
    let mut digests: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
    for apply in record.applies.iter().filter(|apply| !oracle.unsettled.contains(&apply.zxid)) {
        let (member, digest) = *digests.entry(apply.zxid).or_insert((apply.member, apply.digest));
        if member != apply.member {
            findings.judged("digests of two members");
        }
        if digest != apply.digest {
            findings.add(format!("members {member} and {} differ at {:x}", apply.member, apply.zxid));
        }
    }
    for (member, entry) in &record.contradictions {
        findings.add(format!("member {member} applied another entry {} of term {}", entry.index, entry.term));
    }
    for nonsense in &oracle.nonsense {
        findings.add(nonsense.clone());
    }
    for (member, index) in &record.gaps {
        findings.add(format!(
            "member {member} applied entry {index} before any member applied the entry before it"
        ));
    }
    for standing in *standings {
        compare(standing, oracle, findings);
    }
}

/// A member's tree at rest against the model's.
fn compare(standing: &Standing, oracle: &Oracle, findings: &mut Findings) {
    let member = standing.member;
    let expected: BTreeMap<_, _> = oracle.model.all_at(standing.zxid).collect();
    for (path, held) in &standing.nodes {
        let Held { data, is_null, stat, acl, mortality } = held;
        match expected.get(path.as_str()) {
            None => findings.add(format!("member {member} holds `{path}`, which should be gone: {stat:?}")),
            Some(known) if known.data != *data || known.is_null != *is_null => {
                findings.add(format!("member {member} holds other data in `{path}`"));
            }
            Some(known) if known.stat != *stat => {
                findings
                    .add(format!("member {member} holds `{path}` as {stat:?}, expected {:?}", known.stat));
            }
            Some(known) if *known.acl != **acl || known.mortality != *mortality => findings.add(format!(
                "member {member} holds `{path}` under {acl:?} as {mortality:?}, expected {:?}, {:?}",
                known.acl, known.mortality
            )),
            Some(_) => {}
        }
    }
    for path in expected.keys().filter(|path| !standing.nodes.contains_key(**path)) {
        findings.add(format!("member {member} lacks `{path}`"));
    }
    findings.judged_all("nodes at rest", expected.len());
    let open = oracle.sessions.iter().filter(|(_, story)| story.ended.is_none());
    let open: Vec<_> = open.map(|(session, _)| *session).collect();
    if open != standing.sessions {
        findings
            .add(format!("member {member} knows other sessions: {:x?}, not {open:x?}", standing.sessions));
    }
}
