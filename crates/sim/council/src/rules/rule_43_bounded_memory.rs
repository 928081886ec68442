//! Rule 43. Bounded memory: what a member keeps for a client that does not read is bounded. It is asked no more by it from
//! some point on, and where events pile up it is cut off.
//!
//! Judged is what lies between a member and its clients' sockets; what members keep of each other's log and of commands
//! under way has its own bounds (`window_bytes_max`, `outstanding_max`), which no run here comes near.
//!
//! Source: ours.
//!
//! Alone it catches the planted bug `66-keeps-all-for-sleepers`.

use crate::rules::{Evidence, Findings};

/// Whoever falls asleep waits for nothing long: the last event, and the answers to what it said when it fell asleep or left.
const ROOM_BYTES: usize = 512;

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let most = evidence.settings.unsent_bytes_max + ROOM_BYTES;
    let kept = evidence.record.unsent_bytes;
    if kept > 0 {
        findings.judged("runs with clients that read nothing");
    }
    if kept > most {
        findings.add(format!("{kept} bytes were kept for a client that read nothing; the limit is {most}"));
    }
}
