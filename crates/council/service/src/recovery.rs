//! From a data directory to a tree and what a core begins with.

use base::LogIndex;
use node_threads::Clock;
use std::path::Path;

use consensus_replica::lifecycle::{DiskContent, MEMBER_ALONE, NewMembership, storage};
use consensus_replica::start::Seat;
use consensus_replica::{MemberId, ReplicaConfig};
use council_frontend::History;
use council_replica::{ReplayedTree, replay};
use council_tree::Tree;
use council_wire::Zxid;
use node_group::{aside, restoration};
use storage_raft_log::{Disk, Identity, Journal, JournalConfig, KeepPolicy, OpenError, ReadError};

use crate::config::{EnsembleConfig, ServerConfig, StorageConfig};
use crate::counters::StartFigures;
use crate::disk::DirDisk;
use crate::disk::ReadingDisk;
use crate::error::{ServerFault, StartError};
use crate::random;
use crate::snapshot_requests::Saved;

/// What makes a data directory of a backup.
pub(crate) const RESTORE: &str = "diwan council restore";

/// How much of the log is in memory at a time.
pub(crate) const PIECE_BYTES: u64 = 4 << 20;

/// What the data directory held, loaded.
pub(crate) struct Opened {
    pub(crate) journal: Journal<DirDisk>,
    pub(crate) seat: Seat,
    pub(crate) tree: Tree,
    /// What lately changed in the tree.
    pub(crate) history: History,
    pub(crate) figures: StartFigures,
    /// The snapshot that the tree began with, if there is one, and its time in seconds.
    pub(crate) snapshot: Option<(Saved, i64)>,
}

/// A data directory whose journal is open and whose data is not loaded yet.
pub(crate) struct Unloaded {
    journal: Journal<DirDisk>,
    recovered: storage_raft_log::Recovered,
}

impl Unloaded {
    /// What the directory holds.
    pub(crate) fn content(&self) -> DiskContent {
        DiskContent::of(&self.recovered)
    }

    /// Who it belongs to.
    pub(crate) const fn identity(&self) -> Identity {
        self.recovered.identity
    }
}

/// Opens the data directory, as a member of `ensemble` if there is one. Nothing if it holds no data.
pub(crate) fn open(
    config: &StorageConfig,
    ensemble: Option<&EnsembleConfig>,
) -> Result<Option<Unloaded>, StartError> {
    judge_for_start(config)?;
    if !config.data_dir.join("meta").exists() {
        return Ok(None);
    }
    open_journal(config, ensemble, Identity::default()).map(Some)
}

/// Makes a data directory without data that of a new membership, durably.
pub(crate) fn create(
    config: &StorageConfig,
    ensemble: Option<&EnsembleConfig>,
    new: &NewMembership,
) -> Result<Unloaded, StartError> {
    judge_for_start(config)?;
    let mut unloaded = open_journal(config, ensemble, new.identity)?;
    let Unloaded { journal, recovered } = &mut unloaded;
    storage::write(journal, recovered, new).map_err(journal_fault)?;
    Ok(unloaded)
}

fn judge_for_start(config: &StorageConfig) -> Result<(), StartError> {
    aside::settle(&config.directories())?;
    if is_forgetting(config) {
        storage::settle(&mut open_disk(config)?).map_err(journal_fault)?;
    }
    judge_directories(config)
}

/// Whether a start has to finish something before the directory can be judged.
fn is_interrupted(config: &StorageConfig) -> bool {
    aside::is_interrupted(&config.directories()) || is_forgetting(config)
}

/// Whether the removal of an identity was interrupted.
fn is_forgetting(config: &StorageConfig) -> bool {
    config.data_dir.join(storage::FORGOTTEN).exists()
}

fn open_journal(
    config: &StorageConfig,
    ensemble: Option<&EnsembleConfig>,
    identity: Identity,
) -> Result<Unloaded, StartError> {
    let disk = open_disk(config)?;
    let (journal, recovered) = Journal::open(disk, journal_config(config, identity))?;
    report(&recovered);
    refuse_another_members(ensemble, journal.identity().member, &recovered)?;
    refuse_an_absurd_term(&recovered)?;
    Ok(Unloaded { journal, recovered })
}

fn journal_fault(error: impl std::error::Error + Send + Sync + 'static) -> StartError {
    StartError::Fault(ServerFault::new("journal", error))
}

/// Opens the directory, or both, and locks it.
pub(crate) fn open_disk(config: &StorageConfig) -> Result<DirDisk, StartError> {
    judge_log_directory(config)?;
    Ok(match log_apart(config) {
        Some(log_dir) => DirDisk::open_split(&config.data_dir, log_dir)?,
        None => DirDisk::open(&config.data_dir)?,
    })
}

/// The log's directory, if it has one of its own.
fn log_apart(config: &StorageConfig) -> Option<&Path> {
    config.log_dir.as_deref().filter(|log_dir| *log_dir != config.data_dir)
}

/// Refuses directories that are not this server's to use. Changes nothing.
pub(crate) fn judge_directories(config: &StorageConfig) -> Result<(), StartError> {
    judge_data_directory(config)?;
    restoration::refuse(&config.directories(), RESTORE)?;
    if is_interrupted(config) {
        // A start finishes that first.
        return Ok(());
    }
    refuse_a_missing_log(&config.data_dir, config.log_dir.as_deref().unwrap_or(&config.data_dir))?;
    judge_log_directory(config)
}

/// Refuses directories into which no backup may be restored. Changes nothing.
pub(crate) fn judge_for_restoration(config: &StorageConfig) -> Result<(), StartError> {
    judge_data_directory(config)?;
    if is_interrupted(config) {
        return Err(StartError::Unsupported(format!(
            "the data in `{}` was being put aside or removed when that was interrupted; hint: start the server once, which \
             finishes it, or name an empty data directory",
            config.data_dir.display()
        )));
    }
    judge_log_directory(config)
}

/// The data directory must be there or be made, and be no ZooKeeper's.
fn judge_data_directory(config: &StorageConfig) -> Result<(), StartError> {
    if !config.create_dir && !config.data_dir.is_dir() {
        return Err(StartError::Unsupported(format!(
            "the data directory `{}` is missing; hint: make it, or let it be made with `datadir.autocreate=true`",
            config.data_dir.display()
        )));
    }
    refuse_zookeepers(&config.data_dir)
}

fn judge_log_directory(config: &StorageConfig) -> Result<(), StartError> {
    let Some(log_dir) = log_apart(config) else { return Ok(()) };
    refuse_zookeepers(log_dir)?;
    refuse_a_log_left_behind(&config.data_dir)
}

/// What a data directory holds.
pub(crate) enum Condition {
    /// A server starts with it, or there is nothing yet.
    Sound,
    /// It does not, and the other members have what was in it.
    Damaged(StartError),
}

/// Judges the log and the snapshots as [`open`] does. Changes nothing.
pub(crate) fn inspect(config: &ServerConfig) -> Result<Condition, StartError> {
    let ServerConfig { storage, ensemble, .. } = config;
    if is_interrupted(storage) || !storage.data_dir.is_dir() {
        return Ok(Condition::Sound);
    }
    let is_ours = storage.data_dir.join("meta").exists();
    let judge = || -> Result<(), StartError> {
        let disk = ReadingDisk::new(&storage.data_dir, log_apart(storage));
        let (journal, recovered) = Journal::open(disk, journal_config(storage, Identity::default()))?;
        let member = journal.identity().member;
        if is_ours {
            refuse_another_members(ensemble.as_ref(), member, &recovered)?;
        }
        refuse_an_absurd_term(&recovered)
    };
    match judge() {
        Ok(()) => Ok(Condition::Sound),
        Err(error) if ensemble.is_some() && is_damage(&error) => Ok(Condition::Damaged(error)),
        Err(error) => Err(error),
    }
}

/// Whether bytes on the disk are not those that were written, which other members have.
pub(crate) const fn is_damage(error: &StartError) -> bool {
    matches!(
        error,
        StartError::Journal { source: OpenError::Corrupt(_) }
            | StartError::Read(ReadError::Corrupt(_))
            | StartError::Snapshot(_)
    )
}

/// Loads the snapshot and replays the log.
pub(crate) fn load(
    unloaded: Unloaded,
    ensemble: Option<&EnsembleConfig>,
    history_bytes_max: usize,
    clock: Clock,
) -> Result<Opened, StartError> {
    let Unloaded { mut journal, recovered } = unloaded;
    // Alone nobody lags.
    let window_bytes_max = ensemble.map_or(0, |_| ReplicaConfig::new(MEMBER_ALONE).window_bytes_max);
    let began_us = clock.mono_us();
    let tree = load_tree(&mut journal)?;
    let loaded_us = clock.mono_us();
    let mut replay = replay(&recovered, journal.membership(), tree, history_bytes_max, window_bytes_max);
    while let Some(wanted) = replay.wants() {
        let entries = journal.entries(wanted.start, wanted.end, PIECE_BYTES)?;
        replay.take(entries).map_err(|fault| ServerFault::new("core", fault))?;
    }
    let (seat, ReplayedTree { tree, history, .. }) = replay.finish();
    let snapshot_index = recovered.snapshot.as_ref().map_or(LogIndex::ZERO, |meta| meta.index);
    let figures = StartFigures {
        snapshot_load_ms: (loaded_us - began_us) / 1000,
        log_load_ms: (clock.mono_us() - loaded_us) / 1000,
        entries_loaded: recovered.last_index.since(snapshot_index),
        ..StartFigures::default()
    };
    let snapshot = recovered
        .snapshot
        .as_ref()
        .map(|meta| (Saved { index: meta.index, zxid: Zxid(meta.position) }, meta.created.ms() / 1000));
    Ok(Opened { journal, seat, tree, history, figures, snapshot })
}

/// How many snapshots are kept.
pub(crate) fn keep(config: &StorageConfig) -> KeepPolicy {
    KeepPolicy { snapshots: config.snapshots_kept.max(1) as usize, ..KeepPolicy::default() }
}

/// Data of a real ZooKeeper is left alone, whatever else lies beside it.
fn refuse_zookeepers(directory: &Path) -> Result<(), StartError> {
    if directory.join("version-2").exists() {
        return Err(StartError::Unsupported(format!(
            "`{}` holds the data of a ZooKeeper server (`version-2`), which was left untouched; hint: choose an \
             empty directory; importing such data is not there yet",
            directory.display()
        )));
    }
    Ok(())
}

/// A log that the configuration no longer points at may hold what was acknowledged.
fn refuse_a_log_left_behind(directory: &Path) -> Result<(), StartError> {
    if directory.join("log").exists() {
        return Err(StartError::Unsupported(format!(
            "`{}` holds a log, although the log is said to lie elsewhere; hint: move its directory `log` there",
            directory.display()
        )));
    }
    Ok(())
}

/// `meta` is written when everything else is in place, so a log belongs to it.
fn refuse_a_missing_log(directory: &Path, log_directory: &Path) -> Result<(), StartError> {
    if directory.join("meta").exists() && !log_directory.join("log").exists() {
        return Err(StartError::Unsupported(format!(
            "`{}` holds data, but its log is not in `{}`; hint: say where it lies with `dataLogDir` \
             (`council.storage.log-dir`)",
            directory.display(),
            log_directory.display()
        )));
    }
    Ok(())
}

/// Data of one member is not another's, and what several have agreed upon is not for one to go on with.
fn refuse_another_members(
    ensemble: Option<&EnsembleConfig>,
    member: MemberId,
    recovered: &storage_raft_log::Recovered,
) -> Result<(), StartError> {
    let voters = &recovered.membership.voters;
    match ensemble {
        Some(ensemble) if member.number() != ensemble.number => Err(StartError::Unsupported(format!(
            "the data directory belongs to member {}, and this is member {}; hint: see `myid` and `dataDir`",
            member.number(),
            ensemble.number
        ))),
        None if !voters.is_empty() && *voters != [member] => Err(StartError::Unsupported(format!(
            "the data directory belongs to an ensemble of {} voters; hint: name them all by `server.` lines, or \
             choose an empty directory",
            voters.len()
        ))),
        _ => Ok(()),
    }
}

/// Removes an identity that was written and never used.
pub(crate) fn forget(config: &StorageConfig) -> Result<(), StartError> {
    storage::forget(&mut open_disk(config)?).map_err(journal_fault)
}

/// A term that no ensemble reaches was made up. Behind the last one there is no next.
fn refuse_an_absurd_term(recovered: &storage_raft_log::Recovered) -> Result<(), StartError> {
    let term = recovered.hard_state.term;
    if term <= consensus_raft::TERM_MAX {
        return Ok(());
    }
    Err(StartError::Unsupported(format!(
        "the data says that term {term} was reached, which no ensemble reaches: a member took over what another had made \
         up; the tree is not affected; hint: if other members start, empty this one's data directory; otherwise run \
         `diwan force-new-ensemble` at the member with the highest zxid, and empty the directories of the others"
    )))
}

/// What an operator or ZooKeeper's scripts put into a new data directory.
const ZOOKEEPER_NAMES: [&str; 3] = ["myid", "initialize", "zookeeper_server.pid"];

pub(crate) fn journal_config(config: &StorageConfig, identity: Identity) -> JournalConfig {
    let default = JournalConfig::default();
    let segment_bytes = u32::try_from(config.segment_bytes).unwrap_or(u32::MAX).max(1 << 20);
    JournalConfig {
        identity,
        segment_bytes,
        first_segment_bytes: default.first_segment_bytes.min(segment_bytes),
        harmless_names: &ZOOKEEPER_NAMES,
        ..default
    }
}

fn report(recovered: &storage_raft_log::Recovered) {
    if let Some(torn) = &recovered.torn_tail {
        tracing::warn!(?torn, "the last flush before the crash had not succeeded: its beginning was cut off");
    }
    for damage in &recovered.damaged_snapshots {
        tracing::error!(%damage, "a newer snapshot is damaged and was passed over");
    }
}

/// The tree of the newest snapshot; a fresh one where there is none.
pub(crate) fn load_tree<D: Disk>(journal: &mut Journal<D>) -> Result<Tree, StartError> {
    let seed = random::table_seed()?;
    let Some(mut reader) = journal.open_snapshot()? else { return Ok(Tree::seeded(seed)) };
    let mut loader = Tree::loader(seed);
    while let Some(chunk) = journal.read_snapshot(&mut reader)? {
        loader.chunk(&chunk).map_err(StartError::Snapshot)?;
    }
    loader.finish().map_err(StartError::Snapshot)
}
