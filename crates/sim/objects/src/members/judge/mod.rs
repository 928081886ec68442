//! Who judges a run of whole members: the log, played into the models and into a state of its own, and what clients saw
//! compared with that.

mod access;
mod answers;
mod calm;
mod expiry;
mod log;
mod queries;
mod replay;

use std::collections::BTreeMap;

use sim_kit::Judged;

use super::history::History;
use super::record::Record;
use crate::rules::{self, Wrong};
use replay::Replay;

/// What is looked at.
pub(super) struct Evidence<'a> {
    pub(super) record: &'a Record,
    pub(super) history: &'a History,
    pub(super) lease_ms: u64,
    /// The grain of session expiry.
    pub(super) tick_ms: u64,
    /// There are types of users, of which the model knows nothing.
    pub(super) has_guests: bool,
    /// There are tokens and rights.
    pub(super) has_access: bool,
}

/// What is wrong, and how much was judged.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) wrongs: Vec<String>,
    pub(super) judged: BTreeMap<u32, Judged>,
}

impl Findings {
    fn judged(&mut self, rule: u32, what: &'static str) {
        *self.judged.entry(rule).or_default().entry(what).or_default() += 1;
    }

    fn add(&mut self, wrong: &Wrong) {
        self.wrongs.push(rules::words(wrong));
    }

    fn take(&mut self, done: Result<(), Wrong>) {
        if let Err(wrong) = done {
            self.add(&wrong);
        }
    }
}

/// All rules.
pub(super) fn judge(evidence: &Evidence<'_>) -> Findings {
    let mut findings = Findings::default();
    for contradiction in &evidence.record.contradictions {
        findings.add(&(1, contradiction.clone()));
    }
    for misused in &evidence.record.pairs.misused {
        findings.wrongs.push(format!("pairs: {misused}"));
    }
    if !findings.wrongs.is_empty() {
        return findings;
    }
    let mut replay = Replay::new(evidence);
    let played = replay.play();
    for (rule, all) in replay.take_judged() {
        let judged = findings.judged.entry(rule).or_default();
        all.into_iter().for_each(|(what, count)| *judged.entry(what).or_default() += count);
    }
    findings.take(played);
    if findings.wrongs.is_empty() {
        replay.digests(&mut findings);
        access::judge(evidence, &replay.told, &mut findings);
        answers::judge(evidence, &replay.told, &mut findings);
        expiry::judge(evidence, &replay.told, &mut findings);
        calm::judge(evidence, &replay.told, &mut findings);
    }
    findings
}
