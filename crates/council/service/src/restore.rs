//! Restoring: a snapshot that somebody sends takes the place of all that a server alone has.
//!
//! It is laid down beside the data and checked as a whole before anything is touched. Then the core steps back as one
//! does that has lost its seat, the snapshot becomes the journal's content by one rename, and a new core begins with what
//! is on the disk: a crash leaves the old tree or the new one. Clients are cut off and come back; their sessions live on
//! if the snapshot has them.

use base::WallTime;
use node_threads::RateLimit;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use council_replica::revival;
use council_tree::Tree;
use council_wire::Zxid;
use parking_lot::Mutex;
use storage_raft_log::{Fault, Identity, Journal, OpenError, SnapshotError, SnapshotMeta};

use crate::backup::{self, BackupError};
use crate::config::StorageConfig;
use crate::error::StartError;
use crate::recovery;
use node_metrics::Histogram;

/// Where a snapshot lies until it is checked, in the data directory.
const PLACE: &str = "restore";
const NAME: &str = "sent.snap";

/// Why nothing was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// This server is one of several.
    NotAlone,
    /// What was sent is no sound snapshot.
    Unsound(String),
    /// It could not be done.
    Failed(String),
}

/// Why a sound tree did not take the place of the data. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RestoreError {
    /// The server ends before it comes to it.
    #[error("the server stops")]
    Stopping,
    /// The data directory cannot be used.
    #[error(transparent)]
    Directory(#[from] StartError),
    /// The journal cannot be opened.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// The snapshot cannot be written.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The journal cannot be closed.
    #[error(transparent)]
    Disk(#[from] Fault),
}

/// A tree that is to replace the one that is there, and who is to be told of its zxid.
pub(crate) struct Restoration {
    pub(crate) tree: Tree,
    pub(crate) done: Sender<Result<Zxid, RestoreError>>,
}

/// What is counted of restoring.
#[derive(Default)]
pub(crate) struct RestoreRequests {
    pub(crate) limit: RateLimit,
    pub(crate) took_us: Histogram,
    /// Held by whoever restores.
    pub(crate) turn: Mutex<()>,
    failures: AtomicU64,
}

impl RestoreRequests {
    pub(crate) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }
}

/// Takes in a snapshot of so many bytes and makes a tree of it. Touches nothing else.
pub(crate) fn receive(data_dir: &Path, sent: &mut dyn Read, bytes: u64) -> Result<Tree, Refusal> {
    let place = data_dir.join(PLACE);
    let outcome = clear(&place).map_err(|error| failed(&place, &error)).and_then(|()| {
        crate::private::create_directory(&place).map_err(|error| failed(&place, &error))?;
        spool(&place, sent, bytes)?;
        load(&place)
    });
    clear_up(data_dir);
    outcome
}

/// Removes what a crash left of a snapshot that was being sent.
pub(crate) fn clear_up(data_dir: &Path) {
    let place = data_dir.join(PLACE);
    if let Err(error) = clear(&place) {
        tracing::warn!(%error, place = %place.display(), "what was sent to be restored cannot be removed");
    }
}

/// Puts the tree in the place of `before`, and of everything in the journal, which must not be in use. Gives the zxid
/// that the tree goes on from.
pub(crate) fn put(
    storage: &StorageConfig,
    mut tree: Tree,
    before: &Tree,
    wall: WallTime,
) -> Result<Zxid, RestoreError> {
    tree.succeed(before);
    let disk = recovery::open_disk(storage)?;
    let (mut journal, _) = Journal::open(disk, recovery::journal_config(storage, Identity::default()))?;
    let zxid = tree.last_zxid();
    let meta = SnapshotMeta {
        index: journal.last_index().next(),
        term: journal.hard_state().term,
        membership: journal.membership().clone(),
        position: zxid.0,
        digest: 0,
        created: wall,
    };
    revival::write_snapshot(&mut journal, &mut tree, meta)?;
    journal.close()?;
    Ok(zxid)
}

fn failed(path: &Path, error: &io::Error) -> Refusal {
    Refusal::Failed(format!("cannot use `{}`: {error}", path.display()))
}

fn unsound(error: impl ToString) -> Refusal {
    Refusal::Unsound(error.to_string())
}

fn clear(place: &Path) -> io::Result<()> {
    match fs::remove_dir_all(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn spool(place: &Path, sent: &mut dyn Read, bytes: u64) -> Result<(), Refusal> {
    let room = rustix::fs::statvfs(place).map_err(|error| failed(place, &error.into()))?;
    // It is there twice for a while, and clients who write meanwhile need room, too.
    let available = room.f_bavail.saturating_mul(room.f_frsize) / 2;
    if bytes > available {
        return Err(Refusal::Failed(format!(
            "the snapshot has {bytes} bytes, and of the disk's room no more than {available} may be taken for it"
        )));
    }
    let path = place.join(NAME);
    let mut file = crate::private::create_file(&path).map_err(|error| failed(&path, &error))?;
    let mut begin = [0; 4];
    let taken = sent.read_exact(&mut begin).and_then(|()| {
        io::Write::write_all(&mut file, &begin)?;
        io::copy(&mut sent.take(bytes.saturating_sub(begin.len() as u64)), &mut file)
    });
    let taken = taken.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => unsound("it is cut off"),
        _ => Refusal::Failed(format!("the snapshot could not be taken in: {error}")),
    })?;
    if let Some(what) = backup::foreign(&begin) {
        return Err(unsound(what));
    }
    match begin.len() as u64 + taken == bytes {
        true => Ok(()),
        false => Err(unsound("it is cut off")),
    }
}

fn load(place: &Path) -> Result<Tree, Refusal> {
    match backup::read(&place.join(NAME)) {
        Ok(backup) => Ok(backup.into_tree()),
        Err(BackupError::Unsound(what)) => Err(Refusal::Unsound(what)),
        Err(BackupError::Unreadable(error)) => Err(failed(place, &error)),
    }
}
