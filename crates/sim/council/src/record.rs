//! What the members did: which entries they applied, in which order, and what their trees were then. Only looks;
//! judges nothing but that which it could not keep otherwise.

mod members;

use base::{LogIndex, MemberId, Term};
use std::collections::{BTreeMap, BTreeSet};

use consensus_raft::Entry;
use sim_kit::peers::PairRecord;
use storage_raft_log::Disk;

use crate::node::Node;
pub use members::Members;

/// An entry of the log, when it was first applied anywhere.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The entry.
    pub entry: Entry,
    /// When it was first seen applied.
    pub at_ms: u64,
    /// Where.
    pub member: u64,
}

/// A member has applied some more.
#[derive(Clone, Copy, Debug)]
pub struct Apply {
    /// When.
    pub at_ms: u64,
    /// Which member.
    pub member: u64,
    /// In which of all lives.
    pub life: u64,
    /// Up to which entry, that one wholly and maybe something of the next.
    pub index: LogIndex,
    /// Its last zxid then.
    pub zxid: i64,
    /// Its tree's digest then.
    pub digest: u64,
}

/// What the survivor of a lost ensemble held, of which a new one was made.
#[derive(Clone, Debug)]
pub struct Survivor {
    /// Which.
    pub member: u64,
    /// The last entry of its log.
    pub index: LogIndex,
    /// The zxid that the new ensemble goes on from.
    pub zxid: i64,
    /// Its log, as far as no snapshot had replaced it.
    pub log: Vec<Entry>,
}

/// A member with data of the ensemble that was given up, in one of its lives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outsider {
    /// Which.
    pub member: u64,
    /// Whether it ever served clients.
    pub served: bool,
    /// Whether it led.
    pub led: bool,
}

/// Where a new ensemble went on from the log of a survivor.
#[derive(Clone, Debug, Default)]
pub struct Resumed {
    /// The last entry of that log.
    pub index: LogIndex,
    /// The zxid that it goes on from, as its first snapshot says.
    pub zxid: i64,
    /// The highest zxid that anybody gave in the ensemble that was, as far as is known.
    pub given_zxid: i64,
    /// Members of the ensemble that was, by their lives.
    pub outsiders: BTreeMap<u64, Outsider>,
    /// Messages between a member of the ensemble that was and one of the new that neither refused: from one machine to
    /// another.
    pub crossed: Vec<(u64, u64)>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Where a new ensemble began, if one did.
    pub resumed: Option<Resumed>,
    /// Every entry that was applied anywhere, in part at the least; that of index 1 comes first.
    pub entries: Vec<Committed>,
    /// The last entry that was applied wholly anywhere.
    pub whole_index: LogIndex,
    /// When each entry, by index and term, was first handed to a disk: its leader had just made it.
    pub made_ms: BTreeMap<(LogIndex, Term), u64>,
    /// When somebody decided that sessions were to end, in order.
    pub verdicts_ms: Vec<u64>,
    /// Entries that were applied and are not what was applied at their index first: member and entry.
    pub contradictions: Vec<(u64, Entry)>,
    /// Entries that were applied before the one below them was seen.
    pub gaps: Vec<(u64, LogIndex)>,
    /// Where the members stood, in the order of time.
    pub applies: Vec<Apply>,
    /// Who led in which term, by id.
    pub reigns: BTreeMap<Term, BTreeSet<MemberId>>,
    /// When the leader of each term had applied that term's first entry.
    leads_ms: BTreeMap<Term, u64>,
    /// When the latest lead was won.
    pub reign_began_ms: u64,
    /// Who the members were at which entry, and who knows otherwise.
    pub members: Members,
    /// How often two machines of one number were looked at.
    pub doubled_looks: usize,
    /// Numbers of which two machines served at a time, and when they were last seen to.
    pub both_served: BTreeMap<u64, u64>,
    /// How often a member began to tell others who it is.
    pub identities_told: usize,
    /// What members without an identity told others, how often.
    pub claims_told: usize,
    /// Memberships that were used otherwise than they may be, in words.
    pub misused_memberships: Vec<String>,
    /// What is judged of pairs of connections.
    pub pairs: PairRecord,
    /// The most bytes that a member kept for a client that did not read.
    pub unsent_bytes: usize,
    /// The last place noted of each member's life.
    noted: BTreeMap<u64, (u64, LogIndex, i64)>,
}

impl Record {
    /// A member's new life begins.
    pub fn begun(&mut self, member: u64, life: u64) {
        self.noted.insert(member, (life, LogIndex::ZERO, 0));
    }

    /// The record of a new ensemble made of that survivor. What is known of the entries that it held stays known. Gives how
    /// many of the entries that were applied before it held.
    #[must_use]
    pub fn resume(mut self, at_ms: u64, survivor: &Survivor, given_zxid: i64) -> (Self, usize) {
        let first = survivor.log.first().map_or(survivor.index.next(), |entry| entry.index);
        let same = |known: &&Committed| {
            let index = known.entry.index;
            index < first || survivor.log.get(index.since(first) as usize) == Some(&known.entry)
        };
        let kept =
            self.entries.iter().take(survivor.index.since(LogIndex::ZERO) as usize).take_while(same).count();
        self.entries.truncate(kept);
        let kept_index = LogIndex::ZERO.plus(kept as u64);
        let tail = survivor.log.iter().filter(|entry| entry.index > kept_index);
        let member = survivor.member;
        self.entries.extend(tail.map(|entry| Committed { entry: entry.clone(), at_ms, member }));
        let holds = |(index, term): &(LogIndex, Term)| {
            committed_in(&self.entries, *index).is_some_and(|known| known.entry.term == *term)
        };
        let made_ms = self.made_ms.iter().filter(|(key, _)| holds(key)).map(|(key, at_ms)| (*key, *at_ms));
        let applies = self.applies.iter().filter(|apply| apply.index < survivor.index.min(kept_index));
        let resumed =
            Resumed { index: survivor.index, zxid: survivor.zxid, given_zxid, ..Resumed::default() };
        let record = Self {
            made_ms: made_ms.collect(),
            applies: applies.copied().collect(),
            resumed: Some(resumed),
            whole_index: survivor.index,
            verdicts_ms: self.verdicts_ms,
            entries: self.entries,
            ..Self::default()
        };
        (record, kept)
    }

    /// The fewest voters of which a majority could ever decide; 0 if none were ever known.
    #[must_use]
    pub fn voters_min(&self) -> usize {
        let halves = self.members.known.values().flat_map(|known| [&known.voters, &known.voters_outgoing]);
        halves.map(Vec::len).filter(|count| *count > 0).min().unwrap_or(0)
    }

    /// When the last change of the members was first applied; 0 if there was none.
    #[must_use]
    pub fn members_changed_ms(&self) -> u64 {
        let changes = self.members.known.keys().filter_map(|index| self.committed(*index));
        changes.map(|committed| committed.at_ms).max().unwrap_or(0)
    }

    /// When the leader of the last term had applied that term's first entry, and so everything before it. When anybody
    /// had, if nothing is known of that leader.
    #[must_use]
    pub fn last_term_applied_ms(&self) -> u64 {
        let Some(last) = self.entries.last() else { return 0 };
        let term = last.entry.term;
        let first = self.entries.partition_point(|one| one.entry.term < term);
        let first_ms = self.entries.get(first).map_or(0, |committed| committed.at_ms);
        self.leads_ms.get(&term).copied().unwrap_or(first_ms)
    }

    /// When an entry that was applied was first handed to a disk.
    #[must_use]
    pub fn entry_made_ms(&self, index: LogIndex) -> u64 {
        self.committed(index).map_or(0, |committed| {
            let made_ms = self.made_ms.get(&(index, committed.entry.term));
            made_ms.copied().unwrap_or(committed.at_ms)
        })
    }

    /// The entry of that index, if it was applied.
    pub(crate) fn committed(&self, index: LogIndex) -> Option<&Committed> {
        committed_in(&self.entries, index)
    }

    /// A message goes from one ensemble to the other.
    pub fn crosses(&mut self, from: u64, to: u64) {
        if let Some(resumed) = &mut self.resumed {
            resumed.crossed.push((from, to));
        }
    }

    /// What does a member do that has data of the ensemble that was?
    pub fn look_at_outsider<D: Disk>(&mut self, member: u64, life: u64, node: &mut Node<D>) {
        let Some(resumed) = &mut self.resumed else { return };
        let outsider = resumed.outsiders.entry(life).or_default();
        outsider.member = member;
        outsider.served |= node.core().is_serving();
        outsider.led |= node.leads_in().is_some();
    }

    /// What has a member done since the last look?
    pub fn look<D: Disk>(&mut self, at_ms: u64, member: u64, life: u64, node: &mut Node<D>) {
        for entry in node.take_written() {
            self.made_ms.entry(entry).or_insert(at_ms);
        }
        for entry in node.take_applied() {
            self.applied(at_ms, member, entry);
        }
        if let Some(term) = node.leads_in()
            && self.reigns.entry(term).or_default().insert(node.core().id())
        {
            self.reign_began_ms = at_ms;
        }
        let (index, zxid) = (node.applied_index(), node.tree().last_zxid().0);
        self.whole_index = self.whole_index.max(index);
        let noted = self.noted.entry(member).or_default();
        if *noted == (life, index, zxid) || index == LogIndex::ZERO {
            return;
        }
        *noted = (life, index, zxid);
        let digest = node.tree().digest();
        self.applies.push(Apply { at_ms, member, life, index, zxid, digest });
        self.members.look((member, index), node.core().membership(), &self.entries);
        if let Some(term) = node.leads_in() {
            self.look_at_leader(at_ms, term, index);
        }
    }

    /// A leader has applied everything up to that entry.
    fn look_at_leader(&mut self, at_ms: u64, term: Term, index: LogIndex) {
        let first = self.entries.get(self.entries.partition_point(|one| one.entry.term < term));
        if first.is_some_and(|first| first.entry.term == term && first.entry.index <= index) {
            self.leads_ms.entry(term).or_insert(at_ms);
        }
    }

    fn applied(&mut self, at_ms: u64, member: u64, entry: Entry) {
        let last = LogIndex::ZERO.plus(self.entries.len() as u64);
        if let Some(known) = self.committed(entry.index) {
            if known.entry != entry {
                self.contradictions.push((member, entry));
            }
        } else if entry.index == last.next() {
            self.members.applied(&entry);
            self.entries.push(Committed { entry, at_ms, member });
        } else {
            self.gaps.push((member, entry.index));
        }
    }
}

/// The entry of that index, of entries of which the first has the index 1.
fn committed_in(entries: &[Committed], index: LogIndex) -> Option<&Committed> {
    (index >= LogIndex::FIRST).then(|| entries.get(index.since(LogIndex::FIRST) as usize))?
}
