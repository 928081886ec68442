//! Rule 10. Read point: every read is what the tree of the reply's zxid says, exactly.
//!
//! Source: a reply's zxid says which tree it shows; ZooKeeper's guarantee of a consistent prefix.

use jute::ErrorCode;

use crate::history::{Answer, Ask};
use crate::oracle::Oracle;
use crate::rules::seen::Seen;
use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, .. } = evidence;
    for call in history.calls.iter().filter(|call| call.ask.is_read()) {
        let Some(answer) = &call.answer else { continue };
        if answer.zxid > oracle.last_zxid() {
            findings.add(format!(
                "{} was answered at {:x}, which nobody applied",
                tell(history, call),
                answer.zxid
            ));
        } else if let Some(wrong) = wrong(oracle, &call.ask, answer) {
            findings.add(format!("{} at {:x}: {wrong}", tell(history, call), answer.zxid));
        }
    }
}

/// What is wrong with an answer.
fn wrong(oracle: &Oracle, ask: &Ask, answer: &Answer) -> Option<String> {
    let (path, _) = ask.reads()?;
    let node = oracle.model.at(path, answer.zxid);
    let expected = if node.is_some() { 0 } else { ErrorCode::NoNode.code() };
    if answer.err != expected {
        return Some(format!("it was told {}, and it should be {expected}", answer.err));
    }
    let node = node?;
    let Seen { data, children, stat } = match Seen::read(ask, &answer.body) {
        Ok(seen) => seen,
        Err(error) => return Some(error.to_string()),
    };
    if stat != node.stat {
        return Some(format!("it was told {stat:?}, and it should be {:?}", node.stat));
    }
    if let Some(data) = data.filter(|data| *data != node.data) {
        return Some(format!("it was told {data:?}, and it should be {:?}", node.data));
    }
    let mut children = children?;
    children.sort_unstable();
    let expected = oracle.model.children_at(path, answer.zxid);
    (children != expected).then(|| format!("it was told {children:?}, and it should be {expected:?}"))
}
