//! Reading entries back: at a start, in pieces, and for members that lag.

use crate::batch::Entry;
use crate::codec;
use crate::error::ReadError;
use crate::index::Mark;
use crate::journal::Journal;
use alloc::vec::Vec;
use base::LogIndex;
use bytes::Bytes;
use storage_disk::Disk;
use storage_wal::{Corruption, Position};

/// What a read has gathered so far.
struct Gathered {
    entries: Vec<Entry>,
    /// The next index wanted.
    next: LogIndex,
    /// The first index not wanted.
    high: LogIndex,
    bytes_left: u64,
}

impl Gathered {
    fn is_done(&self) -> bool {
        self.next >= self.high || (self.bytes_left == 0 && !self.entries.is_empty())
    }

    /// Takes the wanted entries of a record; those at or above `limit` are overwritten later in the log.
    fn take(&mut self, payload: &[u8], limit: LogIndex) -> Result<(), codec::Malformed> {
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
            self.next = self.next.next();
        }
        Ok(())
    }
}

impl<D: Disk> Journal<D> {
    /// The entries from `low` up to but without `high`: as many as fit into `bytes_max` bytes of content, at least
    /// one. Entries appended but not yet flushed are included.
    ///
    /// They are read from the disk and verified again.
    pub fn entries(
        &mut self,
        low: LogIndex,
        high: LogIndex,
        bytes_max: u64,
    ) -> Result<Vec<Entry>, ReadError> {
        self.wal.check()?;
        let (first, last) = (self.first_index(), self.last_index());
        if low < first || high > last.next() {
            return Err(ReadError::OutOfRange { first, last });
        }
        let mut gathered = Gathered { entries: Vec::new(), next: low, high, bytes_left: bytes_max };
        while !gathered.is_done() {
            let wanted = gathered.next;
            let Some((mark, next)) = self.state.index.marks_around(wanted) else {
                return Err(ReadError::OutOfRange { first, last });
            };
            self.gather(&mut gathered, mark, next)?;
            if gathered.next == wanted && !gathered.is_done() {
                let what = "an entry that was here is no longer found";
                return Err(Corruption::at(mark.position, what).into());
            }
        }
        Ok(gathered.entries)
    }

    /// Reads from one mark up to the next.
    fn gather(&mut self, gathered: &mut Gathered, mark: Mark, next: Option<Mark>) -> Result<(), ReadError> {
        let limit = next.map_or(LogIndex::MAX, |next| next.index);
        let until: Option<Position> = next.map(|next| next.position);
        let mut reader = self.wal.reader(mark.position, until)?;
        while !gathered.is_done() {
            let Some(record) = reader.next()? else { break };
            if record.payload.first() == Some(&codec::RESET) {
                continue;
            }
            let taken = gathered.take(record.payload, limit);
            taken.map_err(|_| Corruption::at(record.position, "the record cannot be understood"))?;
        }
        Ok(())
    }
}
