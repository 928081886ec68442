//! Rule 43. Bounded memory: what a member keeps for a client that does not read is bounded. It is asked no more by it from
//! some point on, and where events pile up it is cut off.
//!
//! Judged is what lies between a member and its clients' sockets; what members keep of each other's log and of commands
//! under way has its own bounds (`window_bytes_max`, `outstanding_max`), which no run here comes near.
//!
//! Source: ours.

use crate::load::OUTSTANDING_MAX;
use crate::rules::{Evidence, Findings};

/// Bytes of a reply or an event besides its body.
const HEADER: usize = 20;

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let answers = evidence.history.calls.iter().filter_map(|call| call.answer.as_ref());
    let longest = answers.map(|answer| answer.body.len() + HEADER).max().unwrap_or(0);
    // What was asked before may still be answered.
    let most = evidence.settings.unsent_bytes_max + (OUTSTANDING_MAX + 2) * longest;
    let kept = evidence.record.unsent_bytes;
    if kept > most {
        findings
            .add(format!("{kept} bytes were kept for somebody who read nothing, {most} should be the most"));
    }
}
