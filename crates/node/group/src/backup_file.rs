//! A backup: a snapshot outside of any data directory, as a server has sent it. It may have become anything on its way: nothing of
//! it is believed before it is read, and no text here says that it lies in a data directory.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use storage_dir_disk::ReadingDisk;
use storage_raft_log::{LooseSnapshot, OpenError, SnapshotMeta};

/// Why a file is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// It cannot be read.
    #[error("cannot read the file: {0}")]
    Unreadable(#[from] io::Error),
    /// It is damaged, incomplete or something else.
    #[error("{0}")]
    Unsound(String),
}

/// A file that has a backup's beginning and end. What is between is checked as it is read.
pub struct BackupFile {
    snapshot: LooseSnapshot<ReadingDisk>,
    bytes: u64,
}

impl BackupFile {
    /// Opens the file, unless it is told by its beginning that it is something else.
    ///
    /// # Errors
    /// It cannot be read, or is no backup.
    pub fn open(path: &Path, foreign: fn(&[u8]) -> Option<&'static str>) -> Result<Self, BackupError> {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut begin = Vec::new();
        (&mut file).take(8).read_to_end(&mut begin)?;
        if let Some(what) = foreign(&begin) {
            return Err(BackupError::Unsound(String::from(what)));
        }
        let (directory, name) = apart(path)?;
        let snapshot = LooseSnapshot::open(ReadingDisk::new(directory, None), name).map_err(of_journal)?;
        Ok(Self { snapshot, bytes })
    }

    /// Bytes of the file.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What its end says of it.
    #[must_use]
    pub fn meta(&self) -> &SnapshotMeta {
        self.snapshot.meta()
    }

    /// The next chunk of the state, whose checksum is right; nothing at the end.
    ///
    /// # Errors
    /// It is damaged.
    pub fn next_chunk(&mut self) -> Result<Option<Vec<u8>>, BackupError> {
        self.snapshot.next_chunk().map_err(of_journal)
    }
}

/// The directory and the name of a file.
fn apart(path: &Path) -> Result<(&Path, &str), BackupError> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let name = path.file_name().and_then(OsStr::to_str);
    let odd = || io::Error::new(io::ErrorKind::InvalidInput, "its name is no UTF-8");
    Ok((directory.unwrap_or(Path::new(".")), name.ok_or_else(odd)?))
}

/// What a file with this beginning is instead of a backup, if that can be told.
#[must_use]
pub fn foreign(begin: &[u8]) -> Option<&'static str> {
    match begin {
        [] => Some("it is empty: it is cut off, or was never written"),
        [b'{', ..] => Some("it is JSON: the answer of a server that refused to give a snapshot"),
        [0x1f, 0x8b, ..] => Some("it is compressed by gzip: unpack it first"),
        _ => None,
    }
}

/// The error without what it says of data directories: here there is none.
fn of_journal(error: OpenError) -> BackupError {
    match error {
        OpenError::Corrupt(damage) => {
            BackupError::Unsound(format!("it is damaged at byte {}: {}", damage.offset, damage.what))
        }
        OpenError::Version { found, known, .. } => BackupError::Unsound(format!(
            "it has format version {found}, which a newer build wrote: this one knows up to {known}"
        )),
        OpenError::Disk(fault) => BackupError::Unreadable(io::Error::other(fault.error.to_string())),
        other => BackupError::Unsound(other.to_string()),
    }
}
