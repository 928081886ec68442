//! Rule 26. Eventual expiry: under a stable leader, and with members that stay, the end of a silent session is in the log
//! soon after its timeout. (How soon it is applied, other rules judge.)
//!
//! Source: ZooKeeper's session tracker, which rounds to a tick.
//!
//! Alone it catches the planted bugs `41-never-lets-go-of-dead-connections`, `52-promotes-who-is-not-there`.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, record, settings, .. } = evidence;
    let Some(calm_from_ms) = history.calm_from_ms() else { return };
    // A leader knows of all sessions only when it has applied what came before, which may take long. A removed member may have heard of its
    // clients until its lease ended.
    let calm_ms = calm_from_ms.max(record.last_term_applied_ms()).max(record.members_changed_ms());
    let seen = evidence.last_seen();
    for (session, story) in &oracle.sessions {
        // Whoever left without a word may have asked for its session somewhere before: it is taken up when that member
        // serves again, and heard of by that.
        let taken_up_ms = story.generations.last().map_or(0, |(.., at_ms)| *at_ms);
        let seen_ms = seen.get(session).copied().unwrap_or(0).max(calm_ms).max(taken_up_ms);
        let end_ms = story.ended.as_ref().map_or(history.ended_ms, |end| record.entry_made_ms(end.index));
        let left = story.ended.as_ref().is_none_or(|end| end.expired);
        if left && end_ms > calm_ms {
            findings.judged("sessions left after the faults");
        }
        if left && end_ms > seen_ms + settings.timeout_max_ms(story.timeout_ms) {
            findings.add(format!(
                "session {session:x} of {} ms stayed open for {} ms of silence after the faults",
                story.timeout_ms,
                end_ms - seen_ms
            ));
        }
    }
}
