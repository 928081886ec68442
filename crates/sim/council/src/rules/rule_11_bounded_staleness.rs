//! Rule 11. Bounded staleness: a server that has not heard of its leader for a lease serves no reads, and a leader gives no
//! lease to a member that lacks what was committed a lease ago: nothing that is answered is older than two leases.
//!
//! Every read is judged. An answer that its member may have found out and kept back (the process or the shard stood still, or the client
//! did not read) was fresh when it was found out, which was not before the request reached the member: it is judged as of
//! then. A request that reached a member only while it stood still has no such excuse: the member has to look at its lease
//! before it answers.
//!
//! Entries are applied in parts. A transaction counts from when it was applied itself, and not from when its entry was begun: a
//! member that stands still in between has not seen it.
//!
//! Source: ours: docs/ensembles.md on leases; ZooKeeper's timeliness.

use crate::record::Record;
use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, record, settings, .. } = evidence;
    let applied = Applied::of(record);
    for connection in &history.connections {
        for (call, answer) in history.replies(connection).filter(|(call, _)| call.ask.is_read()) {
            findings.judged("reads");
            if call.fresh_ms == call.heard_ms() && answer.at_ms > call.fresh_ms + settings.lease_ms {
                findings.judged("reads delivered more than a lease late");
            }
            let Some(missed) = oracle.behind(answer.zxid).first() else { continue };
            let applied_ms = applied.when(missed.zxid).unwrap_or(missed.at_ms);
            let lag_ms = call.fresh_ms.saturating_sub(applied_ms);
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

/// The highest zxid that any member had applied by each time.
struct Applied(Vec<(i64, u64)>);

impl Applied {
    fn of(record: &Record) -> Self {
        let mut rises: Vec<(i64, u64)> = Vec::new();
        for apply in &record.applies {
            if rises.last().is_none_or(|(zxid, _)| *zxid < apply.zxid) {
                rises.push((apply.zxid, apply.at_ms));
            }
        }
        Self(rises)
    }

    /// When a member had first applied that, if that is known.
    fn when(&self, zxid: i64) -> Option<u64> {
        let at = self.0.partition_point(|(applied, _)| *applied < zxid);
        self.0.get(at).map(|(_, at_ms)| *at_ms)
    }
}
