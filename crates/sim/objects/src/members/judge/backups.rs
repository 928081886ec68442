//! Backups: each holds all that anybody had been told before it was asked for, and is what the log makes at its position; and a group
//! that is made of it goes on behind all that was given out.

use super::{Evidence, Findings};
use crate::members::backup::BackupSeen;

/// O2, O10, O24.
pub(super) fn judge(
    evidence: &Evidence<'_>,
    digest_at: impl Fn(u64) -> Option<u64>,
    findings: &mut Findings,
) {
    for seen in &evidence.record.backups {
        findings.judged(24, "backups");
        let BackupSeen { attempt, member, position, digest, restored, wrong } = seen;
        let told_before = evidence.history.attempts[*attempt as usize].told_before;
        let due = digest_at(*position);
        if *position < told_before {
            let words = format!(
                "member {member} gives a backup of position {position}, and {told_before} had been told before"
            );
            return findings.add(&(2, words));
        }
        if due != Some(*digest) {
            let words = format!(
                "the backup of member {member} has the digest {digest:x} at position {position}, and the log makes {due:x?}"
            );
            return findings.add(&(24, words));
        }
        if let Some(wrong) = wrong {
            return findings
                .add(&(24, format!("the backup of position {position} is not restored: {wrong}")));
        }
        if *restored <= evidence.history.highest {
            let words = format!(
                "a group that is made of the backup of position {position} goes on at {restored}, and {} was told",
                evidence.history.highest
            );
            return findings.add(&(10, words));
        }
    }
}
