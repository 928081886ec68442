//! Rule 25. No early expiry: a session expires only if nobody heard of its client for its timeout; new leaders and
//! pauses give it the full timeout again.
//!
//! Source: ZooKeeper's session tracker; docs/stronger.md on pauses.

use crate::oracle::SessionStory;
use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, settings, .. } = evidence;
    let heard = evidence.heard_of();
    for (session, story) in &oracle.sessions {
        let Some(end) = story.ended.as_ref().filter(|end| end.expired) else { continue };
        let Some(heard_ms) = heard.get(session) else { continue };
        let silent_ms = end.at_ms.saturating_sub(*heard_ms);
        if silent_ms < settings.timeout_min_ms(story.timeout_ms) && !overslept(evidence, *session, story) {
            findings.add(format!(
                "session {session:x} of {} ms expired at {:x}, {silent_ms} ms after it was heard of",
                story.timeout_ms, end.zxid
            ));
        }
    }
}

/// Whether its client had been silent for long enough before it was heard of again, so shortly before the end that this
/// was decided already.
fn overslept(evidence: &Evidence<'_>, session: i64, story: &SessionStory) -> bool {
    let Evidence { history, settings, .. } = evidence;
    let own =
        history.connections.iter().filter(|one| one.grant.is_some_and(|grant| grant.session == session));
    let calls = own.flat_map(|connection| &connection.calls).map(|call| &history.calls[*call]);
    let last = calls.filter(|call| call.overslept).max_by_key(|call| call.sent_ms);
    let Some((call, answer)) = last.and_then(|call| Some((call, call.answer.as_ref()?))) else {
        return false;
    };
    let end_ms = story.ended.as_ref().map_or(0, |end| end.at_ms);
    answer.at_ms.saturating_sub(call.sent_ms) >= settings.timeout_min_ms(story.timeout_ms)
        && answer.at_ms + settings.staleness_max_ms() >= end_ms
}
