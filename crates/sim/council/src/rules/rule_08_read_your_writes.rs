//! Rule 8. Read your writes: a read sent behind a write, answered or not, sees it.
//!
//! Source: ZooKeeper (Hunt et al. 2010), section 2.3; docs/stronger.md.

use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, .. } = evidence;
    for connection in &history.connections {
        let mut written = 0;
        for call in connection.calls.iter().map(|call| &history.calls[*call]) {
            let done = history.origin(call).and_then(|origin| oracle.of_origin(origin));
            if let Some(done) = done.filter(|done| done.error == 0) {
                written = written.max(done.zxid);
            }
            if let Some(answer) = call.answer.as_ref().filter(|_| call.ask.is_read())
                && written > 0
            {
                findings.judged("reads after writes");
                if answer.zxid >= written {
                    continue;
                }
                findings.add(format!(
                    "{} was answered at {:x}, and a write sent before it is at {written:x}",
                    tell(history, call),
                    answer.zxid
                ));
            }
        }
    }
}
