//! What tests of several modules share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::{env, fs, process};

use parking_lot::Mutex;
use storage_raft_log::{Disk, DiskError};

/// A directory of one test, removed behind it.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("diwan-group-{name}-{}-{unique}", process::id()));
        fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

type MemoryFile = Arc<Mutex<Vec<u8>>>;

/// A disk in memory that can be full or broken.
#[derive(Clone, Default)]
pub(crate) struct MemoryDisk {
    files: Arc<Mutex<BTreeMap<String, MemoryFile>>>,
    pub(crate) switches: Arc<Switches>,
}

/// What a [`MemoryDisk`] is told to do wrong.
#[derive(Default)]
pub(crate) struct Switches {
    /// Files may not grow.
    pub(crate) full: AtomicBool,
    /// No byte can be written, not even in place.
    pub(crate) write_full: AtomicBool,
    /// No file can be made.
    pub(crate) no_descriptor: AtomicBool,
    /// Flushes fail.
    pub(crate) broken: AtomicBool,
}

impl Disk for MemoryDisk {
    type File = MemoryFile;

    fn list(&mut self, directory: &str) -> Result<Vec<String>, DiskError> {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let files = self.files.lock();
        let names = files.keys().filter_map(|path| path.strip_prefix(&prefix)?.split('/').next());
        Ok(names.map(String::from).collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn create_directory(&mut self, _: &str) -> Result<(), DiskError> {
        Ok(())
    }

    fn create(&mut self, path: &str) -> Result<Self::File, DiskError> {
        if self.switches.no_descriptor.load(Ordering::SeqCst) {
            return Err(DiskError::NoDescriptor);
        }
        let file = Self::File::default();
        self.files.lock().insert(String::from(path), Arc::clone(&file));
        Ok(file)
    }

    fn open(&mut self, path: &str) -> Result<Self::File, DiskError> {
        self.files.lock().get(path).cloned().ok_or(DiskError::NotFound)
    }

    fn len(&mut self, file: &Self::File) -> Result<u64, DiskError> {
        Ok(file.lock().len() as u64)
    }

    fn read_at(&mut self, file: &Self::File, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let file = file.lock();
        let rest = file.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn write_at(&mut self, file: &Self::File, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        if self.switches.write_full.load(Ordering::SeqCst) {
            return Err(DiskError::Full);
        }
        let mut file = file.lock();
        let end = offset as usize + bytes.len();
        if end > file.len() {
            if self.switches.full.load(Ordering::SeqCst) {
                return Err(DiskError::Full);
            }
            file.resize(end, 0);
        }
        file[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn sync_data(&mut self, _: &Self::File) -> Result<(), DiskError> {
        if self.switches.broken.load(Ordering::SeqCst) {
            return Err(DiskError::Other(String::from("the disk is broken")));
        }
        Ok(())
    }

    fn sync_directory(&mut self, _: &str) -> Result<(), DiskError> {
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        let mut files = self.files.lock();
        let file = files.remove(from).ok_or(DiskError::NotFound)?;
        files.insert(String::from(to), file);
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Result<(), DiskError> {
        self.files.lock().remove(path).map(drop).ok_or(DiskError::NotFound)
    }
}
