//! A backup: the objects' group at one position, as a member has sent it. It is checked as a whole before anything is made of it.
//!
//! [`restore`] makes the data directory of a new group of it, of one member alone, which the others join with empty directories: as
//! [`crate::revival`] does of a survivor. Sessions go on, with their full time to live. The group has a name of its own, so members of
//! the old one are let in by nobody; and positions, and with them fences and ids, go on behind all that were given out.

use std::path::Path;

use base::{LogIndex, MemberId, MemberNumber, Term, WallTime};
use consensus_replica::lifecycle::MEMBER_ALONE;
use node_group::backup_file::{self, BackupFile};
use node_group::restoration;
use objects_replica::{FEATURE_LEVEL, revival};
use objects_state::{Loader, State};
use storage_dir_disk::DirDisk;
use storage_raft_log::{Identity, Journal};

use crate::boot;
use crate::config::ObjectsConfig;
use crate::data;
use crate::error::{ServerFault, StartError};

pub use node_group::backup_file::BackupError;

/// What lies in a data directory without data: the file of its lock, and marks of a restoration.
const NO_DATA: [&str; 3] = ["lock", ".restore-unfinished", ".restore-unfinished.new"];

/// A backup that was read and found sound.
pub struct Backup {
    /// What it holds.
    pub summary: Summary,
    applied: (LogIndex, Term),
    state: State,
}

/// What a backup holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The position of the last command in it.
    pub position: u64,
    /// Objects, open sessions, calls that wait, keys that are remembered.
    pub counts: [u64; 4],
    /// Types of users.
    pub types: usize,
    /// Bytes of the file.
    pub bytes: u64,
    /// When it was taken.
    pub created: WallTime,
    /// The digest of the state, which was compared with its content.
    pub digest: u64,
}

/// Reads a backup as a whole and checks all of it: checksums, form, feature level, and the digest of the state.
///
/// # Errors
/// The file is no sound backup. Nothing was changed.
pub fn read(path: &Path) -> Result<Backup, BackupError> {
    let mut file = BackupFile::open(path, backup_file::foreign)?;
    let mut loader = Loader::new();
    while let Some(chunk) = file.next_chunk()? {
        loader.chunk(&chunk).map_err(|malformed| unsound(&malformed))?;
    }
    let state = loader.finish().map_err(|malformed| unsound(&malformed))?;
    if state.feature_level() > FEATURE_LEVEL {
        return Err(BackupError::Unsound(format!(
            "it was taken at feature level {}, and this build understands {FEATURE_LEVEL}",
            state.feature_level()
        )));
    }
    let meta = file.meta();
    if (meta.digest, meta.position.cast_unsigned()) != (state.digest(), state.position()) {
        return Err(BackupError::Unsound(String::from("its end does not fit its content")));
    }
    let summary = Summary {
        position: state.position(),
        counts: state.counts(),
        types: state.user_types().count(),
        bytes: file.bytes(),
        created: meta.created,
        digest: meta.digest,
    };
    Ok(Backup { summary, applied: (meta.index, meta.term), state })
}

fn unsound(malformed: &objects_state::Malformed) -> BackupError {
    BackupError::Unsound(format!("it holds no sound objects ({malformed}): is it a backup of the council?"))
}

/// Makes the data directory of a member that goes on from a backup, as a group of its own. Gives the position that it goes on from:
/// a later one the later `now` is.
///
/// # Errors
/// There is data in the directory already, which is left as it is; or the disk refuses, and the next call begins from scratch.
pub fn restore(backup: Backup, config: &ObjectsConfig, now: WallTime) -> Result<u64, StartError> {
    let Backup { mut state, applied, summary } = backup;
    let number = config.group.as_ref().map_or(MEMBER_ALONE.number(), |group| group.own);
    let identity = identity(number)?;
    let meta = revival::begin(&mut state, applied, identity.member, now);
    if state.position() <= summary.position {
        return Err(StartError::Unsupported(format!(
            "the position {} of the backup leaves no room for those to come",
            summary.position
        )));
    }
    let directories = data::directories(config);
    if !restoration::is_interrupted(&directories) {
        refuse_what_is_there(&config.data_dir)?;
    }
    let disk = DirDisk::open(&config.data_dir)?;
    restoration::begin(&directories)?;
    let (mut journal, _) = Journal::open(disk, data::journal_config(config, identity))?;
    let fault = |error| ServerFault::new("objects journal", error);
    revival::write_snapshot(&mut journal, &mut state, meta).map_err(fault)?;
    journal.close().map_err(|error| ServerFault::new("objects journal", error))?;
    restoration::end(&directories)?;
    Ok(state.position())
}

/// Who a member is in a new group, of which it is the first.
fn identity(number: MemberNumber) -> Result<Identity, StartError> {
    let before = Identity { member: MemberId::founder(number), ..Identity::default() };
    Ok(revival::identity(&before, boot::name()?, boot::name()?))
}

/// Whatever lies in the directory stays there: it may be all that is left of another group.
fn refuse_what_is_there(data_dir: &Path) -> Result<(), StartError> {
    let entries = match std::fs::read_dir(data_dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(system)?,
    };
    for entry in entries {
        let name = entry.map_err(system)?.file_name();
        if !NO_DATA.iter().any(|known| name == *known) {
            return Err(StartError::Unsupported(format!(
                "there are objects already: `{}`\nhint: nothing was changed; stop the server and move `{}` away, or name \
                 another data directory",
                data_dir.join(&name).display(),
                data_dir.display()
            )));
        }
    }
    Ok(())
}

fn system(source: std::io::Error) -> StartError {
    StartError::System { action: "look into the objects' data directory", source }
}
