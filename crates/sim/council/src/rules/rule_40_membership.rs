//! Rule 40. Membership: never two leaders in one term, never two disjoint quorums from one configuration to the
//! next; only voters lead; all members know the same configuration at the same entry.
//!
//! Source: Raft (Ongaro 2014), sections 3.6 and 4.3; ZooKeeper's dynamic reconfiguration.
//!
//! Alone it catches the planted bugs `51-admits-under-an-old-id`, `54-forgets-changes-of-members-at-a-start`.

use base::{LogIndex, MemberId};
use std::collections::BTreeSet;

use consensus_raft::{Change, EntryKind, Membership};

use crate::record::Record;
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
        findings.judged("membership changes");
        let ((since, before), (index, after)) = (pair[0], pair[1]);
        if !intersect(before, after) && !passed_through_both(record, *since, *index) {
            findings.add(format!(
                "from entry {index} on {after:?} decide, and before {before:?}: they may have no voter in common"
            ));
        }
    }
    for (term, leaders) in &record.reigns {
        findings.judged("terms with a leader");
        let before = record.entries.partition_point(|committed| committed.entry.term < *term);
        let began = LogIndex::FIRST.plus(before as u64);
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

/// Whether between these entries a change was begun and ended in which quorums of both sides were needed. Nobody was seen
/// in the midst of it: whoever catches up applies both its entries at once.
fn passed_through_both(record: &Record, since: LogIndex, index: LogIndex) -> bool {
    let count = |index: LogIndex| index.since(LogIndex::ZERO) as usize;
    let between = record.entries.iter().take(count(index)).skip(count(since));
    let changes = between.filter(|committed| committed.entry.kind == EntryKind::Membership);
    let mut steps =
        changes.filter_map(|committed| Some(Change::decode(&committed.entry.data).ok()?.steps.len()));
    steps.any(|count| count > 1) && steps.any(|count| count == 0)
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
