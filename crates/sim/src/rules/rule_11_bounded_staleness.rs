//! Rule 11. Bounded staleness: a server that has not heard of its leader for a lease serves no reads, and a leader gives no
//! lease to a member that lacks what was committed a lease ago: nothing that is answered is older than two leases.
//!
//! Source: ours: docs/ensembles.md on leases; ZooKeeper's timeliness.

use crate::history::Call;
use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, settings, .. } = evidence;
    for connection in &history.connections {
        // An answer that its member had found out, and sent only after it had stood still, was not old when it was made.
        let is_prompt = |call: &Call| !call.overslept && !call.stood_still;
        let reads = history.replies(connection).filter(|(call, _)| call.ask.is_read() && is_prompt(call));
        for (call, answer) in reads {
            findings.judged("reads");
            let Some(missed) = oracle.behind(answer.zxid).first() else { continue };
            let lag_ms = answer.at_ms.saturating_sub(missed.at_ms);
            if lag_ms > settings.lease_ms / 2 {
                findings.judged("reads older than half a lease");
            }
            if lag_ms > settings.staleness_max_ms() {
                findings.add(format!(
                    "{} was answered at {:x}, {lag_ms} ms after {:x} was applied elsewhere",
                    tell(history, call),
                    answer.zxid,
                    missed.zxid
                ));
            }
        }
    }
}
