//! What must happen in time once all faults are over: O12 freed in time, O17 deadlines, O34 progress.

use objects_state::{SessionId, TicketEnd};

use super::replay::{Life, LogTold};
use super::{Evidence, Findings, expiry};
use crate::members::record::FirstCommand;

/// How much later than its time something may happen: a tick, a round of questions, a commit, milliseconds.
const ROOM_MS: u64 = 1_500;

pub(super) fn judge(evidence: &Evidence<'_>, log: &LogTold, findings: &mut Findings) {
    let Some(calm_ms) = evidence.history.calm_from_ms else { return };
    sessions(evidence, log, calm_ms, findings);
    tickets(log, calm_ms, findings);
    findings.judged(34, "runs that came to rest");
    let [tickets, sessions] = log.left;
    let is_open = |lives: &&Vec<Life>| lives.last().is_some_and(|life| life.ended.is_none());
    let open = log.sessions.values().filter(is_open).count();
    if open as u64 != sessions {
        findings.add(&(34, format!("in the end {sessions} sessions are open, and by the log {open}")));
    }
    let signs = expiry::last_signs(evidence);
    // A stream that was open until the end has kept its session.
    let is_over = |(id, lives): &(&SessionId, &Vec<Life>)| {
        let Some(life) = lives.last().filter(|life| life.ended.is_none()) else { return false };
        let heard_ms = signs.get(*id).copied().unwrap_or(0).max(life.opened_ms);
        heard_ms + life.ttl_ms + life.ttl_ms / 500 + 2 * evidence.tick_ms + ROOM_MS
            < evidence.history.ended_ms
    };
    let over: Vec<_> = log.sessions.iter().filter(is_over).collect();
    if tickets > 0 || !over.is_empty() {
        let ended_ms = evidence.history.ended_ms;
        let words = format!(
            "in the end, at {ended_ms} ms, {tickets} calls wait, and sessions whose time is over: {over:?}"
        );
        findings.add(&(34, words));
    }
}

/// O12: who left is gone when its time is over, and what it had is free at that position.
fn sessions(evidence: &Evidence<'_>, log: &LogTold, calm_ms: u64, findings: &mut Findings) {
    let signs = expiry::last_signs(evidence);
    let led_ms = led_from(evidence);
    for (session, lives) in &log.sessions {
        let Some(life) = lives.last() else { continue };
        let (end_ms, is_silent) = match life.ended {
            Some((made, expired)) => (made.at_ms, expired),
            None => (evidence.history.ended_ms, true),
        };
        if !is_silent || end_ms <= calm_ms + evidence.lease_ms {
            continue;
        }
        findings.judged(12, "sessions that end in the calm");
        let heard_ms = signs.get(session).copied().unwrap_or(0);
        // Who died or was cut off before may have heard of a client until its lease was over. A new leader counts with a lease
        // that was asked for a lease after its beginning.
        let known_ms = (calm_ms + evidence.lease_ms).max(led_ms + 2 * evidence.lease_ms);
        let from_ms = heard_ms.max(life.opened_ms).max(known_ms);
        let most_ms = life.ttl_ms + life.ttl_ms / 500 + 2 * evidence.tick_ms + ROOM_MS;
        if end_ms > from_ms + most_ms {
            let words = format!(
                "session {session} of {} ms ended {} ms after its time, at {end_ms} ms, after {} ms of silence; a lease has {} ms",
                life.ttl_ms,
                end_ms - from_ms - life.ttl_ms,
                end_ms.saturating_sub(heard_ms),
                evidence.lease_ms
            );
            findings.add(&(12, words));
        }
    }
}

/// When the last leader applied the first command of its term: one that was elected and reached no majority leads nobody yet, one
/// whose first command lags behind raft's own first entry does not lead either, and one that has not heard of it does not know.
fn led_from(evidence: &Evidence<'_>) -> u64 {
    let Some(won) = evidence.record.won.last() else { return 0 };
    let is_its_own = |first: &&FirstCommand| first.made.life == won.life && first.made.at_ms >= won.at_ms;
    let first = evidence.record.first_commands.values().find(is_its_own);
    first.and_then(|first| first.applied_ms).unwrap_or(won.at_ms)
}

/// O17: a wait whose time runs out ends soon behind that, and not before; where a run takes long meanwhile, soon behind that.
fn tickets(log: &LogTold, calm_ms: u64, findings: &mut Findings) {
    for (number, ticket) in &log.tickets {
        let Some(end) = ticket.end.as_ref().filter(|end| end.how == TicketEnd::TimedOut) else { continue };
        let (Some(began), Some(made), Some(wait_ms)) = (ticket.began, end.made, ticket.wait_ms) else {
            continue;
        };
        let Ok(wait_ms) = u64::try_from(wait_ms) else { continue };
        if began.at_ms < calm_ms {
            continue;
        }
        findings.judged(17, "waits that run out in the calm");
        let took_ms = made.at_ms - began.at_ms;
        let is_early = began.life == made.life && took_ms + wait_ms / 500 + 25 < wait_ms;
        let busy_ms = ticket.busy_ms.saturating_sub(began.at_ms);
        if is_early || took_ms > (wait_ms + wait_ms / 500).max(busy_ms) + ROOM_MS {
            let words = format!(
                "ticket {number} of {wait_ms} ms ran out after {took_ms} ms: began in {began:?}, ended in {made:?}"
            );
            findings.add(&(17, words));
        }
    }
}
