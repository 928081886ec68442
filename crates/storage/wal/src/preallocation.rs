//! The segment after the current one, made ready ahead of need.
//!
//! This is the one place where a full disk is found: a segment is filled with zeros before it is used, or was used
//! before, so that writing records never needs room that is not there. It is done in steps, so that a flush never waits
//! for a whole segment of zeros.

use crate::config::WalConfig;
use crate::error::Fault;
use crate::segment::{GROWING_PATH, LOG_DIRECTORY, segment_path};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use storage_disk::{Disk, DiskError};

/// A segment that is no longer needed; its file can become the next one.
pub(crate) struct RecycledSegment {
    pub(crate) path: String,
    pub(crate) capacity: u64,
}

enum Next<File> {
    Absent,
    /// Under a temporary name, which is given up only when all of it is zeros and flushed.
    Growing {
        file: File,
        written: u64,
    },
    /// Under its own name, durably, and without a record in it.
    Ready {
        file: File,
        capacity: u64,
    },
}

/// The next segment and what it can be made of.
pub(crate) struct Preallocation<File> {
    next: Next<File>,
    pub(crate) recycled: Vec<RecycledSegment>,
    /// How large a segment the disk had no room for, and its error; `None` unless it is full.
    shortage: Option<(Fault, u64)>,
    pub(crate) zero_bytes_written: u64,
    pub(crate) segments_recycled: u64,
}

impl<File> Preallocation<File> {
    pub(crate) fn new(ready: Option<(File, u64)>) -> Self {
        let next = ready.map_or(Next::Absent, |(file, capacity)| Next::Ready { file, capacity });
        let recycled = Vec::new();
        Preallocation { next, recycled, shortage: None, zero_bytes_written: 0, segments_recycled: 0 }
    }

    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.next, Next::Ready { .. })
    }

    /// Whether the disk had no room for the next segment, or for one as large as was asked for.
    pub(crate) fn is_full(&self) -> bool {
        self.shortage.is_some()
    }

    /// Why there is no next segment, and how large it was to be.
    pub(crate) fn shortage(&self) -> Option<(&Fault, u64)> {
        self.shortage.as_ref().map(|(fault, bytes)| (fault, *bytes))
    }

    /// How large a segment must be for the disk not to be full any more.
    pub(crate) fn lacking(&self) -> u64 {
        self.shortage.as_ref().map_or(0, |(_, bytes)| *bytes)
    }

    /// The capacity of the segment that is ready.
    pub(crate) fn ready_bytes(&self) -> Option<u64> {
        match self.next {
            Next::Ready { capacity, .. } => Some(capacity),
            _ => None,
        }
    }

    /// Whether a segment of at least `bytes` is ready.
    pub(crate) fn holds(&self, bytes: u64) -> bool {
        matches!(self.next, Next::Ready { capacity, .. } if capacity >= bytes)
    }

    /// Whether the making of the next segment has begun.
    pub(crate) fn is_growing(&self) -> bool {
        matches!(self.next, Next::Growing { .. })
    }

    /// How much of the next segment is made.
    pub(crate) fn made_bytes(&self) -> u64 {
        match self.next {
            Next::Absent => 0,
            Next::Growing { written, .. } => written,
            Next::Ready { capacity, .. } => capacity,
        }
    }

    /// The file of the next segment and its length, to be used now.
    pub(crate) fn take(&mut self) -> Option<(File, u64)> {
        match core::mem::replace(&mut self.next, Next::Absent) {
            Next::Ready { file, capacity } => Some((file, capacity)),
            other => {
                self.next = other;
                None
            }
        }
    }

    /// Does all steps at once. Whether a segment of at least `bytes` is ready.
    pub(crate) fn complete<D: Disk<File = File>>(
        &mut self,
        disk: &mut D,
        config: &WalConfig,
        sequence: u64,
        bytes: u64,
    ) -> Result<bool, Fault> {
        while !self.holds(bytes) {
            if !self.step(disk, config, sequence, bytes)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One step towards a segment `sequence` of `bytes`. Whether there was room for it.
    ///
    /// On a full disk what was begun is given back: a snapshot may need the room, and only a snapshot can free more.
    pub(crate) fn step<D: Disk<File = File>>(
        &mut self,
        disk: &mut D,
        config: &WalConfig,
        sequence: u64,
        bytes: u64,
    ) -> Result<bool, Fault> {
        match self.try_step(disk, config, sequence, bytes) {
            Err(shortage) if shortage.error.is_shortage() => {
                let room = self.give_up(disk)?;
                if !room {
                    self.shortage = Some((shortage, bytes));
                }
                Ok(room)
            }
            other => {
                other?;
                self.shortage.take_if(
                    |(_, lacking)| matches!(self.next, Next::Ready { capacity, .. } if capacity >= *lacking),
                );
                Ok(true)
            }
        }
    }

    fn try_step<D: Disk<File = File>>(
        &mut self,
        disk: &mut D,
        config: &WalConfig,
        sequence: u64,
        bytes: u64,
    ) -> Result<(), Fault> {
        let step = u64::from(config.prepare_step_bytes).max(512);
        match &mut self.next {
            Next::Absent => {
                if let Some(at) = self.recycled.iter().position(|old| old.capacity >= bytes) {
                    return self.recycle(disk, at, sequence);
                }
                let file =
                    disk.create(GROWING_PATH).map_err(|error| Fault::new(GROWING_PATH, "create", error))?;
                self.next = Next::Growing { file, written: 0 };
                Ok(())
            }
            Next::Growing { file, written } => {
                let until = bytes.min(*written + step);
                let failed = |error| Fault::new(GROWING_PATH, "fill", error);
                let piles_up = disk.write_zeros(file, *written, until).map_err(failed)?;
                if piles_up || until == bytes {
                    disk.sync_data(file).map_err(|error| Fault::new(GROWING_PATH, "flush", error))?;
                }
                self.zero_bytes_written += until - *written;
                *written = until;
                if until < bytes { Ok(()) } else { self.name(disk, sequence) }
            }
            Next::Ready { file, capacity } => {
                let until = bytes.min(*capacity + step);
                let path = segment_path(sequence);
                disk.write_zeros(file, *capacity, until).map_err(|error| Fault::new(&path, "fill", error))?;
                disk.sync_data(file).map_err(|error| Fault::new(&path, "flush", error))?;
                self.zero_bytes_written += until.saturating_sub(*capacity);
                *capacity = until.max(*capacity);
                Ok(())
            }
        }
    }

    /// The file under the temporary name is complete. Its own name must be durable before a record goes into it:
    /// flushing the file later would not make the name so.
    fn name<D: Disk<File = File>>(&mut self, disk: &mut D, sequence: u64) -> Result<(), Fault> {
        rename_durably(disk, GROWING_PATH, &segment_path(sequence))?;
        if let Next::Growing { file, written } = core::mem::replace(&mut self.next, Next::Absent) {
            self.next = Next::Ready { file, capacity: written };
        }
        Ok(())
    }

    /// An old segment gets a new name, and with it a new checksum context, under which nothing in it verifies.
    fn recycle<D: Disk<File = File>>(&mut self, disk: &mut D, at: usize, sequence: u64) -> Result<(), Fault> {
        let path = segment_path(sequence);
        let opened = disk.open(&self.recycled[at].path);
        let file = opened.map_err(|error| Fault::new(&self.recycled[at].path, "open", error))?;
        let old = self.recycled.remove(at);
        rename_durably(disk, &old.path, &path)?;
        self.next = Next::Ready { file, capacity: old.capacity };
        self.segments_recycled += 1;
        Ok(())
    }

    /// Whether that gave room which the next step can use. A segment that is ready but could not be made larger stays
    /// what it was; recycled ones, which cannot take its place, make room for it.
    fn give_up<D: Disk<File = File>>(&mut self, disk: &mut D) -> Result<bool, Fault> {
        if self.is_ready() {
            let Some(old) = self.recycled.pop() else { return Ok(false) };
            disk.remove(&old.path).map_err(|error| Fault::new(&old.path, "remove", error))?;
            return Ok(true);
        }
        if self.is_growing() {
            self.next = Next::Absent;
            disk.remove(GROWING_PATH).map_err(|error| Fault::new(GROWING_PATH, "remove", error))?;
        }
        Ok(false)
    }
}

/// Renames within the log. A full disk met here leaves open which name holds, which is not a matter of room.
fn rename_durably<D: Disk>(disk: &mut D, from: &str, to: &str) -> Result<(), Fault> {
    let undecided = |error| match error {
        DiskError::Full => DiskError::Other("no space left while renaming".to_string()),
        other => other,
    };
    disk.rename(from, to).map_err(|error| Fault::new(to, "rename", undecided(error)))?;
    disk.sync_directory(LOG_DIRECTORY).map_err(|error| Fault::new(LOG_DIRECTORY, "flush", undecided(error)))
}
