//! What the members did: which entries they applied, in which order, what their states were then, and whom they have heard of.
//! Only looks; judges nothing.

use std::collections::{BTreeMap, BTreeSet};

use base::{LogIndex, Term};
use consensus_raft::{Entry, EntryKind};
use objects_http::Say;
use objects_state::SessionId;
use objects_state::guest::VersionHash;
use sim_kit::peers::PairRecord;

use super::backup::BackupSeen;
use super::history::Attempt;
use super::node::{NodeNews, Taken};

/// An entry of the log, when it was first applied anywhere.
#[derive(Clone, Debug)]
pub(crate) struct Committed {
    pub(crate) entry: Entry,
    pub(crate) at_ms: u64,
}

/// A member's state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DigestSeen {
    pub(crate) member: u64,
    pub(crate) life: u64,
    pub(crate) position: u64,
    pub(crate) digest: u64,
    /// Whether this life has taken over another member's state.
    pub(crate) is_behind_snapshot: bool,
}

/// Something that a leader did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deed {
    pub(crate) at_ms: u64,
    pub(crate) life: u64,
}

/// The first command of a leader's term. Raft's own first entry of a term, which has no content, comes before it, and may be
/// committed long before it: with that alone nobody leads yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstCommand {
    pub(crate) made: Deed,
    index: LogIndex,
    /// When the leader that made it had applied it, if it has.
    pub(crate) applied_ms: Option<u64>,
}

/// A process that was killed in a run, or in a query, of the object that was created at that position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Death {
    pub(crate) member: u64,
    pub(crate) space: u64,
    /// In queries: of which version.
    pub(crate) of_queries: Option<VersionHash>,
    pub(crate) at_ms: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Every entry that was applied anywhere; that of index 1 comes first.
    pub(crate) entries: Vec<Committed>,
    /// Entries that were applied and are not what was applied at their index first, or that came before the one below them.
    pub(crate) contradictions: Vec<String>,
    /// When each entry, by index and term, was first handed to a disk, and by which life: its leader had just made it.
    made: BTreeMap<(LogIndex, Term), Deed>,
    pub(crate) digests: Vec<DigestSeen>,
    /// The life to which each number of a process belongs.
    pub(crate) lives: BTreeMap<(u8, u64), u64>,
    /// When each session's client was heard of by a member that served, and in which life of it.
    pub(crate) signs: BTreeMap<SessionId, Vec<Deed>>,
    /// When lives ended.
    pub(crate) ended_ms: BTreeMap<u64, u64>,
    /// When a leader found sessions silent.
    pub(crate) verdicts: Vec<Deed>,
    /// When each lead was won.
    pub(crate) won: Vec<Deed>,
    /// The first command of each term, by the life that made it. From when that has applied it, it leads, and knows it.
    pub(crate) first_commands: BTreeMap<(u64, Term), FirstCommand>,
    /// Lives whose state was replaced by another member's.
    pub(crate) replaced: BTreeSet<u64>,
    /// The numbers that attempts have at their cores.
    pub(crate) numbers: BTreeMap<u64, u64>,
    /// When a core took a request in, by its life and number.
    pub(crate) taken_ms: BTreeMap<(u64, u64), u64>,
    /// Requests that each life took in, in its order.
    pub(crate) taken: BTreeMap<u64, Vec<Taken>>,
    /// What clients are told, until it is on its way: the life, and that.
    pub(crate) says: Vec<(u64, Say<u64>)>,
    /// Lives that have ended, and whether clients hear of it at once.
    pub(crate) ended: Vec<(u64, bool)>,
    /// How often processes were killed in runs, and what is wrong with that.
    pub(crate) deaths: Vec<Death>,
    pub(crate) deaths_wrong: Vec<String>,
    /// Backups that were read.
    pub(crate) backups: Vec<BackupSeen>,
    /// What is judged of pairs of connections.
    pub(crate) pairs: PairRecord,
}

impl Record {
    /// What has a member done since the last look? It is known by its number, its life, and what its process is called.
    pub(super) fn look(
        &mut self,
        now_ms: u64,
        (member, life, incarnation): (u64, u64, u64),
        mut news: NodeNews,
    ) {
        for news in std::mem::take(&mut news.edges) {
            self.numbers.extend(news.numbered);
            self.says.extend(news.says.into_iter().map(|say| (life, say)));
        }
        self.lives.insert((member as u8, incarnation), life);
        if news.replaced > 0 {
            self.replaced.insert(life);
        }
        self.verdicts.extend((news.condemned > 0).then_some(Deed { at_ms: now_ms, life }));
        self.won.extend((news.won > 0).then_some(Deed { at_ms: now_ms, life }));
        for sign in &news.signs {
            let at_ms = now_ms.saturating_sub(sign.age_ms);
            self.signs.entry(sign.session).or_default().push(Deed { at_ms, life });
        }
        let taken_ms = news.taken.iter().map(|taken| ((life, taken.number), now_ms));
        self.taken_ms.extend(taken_ms);
        self.taken.entry(life).or_default().append(&mut news.taken);
        for written in std::mem::take(&mut news.written) {
            self.made.entry(written).or_insert(Deed { at_ms: now_ms, life });
        }
        for entry in std::mem::take(&mut news.applied) {
            self.note_first_command(life, &entry);
            self.applied(now_ms, member, entry);
        }
        self.note_leader(now_ms, life, news.applied_index);
        let is_behind_snapshot = self.replaced.contains(&life);
        let seen = news.digests.iter().map(|(position, digest)| DigestSeen {
            member,
            life,
            position: *position,
            digest: *digest,
            is_behind_snapshot,
        });
        self.digests.extend(seen);
    }

    /// A member has begun to apply an entry, or is about to: it may be the first command of its own term.
    fn note_first_command(&mut self, life: u64, entry: &Entry) {
        if entry.kind != EntryKind::Normal || entry.data.is_empty() {
            return;
        }
        if let Some(made) = self.made(entry).filter(|made| made.life == life) {
            let first = FirstCommand { made, index: entry.index, applied_ms: None };
            self.first_commands.entry((life, entry.term)).or_insert(first);
        }
    }

    /// A member has wholly applied what is up to this index.
    fn note_leader(&mut self, now_ms: u64, life: u64, applied_index: LogIndex) {
        for (_, first) in self.first_commands.range_mut((life, Term(0))..=(life, Term(u64::MAX))) {
            if first.index <= applied_index {
                first.applied_ms.get_or_insert(now_ms);
            }
        }
    }

    fn applied(&mut self, at_ms: u64, member: u64, entry: Entry) {
        let last = LogIndex::ZERO.plus(self.entries.len() as u64);
        match self.committed(entry.index) {
            Some(known) if known.entry == entry => {}
            Some(known) => {
                let (index, term) = (entry.index.0, entry.term.0);
                let words = format!(
                    "member {member} applies an entry {index} of term {term} that is not the one of term {} applied before",
                    known.entry.term.0
                );
                self.contradictions.push(words);
            }
            None if entry.index == last.next() => self.entries.push(Committed { entry, at_ms }),
            None => {
                let words =
                    format!("member {member} applies entry {}, and {} is the last", entry.index.0, last.0);
                self.contradictions.push(words);
            }
        }
    }

    fn committed(&self, index: LogIndex) -> Option<&Committed> {
        (index >= LogIndex::FIRST).then(|| self.entries.get(index.since(LogIndex::FIRST) as usize))?
    }

    /// When the core of its member took an attempt in.
    pub(crate) fn taken_ms(&self, number: u64, attempt: &Attempt) -> Option<u64> {
        let number = self.numbers.get(&number)?;
        self.taken_ms.get(&(attempt.at.1, *number)).copied()
    }

    /// When a life made something for the log.
    pub(crate) fn deeds_of(&self, life: u64) -> impl Iterator<Item = u64> {
        self.made.values().filter(move |made| made.life == life).map(|made| made.at_ms)
    }

    /// When an entry was made, and by which life.
    pub(crate) fn made(&self, entry: &Entry) -> Option<Deed> {
        self.made.get(&(entry.index, entry.term)).copied()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    const TERM: Term = Term(7);

    fn entry(index: u64, data: &'static [u8]) -> Entry {
        Entry { index: LogIndex(index), term: TERM, kind: EntryKind::Normal, data: Bytes::from_static(data) }
    }

    /// When life 8 leads, as far as the record knows.
    fn leads_ms(record: &Record) -> Option<u64> {
        record.first_commands.get(&(8, TERM)).and_then(|first| first.applied_ms)
    }

    #[test]
    fn leader_leads_once_it_has_applied_the_first_command_of_its_term() {
        let mut record = Record::default();
        let mut look = |now_ms, news| {
            record.look(now_ms, (4, 8, 1), news);
            leads_ms(&record)
        };
        let written = vec![(LogIndex(1), TERM), (LogIndex(2), TERM)];
        assert_eq!(look(100, NodeNews { written, ..NodeNews::default() }), None);
        let (applied, applied_index) = (vec![entry(1, b"")], LogIndex(1));
        let empty = NodeNews { applied, applied_index, ..NodeNews::default() };
        assert_eq!(look(200, empty), None, "the entry without content is raft's own");
        let begun = NodeNews { applied: vec![entry(2, b"tick")], applied_index, ..NodeNews::default() };
        assert_eq!(look(300, begun), None, "it may not have begun with it");
        let done = || NodeNews { applied_index: LogIndex(2), ..NodeNews::default() };
        assert_eq!([400, 500].map(|now_ms| look(now_ms, done())), [Some(400); 2]);
    }

    #[test]
    fn follower_that_applies_the_first_command_of_another_leads_nobody() {
        let mut record = Record::default();
        let written = vec![(LogIndex(1), TERM)];
        record.look(100, (5, 9, 1), NodeNews { written, ..NodeNews::default() });
        let (applied, applied_index) = (vec![entry(1, b"tick")], LogIndex(1));
        record.look(200, (4, 8, 1), NodeNews { applied, applied_index, ..NodeNews::default() });
        assert_eq!(leads_ms(&record), None);
    }
}
