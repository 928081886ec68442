//! O31 calls per second: a member lets in no more calls than a quota gives to each of them, and refuses none for which there is
//! room. From what clients asked and were answered; only when a core took a request in, and in which state, is looked up.
//!
//! There is no bucket here. A quota of R calls a second is kept if no span of time has more calls than R and what R gives in
//! that span; and a call is refused rightly if with it some span would have more. Where it is not known whether a call was
//! counted (its answer was lost, or says something else), it is counted against refusals alone.

use std::collections::BTreeMap;

use objects_state::{Principal, QuotaOf};
use serde_json::Value;

use super::replay::LogTold;
use super::{Evidence, Findings};
use crate::members::history::{About, Attempt, Call, Errand};
use crate::members::node::Taken;
use crate::outcome::parsed;
use crate::rules::Wrong;

/// A call in the parts that a millisecond gives at one call a second.
const PARTS: u64 = 1_000;

/// A call that was counted, or may have been.
#[derive(Clone, Copy, Debug)]
struct Counted {
    parts: u64,
    at_ms: u64,
    is_certain: bool,
}

/// What a member has counted of one quota, since its rate was set.
#[derive(Debug)]
struct Counts {
    /// The position behind the change that set it.
    set: u64,
    rate: u64,
    all: Vec<Counted>,
}

impl Counts {
    /// At a member that has never counted calls of this quota nothing is used up; otherwise nobody says how much is.
    fn new((set, rate): (u64, u64), at_ms: u64, is_first: bool) -> Self {
        let used_up = Counted { parts: rate * PARTS, at_ms, is_certain: false };
        Self { set, rate, all: if is_first { Vec::new() } else { vec![used_up] } }
    }

    /// Whether, with so much more, there would be too many in some span that ends then.
    fn are_too_many(&self, then_ms: u64, more: u64, is_meant: impl Fn(&Counted) -> bool) -> bool {
        let mut used = more;
        if used > self.rate * PARTS {
            return true;
        }
        self.all.iter().rev().filter(|counted| is_meant(counted)).any(|counted| {
            used += counted.parts;
            used > self.rate * (PARTS + then_ms.saturating_sub(counted.at_ms))
        })
    }
}

/// A call that comes in.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at_ms: u64,
    parts: u64,
    /// What may have been counted at any time until then.
    late: u64,
}

impl Counts {
    /// # Errors
    /// In a word: what was made of a call must not be.
    fn take(
        &mut self,
        asked: &Asked,
        became: Became,
        mut judged: impl FnMut(&'static str),
    ) -> Result<(), &'static str> {
        let Asked { at_ms, parts, late } = *asked;
        let is_certain = |counted: &Counted| counted.is_certain;
        match became {
            Became::RefusedByAnother => return Ok(()),
            Became::Refused { retry_after_ms } => {
                judged("calls refused by a rate");
                let may_be_too_many = |then_ms| self.are_too_many(then_ms, parts + late, |_| true);
                let Some(again_ms) = retry_after_ms.map(|ms| at_ms + ms) else {
                    return Err("nobody says when to come again");
                };
                if !may_be_too_many(at_ms) {
                    return Err("a call is refused for which there is room");
                }
                if !may_be_too_many(again_ms - 1) {
                    return Err("a call is told to come again too late");
                }
                if self.are_too_many(again_ms, parts, is_certain) {
                    return Err("a call is told to come again too early");
                }
                return Ok(());
            }
            Became::LetIn => {
                judged("calls let in by a rate");
                if self.are_too_many(at_ms, parts, is_certain) {
                    return Err("a call is let in that is too many");
                }
            }
            Became::Unknown => {}
        }
        self.all.push(Counted { parts, at_ms, is_certain: became == Became::LetIn });
        Ok(())
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Became {
    /// It was let in when the core took it.
    LetIn,
    /// It was refused by this quota, until then.
    Refused {
        retry_after_ms: Option<u64>,
    },
    /// It was refused by another one: nothing was taken out.
    RefusedByAnother,
    Unknown,
}

pub(super) fn judge(evidence: &Evidence<'_>, log: &LogTold, findings: &mut Findings) {
    if log.rates.iter().all(|(_, _, rate)| rate.is_none()) {
        return;
    }
    let number_of = |(attempt, number): (&u64, &u64)| {
        let life = evidence.history.attempts[*attempt as usize].at.1;
        ((life, *number), *attempt)
    };
    let attempts: BTreeMap<_, _> = evidence.record.numbers.iter().map(number_of).collect();
    for (life, taken) in &evidence.record.taken {
        let mut member = Member { evidence, log, counts: BTreeMap::new(), late: BTreeMap::new() };
        for taken in taken {
            let Some(attempt) = attempts.get(&(*life, taken.number)) else {
                member.take_part_of_upload(*taken);
                continue;
            };
            let done = member.take((*life, *taken), *attempt, |what| findings.judged(31, what));
            findings.take(done);
        }
    }
}

/// One life of a member.
struct Member<'a> {
    evidence: &'a Evidence<'a>,
    log: &'a LogTold,
    counts: BTreeMap<QuotaOf, Counts>,
    /// Calls that were counted some time after they came, if they were.
    late: BTreeMap<QuotaOf, u64>,
}

impl Member<'_> {
    fn take(
        &mut self,
        (life, taken): (u64, Taken),
        number: u64,
        mut judged: impl FnMut(&'static str),
    ) -> Result<(), Wrong> {
        let attempt = &self.evidence.history.attempts[number as usize];
        let call = &self.evidence.history.calls[attempt.call];
        let calls = calls_of(call);
        if attempt.errand != Errand::Ask || calls == 0 {
            return Ok(());
        }
        for of in quotas_of(call) {
            // It waits for what its member does not know yet, and is counted then.
            if !taken.gets_in {
                *self.late.entry(of).or_default() += calls;
                continue;
            }
            let Some((set, rate)) = self.rate_at(&of, taken.position) else { continue };
            let late = self.late.get(&of).copied().unwrap_or_default() * PARTS;
            let became = became(&of, attempt, self.log.requests.contains_key(&(life, taken.number)));
            let counts = self.counts_of(&of, (set, rate), taken.mono_ms);
            let asked = Asked { at_ms: taken.mono_ms, parts: calls.min(rate) * PARTS, late };
            if let Err(what) = counts.take(&asked, became, &mut judged) {
                let of = format!("{what} by the quota of {of:?}, {rate} calls a second");
                return Err((31, format!("{of}: {call:?}\n{attempt:?}\n{asked:?}\n{counts:?}")));
            }
        }
        Ok(())
    }

    /// Uploads come by nobody. They are one call, in which of the requests that an edge makes of them nobody says.
    fn take_part_of_upload(&mut self, taken: Taken) {
        let of = QuotaOf::Principal(Principal::anonymous().name);
        let Some((set, rate)) = self.rate_at(&of, taken.position) else { return };
        let counted = Counted { parts: PARTS, at_ms: taken.mono_ms, is_certain: false };
        self.counts_of(&of, (set, rate), taken.mono_ms).all.push(counted);
    }

    /// How many calls a second a quota gives in the state of that position, and where that was set.
    fn rate_at(&self, of: &QuotaOf, position: u64) -> Option<(u64, u64)> {
        let known = self.log.rates.iter().rev().find(|(at, known, _)| *at <= position && known == of);
        known.and_then(|(at, _, rate)| Some((*at, (*rate)?)))
    }

    fn counts_of(&mut self, of: &QuotaOf, (set, rate): (u64, u64), at_ms: u64) -> &mut Counts {
        let is_first = !self.counts.contains_key(of);
        let counts =
            self.counts.entry(of.clone()).or_insert_with(|| Counts::new((set, rate), at_ms, is_first));
        if counts.set != set {
            *counts = Counts::new((set, rate), at_ms, false);
        }
        counts
    }
}

/// How many calls it is, by the manual: what closes, renews, streams, collects or administers is none.
fn calls_of(call: &Call) -> u64 {
    match &call.about {
        About::Command { object: Some(_), .. } if call.http.target.ends_with(":batch") => {
            let body = parsed(&String::from_utf8_lossy(&call.http.body));
            body["calls"].as_array().map_or(1, |calls| calls.len() as u64)
        }
        About::Command { object: Some(_), .. } | About::Query { .. } => 1,
        About::Export { .. } | About::TryMigration { .. } => 1,
        About::Command { object: None, .. } => {
            let is_deletion = call.http.method == "DELETE" && call.http.target.starts_with("/v1/types/");
            u64::from(call.http.target == "/v1/sessions" || is_deletion)
        }
        _ => 0,
    }
}

/// Whose quotas count it: its principal's, and that of its object's namespace.
fn quotas_of(call: &Call) -> Vec<QuotaOf> {
    let object = match &call.about {
        About::Command { object, .. } => object.as_ref(),
        About::Query { object, .. } | About::Export { object } | About::TryMigration { object, .. } => {
            Some(object)
        }
        _ => None,
    };
    let namespace = object.and_then(|object| object.name.split_once('/'));
    let namespace = namespace.map(|(namespace, _)| QuotaOf::Namespace(namespace.into()));
    [Some(QuotaOf::Principal(call.by.principal().name)), namespace].into_iter().flatten().collect()
}

fn became(of: &QuotaOf, attempt: &Attempt, is_in_log: bool) -> Became {
    let Some(answer) = &attempt.answer else {
        return if is_in_log { Became::LetIn } else { Became::Unknown };
    };
    let body = parsed(&answer.body);
    let detail = body["detail"].as_str().unwrap_or_default();
    if body["type"] == "urn:diwan:problem:rate" && detail.starts_with("the quota of ") {
        let is_its = detail.starts_with(&format!("the quota of {} `{}` ", of.word(), of.name()));
        let retry_after_ms = Value::as_u64(&body["retry_after_ms"]);
        return if is_its { Became::Refused { retry_after_ms } } else { Became::RefusedByAnother };
    }
    match is_in_log || answer.status == 200 {
        true => Became::LetIn,
        false => Became::Unknown,
    }
}
