//! Rule 37. System nodes: `/`, `/zookeeper` and what lies in it are always there; `/zookeeper/config` names the members
//! that there are, with the addresses and the parts that were asked for, as of a transaction that is done.
//!
//! Source: ZooKeeper's DataTree and its dynamic reconfiguration.

use std::collections::BTreeSet;

use council_wire::Reader;

use crate::history::{Ask, Call, Outcome};
use crate::oracle::members::Members;
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
        match &call.ask {
            Ask::Reconfig { .. } => findings.judged("reconfigs"),
            Ask::Get { path, .. } if path == CONFIG => findings.judged("reads of the members"),
            _ => {}
        }
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
        Ask::Get { path, .. } if path == CONFIG => (String::new(), ""),
        Ask::Reconfig { joining, leaving, members, .. } => match members.as_str() {
            "" => (joining.clone(), leaving.as_str()),
            all => (all.replace(',', "\n"), ""),
        },
        _ => return None,
    };
    let text = Reader::new(&answer.body).buffer().ok().flatten().unwrap_or_default();
    if text.is_empty() {
        // Nobody has written down the members yet.
        return None;
    }
    let Some(members) = Members::read(text) else {
        return Some(format!("shows no members: {:?}", String::from_utf8_lossy(text)));
    };
    let is_late = members.version > answer.zxid || (!joined.is_empty() && members.version != answer.zxid);
    if is_late {
        return Some(format!("shows the members of {:x} at {:x}", members.version, answer.zxid));
    }
    let wished = Members::read(joined.as_bytes()).unwrap_or_default().places;
    let lacks = wished.iter().find(|(number, place)| members.places.get(number) != Some(place));
    let gone = left.parse::<u64>().ok().filter(|number| !wished.contains_key(number));
    let keeps = gone.filter(|number| members.places.contains_key(number));
    (lacks.is_some() || keeps.is_some()).then(|| format!("lacks {lacks:?}, keeps {keeps:?}: {members:?}"))
}

/// Whether a member's tree has them all, and names those who vote.
fn at_rest(evidence: &Evidence<'_>, standing: &Standing, findings: &mut Findings) {
    for (path, _) in SYSTEM.iter().filter(|(path, _)| !standing.nodes.contains_key(*path)) {
        findings.add(format!("member {} lacks `{path}`", standing.member));
    }
    let text = standing.nodes.get(CONFIG).map_or(&[][..], |held| &held.data);
    let named: BTreeSet<_> = Members::read(text).unwrap_or_default().voters().into_iter().collect();
    let Some((_, membership)) = evidence.record.members.known.last_key_value() else { return };
    let votes: BTreeSet<_> = membership.voters.iter().map(|id| u64::from(id.number())).collect();
    findings.judged("members at rest");
    if named != votes {
        findings.add(format!("member {} names {named:?}, and {votes:?} vote", standing.member));
    }
}
