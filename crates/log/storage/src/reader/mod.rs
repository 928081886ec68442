//! Reading batches from segments: for the threads that answer clients, each of which has a disk of its own.
//!
//! A reader keeps the files of the segments that it read lately open, with their indices, and remembers where its last reads
//! ended: so who reads on costs one look at the header of the next batch. What it gives is either bytes, or the exact part
//! of a file, for a socket that takes bytes from files.
//!
//! # What a part of a file is worth
//! A segment is never changed below the end that its partition names, and a file that was removed, because of retention or
//! because compaction put another in its place, stays readable for whoever has it open. So a part that was given stays what it
//! was until its handle is closed. What was read from a segment that compaction has replaced is what was there before: also
//! right. If the file is gone before it was opened, the read says so, and a later one is told where to look.
//!
//! # Damage
//! Batches that were written before this process began are verified when they are first read, and never given if they do not
//! verify. Those that were written since are taken for what they were.

mod known;
mod verified;
mod window;

use std::collections::BTreeMap;

use log_partition::{FoundTime, LocateError, Located, PartitionId, SegmentId, SegmentRead, TimeLookup};
use storage_disk::{Disk, DiskError};

use crate::segment_name::{index_path, segment_path};
use known::Known;
use window::Window;

/// How much a reader keeps.
#[derive(Clone, Copy, Debug)]
pub struct ReaderConfig {
    /// How many segments are open at most.
    pub open_segments_max: usize,
    /// How many places of their indices are known at most, all together; 16 bytes each. One segment may have more.
    pub index_entries_max: usize,
}

impl Default for ReaderConfig {
    fn default() -> Self {
        Self { open_segments_max: 64, index_entries_max: 256 << 10 }
    }
}

/// Why nothing is read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The segment was removed meanwhile: its partition knows by now where to read.
    #[error("the segment is gone")]
    Gone,
    /// What stands there is not what was appended. This host is at fault.
    #[error("`{file}` is damaged at byte {position}")]
    Damaged {
        /// The file, within the data directory.
        file: String,
        /// Where in it.
        position: u64,
    },
    /// The disk refused a call.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// A part of a segment: whole batches.
#[derive(Clone, Debug)]
pub struct SegmentRange<F> {
    /// The segment, open.
    pub file: F,
    /// Where the part begins, bytes.
    pub position: u64,
    /// How many bytes it has.
    pub length: u64,
}

/// An open segment, and what is known of it.
struct OpenSegment<F> {
    file: F,
    known: Known,
    used: u64,
}

/// See the module.
pub struct SegmentReader<D: Disk> {
    disk: D,
    config: ReaderConfig,
    open: BTreeMap<(PartitionId, SegmentId), OpenSegment<D::File>>,
    clock: u64,
    /// What was used before this was not used lately.
    lately: u64,
    window: Vec<u8>,
}

impl<D: Disk<File: Clone>> SegmentReader<D> {
    /// A reader with a disk of its own over the directory of the store.
    #[must_use]
    pub const fn new(disk: D, config: ReaderConfig) -> Self {
        Self { disk, config, open: BTreeMap::new(), clock: 0, lately: 0, window: Vec::new() }
    }

    /// Appends the batches of a read to `out`; none if none may be read.
    ///
    /// # Errors
    /// [`ReadError`]; nothing was appended.
    pub fn read(&mut self, id: PartitionId, read: &SegmentRead, out: &mut Vec<u8>) -> Result<(), ReadError> {
        match self.range(id, read)? {
            Some(range) => self.copy(&range, out),
            None => Ok(()),
        }
    }

    /// Appends a part of a file to `out`.
    ///
    /// # Errors
    /// [`ReadError::Disk`]; nothing was appended.
    pub fn copy(&mut self, range: &SegmentRange<D::File>, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let (start, length) = (out.len(), range.length as usize);
        out.resize(start + length, 0);
        let read = self.disk.read_at(&range.file, range.position, out.get_mut(start..).unwrap_or_default());
        if read == Ok(length) {
            return Ok(());
        }
        out.truncate(start);
        let ended = || DiskError::Other(String::from("the file of a segment ends too early"));
        Err(ReadError::Disk(read.err().unwrap_or_else(ended)))
    }

    /// The part of a file that holds the batches of a read; nothing if none may be read.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn range(
        &mut self,
        id: PartitionId,
        read: &SegmentRead,
    ) -> Result<Option<SegmentRange<D::File>>, ReadError> {
        let Some(located) = self.locate(id, read)? else { return Ok(None) };
        let Self { disk, open, window, .. } = self;
        let segment = open.get_mut(&(id, read.segment)).ok_or(ReadError::Gone)?;
        let (position, end) = (located.begin.position, located.end.position);
        let length = end.saturating_sub(position);
        if segment.known.verified.is_lacking(read, &located) {
            window.clear();
            window.resize(length as usize, 0);
            let filled = fill(disk, &segment.file, read.segment, position, window);
            let good = filled.and_then(|()| segment.known.verified.check(read, &located, window));
            good.map_err(|error| error_of(id, error))?;
        }
        Ok(Some(SegmentRange { file: segment.file.clone(), position, length }))
    }

    /// Looks for a record by its time.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn find_time(
        &mut self,
        id: PartitionId,
        lookup: &TimeLookup,
    ) -> Result<Option<FoundTime>, ReadError> {
        for read in &lookup.segments {
            let (known, mut window) = self.open(id, read)?;
            let found = lookup.find_in_segment(read, &mut known.index, &mut window);
            if let Some(found) = found.map_err(|error| error_of(id, error))? {
                return Ok(Some(found));
            }
        }
        Ok(lookup.find_in_memory())
    }

    /// Closes what was not used since this was called last. To be called every second or so: an open file keeps the room of a
    /// segment that was removed.
    pub fn close_unused(&mut self) {
        let lately = std::mem::replace(&mut self.lately, self.clock);
        self.open.retain(|_, segment| segment.used > lately);
        self.window.shrink_to(WINDOW_BYTES_KEPT);
    }

    /// How many segments are open.
    #[must_use]
    pub fn open_segments(&self) -> usize {
        self.open.len()
    }

    fn locate(&mut self, id: PartitionId, read: &SegmentRead) -> Result<Option<Located>, ReadError> {
        let (known, mut window) = self.open(id, read)?;
        let located = read.locate(known.hint(read.from), &mut known.index, &mut window);
        let located = located.map_err(|error| error_of(id, error))?;
        if let Some(located) = &located {
            known.remember(located.hint());
        }
        Ok(located)
    }

    /// The segment of a read, open, with what of its index may help.
    fn open(
        &mut self,
        id: PartitionId,
        read: &SegmentRead,
    ) -> Result<(&mut Known, Window<'_, D>), ReadError> {
        self.clock += 1;
        let (key, version) = ((id, read.segment), (read.copy, read.cuts));
        // What was known before a cut, or of a former copy, counts no more, and the file may be another one.
        if self.open.get(&key).is_none_or(|open| open.known.version != version) {
            self.open.remove(&key);
            self.make_room();
            let file = self.disk.open(&segment_path(id, read.segment)).map_err(gone)?;
            let known = Known::new(read.segment, version);
            self.open.insert(key, OpenSegment { file, known, used: 0 });
        }
        let Self { disk, open, window, clock, .. } = self;
        let OpenSegment { file, known, used } = open.get_mut(&key).ok_or(ReadError::Gone)?;
        *used = *clock;
        known.load_index(disk, read, || index_path(id, read.segment));
        Ok((known, Window::new(disk, file, window)))
    }

    fn make_room(&mut self) {
        let entries = |open: &BTreeMap<_, OpenSegment<D::File>>| -> usize {
            open.values().map(|segment| segment.known.index.len()).sum()
        };
        while self.open.len() >= self.config.open_segments_max
            || (!self.open.is_empty() && entries(&self.open) > self.config.index_entries_max)
        {
            let oldest = self.open.iter().min_by_key(|(_, segment)| segment.used).map(|(key, _)| *key);
            let Some(oldest) = oldest else { break };
            self.open.remove(&oldest);
        }
    }
}

/// Reads all of a part of a segment, which is there.
fn fill<D: Disk>(
    disk: &mut D,
    file: &D::File,
    segment: SegmentId,
    position: u64,
    buffer: &mut [u8],
) -> Result<(), LocateError<DiskError>> {
    let read = disk.read_at(file, position, buffer).map_err(LocateError::Bytes)?;
    if read == buffer.len() { Ok(()) } else { Err(LocateError::Damaged { segment, position }) }
}

/// How much of the window is kept between reads.
const WINDOW_BYTES_KEPT: usize = 256 << 10;

fn gone(error: DiskError) -> ReadError {
    if error == DiskError::NotFound { ReadError::Gone } else { ReadError::Disk(error) }
}

fn error_of(id: PartitionId, error: LocateError<DiskError>) -> ReadError {
    match error {
        LocateError::Bytes(error) => ReadError::Disk(error),
        LocateError::Damaged { segment, position } => {
            ReadError::Damaged { file: segment_path(id, segment), position }
        }
    }
}
