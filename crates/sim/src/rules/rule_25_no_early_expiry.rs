//! Rule 25. No early expiry: a session expires only if nobody heard of its client for its timeout; new leaders and
//! pauses give it the full timeout again.
//!
//! What counts is the moment of the verdict, not that of its commit: a disk that stands still may lie between them for
//! long, and what a leader has put into the log is not taken back for a client that comes meanwhile (ZooKeeper's is
//! closing from then on, too). The verdict stands in the first entry that its leader made behind it.
//!
//! Source: ZooKeeper's session tracker; docs/stronger.md on pauses.

use crate::oracle::{End, SessionStory};
use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, settings, .. } = evidence;
    for (session, story) in &oracle.sessions {
        let Some(end) = story.ended.as_ref().filter(|end| end.expired) else { continue };
        let silent_ms = longest_silence_ms(evidence, *session, story, end);
        if silent_ms < settings.timeout_min_ms(story.timeout_ms) {
            findings.add(format!(
                "session {session:x} of {} ms expired at {:x}, having been silent for {silent_ms} ms when that was decided",
                story.timeout_ms, end.zxid
            ));
        }
    }
}

/// The longest silence of its client, on the session's last connection, that may have led to the verdict: whoever was
/// asked before it was given may have answered some time ago.
fn longest_silence_ms(evidence: &Evidence<'_>, session: i64, story: &SessionStory, end: &End) -> u64 {
    let Evidence { history, record, settings, .. } = evidence;
    let made_ms = |index: u64| {
        let entry = &record.entries.get(index.checked_sub(1)? as usize)?.entry;
        record.made_ms.get(&(entry.index, entry.term)).copied()
    };
    let until_ms = made_ms(end.index).unwrap_or(end.at_ms);
    let from_ms = made_ms(end.index - 1).unwrap_or(until_ms).min(until_ms);
    let from_ms = from_ms.saturating_sub(settings.staleness_max_ms());
    let own =
        history.connections.iter().filter(|one| one.grant.is_some_and(|grant| grant.session == session));
    let calls = own.flat_map(|connection| &connection.calls).map(|call| &history.calls[*call]);
    // Whoever was answered was heard of.
    let answered = calls.filter(|call| call.answer.is_some() && call.sent_ms <= until_ms);
    let mut times: Vec<_> = answered.map(|call| call.sent_ms).chain([until_ms]).collect();
    times.sort_unstable();
    let mut heard_ms = story.generations.last().map_or(0, |(.., at_ms)| *at_ms);
    let mut longest_ms = 0;
    for time_ms in times {
        if time_ms >= from_ms {
            longest_ms = longest_ms.max(time_ms.saturating_sub(heard_ms));
        }
        heard_ms = heard_ms.max(time_ms);
    }
    longest_ms
}
