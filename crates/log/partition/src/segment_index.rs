//! The sparse index of a segment: places between batches, by offset and by time, and their form in a file beside the
//! segment.
//!
//! The file is a row of frames. Each says of which segment it is and has a checksum, so that a frame that was torn, is
//! missing or belongs elsewhere is noticed; the frames before it still hold. The index is never needed: without it a reader
//! passes over batches from the last place that it knows.

use crate::sealed::{Damage, check};
use crate::varint::{put_signed, put_unsigned, take_signed, take_unsigned};
use crate::{Boundary, Offset, SegmentId};

/// How many bytes of batches lie between two entries, at least.
pub(crate) const INTERVAL_BYTES: u64 = 16 << 10;
/// Bytes before a frame's content: its length and its checksum.
const FRAME_HEAD_BYTES: usize = 8;
/// The longest content of a frame that is taken: longer ones are never written.
const CONTENT_BYTES_MAX: usize = 1 << 20;
const FORMAT: u64 = 1;

/// A place between two batches of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// By how much the offset there is above the segment's base: no record before has it or one above, none behind has one
    /// below.
    pub(crate) offset: u32,
    /// Bytes before.
    pub(crate) position: u32,
    /// The highest timestamp of all batches before, milliseconds.
    pub(crate) highest_before_ms: i64,
}

impl IndexEntry {
    /// Where every segment begins.
    const FIRST: Self = Self { offset: 0, position: 0, highest_before_ms: i64::MIN };

    /// The entry for a place in a segment; nothing if it is too far behind the beginning.
    pub(crate) fn new(base: Offset, at: Boundary, highest_before_ms: i64) -> Option<Self> {
        let offset = u32::try_from(at.offset.since(base)).ok()?;
        Some(Self { offset, position: u32::try_from(at.position).ok()?, highest_before_ms })
    }

    pub(crate) fn boundary(&self, base: Offset) -> Boundary {
        Boundary { offset: base.plus(i64::from(self.offset)), position: u64::from(self.position) }
    }
}

/// The last of the entries that does not lie behind `offset`.
pub(crate) fn entry_at(entries: &[IndexEntry], base: Offset, offset: Offset) -> Option<IndexEntry> {
    let behind = entries.partition_point(|entry| i64::from(entry.offset) <= offset.since(base));
    behind.checked_sub(1).and_then(|at| entries.get(at)).copied()
}

/// The last of the entries with at most that position and offset.
pub(crate) fn entry_within(entries: &[IndexEntry], base: Offset, most: Boundary) -> Option<IndexEntry> {
    let behind = entries.partition_point(|entry| {
        u64::from(entry.position) <= most.position && i64::from(entry.offset) <= most.offset.since(base)
    });
    behind.checked_sub(1).and_then(|at| entries.get(at)).copied()
}

/// The last of the entries before which every timestamp is below that one.
pub(crate) fn entry_of_time(entries: &[IndexEntry], timestamp_ms: i64) -> Option<IndexEntry> {
    let behind = entries.partition_point(|entry| entry.highest_before_ms < timestamp_ms);
    behind.checked_sub(1).and_then(|at| entries.get(at)).copied()
}

/// Appends a frame with these entries.
pub(crate) fn put_frame(segment: SegmentId, entries: &[IndexEntry], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; FRAME_HEAD_BYTES]);
    put_unsigned(FORMAT, out);
    out.extend_from_slice(&segment.base.0.to_be_bytes());
    put_unsigned(u64::from(segment.generation), out);
    put_unsigned(entries.len() as u64, out);
    let mut last = IndexEntry { highest_before_ms: 0, ..IndexEntry::FIRST };
    for entry in entries {
        put_unsigned(u64::from(entry.offset - last.offset), out);
        put_unsigned(u64::from(entry.position - last.position), out);
        put_signed(entry.highest_before_ms.wrapping_sub(last.highest_before_ms), out);
        last = *entry;
    }
    let content = start + FRAME_HEAD_BYTES;
    let length = (out.len() - content) as u32;
    let crc = crc32c::crc32c(out.get(content..).unwrap_or_default());
    let head = out.get_mut(start..content).and_then(|head| head.split_first_chunk_mut::<4>());
    if let Some((place, rest)) = head {
        *place = length.to_be_bytes();
        rest.copy_from_slice(&crc.to_be_bytes());
    }
}

/// The index of a segment that is written once, from its beginning to its end.
#[derive(Debug)]
pub struct IndexBuilder {
    segment: SegmentId,
    entries: Vec<IndexEntry>,
    last: Boundary,
    bytes: Vec<u8>,
}

impl IndexBuilder {
    /// How many entries go into a frame.
    const FRAME_ENTRIES: usize = 512;

    /// Of an empty segment.
    #[must_use]
    pub const fn new(segment: SegmentId) -> Self {
        let last = Boundary { offset: segment.base, position: 0 };
        Self { segment, entries: Vec::new(), last, bytes: Vec::new() }
    }

    /// A batch follows at that place; the highest timestamp before it, milliseconds.
    pub fn push(&mut self, at: Boundary, highest_before_ms: i64) {
        if SegmentIndex::is_far(self.last, at)
            && let Some(entry) = IndexEntry::new(self.segment.base, at, highest_before_ms)
        {
            self.last = at;
            self.entries.push(entry);
            if self.entries.len() == Self::FRAME_ENTRIES {
                put_frame(self.segment, &self.entries, &mut self.bytes);
                self.entries.clear();
            }
        }
    }

    /// The content of the file beside the segment; empty for a small segment, which needs none.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        if !self.entries.is_empty() {
            put_frame(self.segment, &self.entries, &mut self.bytes);
        }
        self.bytes
    }
}

/// The entries of a segment that are known, for readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentIndex {
    segment: SegmentId,
    entries: Vec<IndexEntry>,
}

impl SegmentIndex {
    /// Nothing is known but where the segment begins.
    #[must_use]
    pub const fn new(segment: SegmentId) -> Self {
        Self { segment, entries: Vec::new() }
    }

    /// Takes over the frames that `bytes` begin with. Gives how many bytes they have; behind them stands something that is not
    /// a frame of this segment, or nothing.
    pub fn extend(&mut self, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        while let Some((entries, behind)) = self.frame(rest) {
            self.entries.extend(entries);
            rest = behind;
        }
        if !self.entries.is_sorted_by(IndexEntry::rises_to) {
            // A reader knew some of these places already.
            self.entries.sort_by_key(|entry| entry.position);
            self.entries.dedup_by_key(|entry| entry.position);
        }
        bytes.len() - rest.len()
    }

    /// A reader met this place, which lies [far enough](Self::is_far) behind the last entry before it.
    pub fn learn(&mut self, at: Boundary, highest_before_ms: i64) {
        let Some(entry) = IndexEntry::new(self.segment.base, at, highest_before_ms) else { return };
        let place = self.entries.partition_point(|known| known.position < entry.position);
        if self.entries.get(place).is_none_or(|known| known.position > entry.position) {
            self.entries.insert(place, entry);
        }
    }

    /// Whether a place is far enough behind another one for an entry of its own.
    #[must_use]
    pub const fn is_far(from: Boundary, to: Boundary) -> bool {
        to.position.saturating_sub(from.position) >= INTERVAL_BYTES
    }

    /// The last place known that is not behind `offset`, with the highest timestamp before it.
    #[must_use]
    pub fn before(&self, offset: Offset) -> (Boundary, i64) {
        self.place(entry_at(&self.entries, self.segment.base, offset))
    }

    /// The last place known with at most that position and offset.
    #[must_use]
    pub fn within(&self, most: Boundary) -> Boundary {
        self.place(entry_within(&self.entries, self.segment.base, most)).0
    }

    /// The last place known before which every timestamp is below that one, with the highest timestamp before it.
    #[must_use]
    pub fn before_time(&self, timestamp_ms: i64) -> (Boundary, i64) {
        self.place(entry_of_time(&self.entries, timestamp_ms))
    }

    /// How many places are known, besides the beginning.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is known but the beginning.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn place(&self, entry: Option<IndexEntry>) -> (Boundary, i64) {
        let entry = entry.unwrap_or(IndexEntry::FIRST);
        (entry.boundary(self.segment.base), entry.highest_before_ms)
    }

    /// The entries of the frame that `bytes` begin with, and what is behind it.
    fn frame<'b>(&self, bytes: &'b [u8]) -> Option<(Vec<IndexEntry>, &'b [u8])> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (crc, rest) = rest.split_first_chunk()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (content, behind) = rest.split_at_checked(length).filter(|_| length <= CONTENT_BYTES_MAX)?;
        if crc32c::crc32c(content) != u32::from_be_bytes(*crc) {
            return None;
        }
        Some((self.content(content).ok()?, behind))
    }

    fn content(&self, content: &[u8]) -> Result<Vec<IndexEntry>, Damage> {
        let mut rest = content;
        check(take_unsigned(&mut rest)? == FORMAT, "an index of an unknown format")?;
        let (base, behind) = rest.split_first_chunk().ok_or(Damage::Content("an index that ends early"))?;
        rest = behind;
        let generation = u32::try_from(take_unsigned(&mut rest)?);
        let generation = generation.map_err(|_| Damage::Content("an index of an impossible segment"))?;
        let segment = SegmentId { base: Offset(i64::from_be_bytes(*base)), generation };
        check(segment == self.segment, "an index of another segment")?;
        let count = usize::try_from(take_unsigned(&mut rest)?).unwrap_or(usize::MAX);
        check(count <= rest.len(), "an index of more entries than bytes")?;
        let mut last = IndexEntry { highest_before_ms: 0, ..IndexEntry::FIRST };
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            let (offset, position) = (take_unsigned(&mut rest)?, take_unsigned(&mut rest)?);
            let (offset, position) = (
                u64::from(last.offset).saturating_add(offset),
                u64::from(last.position).saturating_add(position),
            );
            let fits = u32::try_from(offset).ok().zip(u32::try_from(position).ok());
            let (offset, position) = fits.ok_or(Damage::Content("an index beyond its segment"))?;
            let highest_before_ms = last.highest_before_ms.wrapping_add(take_signed(&mut rest)?);
            last = IndexEntry { offset, position, highest_before_ms };
            let rises = entries.last().is_none_or(|before: &IndexEntry| before.rises_to(&last));
            check(rises, "an index that does not rise")?;
            entries.push(last);
        }
        Ok(entries)
    }
}

impl IndexEntry {
    const fn rises_to(&self, next: &Self) -> bool {
        self.offset <= next.offset
            && self.position < next.position
            && self.highest_before_ms <= next.highest_before_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: SegmentId = SegmentId { base: Offset(1_000), generation: 3 };

    fn entries(range: std::ops::Range<u32>) -> Vec<IndexEntry> {
        let entry = |at: u32| IndexEntry {
            offset: at * 10,
            position: at * 20_000,
            highest_before_ms: 1_700_000_000_000 + i64::from(at / 3),
        };
        range.map(entry).collect()
    }

    fn index() -> SegmentIndex {
        let mut bytes = Vec::new();
        put_frame(SEGMENT, &entries(1..40), &mut bytes);
        put_frame(SEGMENT, &entries(40..70), &mut bytes);
        let mut index = SegmentIndex::new(SEGMENT);
        assert_eq!(index.extend(&bytes), bytes.len());
        index
    }

    fn at(offset: i64, position: u64) -> Boundary {
        Boundary { offset: Offset(offset), position }
    }

    #[test]
    fn index_comes_back_from_its_frames() {
        let index = index();
        assert_eq!((index.entries.clone(), index.len()), (entries(1..70), 69));
        assert_eq!(index.before(Offset(1_000)), (at(1_000, 0), i64::MIN));
        assert_eq!(index.before(Offset(1_009)).0, at(1_000, 0));
        assert_eq!(index.before(Offset(1_010)).0, at(1_010, 20_000), "a place is its own");
        assert_eq!(index.before(Offset(9_999)).0, at(1_690, 69 * 20_000));
        assert_eq!(index.within(at(9_999, 59_999)), at(1_020, 40_000));
        assert_eq!(index.within(at(1_015, u64::MAX)), at(1_010, 20_000));
        assert_eq!(index.before_time(1_700_000_000_001).0, at(1_020, 40_000));
        assert_eq!(index.before_time(0).0, at(1_000, 0));
    }

    #[test]
    fn frame_that_is_damaged_torn_or_of_another_segment_ends_the_index() {
        let mut bytes = Vec::new();
        put_frame(SEGMENT, &entries(1..4), &mut bytes);
        let whole = bytes.len();
        put_frame(SEGMENT, &entries(4..9), &mut bytes);
        for bit in whole * 8..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let mut index = SegmentIndex::new(SEGMENT);
            assert_eq!(index.extend(&flipped), whole, "bit {bit}");
            assert_eq!(index.len(), 3);
        }
        for cut in whole..bytes.len() {
            assert_eq!(SegmentIndex::new(SEGMENT).extend(&bytes[..cut]), whole);
        }
        for other in [SegmentId { generation: 4, ..SEGMENT }, SegmentId { base: Offset(1_001), ..SEGMENT }] {
            assert_eq!(SegmentIndex::new(other).extend(&bytes), 0);
        }
        let mut index = SegmentIndex::new(SEGMENT);
        assert_eq!((index.extend(&bytes), index.extend(&bytes), index.len()), (bytes.len(), bytes.len(), 8));
    }

    #[test]
    fn index_that_is_built_is_read() {
        let mut builder = IndexBuilder::new(SEGMENT);
        for place in 0..10_000 {
            builder.push(at(1_000 + place, place.cast_unsigned() * 5_000), place);
        }
        let bytes = builder.finish();
        let mut index = SegmentIndex::new(SEGMENT);
        assert_eq!((index.extend(&bytes), index.len()), (bytes.len(), 2_499));
        assert_eq!(index.before(Offset(9_001)).0, at(9_000, 8_000 * 5_000));
        assert!(IndexBuilder::new(SEGMENT).finish().is_empty());
    }

    #[test]
    fn place_that_a_reader_met_is_known_afterwards() {
        let mut index = index();
        index.learn(at(1_015, 30_000), 1_700_000_000_000);
        index.learn(at(1_020, 40_000), 1_700_000_000_000);
        assert_eq!(index.before(Offset(1_017)).0, at(1_015, 30_000));
        assert_eq!(index.before(Offset(1_020)).0, at(1_020, 40_000));
        assert!(index.entries.is_sorted_by(IndexEntry::rises_to));
        assert_eq!(index.len(), 70, "a place is known once");
        assert!(SegmentIndex::is_far(at(0, 5), at(1, 5 + INTERVAL_BYTES)));
        assert!(!SegmentIndex::is_far(at(0, 5), at(1, 4 + INTERVAL_BYTES)));
    }
}
