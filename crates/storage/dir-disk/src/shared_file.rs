//! An open file that two threads flush: its owner, and the one that flushes ahead of him.

use std::fs::File;
use std::io::IoSlice;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::io::{Errno, ReadWriteFlags};
use storage_disk::DiskError;

use crate::errands::Flush;
use crate::errors::disk_error;

/// See the module.
#[derive(Debug)]
pub(crate) struct Shared {
    file: File,
    /// How often something was written: counted behind each write.
    writes: AtomicU64,
    /// Held during any flush, so that none can miss the failure of another.
    flushing: Mutex<Flushing>,
}

/// What became of flushes of a file.
#[derive(Debug, Default)]
struct Flushing {
    /// A flush, perhaps one in the background, failed. The system reports such a failure only once, so it must be kept for
    /// the flush that counts.
    failed: Option<DiskError>,
    /// How many writes the last flush covers; nothing if there was none: what the file held before is not known to be durable.
    writes: Option<u64>,
}

impl Shared {
    pub(crate) fn new(file: File) -> Self {
        Self { file, writes: AtomicU64::new(0), flushing: Mutex::default() }
    }

    /// What is written to it is to be [told](Self::written).
    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    /// A flush behind which nothing was written is not repeated.
    pub(crate) fn sync_data(&self) -> Result<(), DiskError> {
        let mut flushing = self.flushing.lock();
        if let Some(error) = &flushing.failed {
            return Err(error.clone());
        }
        let writes = self.writes.load(Ordering::Acquire);
        if flushing.writes == Some(writes) {
            return Ok(());
        }
        self.file.sync_data().map_err(|error| flushing.failed.insert(disk_error(&error)).clone())?;
        flushing.writes = Some(writes);
        Ok(())
    }

    /// Something was written, in part at least.
    pub(crate) fn written(&self) {
        self.writes.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
        let result = self.file.write_all_at(bytes, offset);
        self.written();
        result.map_err(|error| disk_error(&error))
    }

    /// With one system call, unless the system takes less at once.
    pub(crate) fn write_parts_at(&self, mut offset: u64, parts: &[&[u8]]) -> Result<(), DiskError> {
        let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut left = slices.as_mut_slice();
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            let result = rustix::io::pwritev(&self.file, left, offset);
            self.written();
            match result {
                Ok(0) => return Err(DiskError::Other("the system writes nothing".to_owned())),
                Ok(written) => {
                    offset += written as u64;
                    IoSlice::advance_slices(&mut left, written);
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(disk_error(&errno.into())),
            }
        }
        Ok(())
    }

    /// In one system call, where the system has that.
    pub(crate) fn write_durably_at(&self, mut offset: u64, mut bytes: &[u8]) -> Result<(), DiskError> {
        let mut flushing = self.flushing.lock();
        if let Some(error) = &flushing.failed {
            return Err(error.clone());
        }
        while !bytes.is_empty() {
            let flags = ReadWriteFlags::DSYNC;
            let result = rustix::io::pwritev2(&self.file, &[IoSlice::new(bytes)], offset, flags);
            // It covers no other write: the next flush is one.
            self.written();
            match result {
                Ok(0) => return Err(DiskError::Other("the system writes nothing".to_owned())),
                Ok(written) => {
                    offset += written as u64;
                    bytes = bytes.get(written..).unwrap_or_default();
                }
                Err(Errno::INTR) => {}
                Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) => {
                    drop(flushing);
                    self.write_at(offset, bytes)?;
                    return self.sync_data();
                }
                Err(errno) => {
                    let error = disk_error(&errno.into());
                    // Without room nothing is lost: the caller still has these bytes and writes them all again.
                    if error != DiskError::Full {
                        flushing.failed = Some(error.clone());
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

impl Flush for Arc<Shared> {
    fn flush(&self) {
        // The flush that counts learns of a failure.
        let _ = self.sync_data();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Directory;
    use std::fs::OpenOptions;

    fn open(directory: &Directory) -> Shared {
        let path = directory.write("file", vec![1; 10]);
        Shared::new(OpenOptions::new().read(true).write(true).open(path).expect("it is there"))
    }

    fn is_flushed(file: &Shared) -> bool {
        file.flushing.lock().writes == Some(file.writes.load(Ordering::Relaxed))
    }

    #[test]
    fn only_a_flush_behind_which_nothing_was_written_is_not_repeated() {
        let directory = Directory::new("flushed-once");
        let file = open(&directory);
        // Nobody knows of what an earlier process wrote.
        assert!(!is_flushed(&file));
        let writes: [&dyn Fn() -> Result<(), DiskError>; 4] = [
            &|| file.write_at(0, b"a"),
            &|| file.write_parts_at(1, &[b"b", b"c"]),
            &|| file.write_durably_at(3, b"d"),
            &|| {
                file.written();
                Ok(())
            },
        ];
        for write in writes {
            file.sync_data().expect("the disk is well");
            assert!(is_flushed(&file));
            write().expect("the disk is well");
            assert!(!is_flushed(&file));
        }
    }

    #[test]
    fn parts_are_written_one_behind_the_other() {
        let directory = Directory::new("parts");
        let file = open(&directory);
        let large = vec![7; 3 << 20];
        file.write_parts_at(2, &[b"", b"ab", &large, b"", b"cd"]).expect("written");
        file.write_parts_at(0, &[]).expect("nothing is written");
        file.write_parts_at(0, &[b"", b""]).expect("nothing is written");
        let mut bytes = vec![0; 8 + large.len()];
        assert_eq!(file.file().read_at(&mut bytes, 0).expect("read"), large.len() + 6);
        assert_eq!((&bytes[..4], &bytes[large.len() + 4..][..2]), (&[1, 1, b'a', b'b'][..], &b"cd"[..]));
    }

    #[test]
    fn failure_of_a_flush_in_the_background_is_told_by_the_one_that_counts() {
        let directory = Directory::new("failed");
        let file = open(&directory);
        file.flushing.lock().failed = Some(DiskError::Other("broken".to_owned()));
        for result in [file.sync_data(), file.write_durably_at(0, b"a"), file.sync_data()] {
            assert_eq!(result, Err(DiskError::Other("broken".to_owned())));
        }
    }
}
