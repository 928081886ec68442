//! A new ensemble out of what one survivor of a lost majority has: its tree, with everything that its log holds, becomes
//! the state of an ensemble of one, under a new name, so that no member of the old one can take part in it by mistake.

use base::{LogIndex, MemberId, Term};
use std::path::PathBuf;

use council_replica::{ReplayedTree, revival};
use council_tree::Tree;
use council_wire::Zxid;
use node_group::{DataConfig, aside, restoration};

use crate::config::{EnsembleConfig, ServerConfig, StorageConfig};
use crate::disk::DirDisk;
use crate::error::{ServerFault, StartError};
use crate::random;
use crate::recovery;
use crate::recovery::RESTORE;
use storage_raft_log::{Identity, Journal};

/// What a survivor has.
#[derive(Clone, Debug)]
pub struct Survivor {
    /// The ids of those who voted, as far as its last snapshot knows.
    pub voters: Vec<MemberId>,
    /// The last transaction in its log.
    pub last_zxid: Zxid,
    /// The last entry of its log, and ...
    pub last_index: LogIndex,
    /// ... up to which it knew them to be committed; the rest may have been acknowledged to clients or not.
    pub committed: LogIndex,
    /// Its znodes.
    pub nodes: usize,
    /// Its open sessions.
    pub sessions: usize,
}

/// Says what a new ensemble would begin with. Changes nothing.
///
/// # Errors
/// There is nothing to begin with, or the data is in use or damaged.
pub fn inspect(config: &ServerConfig) -> Result<Survivor, StartError> {
    load(config).map(|found| found.survivor)
}

/// Makes an ensemble of this member alone out of its data; the data as it was is put aside. The new data is whole before
/// anything is moved: a crash leaves the old or the new, and the next start finishes what was begun.
///
/// # Errors
/// As [`inspect`]; or the disk refuses. What was there is there still, in `put-aside` at the worst.
pub fn revive(config: &ServerConfig) -> Result<Revived, StartError> {
    let survivor = prepare(config)?;
    let wall = node_threads::Clock::start().now().wall;
    let aside = aside::replace(&config.storage.directories(), WHY, wall)?;
    Ok(Revived { survivor, aside })
}

/// Makes the data of the new ensemble ready beside the old: nothing is moved until [`ensure_installed`].
///
/// # Errors
/// As [`revive`].
pub fn prepare(config: &ServerConfig) -> Result<Survivor, StartError> {
    let Found { survivor, identity, mut tree, applied } = load(config)?;
    let storage = &config.storage;
    let identity = revival::identity(&identity, random::bytes()?, random::bytes()?);
    let wall = node_threads::Clock::start().now().wall;
    let directories = storage.directories();
    let DataConfig { data_dir, log_dir } = aside::prepare(&directories)?;
    let prepared = StorageConfig { data_dir, log_dir, create_dir: true, ..storage.clone() };
    let disk = recovery::open_disk(&prepared)?;
    let (mut journal, _) = Journal::open(disk, recovery::journal_config(&prepared, identity))?;
    let meta = revival::begin(&mut tree, applied, identity.member, wall);
    revival::write_snapshot(&mut journal, &mut tree, meta)
        .map_err(|error| ServerFault::new("journal", error))?;
    journal.close().map_err(|error| ServerFault::new("journal", error))?;
    Ok(survivor)
}

/// Has what was prepared take the place of the old data, which is put aside, unless that is done already.
///
/// # Errors
/// The disk refuses.
pub fn ensure_installed(config: &ServerConfig) -> Result<(), StartError> {
    let wall = node_threads::Clock::start().now().wall;
    Ok(aside::ensure_replaced(&config.storage.directories(), WHY, wall)?)
}

/// What is written beside the old data.
const WHY: &str = "`force-new-ensemble` made a new ensemble of it";

/// A new ensemble.
#[derive(Clone, Debug)]
pub struct Revived {
    /// What it begins with.
    pub survivor: Survivor,
    /// Where the data lies as it was.
    pub aside: PathBuf,
}

struct Found {
    survivor: Survivor,
    identity: Identity,
    tree: Tree,
    applied: (LogIndex, Term),
}

fn load(config: &ServerConfig) -> Result<Found, StartError> {
    let number = ensemble(config)?.number;
    let storage = &config.storage;
    aside::settle(&storage.directories())?;
    restoration::refuse(&storage.directories(), RESTORE)?;
    if !storage.data_dir.join("meta").exists() {
        return Err(nothing(storage));
    }
    let (mut journal, recovered) = open(storage)?;
    let owner = journal.identity().member.number();
    if owner != number {
        return Err(StartError::Unsupported(format!(
            "the data directory belongs to member {owner}, and this is member {number}; hint: see `myid` and `dataDir`"
        )));
    }
    let tree = recovery::load_tree(&mut journal)?;
    let mut replay = revival::replay(&recovered, journal.membership(), tree);
    while let Some(wanted) = replay.wants() {
        let entries = journal.entries(wanted.start, wanted.end, recovery::PIECE_BYTES)?;
        replay.take(entries).map_err(|error| ServerFault::new("core", error))?;
    }
    let (seat, ReplayedTree { tree, .. }) = replay.finish();
    if seat.applied().0 == LogIndex::ZERO {
        return Err(nothing(storage));
    }
    let survivor = Survivor {
        voters: recovered.membership.voters.clone(),
        last_zxid: tree.last_zxid(),
        last_index: recovered.last_index.max(seat.applied().0),
        committed: recovered.hard_state.commit,
        nodes: tree.node_count(),
        sessions: tree.sessions().len(),
    };
    Ok(Found { survivor, identity: *journal.identity(), tree, applied: seat.applied() })
}

/// There is no data.
fn nothing(storage: &StorageConfig) -> StartError {
    let hint = aside::how_to_take_back(&storage.directories());
    let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
    StartError::Unsupported(format!(
        "`{}` holds no data to begin with; hint: choose the member whose log reaches farthest{hint}",
        storage.data_dir.display()
    ))
}

fn open(storage: &StorageConfig) -> Result<(Journal<DirDisk>, storage_raft_log::Recovered), StartError> {
    let disk = recovery::open_disk(storage)?;
    Ok(Journal::open(disk, recovery::journal_config(storage, Identity::default()))?)
}

fn ensemble(config: &ServerConfig) -> Result<&EnsembleConfig, StartError> {
    config.ensemble.as_ref().ok_or_else(|| {
        StartError::Unsupported(String::from(
            "the configuration names no other members; hint: a server that is alone has no majority to lose",
        ))
    })
}
