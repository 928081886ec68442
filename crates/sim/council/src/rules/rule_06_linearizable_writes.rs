//! Rule 6. Linearizable writes: writes, and reads behind a `sync`, stand in an order that agrees with real time,
//! and their results are those of that order. The zxids are the witness. A `sync` itself is answered behind all that any
//! member had applied when it was sent.
//!
//! Source: ZooKeeper (Hunt et al. 2010), section 2.3; for `sync` docs/stronger.md.
//!
//! Alone it catches the planted bug `28-sync-does-nothing`.

use council_wire::ErrorCode;

use crate::history::{Answer, Ask, Call};
use crate::oracle::Oracle;
use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, record, .. } = evidence;
    // The highest zxid that anybody had been told by each time, and the highest that any member had applied.
    let answers = history.calls.iter().filter_map(|call| call.answer.as_ref());
    let told = Highest::of(answers.map(|answer| (answer.at_ms, answer.zxid)));
    let applied = Highest::of(record.applies.iter().map(|apply| (apply.at_ms, apply.zxid)));
    for connection in &history.connections {
        let mut barrier = 0;
        for (call, answer) in history.replies(connection) {
            match &call.ask {
                Ask::Sync { .. } if answer.err == 0 => {
                    findings.judged("syncs");
                    barrier = told.before(call.sent_ms).max(applied.before(call.sent_ms));
                    if answer.zxid < barrier {
                        findings.add(format!(
                            "{} was answered at {:x}, and {barrier:x} was applied before it was sent",
                            tell(history, call),
                            answer.zxid
                        ));
                    }
                }
                ask if ask.is_read() && answer.zxid < barrier => findings.add(format!(
                    "{} was answered at {:x}, after a sync that knew of {barrier:x}",
                    tell(history, call),
                    answer.zxid
                )),
                ask if ask.is_write() && takes_zxid(answer) => {
                    let before = told.before(call.sent_ms);
                    if answer.zxid <= before {
                        findings.add(format!(
                            "{} got {:x}, and {before:x} was answered before it was sent",
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

/// Times, and the highest zxid up to each of them.
struct Highest(Vec<(u64, i64)>);

impl Highest {
    fn of(all: impl Iterator<Item = (u64, i64)>) -> Self {
        let mut all: Vec<_> = all.collect();
        all.sort_unstable();
        let mut highest = 0;
        for (_, zxid) in &mut all {
            highest = highest.max(*zxid);
            *zxid = highest;
        }
        Self(all)
    }

    /// The highest before that time.
    fn before(&self, at_ms: u64) -> i64 {
        let count = self.0.partition_point(|(time_ms, _)| *time_ms < at_ms);
        count.checked_sub(1).map_or(0, |last| self.0[last].1)
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
    findings.judged("results of writes");
    let what = tell(evidence.history, call);
    if done.zxid != answer.zxid && !matches!(call.ask, Ask::Close) {
        findings.add(format!(
            "{what} was answered with zxid {:x}, and the log has it at {:x}",
            answer.zxid, done.zxid
        ));
    } else if done.error != answer.err && !matches!(call.ask, Ask::Close) {
        findings.add(format!("{what} was answered with {}, and the model says {}", answer.err, done.error));
    } else if done.reply != answer.body {
        findings.add(format!(
            "{what} was answered with {:x?}, and the model says {:x?}",
            answer.body, done.reply
        ));
    }
}
