//! Rule 38. Multi: all or nothing, at one zxid. Of one that fails every operation is told its error: 0 before the
//! culprit, its code, -2 behind it; and nothing of it is ever seen.
//!
//! Source: ZooKeeper's multi; ZOOKEEPER-1624 and 2052 on what failed ones left behind.

use std::collections::BTreeSet;

use council_wire::{ErrorCode, Malformed, MultiHeader, OpCode, Reader, Stat};

use crate::history::{Ask, Outcome};
use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let history = evidence.history;
    let mut failed = BTreeSet::new();
    for call in history.calls.iter().filter(|call| call.outcome() == Outcome::Ok) {
        let (Ask::Multi(asked), Some(answer)) = (&call.ask, &call.answer) else { continue };
        match results(&answer.body) {
            Ok(results) if results.first().is_some_and(|result| result.is_error) => {
                failed.insert(answer.zxid);
                findings.judged("multis that failed");
                if !is_vector(&results, asked.len()) {
                    findings.add(format!("{} failed with {results:?}", tell(history, call)));
                }
            }
            Ok(results) => {
                findings.judged("multis that were done");
                let is_whole = results.len() == asked.len() && results.iter().all(|result| !result.is_error);
                let is_at_once =
                    results.iter().all(|result| result.stat.is_none_or(|stat| stat.mzxid == answer.zxid));
                if !is_whole || !is_at_once {
                    findings.add(format!("{} at {:x} did {results:?}", tell(history, call), answer.zxid));
                }
            }
            Err(error) => findings.add(format!("{} was answered with: {error}", tell(history, call))),
        }
    }
    for shown in evidence.shown() {
        let traces = [shown.stat.czxid, shown.stat.mzxid, shown.stat.pzxid];
        if let Some(zxid) = traces.iter().find(|zxid| failed.contains(*zxid)) {
            findings.add(format!("{} shows something of {zxid:x}, which failed", shown.tell(evidence)));
        }
    }
}

/// What was told of one operation.
#[derive(Debug)]
struct Told {
    is_error: bool,
    code: i32,
    stat: Option<Stat>,
}

fn results(body: &[u8]) -> Result<Vec<Told>, Malformed> {
    let mut reader = Reader::new(body);
    let mut results = Vec::new();
    loop {
        let header = MultiHeader::read(&mut reader)?;
        if header.done {
            return Ok(results);
        }
        let (mut code, mut stat) = (header.err, None);
        match OpCode::from_code(header.operation) {
            None => code = reader.i32()?,
            Some(OpCode::Create) => drop(reader.text()?),
            Some(OpCode::Create2) => {
                reader.text()?;
                stat = Some(Stat::read(&mut reader)?);
            }
            Some(OpCode::SetData) => stat = Some(Stat::read(&mut reader)?),
            Some(_) => {}
        }
        results.push(Told { is_error: header.operation == -1, code, stat });
    }
}

/// Whether these are the errors of one culprit among so many operations.
fn is_vector(results: &[Told], operations: usize) -> bool {
    let culprit = results.iter().position(|result| result.code != 0);
    let behind = ErrorCode::RuntimeInconsistency.code();
    results.len() == operations
        && results.iter().all(|result| result.is_error)
        && culprit.is_some_and(|culprit| {
            let (culprit, rest) = (results[culprit].code, &results[culprit + 1..]);
            culprit != behind && rest.iter().all(|result| result.code == behind)
        })
}
