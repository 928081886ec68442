//! Rule 12. Session move: at most one connection owns a session; once a later one has it, nothing of an earlier one
//! takes effect.
//!
//! Source: ZooKeeper's SessionMovedException; docs/stronger.md is stricter.
//!
//! Alone it catches the planted bug `42-gives-a-generation-twice`.

use std::collections::BTreeMap;

use crate::history::Ask;
use crate::rules::{Evidence, Findings, tell};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let Evidence { oracle, history, .. } = evidence;
    for (call, answer) in history.connections.iter().flat_map(|connection| history.replies(connection)) {
        let Some(origin) = history.origin(call) else { continue };
        let Some(done) = oracle.of_origin(origin) else {
            if answer.err == 0 && !matches!(call.ask, Ask::Close) {
                findings.add(format!("{} was done under an earlier generation", tell(history, call)));
            }
            continue;
        };
        let Some(story) = oracle.sessions.get(&origin.0) else { continue };
        findings.judged("commands");
        let later = story.generations.iter().find(|(generation, ..)| *generation > origin.1);
        if later.is_some_and(|(_, index, _)| done.index > *index) {
            findings.add(format!("{} took effect after its session had moved", tell(history, call)));
        }
    }
    let mut granted: BTreeMap<(i64, u32), usize> = BTreeMap::new();
    for (number, connection) in history.connections.iter().enumerate() {
        let Some(grant) = connection.grant else { continue };
        if let Some(before) = granted.insert((grant.session, grant.generation), number) {
            findings.add(format!(
                "connections {before} and {number} were both given session {:x} as number {}",
                grant.session, grant.generation
            ));
        }
    }
}
