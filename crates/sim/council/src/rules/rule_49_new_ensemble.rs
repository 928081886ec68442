//! Rule 49. New ensemble: one that is made of a survivor of a lost one gives no zxid that the lost one gave. No member with
//! data of the lost one serves, leads, or is taken for a member of the new one.
//!
//! Other rules judge that the new ensemble keeps all that the survivor's log held, sessions included: their record begins
//! with that log.
//!
//! Source: ours: docs/ensembles.md on `force-new-ensemble`; etcd's `--bump-revision` for the zxids.

use crate::record::Resumed;
use crate::rules::{Evidence, Findings};

#[expect(clippy::too_many_lines, reason = "one claim after the other about the same ensemble")]
pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, record, .. } = evidence;
    let Some(Resumed { index, given_zxid, outsiders, crossed, .. }) = &record.resumed else { return };
    for done in oracle.transactions.iter().filter(|done| done.index > *index) {
        findings.judged("transactions of a new ensemble");
        if done.zxid <= *given_zxid {
            findings.add(format!(
                "entry {} of the new ensemble has {:x}, and up to {given_zxid:x} was given before",
                done.index, done.zxid
            ));
        }
    }
    for (from, to) in crossed {
        findings
            .add(format!("machine {to} treats machine {from} as a member of its ensemble, which it is not"));
    }
    for outsider in outsiders.values() {
        findings.judged("starts of members with data of the lost ensemble");
        let member = outsider.member;
        if outsider.served || outsider.led {
            let what = if outsider.led { "leads" } else { "serves" };
            findings.add(format!("member {member} has data of the lost ensemble, and {what}"));
        }
    }
    for (number, connection) in history.connections.iter().enumerate() {
        let is_granted = connection.grant.is_some();
        if outsiders.contains_key(&connection.life) {
            findings.judged("connections to members of the lost ensemble");
            if is_granted {
                findings.add(format!(
                    "connection {number} got a session from member {}, which has data of the lost ensemble",
                    connection.member
                ));
            }
        } else if is_granted && connection.asked != 0 {
            let story = oracle.sessions.get(&connection.asked);
            let generation = connection.grant.map_or(0, |grant| grant.generation);
            let began = story.and_then(|story| story.generations.iter().find(|one| one.0 == generation));
            let created = story.and_then(|story| story.generations.first());
            if created.is_some_and(|one| one.1 <= *index) && began.is_some_and(|one| one.1 > *index) {
                findings.judged("sessions that continued");
            }
        }
    }
}
