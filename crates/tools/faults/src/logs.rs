//! What members left on their disks: each one's log as its journal reads it, and the tree that a start would have. Read when
//! all have stopped; judges nothing.

use std::path::{Path, PathBuf};

use council_replica::ReplayedTree;
use council_service::disk::{DirDisk, DirectoryError};
use council_tree::Tree;
use sim_council::node::raft_entry;
use sim_council::oracle::Oracle;
use sim_council::record::{Committed, Record, Resumed};
use sim_council::rules::Standing;
use storage_raft_log::{Entry, Journal, JournalConfig, LogIndex};
use tools_testbed::{Ensemble, Failure};

/// Bytes of log that are read at a time.
const PIECE_BYTES: u64 = 4 << 20;

/// What the council keeps in a member's data directory.
pub(super) fn council_data(ensemble: &Ensemble, number: usize) -> PathBuf {
    ensemble.data(number).join("council")
}

/// One member's.
pub(super) struct Log {
    member: u64,
    journal: Journal<DirDisk>,
    recovered: storage_raft_log::Recovered,
    entries: Vec<Entry>,
    /// The last entry of an earlier log that it goes on from.
    goes_on_behind: Option<LogIndex>,
}

impl Log {
    /// Reads that member's data directory.
    pub(super) fn read(member: u64, data: &Path) -> Result<Self, Failure> {
        let broken = |what: String| Failure::broken(format!("the journal of member {member}: {what}"));
        let disk = DirDisk::open(data).map_err(|error: DirectoryError| broken(error.to_string()))?;
        let (mut journal, recovered) =
            Journal::open(disk, JournalConfig::default()).map_err(|error| broken(error.to_string()))?;
        let mut entries: Vec<Entry> = Vec::new();
        let end = recovered.last_index.next();
        let mut next = recovered.first_index;
        while next < end {
            let read = journal.entries(next, end, PIECE_BYTES).map_err(|error| broken(error.to_string()))?;
            next = next.plus(read.len() as u64);
            entries.extend(read);
        }
        Ok(Self { member, journal, recovered, entries, goes_on_behind: None })
    }

    /// The log as it is if it went on from this earlier one of the same member, which `force-new-ensemble` put aside.
    pub(super) fn behind(mut self, earlier: Self) -> Result<Self, Failure> {
        let (end, next) = (earlier.last_index(), self.recovered.first_index);
        if end.next() != next {
            let member = self.member;
            return Err(Failure::broken(format!(
                "the log of member {member} begins with entry {next}, and the one that was put aside ends with {end}"
            )));
        }
        self.entries.splice(..0, earlier.entries);
        self.goes_on_behind = Some(end);
        Ok(self)
    }

    /// Whose it is.
    pub(super) const fn member(&self) -> u64 {
        self.member
    }

    /// The last entry that it holds.
    pub(super) const fn last_index(&self) -> LogIndex {
        self.recovered.last_index
    }

    /// Whether it holds the log from its first entry on.
    fn is_whole(&self) -> bool {
        self.entries.first().is_some_and(|entry| entry.index == LogIndex::FIRST)
    }

    /// Where a start from it would stand behind that entry.
    pub(super) fn standing(&mut self, index: LogIndex) -> Result<Standing, Failure> {
        let member = self.member;
        let broken = |what: String| Failure::broken(format!("a start of member {member}: {what}"));
        let tree = load(&mut self.journal).map_err(broken)?;
        let recovered = storage_raft_log::Recovered {
            last_index: index.min(self.last_index()),
            ..self.recovered.clone()
        };
        let covered = recovered.snapshot.as_ref().map_or(LogIndex::ZERO, |meta| meta.index);
        if covered > index {
            return Err(broken(format!("its snapshot is of entry {covered}, and the log ends at {index}")));
        }
        let mut replay =
            council_replica::replay(&recovered, self.journal.membership(), tree, 0, 0).regardless();
        while let Some(wanted) = replay.wants() {
            let entries =
                self.entries.iter().filter(|entry| wanted.contains(&entry.index)).cloned().collect();
            replay.take(entries).map_err(|fault| broken(fault.to_string()))?;
        }
        let (seat, ReplayedTree { tree, .. }) = replay.finish();
        Ok(Standing::of(member, seat.applied().0, &tree))
    }
}

/// The tree of the newest snapshot; a fresh one if there is none.
fn load(journal: &mut Journal<DirDisk>) -> Result<Tree, String> {
    let Some(mut reader) = journal.open_snapshot().map_err(|error| error.to_string())? else {
        return Ok(Tree::new());
    };
    let mut loader = Tree::loader(0);
    while let Some(chunk) = journal.read_snapshot(&mut reader).map_err(|error| error.to_string())? {
        loader.chunk(&chunk).map_err(|error| error.to_string())?;
    }
    loader.finish().map_err(|error| error.to_string())
}

/// The log up to that entry, as somebody has it who has all of it, and who has something else in its place. Nothing if
/// nobody has all of it.
pub(super) fn record(logs: &[Log], index: LogIndex) -> Option<Record> {
    let whole = logs.iter().filter(|log| log.is_whole()).max_by_key(|log| log.last_index())?;
    let mut record = Record::default();
    let until = |entry: &&Entry| entry.index <= index;
    for entry in whole.entries.iter().filter(until) {
        record.entries.push(Committed { entry: raft_entry(entry.clone()), at_ms: 0, member: whole.member });
    }
    record.resumed = whole.goes_on_behind.and_then(|end| resumed(&record, end, whole));
    for log in logs {
        // What it does not know to be committed may be overwritten still.
        let commit = log.recovered.hard_state.commit;
        for entry in log.entries.iter().filter(until).filter(|entry| entry.index <= commit) {
            let chosen = whole.entries.get(entry.index.since(LogIndex::FIRST) as usize);
            if chosen.is_some_and(|chosen| chosen != entry) {
                record.contradictions.push((log.member, raft_entry(entry.clone())));
            }
        }
    }
    Some(record)
}

/// Where a new ensemble goes on in that log, which no log tells: its zxids begin some epochs later. Its newest snapshot tells
/// how many.
fn resumed(record: &Record, end: LogIndex, log: &Log) -> Option<Resumed> {
    let zxids = Oracle::of(record).zxids;
    let zxid_behind = |index: LogIndex| {
        let is_entry = index >= LogIndex::FIRST;
        is_entry.then(|| zxids.get(index.since(LogIndex::FIRST) as usize).copied())?
    };
    let meta = log.recovered.snapshot.as_ref()?;
    let given_zxid = zxid_behind(end)?;
    let skipped = (meta.position >> 32) - (zxid_behind(meta.index)? >> 32);
    let zxid = ((given_zxid >> 32) + skipped) << 32;
    Some(Resumed { index: end, zxid, given_zxid, ..Resumed::default() })
}
