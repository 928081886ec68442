//! Rule 30. Sequence: a sequential node's number is the count of children ever made under that parent, in ten digits;
//! refused creates and failed multis do not use one up, deletes give none back.
//!
//! Source: ZooKeeper's PrepRequestProcessor; ZOOKEEPER-1624, counters that a failed multi had moved.

use crate::rules::lives::StepKind;
use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    for step in &evidence.lives().steps {
        let StepKind::Created { prefix: Some(prefix), siblings, .. } = &step.kind else { continue };
        findings.judged("sequential nodes");
        let expected = format!("{prefix}{siblings:010}");
        if step.path != expected {
            findings.add(format!("`{}` was made at {:x}, expected `{expected}`", step.path, step.zxid));
        }
    }
}
