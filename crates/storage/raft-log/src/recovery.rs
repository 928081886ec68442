//! Opening a data directory: where the log ends, and which snapshot it continues.
//!
//! Everything is read and judged before the first byte is changed. What is changed then was never acknowledged:
//! torn tails are overwritten with zeros, so that nothing in them can come to life again behind new records, and
//! what interrupted work left behind is removed. At last everything that was accepted is flushed, for it may have
//! been read from memory only.

use crate::batch::{HardState, Membership, SnapshotMeta};
use crate::chain::{Chain, Snapshots, fault};
use crate::config::{Identity, JournalConfig, JournalStats};
use crate::disk::{Disk, DiskError};
use crate::error::{AppendError, Corruption, Fault, OpenError};
use crate::journal::{Journal, Tail, next_segment_bytes};
use crate::meta;
use crate::record::Seal;
use crate::replay::{self, Replay, State};
use crate::reserve::Reserve;
use crate::segment::{LOG_DIRECTORY, Remains, Segment, segment_path};
use crate::shelf::Shelf;
use crate::snapshot::SNAPSHOT_DIRECTORY;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// What was cut off the end of the log: the remainder of a flush that never succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The segment, within the data directory.
    pub file: String,
    /// Where the log ends now.
    pub offset: u64,
    /// How many bytes were cut.
    pub bytes: u64,
}

/// What a data directory held when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Whose directory it is.
    pub identity: Identity,
    /// Whether it was made just now.
    pub fresh: bool,
    /// The last hard state; `commit` is at least the snapshot's index and at most `last_index`.
    pub hard_state: HardState,
    /// The last membership stored; empty if none ever was.
    pub membership: Membership,
    /// The newest good snapshot.
    pub snapshot: Option<SnapshotMeta>,
    /// The first entry that can be read with [`Journal::entries`].
    pub first_index: u64,
    /// The last entry of the log; the snapshot's index, or 0, if there is none behind it. All entries behind the
    /// snapshot can be read.
    pub last_index: u64,
    /// What was cut off, if the last flush before the crash did not succeed.
    pub torn_tail: Option<TornTail>,
    /// Newer snapshots that were passed over because they are damaged.
    pub damaged_snapshots: Vec<Corruption>,
}

pub(crate) fn open<D: Disk>(
    mut disk: D,
    config: JournalConfig,
) -> Result<(Journal<D>, Recovered), OpenError> {
    let (mut journal, recovered) = match meta::open(&mut disk, config.harmless_names)? {
        None => make(disk, config)?,
        Some(identity) => {
            let snapshots = Snapshots::read(&mut disk)?;
            let chain = Chain::read(&mut disk, &identity.incarnation)?;
            resume(disk, config, identity, chain, snapshots)?
        }
    };
    journal.settle()?;
    Ok((journal, recovered))
}

/// Makes an empty directory ours. `meta` comes last: a directory with `meta` has a log, so that one whose log is
/// missing has lost it, and with it its votes.
fn make<D: Disk>(mut disk: D, config: JournalConfig) -> Result<(Journal<D>, Recovered), OpenError> {
    let identity = config.identity;
    for directory in [LOG_DIRECTORY, SNAPSHOT_DIRECTORY] {
        disk.create_directory(directory).map_err(|error| fault(directory, "create", error))?;
    }
    sync_directories(&mut disk)?;
    let mut journal = Journal::begin(disk, config, identity)?;
    meta::write(&mut journal.disk, &identity)?;
    let recovered = Recovered {
        identity,
        fresh: true,
        hard_state: HardState::default(),
        membership: Membership::default(),
        snapshot: None,
        first_index: 1,
        last_index: 0,
        torn_tail: None,
        damaged_snapshots: Vec::new(),
    };
    Ok((journal, recovered))
}

/// Where the log ends and what lies behind.
struct End {
    offset: u64,
    /// The same but for the name of a next segment that was not begun.
    unnamed: u64,
    remains: Remains,
}

/// Takes up the log where it ends.
fn resume<D: Disk>(
    mut disk: D,
    config: JournalConfig,
    identity: Identity,
    mut chain: Chain<D::File>,
    snapshots: Snapshots,
) -> Result<(Journal<D>, Recovered), OpenError> {
    let snapshot_index = snapshots.newest_index();
    let (replay, end) = replay_chain(&mut disk, &identity, &chain, snapshot_index)
        .and_then(|(replay, end)| {
            reaches_snapshot(&replay.state, snapshot_index, &chain)?;
            holds_committed(&replay.state, snapshots.good.first(), &chain, &end)?;
            Ok((replay, end))
        })
        .map_err(|error| blame_snapshot(error, &snapshots))?;
    let torn_tail = clean_up(&mut disk, &chain, &snapshots, &end)?;

    // One of another size may have been left while it was made larger, not all of it flushed.
    let capacity = chain.begun.last().map_or(0, |last| last.segment.capacity);
    let next_bytes = next_segment_bytes(&config, capacity);
    let usable = chain.next.take_if(|unused| unused.capacity == next_bytes);
    remove_all(
        &mut disk,
        chain.next.iter().map(|odd| segment_path(odd.sequence)).collect::<Vec<_>>().iter(),
    )?;
    let reserve = Reserve::new(usable.map(|unused| (unused.file, unused.capacity)));
    let mut begun: VecDeque<Segment<D::File>> = chain.begun.into_iter().map(|begun| begun.segment).collect();
    let Some(mut current) = begun.pop_back() else {
        return Err(replay::damaged(1, 0, "the log is missing"));
    };
    current.end = end.offset;
    let closed = begun.into_iter().map(Segment::close).collect();
    let seal = Seal::new(&identity.incarnation, current.sequence);
    let tail = Tail::at(seal, end.offset, replay.marked);
    let (damaged_indexes, damaged_snapshots) = snapshots.damaged.into_iter().unzip();
    let snapshot = snapshots.good.first().cloned();
    let shelf = Shelf::new(snapshots.good, damaged_indexes);
    let (poison, unwritten, writing, stats) = (None, None, None, JournalStats::default());
    let mut journal = Journal {
        disk,
        config,
        identity,
        poison,
        unwritten,
        state: replay.state,
        closed,
        current,
        tail,
        reserve,
        shelf,
        snapshot: writing,
        stats,
    };
    if let Some(meta) = snapshot.as_ref().filter(|meta| !journal.state.follows(meta)) {
        journal.replace_log(meta).map_err(|error| no_room(error, &journal))?;
    }
    let mut hard_state = journal.hard_state();
    hard_state.commit = hard_state.commit.max(snapshot_index);
    let recovered = Recovered {
        identity,
        fresh: false,
        hard_state,
        membership: journal.membership().clone(),
        snapshot,
        first_index: journal.first_index(),
        last_index: journal.last_index(),
        torn_tail,
        damaged_snapshots,
    };
    Ok((journal, recovered))
}

fn replay_chain<D: Disk>(
    disk: &mut D,
    identity: &Identity,
    chain: &Chain<D::File>,
    snapshot_index: u64,
) -> Result<(Replay, End), OpenError> {
    let first = chain.begun.first().map_or(1, |begun| begun.segment.sequence);
    let gap = || replay::damaged(first - 1, 0, "this segment is missing, and no snapshot makes up for it");
    let from = chain.replay_from(snapshot_index).ok_or_else(gap)?;
    let Some((begun, last)) =
        chain.begun.get(from..).and_then(|needed| Some((needed.first()?, needed.last()?)))
    else {
        return Err(gap());
    };
    let mut replay = Replay::new(&begun.start);
    for earlier in &chain.begun[from..chain.begun.len() - 1] {
        replay.whole(disk, &identity.incarnation, &earlier.segment)?;
    }
    let (offset, remains) = replay.last(disk, &identity.incarnation, &last.segment)?;
    let named = replay.successor.take().filter(|(sequence, _)| *sequence == last.segment.sequence + 1);
    let Some((sequence, place)) = named else {
        return Ok((replay, End { offset, unnamed: offset, remains }));
    };
    if chain.next.as_ref().is_none_or(|unused| unused.sequence != sequence) {
        return Err(replay::damaged(
            sequence,
            0,
            "this segment is missing, although the one before it says that it was begun",
        ));
    }
    // A crash came before its first record. What names it goes, for the file may go as well.
    replay.marked = false;
    Ok((replay, End { offset: place, unnamed: offset, remains }))
}

/// The log must hold every entry behind the snapshot.
fn reaches_snapshot<File>(state: &State, snapshot_index: u64, chain: &Chain<File>) -> Result<(), OpenError> {
    let first = state.index.first_index;
    if first <= snapshot_index + 1 {
        return Ok(());
    }
    let sequence = chain.begun.first().map_or(1, |begun| begun.segment.sequence);
    let what = format!("the log begins at entry {first}, and there is no good snapshot from there on");
    Err(replay::damaged(sequence, 0, &what))
}

/// What is known to be committed was in the log before that was noted there: it must be there still, or in the
/// snapshot that replaces the log. No crash takes it away, and who applies it takes it for final.
fn holds_committed<File>(
    state: &State,
    snapshot: Option<&SnapshotMeta>,
    chain: &Chain<File>,
    end: &End,
) -> Result<(), OpenError> {
    let replaced = snapshot.filter(|meta| !state.follows(meta));
    let last = replaced.map_or(state.index.last_index, |meta| meta.index);
    let commit = state.hard_state.commit;
    if commit <= last {
        return Ok(());
    }
    let sequence = chain.begun.last().map_or(1, |begun| begun.segment.sequence);
    let what = format!("the log ends with entry {last}, although entry {commit} was known to be committed");
    Err(replay::damaged(sequence, end.offset, &what))
}

/// If the log is too short only because newer snapshots are damaged, the damage is theirs.
fn blame_snapshot(error: OpenError, snapshots: &Snapshots) -> OpenError {
    match (error, snapshots.damaged.first()) {
        (OpenError::Corrupt(_), Some((_, damage))) => OpenError::Corrupt(damage.clone()),
        (error, _) => error,
    }
}

/// Removes what was never acknowledged, and makes durable what is kept.
fn clean_up<D: Disk>(
    disk: &mut D,
    chain: &Chain<D::File>,
    snapshots: &Snapshots,
    end: &End,
) -> Result<Option<TornTail>, OpenError> {
    let mut torn = None;
    if let Some(last) = chain.begun.last() {
        let path = segment_path(last.segment.sequence);
        torn = cut(disk, &last.segment.file, &path, end.offset, end.remains.end)?
            .filter(|_| end.remains.end > end.unnamed);
        disk.sync_data(&last.segment.file).map_err(|error| fault(&path, "flush", error))?;
    }
    if let Some(unused) = &chain.next {
        let path = segment_path(unused.sequence);
        let cut = cut(disk, &unused.file, &path, 0, unused.remains.end)?;
        disk.sync_data(&unused.file).map_err(|error| fault(&path, "flush", error))?;
        torn = torn.or(cut);
    }
    remove_all(disk, chain.leftovers.iter().chain(&snapshots.leftovers))?;
    sync_directories(disk)?;
    Ok(torn)
}

fn cut<D: Disk>(
    disk: &mut D,
    file: &D::File,
    path: &str,
    offset: u64,
    end: u64,
) -> Result<Option<TornTail>, OpenError> {
    if end <= offset {
        return Ok(None);
    }
    disk.write_zeros(file, offset, end).map_err(|error| fault(path, "cut", error))?;
    Ok(Some(TornTail { file: path.into(), offset, bytes: end - offset }))
}

fn remove_all<'a, D: Disk>(
    disk: &mut D,
    mut paths: impl Iterator<Item = &'a String>,
) -> Result<(), OpenError> {
    paths.try_for_each(|path| disk.remove(path).map_err(|error| fault(path, "remove", error).into()))
}

fn sync_directories<D: Disk>(disk: &mut D) -> Result<(), OpenError> {
    let mut directories = ["", LOG_DIRECTORY, SNAPSHOT_DIRECTORY].into_iter();
    directories.try_for_each(|directory| {
        disk.sync_directory(directory).map_err(|error| fault(directory, "flush", error).into())
    })
}

fn no_room<D: Disk>(error: AppendError, journal: &Journal<D>) -> Fault {
    match error {
        AppendError::Fault(fault) => fault,
        _ => fault(&segment_path(journal.current.sequence), "extend", DiskError::Full),
    }
}
