//! A new group of objects out of what one survivor of a lost majority has, under a new name, so that no member of the old one
//! can take part in it by mistake. In two steps, for the council of the same server begins anew with it: both or neither.

use std::path::{Path, PathBuf};

use base::{LogIndex, MemberId, Term};
use node_group::{DataConfig, aside};
use node_threads::Clock;
use objects_replica::{ReplayedState, revival};
use objects_state::State;
use storage_dir_disk::DirDisk;
use storage_raft_log::{Identity, Journal};

use crate::boot::name;
use crate::config::ObjectsConfig;
use crate::data;
use crate::error::{ServerFault, StartError};

/// What is written beside the old data.
const WHY: &str = "`force-new-ensemble` made a new group of it";

/// What a survivor has.
#[derive(Clone, Debug)]
pub struct Survivor {
    /// The ids of those who voted, as far as its last snapshot knows.
    pub voters: Vec<MemberId>,
    /// The position of the last command in its log.
    pub position: u64,
    /// The last entry of its log, and ...
    pub last_index: LogIndex,
    /// ... up to which it knew them to be committed; the rest may have been acknowledged to clients or not.
    pub committed: LogIndex,
    /// Objects, open sessions, calls that wait, keys that are remembered.
    pub counts: [u64; 4],
}

/// Says what a new group would begin with; nothing if there are no objects. Changes nothing.
///
/// # Errors
/// The data is in use or damaged.
pub fn inspect(config: &ObjectsConfig) -> Result<Option<Survivor>, StartError> {
    Ok(load(config)?.map(|found| found.survivor))
}

/// Makes the data of the new group ready beside the old: nothing is moved until [`ensure_installed`]. Nothing if there are no
/// objects.
///
/// # Errors
/// As [`inspect`]; or the disk refuses.
pub fn prepare(config: &ObjectsConfig) -> Result<Option<Survivor>, StartError> {
    let Some(Found { survivor, identity, mut state, applied }) = load(config)? else { return Ok(None) };
    let [cluster, incarnation] = [name()?, name()?];
    let identity = revival::identity(&identity, cluster, incarnation);
    let DataConfig { data_dir, .. } = aside::prepare(&data::directories(config))?;
    let disk = DirDisk::open(&data_dir)?;
    let (mut journal, _) = Journal::open(disk, data::journal_config(config, identity))?;
    let meta = revival::begin(&mut state, applied, identity.member, Clock::start().now().wall);
    let fault = |error| ServerFault::new("objects journal", error);
    revival::write_snapshot(&mut journal, &mut state, meta).map_err(fault)?;
    journal.close().map_err(|error| ServerFault::new("objects journal", error))?;
    Ok(Some(survivor))
}

/// Has what was prepared in that directory take the place of the old data, which is put aside, unless that is done already.
///
/// # Errors
/// The disk refuses.
pub fn ensure_installed(data_dir: &Path) -> Result<(), StartError> {
    let directories = DataConfig { data_dir: PathBuf::from(data_dir), log_dir: None };
    Ok(aside::ensure_replaced(&directories, WHY, Clock::start().now().wall)?)
}

struct Found {
    survivor: Survivor,
    identity: Identity,
    state: State,
    applied: (LogIndex, Term),
}

fn load(config: &ObjectsConfig) -> Result<Option<Found>, StartError> {
    if !config.data_dir.exists() {
        return Ok(None);
    }
    let Some(mut unloaded) = data::open(config)? else { return Ok(None) };
    let identity = unloaded.identity();
    let mut state = unloaded.load_state()?;
    let engine = data::engine(config);
    engine.forget_all();
    state.set_engine(engine);
    let (journal, recovered) = unloaded.parts();
    let mut replay = revival::replay(recovered, journal.membership(), state);
    while let Some(wanted) = replay.wants() {
        let entries = journal.entries(wanted.start, wanted.end, data::PIECE_BYTES)?;
        replay.take(entries).map_err(|fault| ServerFault::new("objects core", fault))?;
    }
    let (seat, ReplayedState { state, .. }) = replay.finish();
    if seat.applied().0 == LogIndex::ZERO {
        return Ok(None);
    }
    let survivor = Survivor {
        voters: recovered.membership.voters.clone(),
        position: state.position(),
        last_index: recovered.last_index.max(seat.applied().0),
        committed: recovered.hard_state.commit,
        counts: state.counts(),
    };
    Ok(Some(Found { survivor, identity, applied: seat.applied(), state }))
}
