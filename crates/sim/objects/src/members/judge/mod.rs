//! Who judges a run of whole members: the log, played into the models and into a state of its own, and what clients saw
//! compared with that.

mod access;
mod answers;
mod backups;
mod calm;
mod expiry;
mod log;
mod queries;
mod rates;
mod replay;

use std::collections::BTreeMap;

use sim_kit::Judged;

use super::history::History;
use super::node::Modules;
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
    /// Which types of users there are.
    pub(super) modules: Modules,
    /// There are tokens and rights.
    pub(super) has_access: bool,
    /// There are quotas.
    pub(super) has_quotas: bool,
}

impl Evidence<'_> {
    /// The models of built-in types know nothing of those of users, nor of what these do to positions and sessions.
    fn has_guests(&self) -> bool {
        self.modules != Modules::None
    }
}

/// What is wrong, and how much was judged.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) wrongs: Vec<String>,
    pub(super) judged: BTreeMap<u32, Judged>,
    /// What is out of the ordinary and has happened to guests.
    pub(super) reached: BTreeMap<&'static str, u64>,
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
    findings.wrongs.extend(evidence.record.deaths_wrong.iter().cloned());
    for death in &evidence.record.deaths {
        findings.judged(23, if death.of_queries.is_some() { "deaths in queries" } else { "deaths in runs" });
    }
    let mut replay = Replay::new(evidence);
    let played = replay.play();
    for (rule, all) in replay.take_judged() {
        let judged = findings.judged.entry(rule).or_default();
        all.into_iter().for_each(|(what, count)| *judged.entry(what).or_default() += count);
    }
    findings.reached = replay.take_reached();
    findings.take(played);
    if findings.wrongs.is_empty() {
        replay.digests(&mut findings);
        backups::judge(evidence, |position| replay.digest_at(position), &mut findings);
        access::judge(evidence, &replay.told, &mut findings);
        answers::judge(evidence, &replay.told, &mut findings);
        rates::judge(evidence, &replay.told, &mut findings);
        expiry::judge(evidence, &replay.told, &mut findings);
        calm::judge(evidence, &replay.told, &mut findings);
    }
    findings
}
