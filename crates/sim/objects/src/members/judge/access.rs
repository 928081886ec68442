//! O32, as clients see it: each request comes into the log under the principal of the token that it carried, and behind the answer
//! to a revocation nothing that is sent with that token has an effect anywhere, or shows a state of that position.

use std::collections::BTreeMap;

use super::replay::LogTold;
use super::{Evidence, Findings};
use crate::members::history::{Attempt, By, Call, Change, Errand};

/// What says nothing of who asks: a member that cannot serve, or has too much to do.
const OF_NOBODY: [u16; 4] = [408, 429, 503, 504];

/// A token is over: when a client was told that, and from which position on.
#[derive(Clone, Copy, Debug)]
struct Revoked {
    told_ms: u64,
    position: u64,
}

pub(super) fn judge(evidence: &Evidence<'_>, log: &LogTold, findings: &mut Findings) {
    let revoked = revoked(evidence);
    for (number, attempt) in evidence.history.attempts.iter().enumerate() {
        let call = &evidence.history.calls[attempt.call];
        under_its_principal(evidence, log, number as u64, findings);
        let By::Token { number, .. } = &call.by else { continue };
        let Some(revoked) = revoked.get(number).filter(|revoked| attempt.sent_ms >= revoked.told_ms) else {
            continue;
        };
        let Some(answer) = &attempt.answer else { continue };
        findings.judged(32, "answers behind a revocation");
        // An edge that finds a mistake in a request knows no token.
        let is_of_edge = answer.position.is_none() && answer.status >= 400;
        let is_older = answer.position.is_some_and(|position| position < revoked.position);
        // A member that had not applied the revocation yet took it in: the wait ended where that was.
        let is_end = matches!(attempt.errand, Errand::Collect(_))
            && answer.status == 403
            && answer.position == Some(revoked.position);
        if answer.status != 401 && !OF_NOBODY.contains(&answer.status) && !is_older && !is_of_edge && !is_end
        {
            findings
                .add(&(32, format!("it comes by a token that is over, {revoked:?}: {call:?}\n{attempt:?}")));
        }
    }
}

/// What the log has of a request has the principal that its token says.
fn under_its_principal(evidence: &Evidence<'_>, log: &LogTold, number: u64, findings: &mut Findings) {
    let attempt = &evidence.history.attempts[number as usize];
    let by = &evidence.history.calls[attempt.call].by;
    let own = evidence.record.numbers.get(&number);
    let found = own.and_then(|own| log.requests.get(&(attempt.at.1, *own)));
    for occurrence in found.into_iter().flatten() {
        findings.judged(32, "principals in the log");
        if occurrence.principal != by.principal() {
            let words =
                format!("attempt {number} comes by {by:?}, and is in the log by {:?}", occurrence.principal);
            findings.add(&(32, words));
        }
    }
}

fn revoked(evidence: &Evidence<'_>) -> BTreeMap<u64, Revoked> {
    let history = evidence.history;
    let mut all: BTreeMap<u64, Revoked> = BTreeMap::new();
    let tokens: Vec<_> = history.calls.iter().filter_map(token_of).collect();
    for attempt in &history.attempts {
        let Some((change, revoked)) = revocation(attempt, &history.calls[attempt.call]) else { continue };
        for (number, principal) in &tokens {
            let is_its = match change {
                Change::Revoke(own) => own == number,
                // One that was made behind it is not.
                Change::RevokePrincipal(name) => name == principal && *number < revoked.position,
                Change::Create | Change::Else => false,
            };
            let is_earlier = all.get(number).is_none_or(|known| revoked.told_ms < known.told_ms);
            if is_its && is_earlier {
                all.insert(*number, revoked);
            }
        }
    }
    all
}

fn token_of(call: &Call) -> Option<(u64, &str)> {
    match &call.by {
        By::Token { number, principal } => Some((*number, principal)),
        By::Nobody | By::Root => None,
    }
}

/// What an attempt has changed, as its client was told.
fn revocation<'a>(attempt: &Attempt, call: &'a Call) -> Option<(&'a Change, Revoked)> {
    let answer = attempt.answer.as_ref().filter(|answer| answer.status == 200)?;
    let is_asked = attempt.errand == Errand::Ask;
    let revoked = Revoked { told_ms: attempt.answered_ms?, position: answer.position? };
    call.change.as_ref().filter(|_| is_asked).map(|change| (change, revoked))
}
