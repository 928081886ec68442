//! What tests of several modules share.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::{env, fs, process};

use parking_lot::Mutex;
use storage_raft_log::{Disk, DiskError};

use crate::config::{EnsembleConfig, EnsembleSecret, MemberConfig, ServerConfig};
use crate::peers::credentials::Credentials;

/// What member 1 of three knows, without TLS. Nothing listens at the members' ports.
pub(crate) fn credentials_of_three(
    host: impl Fn(u64) -> Ipv4Addr,
    secret: Option<EnsembleSecret>,
) -> Credentials {
    let member = |number: u64| MemberConfig {
        number,
        host: host(number).to_string(),
        peer_port: 1,
        election_port: 0,
        votes: true,
        client: None,
    };
    let ensemble = EnsembleConfig {
        number: 1,
        members: (1..=3).map(member).collect(),
        listen_on_all_addresses: false,
        bind_retries: 0,
        tls: None,
        secret,
        election_tick_ms: 50,
        lease_ms: 2_000,
    };
    Credentials::new(&ServerConfig::default(), &ensemble, 77).expect("no keys to read")
}

/// A directory of one test, removed behind it.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("diwan-server-{name}-{}-{unique}", process::id()));
        fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, contents).expect("written");
        path
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
