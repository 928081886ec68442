//! Rule 40. Membership: never two leaders in one term, never two disjoint quorums from one configuration to the
//! next; only voters lead; at each entry, every member knows the configuration that the log says.
//!
//! Source: Raft (Ongaro 2014), sections 3.6 and 4.3; ZooKeeper's dynamic reconfiguration.
//!
//! Alone it catches the planted bugs `51-admits-under-an-old-id`, `54-forgets-changes-of-members-at-a-start`.

use base::{LogIndex, MemberId};
use std::collections::BTreeSet;

use consensus_raft::Membership;

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let record = evidence.record;
    for (term, leaders) in record.reigns.iter().filter(|(_, leaders)| leaders.len() > 1) {
        findings.add(format!("{leaders:x?} led in term {term}"));
    }
    for (member, index, membership) in &record.members.unlike {
        findings.add(format!("member {member} knows other members at entry {index}: {membership:?}"));
    }
    findings.judged_all("members known", record.members.looks);
    let all: Vec<_> = record.members.known.iter().collect();
    for pair in all.windows(2) {
        findings.judged("membership changes");
        let ((since, before), (index, after)) = (pair[0], pair[1]);
        if !intersect(before, after) {
            findings.add(format!(
                "from entry {index} on {after:?} decide, and from {since} on {before:?}: they may have no voter in common"
            ));
        }
    }
    for (term, leaders) in &record.reigns {
        findings.judged("terms with a leader");
        let before = record.entries.partition_point(|committed| committed.entry.term < *term);
        let began = LogIndex::FIRST.plus(before as u64);
        let mut known = record.members.known.range(..=began).map(|(_, membership)| membership);
        let votes = |membership: &Membership, id| {
            membership.voters.contains(id) || membership.voters_outgoing.contains(id)
        };
        let strangers = leaders.iter().filter(|id| !known.clone().any(|membership| votes(membership, id)));
        let strangers: Vec<_> = strangers.collect();
        if known.next().is_some() && !strangers.is_empty() {
            findings.add(format!("{strangers:x?} led in term {term} without ever having had a vote"));
        }
    }
}

/// Whether any quorum of one has somebody in common with any quorum of the other.
fn intersect(before: &Membership, after: &Membership) -> bool {
    halves(before).any(|before| halves(after).any(|after| meet(before, after)))
}

/// A quorum is a majority of each of them.
fn halves(membership: &Membership) -> impl Iterator<Item = &[MemberId]> {
    [&membership.voters[..], &membership.voters_outgoing].into_iter().filter(|half| !half.is_empty())
}

fn meet(before: &[MemberId], after: &[MemberId]) -> bool {
    let all: BTreeSet<_> = before.iter().chain(after).collect();
    let majority = |voters: &[MemberId]| voters.len() / 2 + 1;
    majority(before) + majority(after) > all.len()
}
