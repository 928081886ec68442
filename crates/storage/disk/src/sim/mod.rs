//! A disk as bad as a real one may be: a page cache over files, names over directories, and faults on demand.
//!
//! Modelled: data that was not flushed is lost, kept or torn at sectors of 512 bytes, in any order; names whose
//! directory was not flushed are lost or kept, one by one; a failed flush loses data for good while reads go on
//! seeing it; a full disk, also one that copies on write and has no room for bytes in place of others; rotten bits, writes that went elsewhere, names that are gone; a crash at any operation that changes something.
//!
//! Not modelled: sectors torn within, reads that fail, a disk that lies about a flush.

mod file;

use crate::disk::{Disk, DiskError};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use base::Random;
use core::cell::RefCell;
use file::CachedFile;
pub use file::SECTOR_BYTES;

/// What a crash does to what was not flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of it is gone.
    All,
    /// All of it had reached the medium by chance.
    Nothing,
    /// The seed decides, sector by sector and name by name.
    Some,
}

/// A change of a name that is not yet durable.
#[derive(Clone, Debug)]
enum NameChange {
    Directory(String),
    Create(String, u64),
    Rename(String, String, u64),
    Remove(String, u64),
}

impl NameChange {
    fn apply(self, names: &mut BTreeMap<String, u64>, directories: &mut BTreeSet<String>) {
        match self {
            NameChange::Directory(path) => drop(directories.insert(path)),
            NameChange::Create(path, inode) => drop(names.insert(path, inode)),
            NameChange::Rename(from, to, inode) => {
                if names.get(&from) == Some(&inode) {
                    names.remove(&from);
                    names.insert(to, inode);
                }
            }
            NameChange::Remove(path, inode) => {
                if names.get(&path) == Some(&inode) {
                    names.remove(&path);
                }
            }
        }
    }
}

#[derive(Debug)]
struct State {
    random: Random,
    files: BTreeMap<u64, CachedFile>,
    next_inode: u64,
    names: BTreeMap<String, u64>,
    directories: BTreeSet<String>,
    durable_names: BTreeMap<String, u64>,
    durable_directories: BTreeSet<String>,
    /// By directory, in order.
    changes: BTreeMap<String, Vec<NameChange>>,
    operations: u64,
    flushes: u64,
    crash_at: Option<u64>,
    crashed: bool,
    failing_flush: Option<u64>,
    failing_write: Option<u64>,
    capacity: u64,
    copies_on_write: bool,
}

/// A simulated data directory. Clones are handles on the same disk, so that a test can hold one while what it
/// tests owns another.
#[derive(Clone, Debug)]
pub struct SimDisk(Rc<RefCell<State>>);

/// A handle on a file of a [`SimDisk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimFile(u64);

impl SimDisk {
    /// An empty disk, with random choices from this seed.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk(Rc::new(RefCell::new(State {
            random: Random::new(seed),
            files: BTreeMap::new(),
            next_inode: 1,
            names: BTreeMap::new(),
            directories: [String::new()].into(),
            durable_names: BTreeMap::new(),
            durable_directories: [String::new()].into(),
            changes: BTreeMap::new(),
            operations: 0,
            flushes: 0,
            crash_at: None,
            crashed: false,
            failing_flush: None,
            failing_write: None,
            capacity: u64::MAX,
            copies_on_write: false,
        })))
    }

    /// How many operations changed something so far: each is a point where a crash can strike.
    pub fn operations(&self) -> u64 {
        self.0.borrow().operations
    }

    /// How many flushes were asked for so far, of files and of directories.
    pub fn flushes(&self) -> u64 {
        self.0.borrow().flushes
    }

    /// Lets the operation of this number fail, and all behind it, until [`crash`](SimDisk::crash) or
    /// [`restart`](SimDisk::restart) is called.
    pub fn crash_at(&self, operation: u64) {
        self.0.borrow_mut().crash_at = Some(operation);
    }

    /// Whether the operation to crash at was reached.
    pub fn crashed(&self) -> bool {
        self.0.borrow().crashed
    }

    /// Lets the flush of this number fail with an I/O error.
    pub fn fail_flush(&self, flush: u64) {
        self.0.borrow_mut().failing_flush = Some(flush);
    }

    /// Lets the first write from this operation on fail with an I/O error, half of it done.
    pub fn fail_write(&self, operation: u64) {
        self.0.borrow_mut().failing_write = Some(operation);
    }

    /// It fails no more, and has all the room that there is.
    pub fn repair(&self) {
        let mut state = self.0.borrow_mut();
        (state.failing_flush, state.failing_write) = (None, None);
        (state.capacity, state.copies_on_write) = (u64::MAX, false);
    }

    /// Lets writes beyond this many bytes, all files together, find the disk full.
    pub fn set_capacity(&self, bytes: u64) {
        self.0.borrow_mut().capacity = bytes;
    }

    /// Whether a write needs room for all its bytes, those in place of others among them.
    pub fn copy_on_write(&self, copies: bool) {
        self.0.borrow_mut().copies_on_write = copies;
    }

    /// Bytes of all files together.
    pub fn used(&self) -> u64 {
        self.0.borrow().used()
    }

    /// The power fails and comes back. The disk works again afterwards.
    pub fn crash(&self, loss: Loss) {
        self.0.borrow_mut().crash(loss);
    }

    /// The process was killed, the power stayed: everything written is still seen, and still not durable.
    pub fn restart(&self) {
        let mut state = self.0.borrow_mut();
        state.crashed = false;
        state.crash_at = None;
    }

    /// Flips one bit of a file, on the medium.
    pub fn flip(&self, path: &str, bit: u64) {
        let mut state = self.0.borrow_mut();
        let inode = state.names.get(path).copied();
        if let Some(file) = inode.and_then(|inode| state.files.get_mut(&inode)) {
            file.flip(bit);
        }
    }

    /// Replaces some of a file, on the medium, as if that had been meant for it.
    pub fn overwrite(&self, path: &str, offset: usize, bytes: &[u8]) {
        let mut state = self.0.borrow_mut();
        let inode = state.names.get(path).copied();
        if let Some(file) = inode.and_then(|inode| state.files.get_mut(&inode)) {
            file.overwrite(offset, bytes);
        }
    }

    /// The paths of all files, in order.
    pub fn paths(&self) -> Vec<String> {
        self.0.borrow().names.keys().cloned().collect()
    }

    /// The content of a file as programs see it.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.0.borrow();
        Some(state.files.get(state.names.get(path)?)?.content().to_vec())
    }

    /// Puts a file in place, durably, with its directory.
    pub fn put(&self, path: &str, content: Vec<u8>) {
        let mut state = self.0.borrow_mut();
        let inode = state.next_inode;
        state.next_inode += 1;
        state.files.insert(inode, CachedFile::with_content(content));
        state.names.insert(path.to_string(), inode);
        state.durable_names.insert(path.to_string(), inode);
        let directory = parent(path).to_string();
        state.directories.insert(directory.clone());
        state.durable_directories.insert(directory);
    }

    /// Takes a file away, durably.
    pub fn take_away(&self, path: &str) {
        let mut state = self.0.borrow_mut();
        state.names.remove(path);
        state.durable_names.remove(path);
    }

    /// A copy of the disk as it is now, with random choices of its own.
    pub fn fork(&self, seed: u64) -> SimDisk {
        let state = self.0.borrow();
        SimDisk(Rc::new(RefCell::new(State {
            random: Random::new(seed),
            files: state.files.clone(),
            names: state.names.clone(),
            directories: state.directories.clone(),
            durable_names: state.durable_names.clone(),
            durable_directories: state.durable_directories.clone(),
            changes: state.changes.clone(),
            ..*state
        })))
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn power_is_off() -> DiskError {
    DiskError::Other("the power is off".into())
}

impl State {
    fn used(&self) -> u64 {
        self.names.values().filter_map(|inode| self.files.get(inode)).map(|file| file.len() as u64).sum()
    }

    /// How many bytes more it has room for. Files are counted only where that is limited: each write asks.
    fn room(&self) -> u64 {
        if self.capacity == u64::MAX { u64::MAX } else { self.capacity.saturating_sub(self.used()) }
    }

    fn check(&self) -> Result<(), DiskError> {
        if self.crashed { Err(power_is_off()) } else { Ok(()) }
    }

    /// Counts an operation that changes something. Whether the crash strikes at it.
    fn count(&mut self) -> Result<bool, DiskError> {
        self.check()?;
        self.operations += 1;
        self.crashed = self.crash_at == Some(self.operations);
        Ok(self.crashed)
    }

    /// Counts a flush. A crash in its middle leaves to chance what it had done; a failing one too.
    fn count_flush(&mut self) -> Result<bool, DiskError> {
        if self.count()? {
            return Err(power_is_off());
        }
        self.flushes += 1;
        Ok(self.failing_flush == Some(self.flushes))
    }

    fn outcome(&self) -> Result<(), DiskError> {
        self.check()
    }

    fn inode(&self, path: &str) -> Result<u64, DiskError> {
        self.names.get(path).copied().ok_or(DiskError::NotFound)
    }

    fn file(&mut self, file: SimFile) -> Result<&mut CachedFile, DiskError> {
        self.files.get_mut(&file.0).ok_or(DiskError::NotFound)
    }

    fn change(&mut self, path: &str, change: NameChange) {
        change.clone().apply(&mut self.names, &mut self.directories);
        self.changes.entry(parent(path).to_string()).or_default().push(change);
    }

    fn crash(&mut self, loss: Loss) {
        for changes in core::mem::take(&mut self.changes).into_values() {
            let in_order = self.random.chance(50);
            let cut = self.random.below(changes.len() as u64 + 1) as usize;
            for (order, change) in changes.into_iter().enumerate() {
                let kept = match loss {
                    Loss::All => false,
                    Loss::Nothing => true,
                    Loss::Some if in_order => order < cut,
                    Loss::Some => self.random.chance(50),
                };
                if kept {
                    change.apply(&mut self.durable_names, &mut self.durable_directories);
                }
            }
        }
        let directories = &self.durable_directories;
        self.durable_names.retain(|path, _| directories.contains(parent(path)));
        self.names = self.durable_names.clone();
        self.directories = self.durable_directories.clone();
        let named: BTreeSet<u64> = self.names.values().copied().collect();
        self.files.retain(|inode, _| named.contains(inode));
        for file in self.files.values_mut() {
            file.crash(loss, &mut self.random);
        }
        self.crashed = false;
        self.crash_at = None;
    }
}

impl Disk for SimDisk {
    type File = SimFile;

    fn list(&mut self, directory: &str) -> Result<Vec<String>, DiskError> {
        let state = self.0.borrow();
        state.check()?;
        if !state.directories.contains(directory) {
            return Err(DiskError::NotFound);
        }
        let inside = |path: &&String| !path.is_empty() && parent(path) == directory;
        let name = |path: &String| path.rsplit('/').next().unwrap_or_default().to_string();
        let files = state.names.keys().filter(inside).map(name);
        Ok(files.chain(state.directories.iter().filter(inside).map(name)).collect())
    }

    fn create_directory(&mut self, directory: &str) -> Result<(), DiskError> {
        let mut state = self.0.borrow_mut();
        state.count()?;
        if !state.directories.contains(directory) {
            state.change(directory, NameChange::Directory(directory.to_string()));
        }
        state.outcome()
    }

    fn create(&mut self, path: &str) -> Result<SimFile, DiskError> {
        let mut state = self.0.borrow_mut();
        state.count()?;
        if let Ok(inode) = state.inode(path) {
            state.file(SimFile(inode))?.truncate();
            return state.outcome().map(|()| SimFile(inode));
        }
        if !state.directories.contains(parent(path)) {
            return Err(DiskError::NotFound);
        }
        let inode = state.next_inode;
        state.next_inode += 1;
        state.files.insert(inode, CachedFile::default());
        state.change(path, NameChange::Create(path.to_string(), inode));
        state.outcome().map(|()| SimFile(inode))
    }

    fn open(&mut self, path: &str) -> Result<SimFile, DiskError> {
        let state = self.0.borrow();
        state.check()?;
        state.inode(path).map(SimFile)
    }

    fn len(&mut self, file: &SimFile) -> Result<u64, DiskError> {
        let mut state = self.0.borrow_mut();
        state.check()?;
        state.file(*file).map(|file| file.len() as u64)
    }

    fn read_at(&mut self, file: &SimFile, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let mut state = self.0.borrow_mut();
        state.check()?;
        state.file(*file).map(|file| file.read_at(offset as usize, buffer))
    }

    fn write_at(&mut self, file: &SimFile, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let mut state = self.0.borrow_mut();
        state.count()?;
        if state.failing_write.is_some_and(|operation| operation <= state.operations) {
            state.failing_write = None;
            state.file(*file)?.write_at(offset as usize, &bytes[..bytes.len() / 2]);
            return Err(DiskError::Other("input/output error".into()));
        }
        let (length, end) = (state.file(*file)?.len() as u64, offset + bytes.len() as u64);
        let needed = if state.copies_on_write { bytes.len() as u64 } else { end.saturating_sub(length) };
        let room = state.room();
        let missing = needed.saturating_sub(room).min(bytes.len() as u64);
        let fitting = bytes.len() - missing as usize;
        state.file(*file)?.write_at(offset as usize, &bytes[..fitting]);
        state.outcome()?;
        if missing > 0 { Err(DiskError::Full) } else { Ok(()) }
    }

    fn sync_data(&mut self, file: &SimFile) -> Result<(), DiskError> {
        let mut state = self.0.borrow_mut();
        if state.count_flush()? {
            let mut random = state.random.fork();
            state.file(*file)?.fail_sync(&mut random);
            return Err(DiskError::Other("input/output error".into()));
        }
        state.file(*file)?.sync();
        Ok(())
    }

    fn sync_directory(&mut self, directory: &str) -> Result<(), DiskError> {
        let mut state = self.0.borrow_mut();
        if state.count_flush()? {
            return Err(DiskError::Other("input/output error".into()));
        }
        let state = &mut *state;
        for change in state.changes.remove(directory).unwrap_or_default() {
            change.apply(&mut state.durable_names, &mut state.durable_directories);
        }
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        let mut state = self.0.borrow_mut();
        state.count()?;
        let inode = state.inode(from)?;
        state.change(to, NameChange::Rename(from.to_string(), to.to_string(), inode));
        state.outcome()
    }

    fn remove(&mut self, path: &str) -> Result<(), DiskError> {
        let mut state = self.0.borrow_mut();
        state.count()?;
        let inode = state.inode(path)?;
        state.change(path, NameChange::Remove(path.to_string(), inode));
        state.outcome()
    }
}
