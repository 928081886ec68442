//! Rule 51. Memberships: an identity that a member tells others is on its disk for good; a member whose disk ever held one
//! that was used says to nobody that it may found an ensemble; and one that doubts its own asks before it goes on with it.
//!
//! Source: ours: the invariants of `consensus_replica::lifecycle`.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let record = evidence.record;
    findings.judged_all("identities announced", record.identities_told);
    findings.judged_all("messages of members without an identity", record.claims_told);
    record.misused_memberships.iter().for_each(|words| findings.add(words.clone()));
}
