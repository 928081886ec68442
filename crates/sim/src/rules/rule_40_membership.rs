//! Rule 40. Membership: never two leaders in one term, never two disjoint quorums from one configuration to the
//! next; only voters lead; all members know the same configuration at the same entry.
//!
//! Source: Raft (Ongaro 2014), sections 3.6 and 4.3; ZooKeeper's dynamic reconfiguration.

use std::collections::BTreeSet;

use council::Membership;

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let record = evidence.record;
    for (term, leaders) in record.reigns.iter().filter(|(_, leaders)| leaders.len() > 1) {
        findings.add(format!("{leaders:x?} led in term {term}"));
    }
    for (member, index, membership) in &record.unlike {
        findings.add(format!("member {member} knows other members at entry {index}: {membership:?}"));
    }
    let all: Vec<_> = record.memberships.iter().collect();
    for pair in all.windows(2) {
        let ((_, before), (index, after)) = (pair[0], pair[1]);
        if !intersect(before, after) {
            findings.add(format!(
                "from entry {index} on {after:?} decide, and before {before:?}: they may be strangers"
            ));
        }
    }
    for (term, leaders) in &record.reigns {
        let began = record.entries.partition_point(|committed| committed.entry.term < *term) as u64 + 1;
        let mut known = record.memberships.range(..=began).map(|(_, membership)| membership);
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
fn halves(membership: &Membership) -> impl Iterator<Item = &[u64]> {
    [&membership.voters[..], &membership.voters_outgoing].into_iter().filter(|half| !half.is_empty())
}

fn meet(before: &[u64], after: &[u64]) -> bool {
    let all: BTreeSet<_> = before.iter().chain(after).collect();
    let majority = |voters: &[u64]| voters.len() / 2 + 1;
    majority(before) + majority(after) > all.len()
}
