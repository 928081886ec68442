//! Reading records back. They are verified again.

use crate::error::{Corruption, Fault, ReadError};
use crate::log::{LogId, Position};
use crate::record::{ChecksumContext, RecordKind};
use crate::replay::addressed;
use crate::scan::{Scan, ScannedFile};
use crate::segment::segment_path;
use crate::wal::Wal;
use alloc::vec::Vec;
use storage_disk::Disk;

/// How much is read at once at most, where much is wanted.
const READ_BYTES: u64 = 256 << 10;
/// How much is read at once where a single record is wanted.
const RECORD_READ_BYTES: usize = 4096;

/// A record that an owner appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRecord<'a> {
    /// The log that it belongs to.
    pub log: LogId,
    /// Where it lies.
    pub position: Position,
    /// What its owner gave.
    pub payload: &'a [u8],
}

/// Reads the records of a part of a segment in order, of all logs.
pub struct Reader<'w, D: Disk> {
    scan: Scan<'w, D>,
    sequence: u64,
    /// No record that begins at or behind this place is read.
    until: u64,
}

impl<D: Disk> Wal<D> {
    /// Reads from a record on, up to `until` or to the end of that record's segment, whichever comes first. Records
    /// appended but not yet flushed are included.
    ///
    /// # Errors
    /// The segment is gone, or a fault.
    pub fn reader(&mut self, from: Position, until: Option<Position>) -> Result<Reader<'_, D>, ReadError> {
        self.reader_of(from, until, READ_BYTES as usize)
    }

    /// Reads the record of a log that lies at this position.
    ///
    /// # Errors
    /// There is no such record, or a fault.
    pub fn read(&mut self, log: LogId, at: Position) -> Result<Vec<u8>, ReadError> {
        let mut reader = self.reader_of(at, None, RECORD_READ_BYTES)?;
        match reader.next()? {
            Some(record) if record.log == log && record.position == at => Ok(record.payload.to_vec()),
            _ => Err(Corruption::at(at, "the record there is not the one that was asked for").into()),
        }
    }

    fn reader_of(
        &mut self,
        Position { sequence, offset }: Position,
        until: Option<Position>,
        read_bytes: usize,
    ) -> Result<Reader<'_, D>, ReadError> {
        self.check()?;
        self.write_pending()?;
        let closed = self.closed.iter().find(|segment| segment.sequence == sequence).copied();
        let (file, end) = match closed {
            Some(closed) => {
                let path = segment_path(sequence);
                let opened = self.disk.open(&path).map_err(|error| Fault::new(&path, "open", error))?;
                (ScannedFile::Opened(opened), closed.end)
            }
            None if self.current.sequence == sequence => {
                (ScannedFile::Borrowed(&self.current.file), self.current.end)
            }
            None => return Err(Corruption::at(Position { sequence, offset }, "the segment is gone").into()),
        };
        let until =
            until.filter(|until| until.sequence == sequence).map_or(end, |until| until.offset.min(end));
        let context = ChecksumContext::new(&self.incarnation, sequence);
        // Verification needs the limits that recovery uses, or a header near the end would not fit.
        let range = (offset, end);
        let read_bytes = (read_bytes as u64).min(until.saturating_sub(offset)) as usize;
        let scan = Scan::new(&mut self.disk, file, sequence, context, range, read_bytes);
        Ok(Reader { scan, sequence, until })
    }
}

impl<D: Disk> Reader<'_, D> {
    /// The next record of any log; nothing at the end.
    ///
    /// # Errors
    /// A record no longer verifies, or a fault.
    #[expect(clippy::should_implement_trait, reason = "what it returns borrows from it")]
    pub fn next(&mut self) -> Result<Option<LogRecord<'_>>, ReadError> {
        let sequence = self.sequence;
        let damaged = |offset, what| Corruption::at(Position { sequence, offset }, what);
        let lost = |offset| damaged(offset, "a record that verified before no longer does");
        // Records about logs and segments belong to no owner.
        while self.scan.offset < self.until && self.scan.kind_here()? != Some(RecordKind::Append) {
            let offset = self.scan.offset;
            self.scan.next()?.ok_or_else(|| lost(offset))?;
        }
        let offset = self.scan.offset;
        if offset >= self.until {
            return Ok(None);
        }
        let record = self.scan.next()?.ok_or_else(|| lost(offset))?;
        let understood = addressed(record.payload);
        let (log, payload) = understood.map_err(|_| damaged(offset, "the record cannot be understood"))?;
        Ok(Some(LogRecord { log, position: Position { sequence, offset }, payload }))
    }
}
