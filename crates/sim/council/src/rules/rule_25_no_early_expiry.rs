//! Rule 25. No early expiry: a session expires only if nobody heard of its client for its timeout; new leaders and
//! pauses give it the full timeout again.
//!
//! What counts is the moment of the verdict, not that of its commit: a disk that stands still may lie between them for
//! long, and what a leader has put into the log is not taken back for a client that comes meanwhile (ZooKeeper's is
//! closing from then on, too). The verdict stands in what its leader proposed next, which may be several entries made at
//! once, so those count that were given since the proposal before was made.
//!
//! Source: ZooKeeper's session tracker; docs/stronger.md on pauses.
//!
//! Alone it catches the planted bugs `35-expires-without-asking`, `36-takes-the-dead-for-silent`,
//! `38-gives-no-time-after-an-election`.

use crate::history::Call;
use crate::oracle::{End, SessionStory};
use crate::rules::{Evidence, Findings};
use base::LogIndex;

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, settings, .. } = evidence;
    for (session, story) in &oracle.sessions {
        let Some(end) = story.ended.as_ref().filter(|end| end.expired) else { continue };
        findings.judged("expiries");
        let silent_ms = longest_silence_ms(evidence, *session, story, end);
        if silent_ms < settings.timeout_min_ms(story.timeout_ms) {
            findings.add(format!(
                "session {session:x} of {} ms expired at {:x}, having been silent for {silent_ms} ms when that was decided",
                story.timeout_ms, end.zxid
            ));
        }
    }
}

/// The longest silence of its client, on the session's last connection, that may have led to the verdict.
fn longest_silence_ms(evidence: &Evidence<'_>, session: i64, story: &SessionStory, end: &End) -> u64 {
    let Evidence { history, record, settings, .. } = evidence;
    let own =
        history.connections.iter().filter(|one| one.grant.is_some_and(|grant| grant.session == session));
    let calls: Vec<_> = own.flat_map(|one| &one.calls).map(|call| &history.calls[*call]).collect();
    // A client that falls asleep may not be read from before it wakes up. One that is far away may be silent for its
    // timeout as well. Either may then come when others have answered already, and before the verdict.
    let may_be_late = |call: &&Call| call.overslept || call.reached_ms > call.sent_ms;
    let room_ms = if calls.iter().any(may_be_late) { settings.staleness_max_ms() } else { 0 };
    let heard = calls.iter().filter(|call| call.answer.is_some() && !call.overslept);
    let mut heard: Vec<_> = heard.map(|call| call.heard_ms()).collect();
    heard.sort_unstable();
    let began_ms = story.generations.last().map_or(0, |(.., at_ms)| *at_ms);
    let silence_ms = |verdict_ms: u64| {
        let heard = heard.iter().copied().filter(|heard_ms| *heard_ms <= verdict_ms);
        let (mut before_ms, mut longest_ms) = (began_ms, 0);
        for heard_ms in heard.chain([verdict_ms]) {
            if heard_ms + room_ms >= verdict_ms {
                longest_ms = longest_ms.max(heard_ms.saturating_sub(before_ms));
            }
            before_ms = before_ms.max(heard_ms);
        }
        longest_ms
    };
    let made_ms = |index: LogIndex| {
        let entry = &record.committed(index)?.entry;
        record.made_ms.get(&(entry.index, entry.term)).copied()
    };
    let until_ms = made_ms(end.index).unwrap_or(end.at_ms);
    let earlier = record.entries.iter().take(end.index.since(LogIndex::FIRST) as usize);
    let mut made_earlier_ms = earlier.rev().filter_map(|committed| made_ms(committed.entry.index));
    let before = made_earlier_ms.find(|at_ms| *at_ms < until_ms);
    let from_ms = before.unwrap_or(0);
    let verdicts = record.verdicts_ms.iter().filter(|at_ms| (from_ms..=until_ms).contains(*at_ms));
    verdicts.map(|at_ms| silence_ms(*at_ms)).max().unwrap_or_else(|| silence_ms(until_ms))
}
