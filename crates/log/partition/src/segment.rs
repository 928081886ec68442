//! What a partition knows of each segment: where it begins and ends, how long it is, and of when its records are.

use base::WallTime;
use log_wire::{Batch, BatchHead, Reader, Writer};

use crate::sealed::{Damage, check};
use crate::{Offset, Place, SegmentId};

/// Bytes of a segment in a state.
pub(crate) const SEGMENT_BYTES: usize = 69;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    id: SegmentId,
    /// The offset behind its last record.
    end: Offset,
    bytes: u64,
    /// A batch stands in it that does not begin where the one before it ends: another broker's log was compacted before it was copied.
    has_holes: bool,
    /// The timestamp of its first batch, milliseconds; -1 for none.
    first_ms: i64,
    /// The highest timestamp, milliseconds, -1 for none, and the first offset of the first batch that has it.
    highest_ms: i64,
    highest_at: Offset,
    /// When its first and its last batch were appended.
    began: WallTime,
    appended: WallTime,
}

impl Segment {
    /// One without a batch.
    #[must_use]
    pub const fn new(id: SegmentId) -> Self {
        let never = WallTime::of_ms(0);
        Self {
            id,
            end: id.base,
            bytes: 0,
            has_holes: false,
            first_ms: -1,
            highest_ms: -1,
            highest_at: id.base,
            began: never,
            appended: never,
        }
    }

    /// One without a batch that takes the place of others.
    #[must_use]
    pub fn compacted(id: SegmentId, of: &[Self]) -> Self {
        let began = of.iter().map(|segment| segment.began).min().unwrap_or_default();
        let appended = of.iter().map(|segment| segment.appended).max().unwrap_or_default();
        Self { began, appended, ..Self::new(id) }
    }

    /// A batch follows that stood in one of the segments whose place this one takes.
    pub fn push_kept(&mut self, batch: &BatchHead) {
        let (began, appended) = (self.began, self.appended);
        self.push_head(batch, appended);
        (self.began, self.appended) = (began, appended);
    }

    /// A batch follows, appended at that time.
    pub fn push(&mut self, batch: &Batch<'_>, now: WallTime) {
        self.push_head(&BatchHead::of(batch), now);
    }

    /// The same, of which the header is known.
    fn push_head(&mut self, batch: &BatchHead, now: WallTime) {
        if self.bytes == 0 {
            (self.first_ms, self.began) = (batch.max_timestamp, now);
        }
        if batch.max_timestamp > self.highest_ms {
            (self.highest_ms, self.highest_at) = (batch.max_timestamp, Offset(batch.base_offset));
        }
        self.has_holes |= Offset(batch.base_offset) != self.end;
        self.appended = self.appended.max(now);
        self.bytes += batch.bytes;
        self.end = Offset(batch.last_offset).next();
    }

    /// Which one.
    #[must_use]
    pub const fn id(&self) -> SegmentId {
        self.id
    }

    /// The offset at which it begins.
    #[must_use]
    pub const fn base(&self) -> Offset {
        self.id.base
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

    /// Whether a batch may begin behind the end of the one before it: compaction leaves holes, in the log itself or in the one that it
    /// was copied from.
    #[must_use]
    pub const fn may_have_holes(&self) -> bool {
        self.has_holes || self.id.generation > 0
    }

    /// Whether it holds no batch.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The timestamp of its first batch, milliseconds; if it has none, when that was appended.
    #[must_use]
    pub const fn first_ms(&self) -> i64 {
        if self.first_ms >= 0 { self.first_ms } else { self.began.ms() }
    }

    /// The highest timestamp, milliseconds; -1 for none.
    #[must_use]
    pub const fn highest_ms(&self) -> i64 {
        self.highest_ms
    }

    /// The first offset of the first batch that has the highest timestamp.
    #[must_use]
    pub const fn highest_at(&self) -> Offset {
        self.highest_at
    }

    /// The highest timestamp, milliseconds; if there is none, when its last batch was appended.
    #[must_use]
    pub const fn newest_ms(&self) -> i64 {
        if self.highest_ms >= 0 { self.highest_ms } else { self.appended.ms() }
    }

    /// Where the next batch stands.
    #[must_use]
    pub const fn end_place(&self) -> Place {
        Place { segment: self.id.base, position: self.bytes }
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.i64(self.id.base.0).i32(self.id.generation.cast_signed());
        writer.i64(self.end.0).i64(self.bytes.cast_signed());
        writer.i64(self.first_ms).i64(self.highest_ms).i64(self.highest_at.0);
        writer.i64(self.began.ms()).i64(self.appended.ms()).bool(self.has_holes);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let (base, generation) = (Offset(reader.i64()?), reader.i32()?.cast_unsigned());
        let (end, bytes) = (Offset(reader.i64()?), reader.i64()?);
        let bytes = u64::try_from(bytes).map_err(|_| Damage::Content("a segment of no length"))?;
        check(Offset::ZERO <= base && base <= end, "a segment that ends before it begins")?;
        check((bytes == 0) == (base == end), "a segment of offsets without batches")?;
        Ok(Self {
            id: SegmentId { base, generation },
            end,
            bytes,
            first_ms: reader.i64()?,
            highest_ms: reader.i64()?,
            highest_at: Offset(reader.i64()?),
            began: WallTime::of_ms(reader.i64()?),
            appended: WallTime::of_ms(reader.i64()?),
            has_holes: reader.bool()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assigned, plain};

    #[test]
    fn segment_knows_its_newest_record_and_where_that_stands() {
        let mut segment = Segment::new(SegmentId::appended(Offset(10)));
        assert_eq!((segment.is_empty(), segment.end(), segment.highest_ms()), (true, Offset(10), -1));
        for (offset, time) in [(10, 500), (12, 900), (14, 900), (16, 100)] {
            segment.push(&assigned(&plain(offset, time, 2, 5)), WallTime::of_ms(1_000 + offset));
        }
        assert_eq!((segment.first_ms(), segment.highest_ms(), segment.newest_ms()), (500, 900, 900));
        assert_eq!((segment.highest_at(), segment.end()), (Offset(12), Offset(18)), "the first of them");
    }

    #[test]
    fn segment_knows_whether_it_was_copied_with_holes() {
        for (second, has_holes) in [(12, false), (13, true)] {
            let mut segment = Segment::new(SegmentId::appended(Offset(10)));
            for offset in [10, second] {
                segment.push(&assigned(&plain(offset, 500, 2, 5)), WallTime::of_ms(1_000));
            }
            let mut bytes = Vec::new();
            segment.write(&mut Writer::new(&mut bytes, true));
            assert_eq!(bytes.len(), SEGMENT_BYTES);
            let read = Segment::read(&mut Reader::new(&bytes, true)).expect("it is one");
            assert_eq!((read.may_have_holes(), &read), (has_holes, &segment));
        }
    }

    #[test]
    fn segment_without_timestamps_is_as_old_as_its_batches() {
        let mut segment = Segment::new(SegmentId::appended(Offset(0)));
        for (offset, now) in [(0, 7_000), (1, 9_000)] {
            segment.push(&assigned(&plain(offset, -1, 1, 5)), WallTime::of_ms(now));
        }
        assert_eq!((segment.first_ms(), segment.newest_ms(), segment.highest_ms()), (7_000, 9_000, -1));
    }

    #[test]
    fn segment_of_a_state_comes_back() {
        let mut segment = Segment::new(SegmentId { base: Offset(10), generation: 7 });
        segment.push(&assigned(&plain(10, 500, 2, 5)), WallTime::of_ms(3));
        let mut bytes = Vec::new();
        segment.write(&mut Writer::new(&mut bytes, false));
        assert_eq!(bytes.len(), SEGMENT_BYTES);
        assert_eq!(Segment::read(&mut Reader::new(&bytes, false)), Ok(segment));
        for at in [0, 12, 20] {
            let mut wrong = bytes.clone();
            wrong[at..at + 8].copy_from_slice(&(-1i64).to_be_bytes());
            assert!(Segment::read(&mut Reader::new(&wrong, false)).is_err(), "byte {at}");
        }
    }
}
