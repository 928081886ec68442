//! Rule 14. Numbers: a request is answered whatever its number, also behind the last one there is and below 0; and a
//! session is taken up for whoever says that it has seen nothing, which is shown nothing older than before all the
//! same, while nobody is let in where less is known than it has seen.
//!
//! Source: ZooKeeper's reserved xids, around which those of clients wrap; ZooKeeperServer.processConnectRequest.

use std::collections::BTreeMap;

use council_wire::xid;

use crate::history::Ask;
use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let history = evidence.history;
    let mut seen: BTreeMap<i64, i64> = BTreeMap::new();
    for (number, connection) in history.connections.iter().enumerate() {
        let mut answered_behind = false;
        for call in connection.calls.iter().rev().map(|call| &history.calls[*call]) {
            if call.answer.is_none() && answered_behind && is_odd(call.xid) {
                findings.add(format!("{} has the number {}, and was skipped", tell(history, call), call.xid));
            }
            answered_behind |= call.answer.is_some();
        }
        let Some(grant) = connection.grant else { continue };
        let seen = seen.entry(grant.session).or_default();
        let least = connection.seen_zxid.max(*seen);
        let replies = history.replies(connection).filter(|(call, _)| !matches!(call.ask, Ask::Auth { .. }));
        for (_, answer) in replies {
            findings.judged("answers");
            if answer.zxid < least {
                findings.add(format!(
                    "connection {number} said it had seen {:x}, its session {least:x}, and was shown {:x}",
                    connection.seen_zxid, answer.zxid
                ));
            }
            *seen = answer.zxid.max(*seen);
        }
    }
}

/// Whether no request of most clients ever has that number.
fn is_odd(number: i32) -> bool {
    let is_reserved = [xid::NOTIFICATION, xid::PING, xid::AUTH, xid::SET_WATCHES].contains(&number);
    number <= 0 && !is_reserved
}
