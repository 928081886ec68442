//! The index of the segment that is appended to. It grows with each batch, and gives away what is older in frames for a file
//! beside the segment, so that its memory is bounded: at most [`ENTRIES_MAX`] entries, and a place for each frame.

use bytes::Bytes;
use log_wire::{Reader, Writer};

use crate::sealed::{Damage, check};
use crate::segment_index::{INTERVAL_BYTES, IndexEntry, entry_at, entry_of_time, entry_within, put_frame};
use crate::{Boundary, Offset, SegmentId};

/// When there are so many entries, the first [`FRAME_ENTRIES`] are given away. The others are kept, because what is read is
/// mostly the end of the log.
const ENTRIES_MAX: usize = 2 * FRAME_ENTRIES;
const FRAME_ENTRIES: usize = 512;
/// Of the entries that are not in a frame, every so many is kept with the state: 1 MiB of batches lies between two.
const STATE_EVERY: usize = 64;
const ENTRY_BYTES: usize = 16;
/// Instead of the length of a file that is lost.
const NO_FILE: i64 = -1;

/// A part of an index, for the file beside its segment. Nothing depends on it: it may be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexFrame {
    /// The segment.
    pub segment: SegmentId,
    /// Where in the file it goes, bytes.
    pub position: u64,
    /// Whether it is the last one of its segment.
    pub is_last: bool,
    /// The frame.
    pub bytes: Bytes,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ActiveIndex {
    /// The first entry of each frame that was given away.
    frames: Vec<IndexEntry>,
    /// Those behind the frames.
    entries: Vec<IndexEntry>,
    /// Bytes of the frames; nothing if the file is lost, because something that it tells of was cut off. Then nothing more is
    /// given away: a file without its beginning tells nothing.
    file_bytes: Option<u64>,
}

impl Default for ActiveIndex {
    fn default() -> Self {
        Self { frames: Vec::new(), entries: Vec::new(), file_bytes: Some(0) }
    }
}

impl ActiveIndex {
    /// Of a segment that is appended to again: what was known of it was given away.
    pub(crate) const fn lost() -> Self {
        Self { frames: Vec::new(), entries: Vec::new(), file_bytes: None }
    }

    /// The segment ends there from now on. What was given away may tell of more: then its file is lost.
    pub(crate) fn cut(&mut self, bytes: u64) {
        let is_before = |entry: &IndexEntry| u64::from(entry.position) < bytes;
        self.entries.retain(is_before);
        if self.entries.is_empty() && !self.frames.is_empty() {
            self.frames.retain(is_before);
            self.file_bytes = None;
        }
    }

    /// Whether the file beside the segment, if there is one, tells nothing false.
    pub(crate) const fn has_file(&self) -> bool {
        self.file_bytes.is_some()
    }

    /// A batch follows at that place. Gives a frame if there are many entries.
    pub(crate) fn push(
        &mut self,
        segment: SegmentId,
        at: Boundary,
        highest_before_ms: i64,
    ) -> Option<IndexFrame> {
        let last = self.entries.last().or_else(|| self.frames.last());
        if at.position - last.map_or(0, |last| u64::from(last.position)) < INTERVAL_BYTES {
            return None;
        }
        self.entries.push(IndexEntry::new(segment.base, at, highest_before_ms)?);
        if self.entries.len() == ENTRIES_MAX { self.give(segment, FRAME_ENTRIES, false) } else { None }
    }

    /// Nothing more is appended to the segment. Gives what is left, if there is anything.
    pub(crate) fn seal(self, segment: SegmentId) -> Option<IndexFrame> {
        let (mut sealed, left) = (self.clone(), self.entries.len());
        if left > 0 { sealed.give(segment, left, true) } else { None }
    }

    fn give(&mut self, segment: SegmentId, count: usize, is_last: bool) -> Option<IndexFrame> {
        let entries: Vec<IndexEntry> = self.entries.drain(..count).collect();
        self.frames.extend(entries.first());
        let mut bytes = Vec::new();
        let position = self.file_bytes?;
        put_frame(segment, &entries, &mut bytes);
        self.file_bytes = Some(position + bytes.len() as u64);
        Some(IndexFrame { segment, position, is_last, bytes: bytes.into() })
    }

    /// The last place known that is not behind `offset`, with the highest timestamp before it.
    pub(crate) fn before(&self, base: Offset, offset: Offset) -> Option<(Boundary, i64)> {
        let found = entry_at(&self.entries, base, offset).or_else(|| entry_at(&self.frames, base, offset));
        found.map(|entry| (entry.boundary(base), entry.highest_before_ms))
    }

    /// The last place known with at most that position and offset.
    pub(crate) fn within(&self, base: Offset, most: Boundary) -> Option<Boundary> {
        let found =
            entry_within(&self.entries, base, most).or_else(|| entry_within(&self.frames, base, most));
        found.map(|entry| entry.boundary(base))
    }

    /// The last place known before which every timestamp is below that one, with the highest timestamp before it.
    pub(crate) fn before_time(&self, base: Offset, timestamp_ms: i64) -> Option<(Boundary, i64)> {
        let of_time = |entries: &[IndexEntry]| entry_of_time(entries, timestamp_ms);
        let found = of_time(&self.entries).or_else(|| of_time(&self.frames));
        found.map(|entry| (entry.boundary(base), entry.highest_before_ms))
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.i64(self.file_bytes.map_or(NO_FILE, u64::cast_signed));
        let entries: Vec<&IndexEntry> = self.entries.iter().step_by(STATE_EVERY).collect();
        for list in [&self.frames.iter().collect(), &entries] {
            let list: &Vec<&IndexEntry> = list;
            writer.count(list.len());
            for entry in list {
                writer.i32(entry.offset.cast_signed()).i32(entry.position.cast_signed());
                writer.i64(entry.highest_before_ms);
            }
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let file_bytes = match reader.i64()? {
            NO_FILE => None,
            bytes => Some(u64::try_from(bytes).map_err(|_| Damage::Content("a file of no length"))?),
        };
        let frames = read_entries(reader)?;
        let entries = read_entries(reader)?;
        let rises = frames.last().zip(entries.first()).is_none_or(|(a, b)| a.position < b.position);
        check(rises, "an index that does not rise")?;
        Ok(Self { frames, entries, file_bytes })
    }
}

fn read_entries(reader: &mut Reader<'_>) -> Result<Vec<IndexEntry>, Damage> {
    let mut entries: Vec<IndexEntry> = Vec::new();
    for _ in 0..reader.count(ENTRY_BYTES)? {
        let (offset, position) = (reader.i32()?.cast_unsigned(), reader.i32()?.cast_unsigned());
        let entry = IndexEntry { offset, position, highest_before_ms: reader.i64()? };
        let rises = entries.last().is_none_or(|last| last.position < position && last.offset <= offset);
        check(rises, "an index that does not rise")?;
        entries.push(entry);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment_index::SegmentIndex;

    const SEGMENT: SegmentId = SegmentId::appended(Offset(500));

    fn place(at: u64) -> Boundary {
        Boundary { offset: Offset(500 + at.cast_signed()), position: at * 5_000 }
    }

    /// With the file that its frames make.
    fn grown(batches: u64) -> (ActiveIndex, Vec<u8>) {
        let (mut index, mut file) = (ActiveIndex::default(), Vec::new());
        for at in 0..batches {
            if let Some(frame) = index.push(SEGMENT, place(at), at.cast_signed()) {
                assert_eq!((frame.position, frame.is_last), (file.len() as u64, false));
                file.extend_from_slice(&frame.bytes);
            }
        }
        (index, file)
    }

    #[test]
    fn index_keeps_a_bounded_number_of_entries_and_gives_the_others_away() {
        let (index, mut file) = grown(20_000);
        assert!(index.entries.len() < ENTRIES_MAX);
        assert_eq!(index.frames.len(), 20_000 / 4 / FRAME_ENTRIES - 1);
        let (file_bytes, end) = (index.file_bytes, index.clone());
        let last = index.seal(SEGMENT).expect("something is left");
        assert_eq!((Some(last.position), last.is_last), (file_bytes, true));
        file.extend_from_slice(&last.bytes);
        let mut read = SegmentIndex::new(SEGMENT);
        assert_eq!((read.extend(&file), read.len()), (file.len(), 4_999));
        for offset in (0..20_000).step_by(7) {
            let own = end.before(SEGMENT.base, place(offset).offset).map_or(place(0), |known| known.0);
            let found = read.before(place(offset).offset).0;
            assert!(own.position <= found.position && found.offset <= place(offset).offset);
        }
        let near = end.before(SEGMENT.base, place(19_999).offset).expect("it is in memory");
        assert!(!SegmentIndex::is_far(near.0, place(19_999)));
    }

    #[test]
    fn index_of_a_state_knows_places_that_are_not_far_apart() {
        let (index, _) = grown(9_000);
        let mut bytes = Vec::new();
        index.write(&mut Writer::new(&mut bytes, false));
        let mut reader = Reader::new(&bytes, false);
        let read = ActiveIndex::read(&mut reader).expect("it was written");
        assert!(reader.end().is_ok() && bytes.len() < 1_000, "{}", bytes.len());
        assert_eq!((read.file_bytes, &read.frames), (index.file_bytes, &index.frames));
        let (found, _) = read.before(SEGMENT.base, place(8_999).offset).expect("it is known");
        assert!(place(8_999).position - found.position < 2 << 20);
        for cut in 0..bytes.len() {
            assert!(ActiveIndex::read(&mut Reader::new(&bytes[..cut], false)).is_err(), "{cut}");
        }
    }

    #[test]
    fn index_of_a_segment_that_is_cut_forgets_what_is_cut_off() {
        let (mut index, _) = grown(9_000);
        let known =
            |index: &ActiveIndex| index.before(SEGMENT.base, Offset::MAX).map_or(0, |(at, _)| at.position);
        let at = place(8_999).position;
        index.cut(at);
        assert!(index.has_file() && known(&index) < at && known(&index) > at - 20_000);
        // Of this the file tells already.
        let at = place(2_000).position;
        index.cut(at);
        assert!(!index.has_file() && known(&index) < at && index.clone().seal(SEGMENT).is_none());
        let pushed = (2_000..9_000)
            .filter(|number| index.push(SEGMENT, place(*number), number.cast_signed()).is_some());
        assert_eq!(pushed.count(), 0, "a file without its beginning is not made");
        assert!(index.entries.len() < ENTRIES_MAX);
        let mut bytes = Vec::new();
        index.write(&mut Writer::new(&mut bytes, false));
        assert!(!ActiveIndex::read(&mut Reader::new(&bytes, false)).expect("it was written").has_file());
    }

    #[test]
    fn small_segment_has_no_entries() {
        let (index, file) = grown(3);
        assert_eq!((index.clone(), file.len()), (ActiveIndex::default(), 0));
        assert_eq!(index.before(SEGMENT.base, Offset(502)), None);
        assert_eq!(index.seal(SEGMENT), None);
    }
}
