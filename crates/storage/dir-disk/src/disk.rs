//! A data directory on a real disk. Promises no more than the system calls, and does not know what an error means for
//! the data.

use crate::descriptors::SpareDescriptors;
use crate::errands::Errands;
use crate::errors::disk_error;
use crate::private;
use crate::shared_file::Shared;
use rustix::fs::{Access, OFlags, access};
use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use storage_disk::{Disk, DiskError};

const LOCK_NAME: &str = "lock";
/// The directory of log segments.
const LOG_NAME: &str = "log";

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// Another process uses it.
    #[error(
        "the data directory `{0}` is in use by another process\nhint: stop that process, or choose another directory"
    )]
    Locked(PathBuf),
    /// It cannot be made, read or written.
    #[error(
        "the data directory `{path}` cannot be used: {source}\nhint: choose a directory that this user may write to"
    )]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A data directory on a real disk, or two: the log may lie in a directory of its own, on a disk of its own. As long as
/// this value exists, no other process can open either.
#[derive(Debug)]
pub struct DirDisk {
    root: PathBuf,
    /// Where the directory [`LOG_NAME`] lies; outside the data directory only if configured.
    log_root: PathBuf,
    errands: Option<Errands<Arc<Shared>>>,
    filling: Option<Filling>,
    /// The directories whose names were made durable before: to do it again takes no descriptor.
    directories: HashMap<PathBuf, File>,
    spares: SpareDescriptors,
    /// Held for their locks alone.
    locks: Arc<Vec<File>>,
}

/// An open file of a [`DirDisk`].
#[derive(Clone, Debug)]
pub struct DirFile(Arc<Shared>);

/// What is written past the cache must lie and go on such boundaries.
const ALIGNMENT: u64 = 4096;

#[repr(align(4096))]
struct Aligned([u8; 256 << 10]);

static ZEROS: Aligned = Aligned([0; 256 << 10]);

/// The file that is being filled with zeros. Through the system's cache those would cost a copy and a page each, and
/// push out data that is read; they are written once and never read.
#[derive(Debug)]
struct Filling {
    of: Arc<Shared>,
    direct: Option<File>,
}

impl DirDisk {
    /// Makes the directory if it is missing, and locks it.
    ///
    /// # Errors
    /// When another process uses it, or it cannot be written.
    pub fn open(root: &Path) -> Result<DirDisk, DirectoryError> {
        let locks = Arc::new(vec![make_and_lock(root)?]);
        Ok(DirDisk { locks, ..DirDisk::over(root, root) })
    }

    /// The same with the log in another directory.
    ///
    /// # Errors
    /// When another process uses either, or one cannot be written.
    pub fn open_split(root: &Path, log_root: &Path) -> Result<DirDisk, DirectoryError> {
        let locks = Arc::new(vec![make_and_lock(root)?, make_and_lock(log_root)?]);
        Ok(DirDisk { locks, ..DirDisk::over(root, log_root) })
    }

    /// Another one over the same directory, for another thread of this process. The directory stays locked as long as one of
    /// them exists. Which files each of them uses is for their users to agree on.
    #[must_use]
    pub fn companion(&self) -> DirDisk {
        DirDisk { locks: Arc::clone(&self.locks), ..DirDisk::over(&self.root, &self.log_root) }
    }

    /// One that has locked nothing.
    fn over(root: &Path, log_root: &Path) -> DirDisk {
        DirDisk {
            root: root.to_path_buf(),
            log_root: log_root.to_path_buf(),
            errands: None,
            filling: None,
            directories: HashMap::new(),
            spares: SpareDescriptors::default(),
            locks: Arc::default(),
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        let of_log = path.strip_prefix(LOG_NAME).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if of_log { self.log_root.join(path) } else { self.root.join(path) }
    }

    /// Makes the names in a directory durable.
    fn sync_names(&mut self, path: PathBuf) -> io::Result<()> {
        if let Some(directory) = self.directories.get(&path) {
            return directory.sync_all();
        }
        let directory = self.spares.open(|| File::open(&path))?;
        directory.sync_all()?;
        self.directories.insert(path, directory);
        Ok(())
    }

    /// Writes zeros past the system's cache, as many as its rules for that allow at once; says how many, 0 if none.
    fn fill_directly(&mut self, file: &DirFile, from: u64, until: u64) -> Result<u64, DiskError> {
        let length = (until - from).min(ZEROS.0.len() as u64) / ALIGNMENT * ALIGNMENT;
        if length == 0 || !from.is_multiple_of(ALIGNMENT) {
            return Ok(0);
        }
        if !self.filling.as_ref().is_some_and(|filling| Arc::ptr_eq(&filling.of, &file.0)) {
            self.filling = Some(Filling { direct: open_directly(file.0.file()), of: Arc::clone(&file.0) });
        }
        let direct = self.filling.as_ref().and_then(|filling| filling.direct.as_ref());
        let (Some(direct), Some(zeros)) = (direct, ZEROS.0.get(..length as usize)) else { return Ok(0) };
        let result = direct.write_all_at(zeros, from);
        file.0.written();
        match result {
            Ok(()) => Ok(length),
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                self.filling = Some(Filling { direct: None, of: Arc::clone(&file.0) });
                Ok(0)
            }
            Err(error) => Err(disk_error(&error)),
        }
    }

    /// The thread for what need not be waited for. Without it the flush that counts does all the work, and a file is freed
    /// here.
    fn errands(&mut self) -> Option<&Errands<Arc<Shared>>> {
        if self.errands.is_none() {
            self.errands = Errands::start().ok();
        }
        self.errands.as_ref()
    }

    /// The directory.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// The bytes that this process may still write to the file system of a path.
#[must_use]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let system = rustix::fs::statvfs(path).ok()?;
    Some(system.f_bavail.saturating_mul(system.f_frsize))
}

/// A second way into an open file, past the system's cache; not every file system has one.
fn open_directly(file: &File) -> Option<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let direct = i32::try_from(OFlags::DIRECT.bits()).ok()?;
    OpenOptions::new().write(true).custom_flags(direct).open(path).ok()
}

fn make_and_lock(root: &Path) -> Result<File, DirectoryError> {
    let unusable = |source| DirectoryError::Unusable { path: root.to_path_buf(), source };
    if root.is_dir() {
        private::narrow(root);
    } else {
        private::create_directories(root).map_err(unusable)?;
        let parent = root.parent().filter(|parent| !parent.as_os_str().is_empty());
        sync_directory(parent.unwrap_or(Path::new("."))).map_err(unusable)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(private::FILE_MODE);
    let lock = options.open(root.join(LOCK_NAME)).map_err(unusable)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(DirectoryError::Locked(root.to_path_buf())),
        Err(TryLockError::Error(source)) => Err(unusable(source)),
    }
}

/// Whether [`DirDisk::open`] could use this directory. Nothing is changed: what is missing is made and removed again.
///
/// # Errors
/// As [`DirDisk::open`].
pub fn probe(root: &Path) -> Result<(), DirectoryError> {
    let unusable = |source| DirectoryError::Unusable { path: root.to_path_buf(), source };
    if !root.is_dir() {
        return probe_missing(root).map_err(unusable);
    }
    match File::open(root.join(LOCK_NAME)).map(|lock| lock.try_lock()) {
        Ok(Err(TryLockError::WouldBlock)) => return Err(DirectoryError::Locked(root.to_path_buf())),
        Ok(Err(TryLockError::Error(source))) => return Err(unusable(source)),
        Ok(Ok(())) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(source) => return Err(unusable(source)),
    }
    access(root, Access::WRITE_OK | Access::EXEC_OK).map_err(|error| unusable(error.into()))
}

/// Makes a directory with those above it, and removes what it made.
fn probe_missing(root: &Path) -> io::Result<()> {
    let mut missing: Vec<&Path> = root.ancestors().filter(|path| !path.as_os_str().is_empty()).collect();
    missing.retain(|path| path.symlink_metadata().is_err());
    let made = std::fs::create_dir_all(root);
    for path in missing {
        // Only what is empty goes; what was not made was not there.
        let _ = std::fs::remove_dir(path);
    }
    made
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn opened(result: io::Result<File>) -> Result<DirFile, DiskError> {
    let file = result.map_err(|error| disk_error(&error))?;
    Ok(DirFile(Arc::new(Shared::new(file))))
}

impl Disk for DirDisk {
    type File = DirFile;

    fn list(&mut self, directory: &str) -> Result<Vec<String>, DiskError> {
        let read = || -> io::Result<Vec<String>> {
            let entries = std::fs::read_dir(self.path(directory))?;
            let mut names: Vec<String> = entries
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect::<io::Result<_>>()?;
            // Files in the other place still belong to the directory.
            let log_is_apart = directory.is_empty() && self.log_root != self.root;
            if log_is_apart && self.path(LOG_NAME).is_dir() && !names.iter().any(|name| name == LOG_NAME) {
                names.push(String::from(LOG_NAME));
            }
            Ok(names)
        };
        read().map_err(|error| disk_error(&error))
    }

    fn create_directory(&mut self, directory: &str) -> Result<(), DiskError> {
        match private::create_directory(&self.path(directory)) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            other => other.map_err(|error| disk_error(&error)),
        }
    }

    fn create(&mut self, path: &str) -> Result<DirFile, DiskError> {
        let path = self.path(path);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(private::FILE_MODE);
        opened(self.spares.open(|| options.open(&path)))
    }

    fn open(&mut self, path: &str) -> Result<DirFile, DiskError> {
        let path = self.path(path);
        opened(self.spares.open(|| OpenOptions::new().read(true).write(true).open(&path)))
    }

    fn len(&mut self, file: &DirFile) -> Result<u64, DiskError> {
        file.0.file().metadata().map(|metadata| metadata.len()).map_err(|error| disk_error(&error))
    }

    fn read_at(&mut self, file: &DirFile, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let mut read = 0;
        while let Some(rest) = buffer.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match file.0.file().read_at(rest, offset + read as u64) {
                Ok(0) => break,
                Ok(bytes) => read += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => (),
                Err(error) => return Err(disk_error(&error)),
            }
        }
        Ok(read)
    }

    fn write_at(&mut self, file: &DirFile, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        file.0.write_at(offset, bytes)
    }

    fn write_parts_at(&mut self, file: &DirFile, offset: u64, parts: &[&[u8]]) -> Result<(), DiskError> {
        file.0.write_parts_at(offset, parts)
    }

    fn write_durably_at(&mut self, file: &DirFile, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        file.0.write_durably_at(offset, bytes)
    }

    fn write_zeros(&mut self, file: &DirFile, from: u64, until: u64) -> Result<bool, DiskError> {
        let mut at = from;
        while at < until {
            let filled = self.fill_directly(file, at, until)?;
            if filled == 0 {
                break;
            }
            at += filled;
        }
        let piles_up = at < until;
        while at < until {
            let length = (until - at).min(ZEROS.0.len() as u64);
            self.write_at(file, at, ZEROS.0.get(..length as usize).unwrap_or_default())?;
            at += length;
        }
        Ok(piles_up)
    }

    fn sync_data(&mut self, file: &DirFile) -> Result<(), DiskError> {
        file.0.sync_data()
    }

    fn start_writeback(&mut self, file: &DirFile) {
        let shared = Arc::clone(&file.0);
        if let Some(errands) = self.errands() {
            errands.flush(shared);
        }
    }

    fn sync_directory(&mut self, directory: &str) -> Result<(), DiskError> {
        self.sync_names(self.path(directory)).map_err(|error| disk_error(&error))
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        self.filling = None;
        std::fs::rename(self.path(from), self.path(to)).map_err(|error| disk_error(&error))
    }

    fn remove(&mut self, path: &str) -> Result<(), DiskError> {
        // An open file would keep its room.
        self.filling = None;
        let path = self.path(path);
        let bytes = std::fs::symlink_metadata(&path).map_or(0, |metadata| metadata.len());
        let is_held = bytes > 0 && self.errands().is_some_and(|errands| errands.takes(bytes));
        let held = is_held.then(|| OpenOptions::new().write(true).open(&path));
        std::fs::remove_file(path).map_err(|error| disk_error(&error))?;
        if let (Some(Ok(held)), Some(errands)) = (held, self.errands()) {
            errands.free(held);
        }
        Ok(())
    }
}
