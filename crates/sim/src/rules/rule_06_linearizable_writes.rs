//! Rule 6. Linearizable writes: writes, and reads behind a `sync`, stand in an order that agrees with real time,
//! and their results are those of that order. The zxids are the witness.
//!
//! Source: ZooKeeper (Hunt et al. 2010), section 2.3; for `sync` docs/stronger.md.

use jute::ErrorCode;

use crate::history::{Answer, Ask, Call};
use crate::oracle::Oracle;
use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, .. } = evidence;
    // The highest zxid that anybody had been told by each time.
    let answers = history.calls.iter().filter_map(|call| call.answer.as_ref());
    let mut told: Vec<_> = answers.map(|answer| (answer.at_ms, answer.zxid)).collect();
    told.sort_unstable();
    let mut highest = 0;
    for (_, zxid) in &mut told {
        highest = highest.max(*zxid);
        *zxid = highest;
    }
    let told_before = |at_ms| {
        let count = told.partition_point(|(told_ms, _)| *told_ms < at_ms);
        count.checked_sub(1).map_or(0, |last| told[last].1)
    };
    for connection in &history.connections {
        let mut barrier = 0;
        for (call, answer) in history.replies(connection) {
            match &call.ask {
                Ask::Sync { .. } if answer.err == 0 => barrier = told_before(call.sent_ms),
                ask if ask.is_read() && answer.zxid < barrier => findings.add(format!(
                    "{} was answered at {:x}, behind a sync that knew of {barrier:x}",
                    tell(history, call),
                    answer.zxid
                )),
                ask if ask.is_write() && takes_zxid(answer) => {
                    let before = told_before(call.sent_ms);
                    if answer.zxid <= before {
                        findings.add(format!(
                            "{} got {:x}, and {before:x} was told before it was sent",
                            tell(history, call),
                            answer.zxid
                        ));
                    }
                    result(evidence, call, answer, oracle, findings);
                }
                _ => {}
            }
        }
    }
}

/// Whether that answer is one of the tree, and not of a member that could not take the write.
fn takes_zxid(answer: &Answer) -> bool {
    ![ErrorCode::SystemError, ErrorCode::NewConfigNoQuorum, ErrorCode::ReconfigInProgress]
        .iter()
        .any(|code| code.code() == answer.err)
}

/// The answer is that of the transaction.
fn result(evidence: &Evidence<'_>, call: &Call, answer: &Answer, oracle: &Oracle, findings: &mut Findings) {
    let Some(origin) = evidence.history.origin(call) else { return };
    let Some(done) = oracle.of_origin(origin) else { return };
    let what = tell(evidence.history, call);
    if done.zxid != answer.zxid && !matches!(call.ask, Ask::Close) {
        findings.add(format!("{what} was told {:x}, and stands at {:x}", answer.zxid, done.zxid));
    } else if done.error != answer.err && !matches!(call.ask, Ask::Close) {
        findings.add(format!("{what} was told {}, and the model says {}", answer.err, done.error));
    } else if done.reply != answer.body {
        findings.add(format!("{what} was told {:x?}, and the model says {:x?}", answer.body, done.reply));
    }
}
