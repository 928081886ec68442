//! Rule 46. Grants: a session's timeout is the one asked for, within what servers grant, and the one that the log gives
//! it; no client is let in by a member that knows less than the client has seen; the ids that a member gives rise.
//!
//! Source: ZooKeeper's handshake (ZooKeeperServer.processConnectRequest); that ids rise is ours.

use crate::history::{Connection, History};
use crate::rules::{Evidence, Findings};
use base::LogIndex;

/// How much later a session may come into the log than another that was opened behind it: what is lost on its way to the
/// leader is given again, milliseconds. While there is no leader nothing is.
const GIVEN_AGAIN_MS: u64 = 15_000;

/// What else may have been granted on a connection: a member that died before it answered gives its session's next
/// connection the number that it had given to the one before, and what was asked for on that one may still come into the
/// log. Gives the timeouts asked for on those.
fn earlier(history: &History, number: usize) -> impl Iterator<Item = u64> {
    let Connection { asked, member, life, .. } = history.connections[number];
    let before = history.connections[..number].iter().filter(move |one| {
        one.grant.is_none() && (one.asked, one.member) == (asked, member) && one.life != life
    });
    before.filter_map(|one| u64::try_from(one.asked_timeout_ms).ok())
}

#[expect(clippy::too_many_lines, reason = "one claim after the other about the same grant")]
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
        let granted = |asked: u64| settings.timeouts_ms.map(|(least, most)| asked.clamp(least, most));
        let within = asked.and_then(granted);
        let is_within = within.is_none_or(|within| within == grant.timeout_ms)
            || earlier(history, number).any(|asked| granted(asked) == Some(grant.timeout_ms));
        if grant.timeout_ms != beginning.timeout_ms || !is_within {
            findings.add(format!(
                "connection {number} was granted {} ms, the log says {} ms, expected {within:?}",
                grant.timeout_ms, beginning.timeout_ms
            ));
        }
        if beginning.behind_zxid < connection.seen_zxid {
            findings.add(format!(
                "connection {number} had seen {:x}, and was accepted by a member at {:x}",
                connection.seen_zxid, beginning.behind_zxid
            ));
        }
    }
    findings.judged_all("sessions that did not come in order", oracle.late.len());
    for late in &oracle.late {
        let made = record.committed(late.index).and_then(|committed| {
            let term = committed.entry.term;
            let made_ms = record.made_ms.get(&(committed.entry.index, term)).copied()?;
            let first = record.entries.partition_point(|committed| committed.entry.term < term);
            Some((made_ms, record.entry_made_ms(LogIndex::FIRST.plus(first as u64))))
        });
        if made.is_some_and(|(made_ms, led_ms)| made_ms > late.latest_ms.max(led_ms) + GIVEN_AGAIN_MS) {
            findings.add(format!(
                "session {:x} in entry {} is below one that its member had opened long before",
                late.session, late.index
            ));
        }
    }
}
