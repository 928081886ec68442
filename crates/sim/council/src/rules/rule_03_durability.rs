//! Rule 3. Durability: a transaction whose success was told survives every crash that leaves a quorum of disks.
//!
//! Source: ZAB, agreement; Ganesan et al., FAST'17, on what disks do to it.

use crate::history::{Ask, Outcome};
use crate::rules::{Evidence, Findings, tell};
use base::LogIndex;

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, record, history, standings, .. } = evidence;
    for call in history.calls.iter().filter(|call| call.ask.is_write() && call.outcome() == Outcome::Ok) {
        let (Some(origin), Some(answer)) = (history.origin(call), &call.answer) else { continue };
        findings.judged("acknowledged writes");
        // The session of whoever closes it may have ended on its own.
        if oracle.of_origin(origin).is_none() && !matches!(call.ask, Ask::Close) {
            findings.add(format!("{} was done at {:x}, and is in no log", tell(history, call), answer.zxid));
        }
    }
    let last = LogIndex::ZERO.plus(record.entries.len() as u64);
    for standing in standings.iter().filter(|standing| standing.index < last) {
        findings.add(format!(
            "member {} holds entries up to {}, and {last} was applied",
            standing.member, standing.index
        ));
    }
}
