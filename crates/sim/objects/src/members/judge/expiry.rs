//! O11 never early: a session ends for its silence only if no member that serves heard of its client for its time to live, and
//! a new leader gives it all of that. What a member has heard and told nobody is lost with it.
//!
//! What counts is the moment of the verdict, not that of its commit: a disk that stands still may lie between them for long.
//! Members are asked before it, and their answers take a while, a lease at the most: a sign in that while may come too late.

use std::collections::BTreeMap;

use objects_state::SessionId;
use sim_kit::DRIFT_MAX_PPM;

use super::replay::{Life, LogTold};
use super::{Evidence, Findings};
use crate::members::record::Deed;

/// Milliseconds by which times that are rounded may differ.
const ROUNDED_MS: u64 = 25;

pub(super) fn judge(evidence: &Evidence<'_>, log: &LogTold, findings: &mut Findings) {
    let lives =
        log.sessions.iter().flat_map(|(id, lives)| lives.iter().enumerate().map(move |life| (*id, life)));
    for (session, (nth, life)) in lives {
        if life.is_again {
            findings
                .add(&(6, format!("session {session} has ended, and a late copy opens it again: {life:?}")));
        }
        let Some((made, true)) = life.ended else { continue };
        if nth > 0 {
            // Not all members knew then that ids are used up: a verdict on the life before may be under way still.
            findings.judged(11, "expiries of sessions that were opened once more");
            continue;
        }
        findings.judged(11, "expiries");
        let least_ms = with_drift(life.ttl_ms);
        let verdicts = verdicts_of(evidence, made);
        let silent_ms = verdicts.iter().map(|at_ms| silence_ms(evidence, session, life, *at_ms)).max();
        let silent_ms = silent_ms.unwrap_or(0);
        if silent_ms < least_ms {
            let mut signs = evidence.record.signs.get(&session).cloned().unwrap_or_default();
            signs.retain(|sign| sign.at_ms + 3 * life.ttl_ms > made.at_ms);
            let words = format!(
                "session {session} of {} ms expired after {silent_ms} ms of silence, opened at {} ms, found silent at \
                 {verdicts:?}, its end made at {} ms by life {}; signs {signs:?}",
                life.ttl_ms, life.opened_ms, made.at_ms, made.life
            );
            findings.add(&(11, words));
        }
        let won = evidence.record.won.iter().filter(|won| won.life == made.life && won.at_ms <= made.at_ms);
        let led_ms = won.map(|won| made.at_ms - won.at_ms).min();
        if let Some(led_ms) = led_ms {
            findings.judged(11, "expiries by a leader whose beginning is known");
            if led_ms < least_ms {
                let words = format!(
                    "session {session} of {} ms expired {led_ms} ms after a leader began",
                    life.ttl_ms
                );
                findings.add(&(11, words));
            }
        }
    }
}

/// A time to live by a clock that is fast.
const fn with_drift(ttl_ms: u64) -> u64 {
    (ttl_ms - ttl_ms * 2 * DRIFT_MAX_PPM as u64 / 1_000_000).saturating_sub(ROUNDED_MS)
}

/// When the leader may have found the session silent whose end it made then: since it made something before.
fn verdicts_of(evidence: &Evidence<'_>, made: Deed) -> Vec<u64> {
    let earlier = evidence.record.deeds_of(made.life).filter(|at_ms| *at_ms < made.at_ms).max().unwrap_or(0);
    let own = evidence.record.verdicts.iter().filter(|verdict| verdict.life == made.life);
    let within = own.map(|verdict| verdict.at_ms).filter(|at_ms| (earlier..=made.at_ms).contains(at_ms));
    let mut all: Vec<_> = within.collect();
    if all.is_empty() {
        all.push(made.at_ms);
    }
    all
}

/// The longest silence that may have led to the verdict.
fn silence_ms(evidence: &Evidence<'_>, session: SessionId, life: &Life, verdict_ms: u64) -> u64 {
    let room_ms = evidence.lease_ms + ROUNDED_MS;
    let signs = evidence.record.signs.get(&session).cloned().unwrap_or_default();
    let signs = signs.into_iter().filter(|sign| (life.opened_ms..=verdict_ms).contains(&sign.at_ms));
    let is_known = |sign: &Deed| !went_with_its_member(evidence, *sign, life.ttl_ms, verdict_ms);
    let mut signs: Vec<_> = signs.filter(is_known).map(|sign| sign.at_ms).collect();
    signs.sort_unstable();
    let (mut before_ms, mut longest_ms) = (life.opened_ms, 0);
    for at_ms in signs.into_iter().chain([verdict_ms]) {
        if at_ms + room_ms >= verdict_ms {
            longest_ms = longest_ms.max(at_ms.saturating_sub(before_ms));
        }
        before_ms = before_ms.max(at_ms);
    }
    longest_ms
}

/// Whether the member that heard a sign had died by then, and may have told nobody: members report six times in a time to live.
fn went_with_its_member(evidence: &Evidence<'_>, sign: Deed, ttl_ms: u64, verdict_ms: u64) -> bool {
    let ended_ms =
        evidence.record.ended_ms.get(&sign.life).copied().filter(|ended_ms| *ended_ms <= verdict_ms);
    ended_ms.is_some_and(|ended_ms| sign.at_ms + ttl_ms / 6 + evidence.lease_ms >= ended_ms)
}

/// When each session's client was last heard of.
pub(super) fn last_signs(evidence: &Evidence<'_>) -> BTreeMap<SessionId, u64> {
    let signs = evidence.record.signs.iter();
    let last = |signs: &[Deed]| signs.iter().map(|sign| sign.at_ms).max();
    signs.filter_map(|(session, signs)| Some((*session, last(signs)?))).collect()
}
