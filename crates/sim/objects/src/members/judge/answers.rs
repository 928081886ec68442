//! O4 the same reply, O5 replies matched, O7 durable, O8 unknown is honest: what each client was told is what the log says of
//! its own request, or says honestly that the member cannot tell.

use std::collections::BTreeMap;

use objects_state::Outcome;
use serde_json::Value;

use super::replay::{End, LogTold, Occurrence, Said};
use super::{Evidence, Findings};
use crate::members::history::{About, Attempt, Call, Errand};
use crate::outcome::parsed;
use crate::rules::Wrong;
use crate::told::Answer;

/// What a member says of its own accord, without a position in the log.
const OF_MEMBERS: [&str; 12] = [
    "no-leader",
    "outcome-unknown",
    "disk-full",
    "rate",
    "unauthenticated",
    "session-expired",
    "too-large",
    "bad-argument",
    "no-such-ticket",
    "no-such-type",
    "bad-codec",
    // Before all members know of rights.
    "type-not-ready",
];

pub(super) fn judge(evidence: &Evidence<'_>, log: &LogTold, findings: &mut Findings) {
    let mut replies: BTreeMap<usize, &str> = BTreeMap::new();
    for (number, attempt) in evidence.history.attempts.iter().enumerate() {
        let call = &evidence.history.calls[attempt.call];
        let Some(answer) = &attempt.answer else { continue };
        if !matches!(call.about, About::Command { .. }) {
            continue;
        }
        let judge = Judge { evidence, log, number: number as u64, attempt, call, answer };
        let judged = judge.judge(findings);
        let is_of_log = matches!(judged, Ok(Kind::OfLog));
        findings.take(judged.map(drop));
        let is_its_own = !matches!(attempt.errand, Errand::Cancel(_));
        let has_one_life =
            call.session.is_some_and(|id| log.sessions.get(&id).is_some_and(|lives| lives.len() == 1));
        if is_of_log && is_its_own && call.request.is_some() && has_one_life && is_kept(answer) {
            findings.judged(4, "replies");
            let first = *replies.entry(attempt.call).or_insert(&answer.body);
            if first != answer.body {
                findings.add(&(4, format!("{call:?}\nis answered {first}\nand {}", answer.body)));
            }
        }
    }
}

/// Whether a repeat is to be answered the same.
fn is_kept(answer: &Answer) -> bool {
    let slug = slug_of(&parsed(&answer.body)).to_owned();
    let not_kept = [
        "request-forgotten",
        "session-expired",
        "quota",
        "type-not-ready",
        "quarantined",
        // What takes long is under way at the object: that passes.
        "rate",
        // Of who does not get in nothing is kept, and a member refuses what would be refused.
        "unauthenticated",
        "forbidden",
    ];
    !not_kept.contains(&slug.as_str())
}

fn slug_of(body: &Value) -> &str {
    body["type"].as_str().and_then(|kind| kind.strip_prefix("urn:diwan:problem:")).unwrap_or_default()
}

/// What an answer is.
enum Kind {
    /// What the log says of the request.
    OfLog,
    /// Something else that may be said.
    Else,
}

struct Judge<'a> {
    evidence: &'a Evidence<'a>,
    log: &'a LogTold,
    number: u64,
    attempt: &'a Attempt,
    call: &'a Call,
    answer: &'a Answer,
}

impl<'a> Judge<'a> {
    /// What the log says of this request.
    fn occurrences(&self) -> &'a [Occurrence] {
        self.occurrences_of(self.number)
    }

    /// What the log says of a copy of it.
    fn occurrences_of(&self, attempt: u64) -> &'a [Occurrence] {
        let life = self.evidence.history.attempts[attempt as usize].at.1;
        let number = self.evidence.record.numbers.get(&attempt);
        let found = number.and_then(|number| self.log.requests.get(&(life, *number)));
        found.map_or(&[], Vec::as_slice)
    }

    fn judge(&self, findings: &mut Findings) -> Result<Kind, Wrong> {
        if self.answer.status == 202 {
            findings.judged(5, "tickets");
            return self.ticket();
        }
        let matching = self.matching();
        if self.answer.position.is_some() && !matching.is_empty() {
            findings.judged(5, "answers");
            findings.judged(7, "answers");
            return self.at(&matching).map(|()| Kind::OfLog);
        }
        let body = parsed(&self.answer.body);
        let slug = slug_of(&body);
        let is_of_edge = self.answer.position.is_none();
        let is_of_state = self.is_of_state(slug, findings)?;
        if !is_of_edge && !is_of_state && !OF_MEMBERS.contains(&slug) {
            let (rule, what) = match self.occurrences() {
                [] if !matches!(self.attempt.errand, Errand::Collect(_)) => {
                    (7, "was answered and is not in the log")
                }
                _ => (5, "was answered what the log does not say of it"),
            };
            return Err((rule, self.words(what)));
        }
        if slug == "bad-codec" && self.call.http.has_bytes() {
            return Err((1, self.words("is sent as bytes, and refused as JSON")));
        }
        if body["effect"] == "none" && !matches!(self.attempt.errand, Errand::Collect(_)) {
            self.has_no_effect(is_of_state, findings)?;
        } else {
            findings.judged(8, "unknown outcomes");
        }
        Ok(Kind::Else)
    }

    /// Whether a member refuses it by its state, without the log: for want of rights, or because the object of an anonymous call is
    /// not there, which is judged as a linearizable query.
    ///
    /// # Errors
    /// The state of the position that it names does not refuse it, or is too old.
    fn is_of_state(&self, slug: &str, findings: &mut Findings) -> Result<bool, Wrong> {
        let (rule, judged, wrong) = match slug {
            "forbidden" | "unauthenticated" if self.evidence.has_access => {
                (32, "refusals by members", "is refused what it may do")
            }
            "no-such-object" if self.call.is_anonymous() && self.occurrences().is_empty() => {
                let wrong =
                    "is not in the log, and its object is there, or the state of its answer is too old";
                (2, "calls of objects that are not there", wrong)
            }
            _ => return Ok(false),
        };
        findings.judged(rule, judged);
        match self.log.refused_rightly.contains(&self.number) {
            true => Ok(true),
            false => Err((rule, self.words(wrong))),
        }
    }

    /// It is told that it has no effect.
    fn has_no_effect(&self, is_of_state: bool, findings: &mut Findings) -> Result<(), Wrong> {
        findings.judged(8, "answers without effect");
        if let Some(first) = self.occurrences().first() {
            let what = format!("is told that it has no effect, and has one at {}", first.first);
            return Err((8, self.words(&what)));
        }
        // Another request is refused than the call whose ticket it cancels.
        if is_of_state && self.attempt.errand == Errand::Ask && self.has_open_session() {
            findings.judged(8, "refusals of numbered requests");
            self.no_copy_has_taken_effect()?;
        }
        Ok(())
    }

    /// Whether its session was open until then, and never another one of that id: what is kept goes with the session.
    fn has_open_session(&self) -> bool {
        let lives = self.call.session.filter(|_| self.call.request.is_some());
        let lives = lives.and_then(|id| self.log.sessions.get(&id)).map_or(&[][..], Vec::as_slice);
        let [life] = lives else { return false };
        life.ended.is_none_or(|(deed, _)| self.attempt.answered_ms.is_some_and(|at_ms| at_ms < deed.at_ms))
    }

    /// At the position at which a request is refused for want of rights, without effect, no copy of it has had one.
    fn no_copy_has_taken_effect(&self) -> Result<(), Wrong> {
        let named = self.answer.position.unwrap_or_default();
        let has_effect = |copy: &&Occurrence| {
            copy.last <= named && matches!(copy.said, Said::Parked(_) | Said::Answered(Outcome::Done(_)))
        };
        let copies = self.call.attempts.iter().flat_map(|number| self.occurrences_of(*number));
        match copies.into_iter().find(has_effect) {
            Some(copy) => {
                let what = format!("is told that it had no effect, and a copy has one at {}", copy.first);
                Err((8, self.words(&what)))
            }
            None => Ok(()),
        }
    }

    /// The ticket by which it is answered is one of its own.
    fn ticket(&self) -> Result<Kind, Wrong> {
        let ticket = parsed(&self.answer.body)["ticket"].as_u64();
        let is_its = match self.attempt.errand {
            Errand::Collect(own) => ticket == Some(own),
            _ => self
                .occurrences()
                .iter()
                .any(|one| matches!(one.said, Said::Parked(own) if ticket == Some(own))),
        };
        if is_its {
            Ok(Kind::Else)
        } else {
            Err((5, self.words("is answered by a ticket that is not its own")))
        }
    }

    /// The positions at which the log says what was answered.
    fn matching(&self) -> Vec<u64> {
        let of_ticket = |ticket: u64| {
            let end: &End = self.log.tickets.get(&ticket)?.end.as_ref()?;
            self.says(&end.outcome).then_some(end.position)
        };
        if let Errand::Collect(ticket) = self.attempt.errand {
            return of_ticket(ticket).into_iter().collect();
        }
        let position = |one: &Occurrence| match &one.said {
            Said::Answered(outcome) => self.says(outcome).then_some(one.last),
            Said::Parked(ticket) => of_ticket(*ticket),
        };
        self.occurrences().iter().filter_map(position).collect()
    }

    /// Whether the answer is this outcome, byte for byte, but for the secret of a session that it opened, or of a token.
    fn says(&self, outcome: &Outcome) -> bool {
        let due = outcome.to_json();
        let body = &self.answer.body;
        let is_body = *body == due
            || [",\"secret\":\"", ",\"token\":\""]
                .iter()
                .any(|secret| body.split_once(secret).is_some_and(|(first, _)| format!("{first}}}") == due));
        let status = outcome.status();
        is_body && (self.answer.status == status || (status == 200 && self.answer.status == 201))
    }

    /// The answer names the position at which it was made. A member that took over another's state sees its outcomes later.
    fn at(&self, positions: &[u64]) -> Result<(), Wrong> {
        let named = self.answer.position.unwrap_or_default();
        let is_later = self.evidence.record.replaced.contains(&self.attempt.at.1)
            || matches!(self.attempt.errand, Errand::Collect(_));
        if positions.contains(&named) || (is_later && positions.iter().any(|position| named > *position)) {
            return Ok(());
        }
        Err((5, self.words(&format!("names position {named}, and was made at {positions:?}"))))
    }

    fn words(&self, what: &str) -> String {
        let occurrences = self.occurrences();
        format!(
            "attempt {} {what}: {:?}\n{:?}\n{:?}\nin the log {occurrences:?}",
            self.number, self.call, self.attempt, self.answer
        )
    }
}
