//! Rule 24. Atomic close: the end of a session takes away all its ephemeral nodes in one transaction; nobody sees
//! part of it, none comes later.
//!
//! Source: ZooKeeper's closeSession transaction; ZOOKEEPER-3144, 3145 on nodes that stayed.

use std::collections::BTreeMap;

use crate::rules::seen::Seen;
use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, .. } = evidence;
    // Who owned each path when its session ended.
    let mut owned: BTreeMap<&str, Vec<(i64, i64)>> = BTreeMap::new();
    for (session, story) in &oracle.sessions {
        if let Some(end) = &story.ended {
            for path in &end.owned {
                owned.entry(path).or_default().push((end.zxid, *session));
            }
        }
    }
    for call in history.calls.iter().filter(|call| call.ask.is_read()) {
        let Some(answer) = call.answer.as_ref().filter(|answer| answer.err == 0) else { continue };
        let Ok(seen) = Seen::read(&call.ask, &answer.body) else { continue };
        let Some((path, _)) = call.ask.reads() else { continue };
        findings.judged("reads");
        let shown = seen.children.unwrap_or_default().into_iter().map(|name| format!("{path}/{name}"));
        for shown in shown.filter(|shown| oracle.model.at(shown, answer.zxid).is_none()) {
            let ends = owned.get(shown.as_str()).map_or(&[][..], Vec::as_slice);
            if let Some((end, session)) = ends.iter().find(|(end, _)| *end <= answer.zxid) {
                findings.add(format!(
                    "{} at {:x} shows `{shown}` of session {session:x}, which ended at {end:x}",
                    tell(history, call),
                    answer.zxid
                ));
            }
        }
        let owner = oracle.sessions.get(&seen.stat.ephemeral_owner);
        let end = owner.and_then(|story| story.ended.as_ref());
        if end.is_some() {
            findings.judged("reads of a node whose session ends");
        }
        if let Some(end) = end.filter(|end| end.zxid <= answer.zxid) {
            findings.add(format!(
                "{} at {:x} shows a node whose session ended at {:x}",
                tell(history, call),
                answer.zxid,
                end.zxid
            ));
        }
    }
}
