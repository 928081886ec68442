//! Rule 28. No orphans: at every zxid the owner of each ephemeral node has a session.
//!
//! Source: ZooKeeper's ephemeral nodes live as long as their session.

use crate::rules::seen::Seen;
use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, .. } = evidence;
    for call in history.calls.iter().filter(|call| call.ask.is_read()) {
        let Some(answer) = call.answer.as_ref().filter(|answer| answer.err == 0) else { continue };
        let Ok(seen) = Seen::read(&call.ask, &answer.body) else { continue };
        let owner = seen.stat.ephemeral_owner;
        let began = oracle.sessions.get(&owner).map(|story| story.created_zxid);
        if owner != 0 {
            findings.judged("ephemeral nodes shown");
        }
        if owner != 0 && began.is_none_or(|began| began > answer.zxid) {
            findings.add(format!("{} shows a node of {owner:x}, which has no session", tell(history, call)));
        }
    }
    for standing in evidence.standings {
        for (path, held) in &standing.nodes {
            let owner = held.stat.ephemeral_owner;
            if owner != 0 && !standing.sessions.contains(&owner) {
                findings.add(format!("member {} holds `{path}` of no session", standing.member));
            }
        }
    }
}
