//! A disk in memory that forgets what was not flushed, may be full, and may fail.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use storage_raft_log::{Disk, DiskError};

#[derive(Clone, Default)]
struct File {
    content: Vec<u8>,
    flushed: Vec<u8>,
}

struct State {
    names: BTreeMap<String, usize>,
    files: Vec<File>,
    /// Bytes of all files together.
    capacity: usize,
    /// Writes find no room, not even in place.
    full_in_place: bool,
    /// Flushes fail.
    broken: bool,
    operations: u64,
    log_flushes: u64,
}

/// Clones are handles on the same disk. Names are durable at once.
#[derive(Clone)]
pub(super) struct FakeDisk(Rc<RefCell<State>>);

impl FakeDisk {
    pub(super) fn new() -> Self {
        Self(Rc::new(RefCell::new(State {
            names: BTreeMap::new(),
            files: Vec::new(),
            capacity: usize::MAX,
            full_in_place: false,
            broken: false,
            operations: 0,
            log_flushes: 0,
        })))
    }

    /// What a crash would leave now.
    pub(super) fn crashed(&self) -> Self {
        let state = self.0.borrow();
        let kept = |file: &File| File { content: file.flushed.clone(), flushed: file.flushed.clone() };
        let crashed = Self::new();
        crashed.0.borrow_mut().names = state.names.clone();
        crashed.0.borrow_mut().files = state.files.iter().map(kept).collect();
        crashed
    }

    /// From now on, there is room for so many bytes more.
    pub(super) fn leave_room(&self, bytes: usize) {
        let used = self.0.borrow().used();
        self.0.borrow_mut().capacity = used.saturating_add(bytes);
    }

    pub(super) fn fill_in_place(&self, full: bool) {
        self.0.borrow_mut().full_in_place = full;
    }

    pub(super) fn break_down(&self) {
        self.0.borrow_mut().broken = true;
    }

    /// How many operations changed something.
    pub(super) fn operations(&self) -> u64 {
        self.0.borrow().operations
    }

    /// How often a segment with its name was flushed.
    pub(super) fn log_flushes(&self) -> u64 {
        self.0.borrow().log_flushes
    }
}

impl State {
    fn used(&self) -> usize {
        self.names.values().map(|file| self.files[*file].content.len()).sum()
    }
}

impl Disk for FakeDisk {
    type File = usize;

    fn list(&mut self, directory: &str) -> Result<Vec<String>, DiskError> {
        let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let state = self.0.borrow();
        let names = state.names.keys().filter_map(|path| path.strip_prefix(&prefix)?.split('/').next());
        Ok(names.map(String::from).collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn create_directory(&mut self, _: &str) -> Result<(), DiskError> {
        Ok(())
    }

    fn create(&mut self, path: &str) -> Result<usize, DiskError> {
        let mut state = self.0.borrow_mut();
        state.operations += 1;
        state.files.push(File::default());
        let file = state.files.len() - 1;
        state.names.insert(path.into(), file);
        Ok(file)
    }

    fn open(&mut self, path: &str) -> Result<usize, DiskError> {
        self.0.borrow().names.get(path).copied().ok_or(DiskError::NotFound)
    }

    fn len(&mut self, file: &usize) -> Result<u64, DiskError> {
        Ok(self.0.borrow().files[*file].content.len() as u64)
    }

    fn read_at(&mut self, file: &usize, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let state = self.0.borrow();
        let rest = state.files[*file].content.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn write_at(&mut self, file: &usize, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let mut state = self.0.borrow_mut();
        state.operations += 1;
        let end = offset as usize + bytes.len();
        let growth = end.saturating_sub(state.files[*file].content.len());
        if state.full_in_place || (growth > 0 && state.used() + growth > state.capacity) {
            return Err(DiskError::Full);
        }
        let content = &mut state.files[*file].content;
        content.resize(content.len().max(end), 0);
        content[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn sync_data(&mut self, file: &usize) -> Result<(), DiskError> {
        let mut state = self.0.borrow_mut();
        state.operations += 1;
        if state.broken {
            return Err(DiskError::Other("the disk is broken".into()));
        }
        let is_segment = |(path, of): (&String, &usize)| of == file && path.ends_with(".seg");
        state.log_flushes += u64::from(state.names.iter().any(is_segment));
        let file = &mut state.files[*file];
        file.flushed.clone_from(&file.content);
        Ok(())
    }

    fn sync_directory(&mut self, _: &str) -> Result<(), DiskError> {
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        let mut state = self.0.borrow_mut();
        state.operations += 1;
        let file = state.names.remove(from).ok_or(DiskError::NotFound)?;
        state.names.insert(to.into(), file);
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Result<(), DiskError> {
        let mut state = self.0.borrow_mut();
        state.operations += 1;
        state.names.remove(path).map(drop).ok_or(DiskError::NotFound)
    }
}
