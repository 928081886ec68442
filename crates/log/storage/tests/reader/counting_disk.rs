//! A disk that counts the bytes that are read from it.

use std::cell::Cell;
use std::rc::Rc;

use storage_disk::sim::{SimDisk, SimFile};
use storage_disk::{Disk, DiskError};

/// See the module. Clones count together.
#[derive(Clone)]
pub(crate) struct CountingDisk {
    pub(crate) disk: SimDisk,
    read_bytes: Rc<Cell<u64>>,
}

impl CountingDisk {
    pub(crate) fn new(disk: SimDisk) -> Self {
        Self { disk, read_bytes: Rc::default() }
    }

    /// How many bytes were read since this was asked last.
    pub(crate) fn take_read_bytes(&self) -> u64 {
        self.read_bytes.take()
    }
}

impl Disk for CountingDisk {
    type File = SimFile;

    fn list(&mut self, directory: &str) -> Result<Vec<String>, DiskError> {
        self.disk.list(directory)
    }

    fn create_directory(&mut self, directory: &str) -> Result<(), DiskError> {
        self.disk.create_directory(directory)
    }

    fn create(&mut self, path: &str) -> Result<SimFile, DiskError> {
        self.disk.create(path)
    }

    fn open(&mut self, path: &str) -> Result<SimFile, DiskError> {
        self.disk.open(path)
    }

    fn len(&mut self, file: &SimFile) -> Result<u64, DiskError> {
        self.disk.len(file)
    }

    fn read_at(&mut self, file: &SimFile, offset: u64, buffer: &mut [u8]) -> Result<usize, DiskError> {
        let read = self.disk.read_at(file, offset, buffer)?;
        self.read_bytes.set(self.read_bytes.get() + read as u64);
        Ok(read)
    }

    fn write_at(&mut self, file: &SimFile, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        self.disk.write_at(file, offset, bytes)
    }

    fn sync_data(&mut self, file: &SimFile) -> Result<(), DiskError> {
        self.disk.sync_data(file)
    }

    fn sync_directory(&mut self, directory: &str) -> Result<(), DiskError> {
        self.disk.sync_directory(directory)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        self.disk.rename(from, to)
    }

    fn remove(&mut self, path: &str) -> Result<(), DiskError> {
        self.disk.remove(path)
    }
}
