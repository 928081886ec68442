//! Rule 50. One of a number: of two machines that say that they are the same member, one serves at a time. Each gives numbers to
//! connections under that number, and what they give would be the same.
//!
//! Source: ours: docs/ensembles.md on two machines of one number.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let record = evidence.record;
    findings.judged_all("checks of two machines of one number", record.doubled_looks);
    for (number, at_ms) in &record.both_served {
        findings.add(format!("two machines served as member {number} at a time, last at {at_ms} ms"));
    }
}
