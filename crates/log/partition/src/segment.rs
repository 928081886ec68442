//! A segment as a partition knows it: where it begins, how long it is, and a sparse index into it by offset and by time.

use log_wire::{BATCH_HEADER_BYTES, Batch, BatchError};

use crate::{Offset, Place};

/// How many bytes of batches lie between two entries of the index, at least.
const INDEX_BYTES: u64 = 16 << 10;

/// A place in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// The offset of the batch there.
    offset: Offset,
    position: u64,
    /// The highest timestamp of all batches before, milliseconds.
    highest_before_ms: i64,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    base: Offset,
    /// The offset behind its last record.
    end: Offset,
    bytes: u64,
    /// The timestamp of its first batch, and the highest, milliseconds; -1 for none.
    first_ms: i64,
    highest_ms: i64,
    entries: Vec<Entry>,
}

impl Segment {
    /// One without a batch.
    #[must_use]
    pub const fn new(base: Offset) -> Self {
        Self { base, end: base, bytes: 0, first_ms: -1, highest_ms: -1, entries: Vec::new() }
    }

    /// A batch follows.
    pub fn push(&mut self, batch: &Batch<'_>) {
        let last = self.entries.last().map_or(0, |entry| entry.position);
        if self.bytes == 0 || self.bytes - last >= INDEX_BYTES {
            let offset = Offset(batch.base_offset());
            self.entries.push(Entry { offset, position: self.bytes, highest_before_ms: self.highest_ms });
        }
        if self.bytes == 0 {
            self.first_ms = batch.max_timestamp();
        }
        self.highest_ms = self.highest_ms.max(batch.max_timestamp());
        self.bytes += batch.bytes().len() as u64;
        self.end = Offset(batch.last_offset()).next();
    }

    /// Takes over as many whole batches as `bytes` begins with: what was read from the segment behind its end, as far as
    /// it is known. Gives how many bytes they have. Those that do not continue the segment are none of it.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn scan(&mut self, bytes: &[u8]) -> Result<usize, BatchError> {
        let mut rest = bytes;
        while rest.len() >= BATCH_HEADER_BYTES {
            let (batch, behind) = match Batch::read(rest) {
                Ok(read) => read,
                Err(BatchError::Length) => break,
                Err(other) => return Err(other),
            };
            if Offset(batch.base_offset()) < self.end {
                return Err(BatchError::Invalid("does not continue its segment"));
            }
            self.push(&batch);
            rest = behind;
        }
        Ok(bytes.len() - rest.len())
    }

    /// The offset at which it begins.
    #[must_use]
    pub const fn base(&self) -> Offset {
        self.base
    }

    /// The offset behind its last record.
    #[must_use]
    pub const fn end(&self) -> Offset {
        self.end
    }

    /// Its length.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The timestamp of its first batch, milliseconds; -1 for none.
    #[must_use]
    pub const fn first_ms(&self) -> i64 {
        self.first_ms
    }

    /// The highest timestamp, milliseconds; -1 for none.
    #[must_use]
    pub const fn highest_ms(&self) -> i64 {
        self.highest_ms
    }

    /// Where the next batch stands.
    #[must_use]
    pub const fn end_place(&self) -> Place {
        Place { segment: self.base, position: self.bytes }
    }

    /// A place at or before the batch with that offset, not far before it.
    #[must_use]
    pub fn place_of(&self, offset: Offset) -> Place {
        let behind = self.entries.partition_point(|entry| entry.offset <= offset);
        self.at(behind)
    }

    /// A place at or before the first batch whose highest timestamp is not below that one; nothing if there is none.
    #[must_use]
    pub fn place_of_time(&self, timestamp_ms: i64) -> Option<Place> {
        if self.highest_ms < timestamp_ms {
            return None;
        }
        let behind = self.entries.partition_point(|entry| entry.highest_before_ms < timestamp_ms);
        Some(self.at(behind))
    }

    fn at(&self, behind: usize) -> Place {
        let entry = behind.checked_sub(1).and_then(|at| self.entries.get(at));
        Place { segment: self.base, position: entry.map_or(0, |entry| entry.position) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assigned, plain};

    fn segment() -> (Segment, Vec<u8>) {
        let mut bytes = Vec::new();
        for at in 0..400 {
            bytes.extend(plain(10 + at * 2, 1_000 + at * 10, 2, 300));
        }
        let mut segment = Segment::new(Offset(10));
        assert_eq!(segment.scan(&bytes), Ok(bytes.len()));
        (segment, bytes)
    }

    fn batch_at(bytes: &[u8], place: Place) -> Batch<'_> {
        assigned(&bytes[place.position as usize..])
    }

    #[test]
    fn offset_is_found_close_behind_its_place() {
        let (segment, bytes) = segment();
        assert!(segment.entries.len() > 4);
        for offset in [10, 11, 12, 400, 555, 808, 809] {
            let place = segment.place_of(Offset(offset));
            let found = batch_at(&bytes, place);
            assert!(found.base_offset() <= offset, "{offset}");
            let own = segment.place_of(Offset(offset + 80)).position - place.position;
            assert!(own < 3 * INDEX_BYTES, "{offset}");
        }
        assert_eq!((segment.end(), segment.bytes()), (Offset(810), bytes.len() as u64));
    }

    #[test]
    fn time_is_found_at_or_behind_its_place() {
        let (segment, bytes) = segment();
        for time in [0, 1_000, 1_015, 3_000, 4_990] {
            let place = segment.place_of_time(time).expect("it is not above all");
            let mut before = Segment::new(Offset(10));
            before.scan(&bytes[..place.position as usize]).expect("whole batches");
            assert!(before.highest_ms() < time, "{time}");
        }
        assert_eq!(segment.place_of_time(4_991), None);
    }

    #[test]
    fn scan_in_pieces_finds_the_same() {
        let (whole, bytes) = segment();
        let mut pieces = Segment::new(Offset(10));
        let mut at = 0;
        while at < bytes.len() {
            at += pieces.scan(&bytes[at..bytes.len().min(at + 777)]).expect("whole batches");
        }
        assert_eq!(pieces, whole);
        let again = pieces.scan(&bytes);
        assert_eq!(again, Err(BatchError::Invalid("does not continue its segment")));
    }
}
