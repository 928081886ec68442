//! Rule 11. Bounded staleness: a server that has not heard of its leader for a lease serves no reads: what it
//! answers is not older than that, and the time in which what is committed becomes known.
//!
//! Source: ours: docs/ensembles.md on leases; ZooKeeper's timeliness.

use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, settings, .. } = evidence;
    for connection in &history.connections {
        let reads = history.replies(connection).filter(|(call, _)| call.ask.is_read() && !call.overslept);
        for (call, answer) in reads {
            let Some(missed) = oracle.behind(answer.zxid).first() else { continue };
            let lag_ms = answer.at_ms.saturating_sub(missed.at_ms);
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
