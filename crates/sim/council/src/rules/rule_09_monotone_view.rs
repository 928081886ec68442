//! Rule 9. Monotone view: the zxids that a session is told never decrease, across servers too.
//!
//! Source: ZooKeeper's single system image: a server refuses whoever has seen more than itself.

use std::collections::BTreeMap;

use crate::history::Ask;
use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let history = evidence.history;
    let mut last: BTreeMap<i64, i64> = BTreeMap::new();
    for connection in &history.connections {
        let Some(grant) = connection.grant else { continue };
        let last = last.entry(grant.session).or_default();
        for (call, answer) in history.replies(connection) {
            if matches!(call.ask, Ask::Auth { .. }) {
                continue;
            }
            findings.judged("answers");
            if answer.zxid < *last {
                findings.add(format!(
                    "{} was answered at {:x}, and its session had seen {last:x}",
                    tell(history, call),
                    answer.zxid
                ));
            }
            *last = answer.zxid.max(*last);
        }
    }
}
