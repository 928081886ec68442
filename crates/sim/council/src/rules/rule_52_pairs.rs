//! Rule 52. Pairs of connections: once a member was told that another is connected, it is told nothing that came on a
//! connection of an earlier pair; a pair that was told to stand is told to have ended once, by its own end; and of two pairs
//! of the same two processes both sides keep the same one, where they prove who they are.
//!
//! Source: ours: the rules at the head of `net_peer_pairs`.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let record = evidence.record;
    findings.judged_all("pairs reported", record.pairs.told);
    record.pairs.misused.iter().for_each(|words| findings.add(words.clone()));
}
