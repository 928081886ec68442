//! The disk as storage sees it: a handful of blocking calls on named files in one data directory.
//!
//! Nothing here promises more than a POSIX file system does: what was written is durable only after the file
//! was synced, and a name (created, renamed, removed) only after its directory was.

use alloc::string::String;
use alloc::vec::Vec;

/// Why a call to the disk failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// No room is left (`ENOSPC`, or a quota).
    #[error("no space left on the disk")]
    Full,
    /// The process may hold no more open files (`EMFILE`), or the system (`ENFILE`).
    #[error("too many open files")]
    NoDescriptor,
    /// There is no file or directory of that name.
    #[error("no such file or directory")]
    NotFound,
    /// Any other error, as the operating system describes it.
    #[error("{0}")]
    Other(String),
}

impl DiskError {
    /// Whether something is lacking that may be there again later: the disk is well.
    #[must_use]
    pub const fn is_shortage(&self) -> bool {
        matches!(self, Self::Full | Self::NoDescriptor)
    }
}

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// A data directory. Paths are relative to it, parted by `/`; the directory itself is `""`.
///
/// All calls block and come from one thread. A handle stays usable after its file was renamed or removed.
pub trait Disk {
    /// An open file, for reading and writing.
    type File;

    /// The names in a directory, in any order, without `.` and `..`.
    fn list(&mut self, directory: &str) -> Result<Vec<String>, DiskError>;
    /// Makes a directory; one that exists already is fine.
    fn create_directory(&mut self, directory: &str) -> Result<(), DiskError>;
    /// Makes an empty file, emptying one of that name that exists.
    fn create(&mut self, path: &str) -> Result<Self::File, DiskError>;
    /// Opens an existing file.
    fn open(&mut self, path: &str) -> Result<Self::File, DiskError>;
    /// The length of the file in bytes.
    fn len(&mut self, file: &Self::File) -> Result<u64, DiskError>;
    /// Reads until `buffer` is full or the file ends; returns how many bytes were read.
    fn read_at(&mut self, file: &Self::File, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError>;
    /// Writes all of `bytes`, growing the file if they reach past its end.
    fn write_at(&mut self, file: &Self::File, offset: u64, bytes: &[u8]) -> Result<(), DiskError>;
    /// The same for bytes that lie in several places and follow each other in the file.
    fn write_parts_at(&mut self, file: &Self::File, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError> {
        let mut at = offset;
        for part in parts {
            self.write_at(file, at, part)?;
            at += part.len() as u64;
        }
        Ok(())
    }
    /// Writes all of `bytes` and makes them durable. What else was written to the file and is not durable need not be
    /// so afterwards. After a failure any part of `bytes` may be there, durable or not.
    fn write_durably_at(&mut self, file: &Self::File, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.write_at(file, offset, bytes)?;
        self.sync_data(file)
    }
    /// Overwrites a part of the file with zeros, growing it if it reaches past its end. Says whether a flush soon
    /// would spare a later one work; if not, all but the last may be left out.
    fn write_zeros(&mut self, file: &Self::File, from: u64, until: u64) -> Result<bool, DiskError> {
        let mut at = from;
        while at < until {
            let length = (until - at).min(ZEROS.len() as u64);
            self.write_at(file, at, ZEROS.get(..length as usize).unwrap_or_default())?;
            at += length;
        }
        Ok(true)
    }
    /// Makes the content of the file, and its length, durable.
    fn sync_data(&mut self, file: &Self::File) -> Result<(), DiskError>;
    /// Asks that what was written so far starts on its way to the disk, without waiting and without a promise.
    /// An error met on that way must be reported by the next [`sync_data`](Disk::sync_data) of the file.
    fn start_writeback(&mut self, file: &Self::File) {
        let _ = file;
    }
    /// Makes the names in a directory durable.
    fn sync_directory(&mut self, directory: &str) -> Result<(), DiskError>;
    /// Renames a file, replacing one that has the new name.
    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError>;
    /// Removes a file.
    fn remove(&mut self, path: &str) -> Result<(), DiskError>;
}
