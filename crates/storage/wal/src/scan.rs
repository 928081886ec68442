//! Reads a segment: its records in order, and what may lie behind the last whole one.

use crate::error::Fault;
use crate::record::{ALIGNMENT, ChecksumContext, HEADER_BYTES, Header, RecordKind};
use crate::segment::segment_path;
use alloc::vec::Vec;
use storage_disk::{Disk, DiskError};

/// A record that verified.
pub(crate) struct Record<'a> {
    pub(crate) offset: u64,
    pub(crate) kind: RecordKind,
    pub(crate) payload: &'a [u8],
}

/// The file of a segment: the current one is open already, any other was opened for the scan.
pub(crate) enum ScannedFile<'d, File> {
    Borrowed(&'d File),
    Opened(File),
}

impl<File> ScannedFile<'_, File> {
    fn get(&self) -> &File {
        match self {
            Self::Borrowed(file) => file,
            Self::Opened(file) => file,
        }
    }
}

/// Reads a segment through a window of bytes that moves forward.
pub(crate) struct Scan<'d, D: Disk> {
    disk: &'d mut D,
    file: ScannedFile<'d, D::File>,
    sequence: u64,
    context: ChecksumContext,
    /// Nothing at or behind this is read.
    limit: u64,
    window: Vec<u8>,
    window_start: u64,
    /// How many bytes a read asks for at least.
    read_bytes: usize,
    /// Where the next record is expected.
    pub(crate) offset: u64,
}

impl<'d, D: Disk> Scan<'d, D> {
    pub(crate) fn new(
        disk: &'d mut D,
        file: ScannedFile<'d, D::File>,
        sequence: u64,
        context: ChecksumContext,
        (offset, limit): (u64, u64),
        read_bytes: usize,
    ) -> Self {
        let window = Vec::new();
        Scan { disk, file, sequence, context, limit, window, window_start: offset, read_bytes, offset }
    }

    /// The record at the current offset, or nothing if no whole record of this segment is there.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>, Fault> {
        let offset = self.offset;
        let Some((header, whole)) = self.whole_at(offset)? else { return Ok(None) };
        self.offset = header.end(offset);
        let from = (offset - self.window_start) as usize;
        let payload = &self.window[from + HEADER_BYTES as usize..from + whole];
        Ok(Some(Record { offset, kind: header.kind, payload }))
    }

    /// What the record at the current offset says it is, before it is verified.
    pub(crate) fn kind_here(&mut self) -> Result<Option<RecordKind>, Fault> {
        Ok(self.header_at(self.offset)?.map(|header| header.kind))
    }

    /// Looks behind the current offset, where no whole record is, for what may still be there.
    pub(crate) fn remains(&mut self) -> Result<Remains, Fault> {
        let from = self.offset;
        let mut remains = Remains { flushed: 0, end: from };
        let mut at = from;
        while let Some(candidate) = self.candidate(at)? {
            at = candidate;
            let Some(header) = self.header_at(at)? else {
                at += ALIGNMENT;
                continue;
            };
            remains.end = remains.end.max(header.end(at).min(self.limit));
            if self.whole_at(at)?.is_some() {
                remains.flushed = remains.flushed.max(header.flushed);
                at = header.end(at);
            } else {
                at += ALIGNMENT;
            }
        }
        Ok(remains)
    }

    /// The next place from `at` on where a header of this segment may lie. Nearly all of what is searched is zeros
    /// or an earlier life of the file, so this looks at nothing but the tag.
    fn candidate(&mut self, mut at: u64) -> Result<Option<u64>, Fault> {
        let (context, read_bytes) = (self.context, self.read_bytes);
        while at + HEADER_BYTES <= self.limit {
            let words = self.bytes(at + ALIGNMENT, read_bytes)?.as_chunks::<{ ALIGNMENT as usize }>().0;
            if let Some(nth) = words.iter().position(|word| context.may_begin(*word)) {
                return Ok(Some(at + nth as u64 * ALIGNMENT));
            }
            if words.is_empty() {
                break;
            }
            at += words.len() as u64 * ALIGNMENT;
        }
        Ok(None)
    }

    /// The header at `offset` and the length of header and payload, if they verify.
    fn whole_at(&mut self, offset: u64) -> Result<Option<(Header, usize)>, Fault> {
        let Some(header) = self.header_at(offset)? else { return Ok(None) };
        let length = (HEADER_BYTES + header.payload_bytes) as usize;
        let context = self.context;
        let bytes = self.bytes(offset, length)?;
        let verifies = bytes.len() == length && context.verifies(&header, bytes, offset);
        Ok(verifies.then_some((header, length)))
    }

    fn header_at(&mut self, offset: u64) -> Result<Option<Header>, Fault> {
        let (context, limit) = (self.context, self.limit);
        let bytes = self.bytes(offset, HEADER_BYTES as usize)?;
        Ok(context.header(bytes, offset, limit))
    }

    /// The bytes at `offset`; fewer than asked for where the segment ends.
    fn bytes(&mut self, offset: u64, length: usize) -> Result<&[u8], Fault> {
        let length = (length as u64).min(self.limit.saturating_sub(offset)) as usize;
        let have_until = self.window_start + self.window.len() as u64;
        if offset < self.window_start || offset + length as u64 > have_until {
            self.fill(offset, length).map_err(|error| self.fault(error))?;
        }
        let from = (offset - self.window_start) as usize;
        let until = self.window.len().min(from + length);
        Ok(self.window.get(from..until).unwrap_or_default())
    }

    /// Moves the window so that it starts at `offset` and holds at least `length` bytes, if the file does.
    fn fill(&mut self, offset: u64, length: usize) -> Result<(), DiskError> {
        let keep = offset.checked_sub(self.window_start).filter(|skip| *skip <= self.window.len() as u64);
        match keep {
            Some(skip) => drop(self.window.drain(..skip as usize)),
            None => self.window.clear(),
        }
        self.window_start = offset;
        let have = self.window.len();
        let left = self.limit.saturating_sub(offset + have as u64);
        let want = (length.saturating_sub(have).max(self.read_bytes) as u64).min(left) as usize;
        self.window.resize(have + want, 0);
        let read = self.disk.read_at(self.file.get(), offset + have as u64, &mut self.window[have..])?;
        self.window.truncate(have + read);
        Ok(())
    }

    fn fault(&self, error: DiskError) -> Fault {
        Fault::new(&segment_path(self.sequence), "read", error)
    }
}

/// What lies behind the last whole record of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remains {
    /// The highest place that a record found there says was flushed.
    pub(crate) flushed: u64,
    /// Where the last thing that looks like a record ends.
    pub(crate) end: u64,
}
