//! Rule 11. Bounded staleness: a server that has not heard of its leader for a lease serves no reads, and a leader gives no
//! lease to a member that lacks what was committed a lease ago: nothing that is answered is older than two leases.
//!
//! Every read is judged. An answer that its member may have found out and kept back (the process stood still, or the client
//! did not read) was fresh when it was found out, which was not before the request reached the member: it is judged as of
//! then. A request that reached a member only while it stood still has no such excuse: the member has to look at its lease
//! before it answers.
//!
//! Source: ours: docs/ensembles.md on leases; ZooKeeper's timeliness.

use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, settings, .. } = evidence;
    for connection in &history.connections {
        for (call, answer) in history.replies(connection).filter(|(call, _)| call.ask.is_read()) {
            findings.judged("reads");
            if call.fresh_ms == call.heard_ms() && answer.at_ms > call.fresh_ms + settings.lease_ms {
                findings.judged("reads told more than a lease late");
            }
            let Some(missed) = oracle.behind(answer.zxid).first() else { continue };
            let lag_ms = call.fresh_ms.saturating_sub(missed.at_ms);
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
