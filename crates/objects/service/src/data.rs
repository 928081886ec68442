//! From a data directory to objects and what a core begins with.

use std::sync::Arc;

use consensus_replica::ReplicaConfig;
use consensus_replica::lifecycle::{DiskContent, MEMBER_ALONE, NewMembership, storage};
use consensus_replica::start::Seat;
use node_group::{DataConfig, aside, restoration};
use objects_replica::{ReplayedState, replay};
use objects_state::guest::Engine;
use objects_state::{Loader, State};
use storage_dir_disk::DirDisk;
use storage_raft_log::{Identity, Journal, JournalConfig, Recovered};

use crate::config::ObjectsConfig;
use crate::error::{ServerFault, StartError};

/// What makes a data directory of a backup.
pub(crate) const RESTORE: &str = "diwan object restore";

/// Where the engine keeps what it compiles, below the data directory.
const GUESTS: &str = "modules";
/// How much of the log is in memory at a time.
pub(crate) const PIECE_BYTES: u64 = 4 << 20;

/// What the data directory held, loaded.
pub(crate) struct Opened {
    pub(crate) journal: Journal<DirDisk>,
    pub(crate) seat: Seat,
    pub(crate) state: State,
}

/// A data directory whose journal is open and whose data is not loaded yet.
pub(crate) struct Unloaded {
    journal: Journal<DirDisk>,
    recovered: Recovered,
}

impl Unloaded {
    /// What the directory holds.
    pub(crate) fn content(&self) -> DiskContent {
        DiskContent::of(&self.recovered)
    }

    /// The state of its snapshot.
    pub(crate) fn load_state(&mut self) -> Result<State, StartError> {
        load_state(&mut self.journal)
    }

    /// The journal, and what it found.
    pub(crate) const fn parts(&mut self) -> (&mut Journal<DirDisk>, &Recovered) {
        (&mut self.journal, &self.recovered)
    }

    /// Who it belongs to.
    pub(crate) const fn identity(&self) -> Identity {
        self.recovered.identity
    }
}

/// Where a member's data lies.
pub(crate) fn directories(config: &ObjectsConfig) -> DataConfig {
    DataConfig { data_dir: config.data_dir.clone(), log_dir: None }
}

/// Opens the data directory. Nothing if it holds no data.
pub(crate) fn open(config: &ObjectsConfig) -> Result<Option<Unloaded>, StartError> {
    settle(config)?;
    if !config.data_dir.join("meta").exists() {
        return Ok(None);
    }
    if !config.data_dir.join("log").exists() {
        return Err(StartError::Unsupported(format!(
            "`{}` holds objects, but not their log\nhint: restore the directory `log` from a copy",
            config.data_dir.display()
        )));
    }
    open_journal(config, Identity::default()).map(Some)
}

/// Makes a data directory without data that of a new membership, durably.
pub(crate) fn create(config: &ObjectsConfig, new: &NewMembership) -> Result<Unloaded, StartError> {
    settle(config)?;
    let mut unloaded = open_journal(config, new.identity)?;
    let Unloaded { journal, recovered } = &mut unloaded;
    storage::write(journal, recovered, new).map_err(journal_fault)?;
    Ok(unloaded)
}

/// Removes an identity that was written and never used.
pub(crate) fn forget(config: &ObjectsConfig) -> Result<(), StartError> {
    storage::forget(&mut DirDisk::open(&config.data_dir)?).map_err(journal_fault)
}

/// Finishes what a crash interrupted.
fn settle(config: &ObjectsConfig) -> Result<(), StartError> {
    restoration::refuse(&directories(config), RESTORE)?;
    aside::settle(&directories(config))?;
    if config.data_dir.join(storage::FORGOTTEN).exists() {
        storage::settle(&mut DirDisk::open(&config.data_dir)?).map_err(journal_fault)?;
    }
    Ok(())
}

fn open_journal(config: &ObjectsConfig, identity: Identity) -> Result<Unloaded, StartError> {
    let disk = DirDisk::open(&config.data_dir)?;
    let (journal, recovered) = Journal::open(disk, journal_config(config, identity))?;
    if let Some(torn) = &recovered.torn_tail {
        tracing::warn!(
            ?torn,
            "the last flush of objects before the crash had not succeeded: its beginning was cut off"
        );
    }
    for damage in &recovered.damaged_snapshots {
        tracing::error!(%damage, "a newer snapshot of the objects is damaged and was passed over");
    }
    refuse_another_members(config, &journal, &recovered)?;
    Ok(Unloaded { journal, recovered })
}

/// Data of one member is not another's, and what several have agreed upon is not for one to go on with.
fn refuse_another_members(
    config: &ObjectsConfig,
    journal: &Journal<DirDisk>,
    recovered: &Recovered,
) -> Result<(), StartError> {
    let (member, voters) = (journal.identity().member, &recovered.membership.voters);
    let directory = config.data_dir.display();
    match &config.group {
        Some(group) if member.number() != group.own => Err(StartError::Unsupported(format!(
            "the objects in `{directory}` belong to member {}, and this is member {}\nhint: is this the data directory of \
             another member?",
            member.number(),
            group.own
        ))),
        None if !voters.is_empty() && *voters != [member] => Err(StartError::Unsupported(format!(
            "the objects in `{directory}` belong to a group of {} voters\nhint: name all members in the configuration, or \
             choose an empty directory with `objects.data-dir`",
            voters.len()
        ))),
        _ => Ok(()),
    }
}

/// What runs modules: the one that is named, or one that keeps what it compiles beside the data. That directory is this
/// process's: its journal is open.
pub(crate) fn engine(config: &ObjectsConfig) -> Arc<dyn Engine> {
    let own = || objects_guest::engine(config.data_dir.join(GUESTS), Arc::clone(&config.compiler));
    config.engine.0.clone().unwrap_or_else(own)
}

/// Loads the snapshot and replays the log.
pub(crate) fn load(
    unloaded: Unloaded,
    config: &ObjectsConfig,
    engine: &Arc<dyn Engine>,
) -> Result<Opened, StartError> {
    let Unloaded { mut journal, recovered } = unloaded;
    // Alone nobody lags.
    let window_bytes_max =
        config.group.as_ref().map_or(0, |_| ReplicaConfig::new(MEMBER_ALONE).window_bytes_max);
    let mut state = load_state(&mut journal)?;
    engine.forget_all();
    state.set_engine(Arc::clone(engine));
    let mut replay = replay(&recovered, journal.membership(), state, window_bytes_max);
    while let Some(wanted) = replay.wants() {
        let entries = journal.entries(wanted.start, wanted.end, PIECE_BYTES)?;
        replay.take(entries).map_err(|fault| ServerFault::new("objects core", fault))?;
    }
    let (seat, ReplayedState { state, .. }) = replay.finish();
    tracing::info!(position = state.position(), entries = recovered.last_index.0, "the objects are loaded");
    Ok(Opened { journal, seat, state })
}

fn load_state(journal: &mut Journal<DirDisk>) -> Result<State, StartError> {
    let Some(mut reader) = journal.open_snapshot()? else { return Ok(State::new()) };
    let mut loader = Loader::default();
    while let Some(chunk) = journal.read_snapshot(&mut reader)? {
        loader.chunk(&chunk).map_err(|_| StartError::Snapshot)?;
    }
    loader.finish().map_err(|_| StartError::Snapshot)
}

pub(crate) fn journal_config(config: &ObjectsConfig, identity: Identity) -> JournalConfig {
    let default = JournalConfig::default();
    let segment_bytes = u32::try_from(config.segment_bytes).unwrap_or(u32::MAX).max(1 << 20);
    JournalConfig {
        identity,
        segment_bytes,
        first_segment_bytes: default.first_segment_bytes.min(segment_bytes),
        ..default
    }
}

fn journal_fault(error: impl std::error::Error + Send + Sync + 'static) -> StartError {
    StartError::Fault(ServerFault::new("objects journal", error))
}
