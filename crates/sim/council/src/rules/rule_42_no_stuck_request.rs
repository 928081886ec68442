//! Rule 42. No stuck request: what is asked is answered, or the connection ends. Once faults have ended nobody who was
//! served has to leave a server because it is silent, and in the end nobody waits. (Whoever asks for a session where there
//! is no member any more waits for `handshake_timeout_ms`.)
//!
//! Source: ours.

use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { history, record, settings, .. } = evidence;
    let Some(calm_from_ms) = history.calm_from_ms() else { return };
    let calm_ms = calm_from_ms.max(record.reign_began_ms) + settings.recovery_max_ms();
    for (number, connection) in history.connections.iter().enumerate() {
        let silent_since_ms = connection.silent_since_ms.filter(|_| connection.grant.is_some());
        if silent_since_ms.is_some() {
            findings.judged("silent connections");
        }
        if let Some(since_ms) = silent_since_ms.filter(|since_ms| *since_ms >= calm_ms) {
            findings.add(format!(
                "connection {number} to member {} was silent from {since_ms} ms on, calm since {calm_ms} ms",
                connection.member
            ));
        }
        if connection.ended_ms.is_some() {
            continue;
        }
        for call in connection.calls.iter().map(|call| &history.calls[*call]) {
            findings.judged("calls on open connections");
            let waited_ms = history.ended_ms.saturating_sub(call.sent_ms);
            if call.answer.is_none() && waited_ms > settings.answer_max_ms() {
                findings.add(format!("{} still waits", tell(history, call)));
            }
        }
    }
}
