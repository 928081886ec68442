//! A compacted segment while it is written.

use log_partition::{Boundary, IndexBuilder, PartitionId, Segment, SegmentId};
use log_wire::{Batch, BatchHead};
use storage_disk::{Disk, DiskError};

use super::CompactionError;
use crate::segment_name::{SEGMENT_DIRECTORY, index_path, segment_path};

/// How many bytes are written at once.
const WRITE_BYTES: usize = 1 << 20;

/// See the module.
pub(super) struct Output<F> {
    id: PartitionId,
    segment: Segment,
    index: IndexBuilder,
    /// Nothing as long as nothing was written.
    file: Option<F>,
    written: u64,
    buffer: Vec<u8>,
}

impl<F> Output<F> {
    pub(super) fn new(id: PartitionId, segment: SegmentId, of: &[Segment]) -> Self {
        let index = IndexBuilder::new(segment);
        let segment = Segment::compacted(segment, of);
        Self { id, segment, index, file: None, written: 0, buffer: Vec::new() }
    }

    /// The name of the file, if there is one.
    pub(super) fn made(&self) -> Option<SegmentId> {
        self.file.is_some().then(|| self.segment.id())
    }

    /// A batch follows, whose bytes are given with [`Self::write`].
    pub(super) fn note(&mut self, batch: &Batch<'_>) {
        if !self.segment.is_empty() {
            let at = Boundary { offset: self.segment.end(), position: self.segment.bytes() };
            self.index.push(at, self.segment.highest_ms());
        }
        self.segment.push_kept(&BatchHead::of(batch));
    }

    /// Appends bytes.
    pub(super) fn write<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        bytes: &[u8],
    ) -> Result<(), CompactionError> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= WRITE_BYTES { self.flush_buffer(disk) } else { Ok(()) }
    }

    /// All is written: makes it durable, with its name. Gives nothing if there is nothing.
    pub(super) fn finish<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
    ) -> Result<Option<Segment>, CompactionError> {
        if self.segment.is_empty() {
            return Ok(None);
        }
        self.flush_buffer(disk)?;
        if let Some(file) = &self.file {
            disk.sync_data(file)?;
        }
        let empty = IndexBuilder::new(self.segment.id());
        let index = std::mem::replace(&mut self.index, empty).finish();
        if !index.is_empty() {
            // Nothing depends on an index.
            let _ = write_index(disk, &index_path(self.id, self.segment.id()), &index);
        }
        disk.sync_directory(SEGMENT_DIRECTORY)?;
        Ok(Some(self.segment.clone()))
    }

    fn flush_buffer<D: Disk<File = F>>(&mut self, disk: &mut D) -> Result<(), CompactionError> {
        if self.file.is_none() {
            self.file = Some(disk.create(&segment_path(self.id, self.segment.id()))?);
        }
        if let Some(file) = &self.file {
            disk.write_at(file, self.written, &self.buffer)?;
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }
}

fn write_index<D: Disk>(disk: &mut D, path: &str, index: &[u8]) -> Result<(), DiskError> {
    let file = disk.create(path)?;
    disk.write_at(&file, 0, index)?;
    disk.sync_data(&file)
}
