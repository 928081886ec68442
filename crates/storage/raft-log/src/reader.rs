//! Reading entries back: at a start, in pieces, and for members that lag.

use crate::batch::Entry;
use crate::codec;
use crate::disk::Disk;
use crate::error::{Fault, OpenError, ReadError};
use crate::index::{Mark, Position};
use crate::journal::Journal;
use crate::record::{RecordKind, Seal};
use crate::replay;
use crate::segment::{Scan, segment_path};
use alloc::vec::Vec;
use bytes::Bytes;

const READ_BYTES: usize = 256 << 10;

/// What a read has gathered so far.
struct Gathered {
    entries: Vec<Entry>,
    /// The next index wanted.
    next: u64,
    /// The first index not wanted.
    high: u64,
    bytes_left: u64,
}

impl Gathered {
    fn is_done(&self) -> bool {
        self.next >= self.high || (self.bytes_left == 0 && !self.entries.is_empty())
    }

    /// Takes the wanted entries of a record; those at or above `limit` are overwritten later in the log.
    fn take(&mut self, payload: &[u8], limit: u64) -> Result<(), codec::Malformed> {
        let piece = codec::piece(payload)?;
        if piece.entries.last().is_none_or(|last| last.index < self.next) {
            return Ok(());
        }
        let payload = Bytes::copy_from_slice(payload);
        for at in piece.entries {
            if at.index != self.next || at.index >= limit || self.is_done() {
                continue;
            }
            let data = payload.slice(at.data);
            let bytes = data.len() as u64;
            if bytes > self.bytes_left && !self.entries.is_empty() {
                self.bytes_left = 0;
                break;
            }
            self.bytes_left = self.bytes_left.saturating_sub(bytes);
            self.entries.push(Entry { index: at.index, term: at.term, kind: at.kind, data });
            self.next += 1;
        }
        Ok(())
    }
}

impl<D: Disk> Journal<D> {
    /// The entries from `low` up to but without `high`: as many as fit into `bytes_max` bytes of content, at least
    /// one. Entries appended but not yet flushed are included.
    ///
    /// They are read from the disk and verified again.
    pub fn entries(&mut self, low: u64, high: u64, bytes_max: u64) -> Result<Vec<Entry>, ReadError> {
        self.check()?;
        let (first, last) = (self.first_index(), self.last_index());
        if low < first || high > last + 1 {
            return Err(ReadError::OutOfRange { first, last });
        }
        self.write_pending()?;
        let mut gathered = Gathered { entries: Vec::new(), next: low, high, bytes_left: bytes_max };
        while !gathered.is_done() {
            let wanted = gathered.next;
            let Some((mark, next)) = self.state.index.marks_around(wanted) else {
                return Err(ReadError::OutOfRange { first, last });
            };
            self.gather(&mut gathered, mark, next).map_err(read_error)?;
            if gathered.next == wanted && !gathered.is_done() {
                let what = "an entry that was here is no longer found";
                return Err(read_error(replay::damaged(mark.position.sequence, mark.position.offset, what)));
            }
        }
        Ok(gathered.entries)
    }

    /// Reads from one mark up to the next.
    fn gather(&mut self, gathered: &mut Gathered, mark: Mark, next: Option<Mark>) -> Result<(), OpenError> {
        let Position { sequence, offset } = mark.position;
        let limit = next.map_or(u64::MAX, |next| next.index);
        let closed = self.closed.iter().find(|segment| segment.sequence == sequence).copied();
        let opened = match closed {
            Some(_) => Some(open(&mut self.disk, sequence)?),
            None if self.current.sequence == sequence => None,
            None => return Err(replay::damaged(sequence, offset, "the segment is gone")),
        };
        let segment_end = closed.map_or(self.current.end, |segment| segment.end);
        let file = opened.as_ref().unwrap_or(&self.current.file);
        let end = next
            .filter(|next| next.position.sequence == sequence)
            .map_or(segment_end, |next| next.position.offset);
        let seal = Seal::new(&self.identity.incarnation, sequence);
        // Verification needs the limits that recovery uses, or a header near the end would not fit.
        let range = (offset, segment_end);
        let read_bytes = READ_BYTES.min((end - offset) as usize);
        let mut scan = Scan::new(&mut self.disk, file, sequence, seal, range, read_bytes);
        while scan.offset < end && !gathered.is_done() {
            let at = scan.offset;
            let Some(record) = scan.next()? else {
                return Err(replay::damaged(sequence, at, "a record that verified before no longer does"));
            };
            if record.kind == RecordKind::Batch {
                let malformed = |_| replay::damaged(sequence, at, "the record cannot be understood");
                gathered.take(record.payload, limit).map_err(malformed)?;
            }
        }
        Ok(())
    }
}

/// Opens a segment before the current one.
fn open<D: Disk>(disk: &mut D, sequence: u64) -> Result<D::File, Fault> {
    let path = segment_path(sequence);
    disk.open(&path).map_err(|error| Fault { file: path, operation: "open", error })
}

fn read_error(error: OpenError) -> ReadError {
    match error {
        OpenError::Disk(fault) => ReadError::Fault(fault),
        OpenError::Corrupt(corruption) => ReadError::Corrupt(corruption),
        OpenError::Foreign { name, .. } | OpenError::Version { file: name, .. } => {
            ReadError::Corrupt(crate::error::Corruption {
                file: name,
                offset: 0,
                what: "it changed while it was open".into(),
                hint: replay::HINT,
            })
        }
    }
}
