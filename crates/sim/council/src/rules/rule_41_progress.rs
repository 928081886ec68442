//! Rule 41. Progress: once all faults have ended and all is at rest, writes to those who are members in the end succeed,
//! soon.
//!
//! Source: ours; ZooKeeper (Hunt et al. 2010) promises it while a majority is up and can talk.

use council_wire::ErrorCode;

use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { history, settings, .. } = evidence;
    if history.served_ms.is_none() {
        return;
    }
    let is_member = |number| evidence.standings.iter().any(|standing| standing.member == number);
    let sent_then = history.calls.iter().skip(history.served_from).filter(|call| call.ask.is_write());
    let (mut sent, mut succeeded) = (0, 0);
    for call in sent_then.filter(|call| is_member(history.connections[call.connection].member)) {
        sent += 1;
        findings.judged("writes after the faults");
        let connection = &history.connections[call.connection];
        let Some(answer) = &call.answer else {
            // A session that had been condemned before ends only now, and its connection with it.
            if connection.ended_ms.is_none() || connection.silent_since_ms.is_some() {
                findings.add(format!(
                    "{} was never answered, although all faults had ended",
                    tell(history, call)
                ));
            }
            continue;
        };
        if answer.err != 0 && answer.err != ErrorCode::NodeExists.code() {
            findings.add(format!(
                "{} was answered with {}, although all faults had ended",
                tell(history, call),
                answer.err
            ));
        } else if answer.at_ms > call.sent_ms + settings.answer_max_ms() {
            findings.add(format!("{} took too long, although all faults had ended", tell(history, call)));
        } else {
            succeeded += 1;
        }
    }
    if sent > 0 && succeeded == 0 {
        findings.add(format!("of {sent} writes none succeeded, although all faults had ended"));
    }
}
