//! Rule 25. No early expiry: a session expires only if nobody heard of its client for its timeout; new leaders and
//! pauses give it the full timeout again.
//!
//! Source: ZooKeeper's session tracker; docs/stronger.md on pauses.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, settings, .. } = evidence;
    let heard = evidence.heard_of();
    for (session, story) in &oracle.sessions {
        let Some(end) = story.ended.as_ref().filter(|end| end.expired) else { continue };
        let Some(heard_ms) = heard.get(session) else { continue };
        let silent_ms = end.at_ms.saturating_sub(*heard_ms);
        if silent_ms < settings.timeout_min_ms(story.timeout_ms) {
            findings.add(format!(
                "session {session:x} of {} ms expired at {:x}, {silent_ms} ms after it was heard of",
                story.timeout_ms, end.zxid
            ));
        }
    }
}
