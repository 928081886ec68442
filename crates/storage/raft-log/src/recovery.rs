//! Opening a data directory: where the log ends, and which snapshot it continues.
//!
//! Everything is read and judged before the first byte is changed. What is changed then was never acknowledged.

use crate::batch::{HardState, Membership, SnapshotMeta};
use crate::catalog::{SnapshotCatalog, SnapshotScan};
use crate::config::{JournalConfig, JournalStats};
use crate::identity::Identity;
use crate::journal::Journal;
use crate::snapshot::SNAPSHOT_DIRECTORY;
use crate::state::{Restoring, State};
use alloc::format;
use alloc::vec::Vec;
use base::LogIndex;
use storage_disk::Disk;
use storage_wal::meta::{self, Names};
use storage_wal::{Corruption, Fault, OpenError, Position, Replayed, TornTail, Wal};

/// What a data directory held when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The owner of the directory.
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
    pub first_index: LogIndex,
    /// The last entry of the log; the snapshot's index, or 0, if there is none behind it. All entries behind the
    /// snapshot can be read.
    pub last_index: LogIndex,
    /// What was cut off, if the last flush before the crash did not succeed.
    pub torn_tail: Option<TornTail>,
    /// Newer snapshots that were passed over because they are damaged.
    pub damaged_snapshots: Vec<Corruption>,
}

pub(crate) fn open<D: Disk>(
    mut disk: D,
    config: JournalConfig,
) -> Result<(Journal<D>, Recovered), OpenError> {
    let names = Names { directories: &[SNAPSHOT_DIRECTORY], harmless: config.harmless_names };
    let (mut journal, recovered) = match meta::open(&mut disk, names)? {
        None => make(disk, config)?,
        Some(meta) => {
            let unknown = |_| meta::damaged(0, "it does not say whose directory this is");
            let identity = Identity::of_meta(&meta).map_err(unknown)?;
            let snapshots = SnapshotScan::read(&mut disk)?;
            resume(disk, config, identity, snapshots)?
        }
    };
    journal.settle()?;
    Ok((journal, recovered))
}

/// Initialises an empty directory. `meta` comes last: a directory with `meta` has a log, so one without a log has lost
/// it, and with it its votes.
fn make<D: Disk>(mut disk: D, config: JournalConfig) -> Result<(Journal<D>, Recovered), OpenError> {
    let identity = config.identity;
    let made = disk.create_directory(SNAPSHOT_DIRECTORY);
    made.map_err(|error| Fault::new(SNAPSHOT_DIRECTORY, "create", error))?;
    sync_snapshots(&mut disk)?;
    let state = State::empty();
    let mut wal = Wal::create(disk, config.wal(), identity.incarnation, 1, &state)?;
    meta::write(wal.disk(), &identity.to_meta())?;
    let recovered = Recovered {
        identity,
        fresh: true,
        hard_state: HardState::default(),
        membership: Membership::default(),
        snapshot: None,
        first_index: LogIndex::FIRST,
        last_index: LogIndex::ZERO,
        torn_tail: None,
        damaged_snapshots: Vec::new(),
    };
    let (catalog, snapshot, stats) = (SnapshotCatalog::default(), None, JournalStats::default());
    Ok((Journal { wal, config, identity, state, catalog, snapshot, stats }, recovered))
}

/// Takes up the log where it ends.
fn resume<D: Disk>(
    disk: D,
    config: JournalConfig,
    identity: Identity,
    snapshots: SnapshotScan,
) -> Result<(Journal<D>, Recovered), OpenError> {
    let (mut replayed, state) =
        replay(disk, &config, &identity, &snapshots).map_err(|error| blame_snapshot(error, &snapshots))?;
    for path in &snapshots.leftovers {
        replayed.disk().remove(path).map_err(|error| Fault::new(path, "remove", error))?;
    }
    sync_snapshots(replayed.disk())?;
    let (wal, torn_tail) = replayed.resume()?;
    let (damaged_indexes, damaged_snapshots) = snapshots.damaged.into_iter().unzip();
    let newest = snapshots.good.first().cloned();
    let catalog = SnapshotCatalog::new(snapshots.good, damaged_indexes);
    let (snapshot, stats) = (None, JournalStats::default());
    let mut journal = Journal { wal, config, identity, state, catalog, snapshot, stats };
    if let Some(meta) = newest.as_ref().filter(|meta| !journal.state.follows(meta)) {
        journal.empty_log(meta)?;
    }
    let mut hard_state = journal.hard_state();
    hard_state.commit = hard_state.commit.max(newest.as_ref().map_or(LogIndex::ZERO, |meta| meta.index));
    let recovered = Recovered {
        identity,
        fresh: false,
        hard_state,
        membership: journal.membership().clone(),
        snapshot: newest,
        first_index: journal.first_index(),
        last_index: journal.last_index(),
        torn_tail,
        damaged_snapshots,
    };
    Ok((journal, recovered))
}

/// Reads the log behind the newest snapshot, and judges it. Changes nothing.
fn replay<D: Disk>(
    disk: D,
    config: &JournalConfig,
    identity: &Identity,
    snapshots: &SnapshotScan,
) -> Result<(Replayed<D>, State), OpenError> {
    let snapshot_index = snapshots.newest_index();
    let mut restoring = Restoring::behind(snapshot_index);
    let replayed = Replayed::read(disk, config.wal(), identity.incarnation, &mut restoring)?;
    let first = Position { sequence: replayed.first_sequence(), offset: 0 };
    let Some(state) = restoring.state else {
        return Err(Corruption::at(first, "the log is missing").into());
    };
    reaches_snapshot(&state, snapshot_index, first)?;
    holds_committed(&state, snapshots.good.first(), replayed.end())?;
    Ok((replayed, state))
}

/// The log must hold every entry behind the snapshot.
fn reaches_snapshot(state: &State, snapshot_index: LogIndex, first: Position) -> Result<(), Corruption> {
    let first_index = state.index.first_index;
    if first_index <= snapshot_index.next() {
        return Ok(());
    }
    let what = format!("the log begins at entry {first_index}, and there is no good snapshot from there on");
    Err(Corruption::at(first, &what))
}

/// What is known to be committed was in the log before that was noted there: it must be there still, or in the snapshot
/// that replaces the log. No crash takes it away, and a member that applies it takes it for final.
fn holds_committed(state: &State, snapshot: Option<&SnapshotMeta>, end: Position) -> Result<(), Corruption> {
    let replaced = snapshot.filter(|meta| !state.follows(meta));
    let last = replaced.map_or(state.index.last_index, |meta| meta.index);
    let commit = state.hard_state.commit;
    if commit <= last {
        return Ok(());
    }
    let what = format!("the log ends with entry {last}, although entry {commit} was known to be committed");
    Err(Corruption::at(end, &what))
}

/// If the log is too short only because newer snapshots are damaged, the snapshots are reported.
fn blame_snapshot(error: OpenError, snapshots: &SnapshotScan) -> OpenError {
    match (error, snapshots.damaged.first()) {
        (OpenError::Corrupt(_), Some((_, damage))) => OpenError::Corrupt(damage.clone()),
        (error, _) => error,
    }
}

/// Makes the names of snapshots durable.
fn sync_snapshots<D: Disk>(disk: &mut D) -> Result<(), Fault> {
    let synced = disk.sync_directory(SNAPSHOT_DIRECTORY);
    synced.map_err(|error| Fault::new(SNAPSHOT_DIRECTORY, "flush", error))
}
