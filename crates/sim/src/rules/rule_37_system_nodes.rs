//! Rule 37. System nodes: `/`, `/zookeeper` and what lies in it are always there; `/zookeeper/config` names the members
//! that there are, as of a transaction that is done.
//!
//! Source: ZooKeeper's DataTree and its dynamic reconfiguration.

use std::collections::BTreeSet;

use jute::Reader;
use member::founding::NUMBERS;
use tree::Roster;

use crate::history::{Ask, Call, Outcome};
use crate::oracle::model::{CONFIG, SYSTEM};
use crate::rules::lives::StepKind;
use crate::rules::{Evidence, Findings, Standing, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let is_system = |path: &str| SYSTEM.iter().any(|(system, _)| *system == path);
    for step in evidence.lives().steps.iter().filter(|step| is_system(&step.path)) {
        if !matches!(step.kind, StepKind::Created { .. }) {
            findings.add(format!("`{}` was removed at {:x}", step.path, step.zxid));
        }
    }
    for call in evidence.history.calls.iter().filter(|call| call.outcome() == Outcome::Ok) {
        if let Some(wrong) = told(call) {
            findings.add(format!("{} {wrong}", tell(evidence.history, call)));
        }
    }
    for standing in evidence.standings {
        at_rest(evidence, standing, findings);
    }
}

/// What is wrong with what a client was told of the members.
fn told(call: &Call) -> Option<String> {
    let answer = call.answer.as_ref()?;
    let (joined, left) = match &call.ask {
        Ask::Get { path, .. } if path == CONFIG => ("", ""),
        Ask::Reconfig { joining, leaving, .. } => (joining.as_str(), leaving.as_str()),
        _ => return None,
    };
    let text = Reader::new(&answer.body).buffer().ok().flatten().unwrap_or_default();
    if text.is_empty() {
        // Nobody has written down the members yet.
        return None;
    }
    let Some(roster) = Roster::parse(text) else {
        return Some(format!("shows no members: {:?}", String::from_utf8_lossy(text)));
    };
    if roster.version > answer.zxid {
        return Some(format!("shows the members of {:x} at {:x}", roster.version, answer.zxid));
    }
    let number = |text: &str| text.trim_start_matches("server.").split('=').next()?.parse::<u64>().ok();
    let lacks = number(joined).filter(|number| roster.member(*number).is_none());
    let keeps = number(left).filter(|number| number != &0 && roster.member(*number).is_some());
    (lacks.is_some() || keeps.is_some()).then(|| format!("lacks {lacks:?}, keeps {keeps:?}: {roster:?}"))
}

/// Whether a member's tree has them all, and names those who vote.
fn at_rest(evidence: &Evidence<'_>, standing: &Standing, findings: &mut Findings) {
    for (path, _) in SYSTEM.iter().filter(|(path, _)| !standing.nodes.contains_key(*path)) {
        findings.add(format!("member {} lacks `{path}`", standing.member));
    }
    let text = standing.nodes.get(CONFIG).map_or(&[][..], |held| &held.data);
    let named: BTreeSet<_> =
        Roster::parse(text).map_or(Vec::new(), |roster| roster.participants()).into_iter().collect();
    let Some((_, membership)) = evidence.record.memberships.last_key_value() else { return };
    let votes: BTreeSet<_> = membership.voters.iter().map(|id| id % NUMBERS).collect();
    if named != votes {
        findings.add(format!("member {} names {named:?}, and {votes:?} vote", standing.member));
    }
}
