//! A segment that is read from its beginning to its end, batch by batch. Every batch is verified: what is damaged must not be
//! copied under a name that says nothing of it.

use log_partition::{Offset, PartitionId, Segment, SegmentId, follows};
use log_wire::{Batch, BatchHead};
use storage_disk::Disk;

use super::CompactionError;
use crate::segment_name::segment_path;

/// See the module.
pub(super) struct Input<F> {
    id: PartitionId,
    segment: SegmentId,
    may_have_holes: bool,
    file: F,
    /// How long the segment is, and the offset behind its last record.
    bytes: u64,
    end: Offset,
    /// Where the next batch begins, and the offset behind the one before it.
    position: u64,
    offset: Offset,
    /// What was read, and where in the file that begins.
    buffer: Vec<u8>,
    start: u64,
}

impl<F> Input<F> {
    pub(super) fn open<D: Disk<File = F>>(
        disk: &mut D,
        id: PartitionId,
        segment: &Segment,
    ) -> Result<Self, CompactionError> {
        let file = disk.open(&segment_path(id, segment.id()))?;
        let (bytes, end, offset) = (segment.bytes(), segment.end(), segment.base());
        let (buffer, may_have_holes, segment) = (Vec::new(), segment.may_have_holes(), segment.id());
        Ok(Self { id, segment, may_have_holes, file, bytes, end, position: 0, offset, buffer, start: 0 })
    }

    /// Where the next batch begins.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// The next batch; nothing at the end. It reads about so many bytes at once.
    pub(super) fn next<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        read_bytes: usize,
    ) -> Result<Option<Batch<'_>>, CompactionError> {
        if self.position >= self.bytes {
            return if self.offset == self.end { Ok(None) } else { Err(self.damaged()) };
        }
        let head_bytes = log_wire::BATCH_HEADER_BYTES;
        self.fill(disk, head_bytes, read_bytes)?;
        let head = BatchHead::read(self.at(self.position)).ok();
        let left = self.bytes - self.position;
        let head = head.filter(|head| {
            head.bytes <= left
                && follows(self.may_have_holes, self.offset, head.base_offset)
                && Offset(head.last_offset) < self.end
        });
        let Some(head) = head else { return Err(self.damaged()) };
        self.fill(disk, head.bytes as usize, read_bytes)?;
        let (begin, damaged) = (self.position, self.damaged());
        self.position += head.bytes;
        self.offset = Offset(head.last_offset).next();
        let batch = Batch::read(self.at(begin)).ok().filter(|(batch, _)| batch.verify().is_ok());
        batch.map(|(batch, _)| Some(batch)).ok_or(damaged)
    }

    /// Reads as they are bytes before `until`, from a position on, at most so many; appended to `out`.
    pub(super) fn copy<D: Disk<File = F>>(
        &self,
        disk: &mut D,
        from: u64,
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CompactionError> {
        let begin = out.len();
        out.resize(begin + length, 0);
        let read = disk.read_at(&self.file, from, out.get_mut(begin..).unwrap_or_default())?;
        if read == length { Ok(()) } else { Err(self.damaged()) }
    }

    fn at(&self, position: u64) -> &[u8] {
        let begin = usize::try_from(position.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.buffer.get(begin..).unwrap_or_default()
    }

    /// Sees to it that so many bytes from the position on are in the buffer.
    fn fill<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        length: usize,
        read_bytes: usize,
    ) -> Result<(), CompactionError> {
        if self.at(self.position).len() >= length {
            return Ok(());
        }
        let left = usize::try_from(self.bytes - self.position).unwrap_or(usize::MAX);
        self.buffer.clear();
        self.buffer.resize(length.max(read_bytes).min(left), 0);
        let read = disk.read_at(&self.file, self.position, &mut self.buffer)?;
        self.buffer.truncate(read);
        self.start = self.position;
        if read < length { Err(self.damaged()) } else { Ok(()) }
    }

    fn damaged(&self) -> CompactionError {
        CompactionError::Damaged { file: segment_path(self.id, self.segment), position: self.position }
    }
}
