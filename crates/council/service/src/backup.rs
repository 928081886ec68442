//! A backup: a snapshot outside of any data directory, as the AdminServer's command `snapshot` sends it. It is checked
//! as a whole before anything is made of it.
//!
//! [`restore`] makes a fresh data directory of it, for a server that is alone or for one member of an ensemble. Two
//! things keep clients and members of the past apart from what begins there:
//!
//! - The directory gets an identity of its own, so that a member that still has data of the old ensemble is refused.
//! - Zxids go on at an epoch that follows the clock, so that a backup that is restored twice does not give out the same
//!   zxids twice. A client that has seen newer transactions than the backup holds would be refused by a server that is
//!   behind it, and two transactions must not have the same zxid.
//!
//! A crash in the middle leaves the file `.restore-unfinished` in the directory. No server starts on it then, and the next
//! [`restore`] begins from scratch. The file names the log that the restoration makes: no other log is removed.

use base::{LogIndex, MemberId, MemberNumber, Term, WallTime};
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

pub use node_group::backup_file::BackupError;

use council_replica::revival;
use council_tree::Tree;
use council_wire::Zxid;
use node_group::backup_file::{self, BackupFile};
use node_group::restoration;
use storage_raft_log::{Identity, Journal, Membership, SnapshotMeta};

use crate::config::StorageConfig;
use crate::error::{ServerFault, StartError};
use crate::random;
use crate::recovery;

/// A backup that was read and found sound.
#[derive(Debug)]
pub struct Backup {
    /// What it holds.
    pub summary: Summary,
    index: LogIndex,
    term: Term,
    tree: Tree,
}

/// What a backup holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its last transaction.
    pub last_zxid: Zxid,
    /// Its znodes.
    pub nodes: usize,
    /// Its open sessions.
    pub sessions: usize,
    /// Bytes of the file.
    pub bytes: u64,
    /// When it was taken.
    pub created: WallTime,
    /// The digest of its tree, which was compared with its content.
    pub digest: u64,
}

/// Reads a backup as a whole and checks all of it: checksums, form, feature level, and the digest of the tree.
///
/// # Errors
/// The file is no sound backup. Nothing was changed.
pub fn read(path: &Path) -> Result<Backup, BackupError> {
    let mut snapshot = BackupFile::open(path, foreign)?;
    let bytes = snapshot.bytes();
    let seed =
        random::table_seed().map_err(|error| BackupError::Unreadable(io::Error::other(error.to_string())))?;
    let mut loader = Tree::loader(seed);
    let unsound = |error: council_wire::Malformed| BackupError::Unsound(error.to_string());
    while let Some(chunk) = snapshot.next_chunk()? {
        loader.chunk(&chunk).map_err(unsound)?;
    }
    let tree = loader.finish().map_err(unsound)?;
    let meta = snapshot.meta();
    if tree.feature_level() > council_replica::FEATURE_LEVEL {
        return Err(BackupError::Unsound(format!(
            "it was taken at feature level {}, and this build understands {}",
            tree.feature_level(),
            council_replica::FEATURE_LEVEL
        )));
    }
    if (meta.digest, meta.position) != (tree.digest(), tree.last_zxid().0) {
        return Err(BackupError::Unsound(String::from("its end does not fit its content")));
    }
    let summary = Summary {
        last_zxid: tree.last_zxid(),
        nodes: tree.node_count(),
        sessions: tree.sessions().len(),
        bytes,
        created: meta.created,
        digest: meta.digest,
    };
    Ok(Backup { summary, index: meta.index, term: meta.term, tree })
}

/// What a file with this beginning is instead of a backup, if that can be told.
pub(crate) fn foreign(begin: &[u8]) -> Option<&'static str> {
    match begin {
        [b'Z', b'K', b'S', b'N', ..] => {
            Some("it is one of ZooKeeper's, and importing those is not there yet")
        }
        begin => backup_file::foreign(begin),
    }
}

impl Backup {
    /// Its tree.
    #[must_use]
    pub(crate) fn into_tree(self) -> Tree {
        self.tree
    }
}

/// Makes a data directory that goes on from a backup, for member `number` of an ensemble or for a server that is alone
/// (number 1). The ensemble begins with this member alone; the others join with empty directories. Its members are those
/// of this member's configuration, whatever the backup says.
///
/// Gives the zxid that it goes on from. It is a later one the later `now` is.
///
/// # Errors
/// There is data in the directory already, which is left as it is; or the disk refuses, and the next call begins from
/// scratch.
pub fn restore(
    backup: Backup,
    storage: &StorageConfig,
    number: MemberNumber,
    now: SystemTime,
) -> Result<Zxid, StartError> {
    let Backup { mut tree, index, term, summary } = backup;
    if summary.last_zxid.epoch() > revival::EPOCH_MAX {
        return Err(StartError::Unsupported(format!(
            "the zxid 0x{:x} of the backup leaves no room for those to come",
            summary.last_zxid.0
        )));
    }
    // Not the members of the ensemble that was backed up.
    tree.succeed(&Tree::new());
    let last = summary.last_zxid.epoch();
    let since_ms = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let wall = WallTime::of_ms(i64::try_from(since_ms).unwrap_or(i64::MAX));
    tree.skip_epochs(revival::epoch_after(last, wall) - last);
    recovery::judge_for_restoration(storage)?;
    let disk = recovery::open_disk(storage)?;
    restoration::begin(&storage.directories())?;
    let member = MemberId::founder(number);
    let identity = Identity { cluster: random::bytes()?, incarnation: random::bytes()?, member };
    let (mut journal, _) = Journal::open(disk, recovery::journal_config(storage, identity))?;
    let zxid = tree.last_zxid();
    let meta = SnapshotMeta {
        index,
        term,
        membership: Membership { voters: vec![member], ..Membership::default() },
        position: zxid.0,
        digest: 0,
        created: summary.created,
    };
    revival::write_snapshot(&mut journal, &mut tree, meta)
        .map_err(|error| ServerFault::new("journal", error))?;
    journal.close().map_err(|error| ServerFault::new("journal", error))?;
    restoration::end(&storage.directories())?;
    Ok(zxid)
}
