//! Rule 4. No resurrection: what is not in the history that was chosen never appears later; what was refused never
//! took effect.
//!
//! Source: ZAB, integrity; ZOOKEEPER-2845: a transaction that came back after an election.

use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, record, .. } = evidence;
    for (member, entry) in &record.contradictions {
        findings.add(format!("entry {} was applied, and member {member} applied another", entry.index));
    }
    for call in history.calls.iter().filter(|call| call.ask.is_write()) {
        let Some(answer) = call.answer.as_ref().filter(|answer| answer.err != 0) else { continue };
        findings.judged("refused writes");
        let done = history.origin(call).and_then(|origin| oracle.of_origin(origin));
        if done.is_some_and(|done| done.error == 0) {
            findings.add(format!("{} was refused with {}, and took effect", tell(history, call), answer.err));
        }
    }
}
