//! A data directory that is only read: what is written while it is opened is discarded.
//!
//! A file that is open here keeps its content if it is removed meanwhile ([`DirDisk`](crate::DirDisk) frees the room of removed
//! files by and by): a shared lock says that it is read.
//!
//! A log reads and judges everything before it changes the first byte, so what it says of such a directory is what it
//! says of the same directory on a real disk.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use storage_disk::{Disk, DiskError};

use crate::errors::disk_error;

/// See the module.
#[derive(Debug)]
pub struct ReadingDisk {
    root: PathBuf,
    log_root: PathBuf,
}

/// An open file; nothing for one that was only seemingly made.
#[derive(Clone, Debug)]
pub struct ReadingFile(Option<Arc<File>>);

impl ReadingFile {
    /// The file, to hand parts of it to a socket.
    #[must_use]
    pub fn into_file(self) -> Option<Arc<File>> {
        self.0
    }
}

impl From<Arc<File>> for ReadingFile {
    fn from(file: Arc<File>) -> Self {
        Self(Some(file))
    }
}

impl ReadingDisk {
    /// The directory, and the one that the log lies in if that is another.
    #[must_use]
    pub fn new(root: &Path, log_root: Option<&Path>) -> Self {
        Self { root: root.to_path_buf(), log_root: log_root.unwrap_or(root).to_path_buf() }
    }

    fn path(&self, path: &str) -> PathBuf {
        let of_log = path.split('/').next() == Some("log");
        if of_log { self.log_root.join(path) } else { self.root.join(path) }
    }
}

fn failed(error: io::Error) -> DiskError {
    disk_error(&error)
}

impl Disk for ReadingDisk {
    type File = ReadingFile;

    fn list(&mut self, directory: &str) -> Result<Vec<String>, DiskError> {
        let entries = std::fs::read_dir(self.path(directory)).map_err(failed)?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect::<io::Result<_>>().map_err(failed)
    }

    fn create_directory(&mut self, _directory: &str) -> Result<(), DiskError> {
        Ok(())
    }

    fn create(&mut self, _path: &str) -> Result<Self::File, DiskError> {
        Ok(ReadingFile(None))
    }

    fn open(&mut self, path: &str) -> Result<Self::File, DiskError> {
        let file = File::open(self.path(path)).map_err(failed)?;
        match file.try_lock_shared() {
            // It was removed just now, and its room is being freed.
            Err(TryLockError::WouldBlock) => Err(DiskError::NotFound),
            // Without locks a file that is removed is read as far as it is there.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(ReadingFile(Some(Arc::new(file)))),
        }
    }

    fn len(&mut self, file: &Self::File) -> Result<u64, DiskError> {
        let Some(file) = &file.0 else { return Ok(0) };
        file.metadata().map(|metadata| metadata.len()).map_err(failed)
    }

    fn read_at(&mut self, file: &Self::File, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let Some(file) = &file.0 else { return Ok(0) };
        let mut read = 0;
        while let Some(rest) = buffer.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, offset + read as u64) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(read)
    }

    fn write_at(&mut self, _file: &Self::File, _offset: u64, _bytes: &[u8]) -> Result<(), DiskError> {
        Ok(())
    }

    fn sync_data(&mut self, _file: &Self::File) -> Result<(), DiskError> {
        Ok(())
    }

    fn sync_directory(&mut self, _directory: &str) -> Result<(), DiskError> {
        Ok(())
    }

    fn rename(&mut self, _from: &str, _to: &str) -> Result<(), DiskError> {
        Ok(())
    }

    fn remove(&mut self, _path: &str) -> Result<(), DiskError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DirDisk;
    use crate::testing::Directory;
    use std::time::{Duration, Instant};

    #[test]
    fn file_that_is_removed_while_it_is_open_keeps_its_content() {
        let directory = Directory::new("reading");
        let mut disk = DirDisk::open(&directory.0).expect("it opens");
        disk.create("large").and_then(|file| disk.write_at(&file, 0, &vec![7; 4 << 20])).expect("written");
        let mut reading = ReadingDisk::new(&directory.0, None);
        let file = reading.open("large").expect("it is there");
        disk.remove("large").expect("removed");
        assert_eq!(reading.open("large").map(drop), Err(DiskError::NotFound));
        // Another one that nobody reads is freed first.
        disk.create("other").and_then(|file| disk.write_at(&file, 0, &vec![7; 4 << 20])).expect("written");
        let other = File::open(directory.0.join("other")).expect("it is there");
        disk.remove("other").expect("removed");
        let deadline = Instant::now() + Duration::from_secs(20);
        while other.metadata().expect("it is open").len() > 1 << 20 && Instant::now() < deadline {
            std::thread::yield_now();
        }
        let mut content = vec![0; 4 << 20];
        assert_eq!(reading.read_at(&file, 0, &mut content), Ok(4 << 20));
        assert!(content.iter().all(|byte| *byte == 7));
    }
}
