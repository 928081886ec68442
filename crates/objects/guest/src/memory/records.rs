//! Records in a file that is mapped and shared: what was stored survives the process.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::mapping::Mapping;

/// Numbers of a record. The first one is stored last, and tells whether the others count.
pub(crate) type Record = [u64; 8];

/// See the module.
pub(crate) struct SharedRecords {
    mapping: Mapping,
    count: usize,
}

impl SharedRecords {
    /// So many records at the beginning of a file, which is that long.
    pub(crate) fn of_file(file: BorrowedFd<'_>, count: usize) -> Self {
        Self { mapping: Mapping::of_shared_file(file, count * size_of::<Record>()), count }
    }

    fn place(&self, record: usize, number: usize) -> &AtomicU64 {
        assert!(record < self.count && number < 8, "a record lies in the file");
        // SAFETY: the place lies within the mapping, which is as aligned as a page and lives as long as the reference; all
        // accesses are atomic, in this process and in others that map the file.
        unsafe { AtomicU64::from_ptr(self.mapping.base().cast::<u64>().add(record * 8 + number)) }
    }

    /// Stores a record; one thread does at a time. A process that dies leaves behind what it has stored, in this order. The thread does
    /// not wait until others see its stores.
    pub(crate) fn store(&self, record: usize, numbers: &Record) {
        self.erase(record);
        for (number, value) in numbers.iter().enumerate().skip(1) {
            self.place(record, number).store(*value, Ordering::Relaxed);
        }
        self.place(record, 0).store(numbers[0], Ordering::Release);
    }

    /// There is none in its place.
    pub(crate) fn erase(&self, record: usize) {
        self.place(record, 0).store(0, Ordering::Relaxed);
        // What is stored from here on is not seen before.
        fence(Ordering::Release);
    }

    pub(crate) fn load(&self, record: usize) -> Record {
        std::array::from_fn(|number| self.place(record, number).load(Ordering::SeqCst))
    }
}
