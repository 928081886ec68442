//! Rule 46. Grants: a session's timeout is the one asked for, within what servers grant, and the one that the log gives
//! it; nobody is let in by a member that knows less than the client has seen; the ids that a member gives rise.
//!
//! Source: ZooKeeper's handshake (ZooKeeperServer.processConnectRequest); that ids rise is ours.

use crate::rules::{Evidence, Findings};

/// How much later a session may come into the log than another that was opened behind it: what is lost on its way to the
/// leader is given again, milliseconds.
const GIVEN_AGAIN_MS: u64 = 15_000;

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, record, settings, .. } = evidence;
    for (number, connection) in history.connections.iter().enumerate() {
        let Some(grant) = connection.grant else { continue };
        let Some(story) = oracle.sessions.get(&grant.session) else { continue };
        let place = story.generations.iter().position(|(generation, ..)| *generation == grant.generation);
        let Some(beginning) = place.and_then(|place| story.beginnings.get(place)) else { continue };
        findings.judged("grants");
        if connection.seen_zxid > 0 {
            findings.judged("clients that had seen something");
        }
        let asked = u64::try_from(connection.asked_timeout_ms).ok().filter(|asked_ms| *asked_ms > 0);
        let within = settings.timeouts_ms.zip(asked).map(|((least, most), asked)| asked.clamp(least, most));
        if grant.timeout_ms != beginning.timeout_ms || within.is_some_and(|within| within != grant.timeout_ms)
        {
            findings.add(format!(
                "connection {number} was granted {} ms, the log says {} ms, and it should be {within:?}",
                grant.timeout_ms, beginning.timeout_ms
            ));
        }
        if beginning.behind_zxid < connection.seen_zxid {
            findings.add(format!(
                "connection {number} had seen {:x}, and was let in behind {:x}",
                connection.seen_zxid, beginning.behind_zxid
            ));
        }
    }
    findings.judged_all("sessions that did not come in order", oracle.late.len());
    for late in &oracle.late {
        let made_ms = record.entries.get(late.index as usize - 1).and_then(|committed| {
            record.made_ms.get(&(committed.entry.index, committed.entry.term)).copied()
        });
        if made_ms.is_some_and(|made_ms| made_ms > late.latest_ms + GIVEN_AGAIN_MS) {
            findings.add(format!(
                "session {:x} in entry {} is below one that its member had opened long before",
                late.session, late.index
            ));
        }
    }
}
