//! Finding batches in a segment: from the nearest place that is known, over the headers of the batches behind it.
//!
//! Records are not read, and headers only where the index does not say enough. It does not know where the bytes come from.

use log_wire::{BATCH_HEADER_BYTES, Batch, BatchHead};

use crate::read::SegmentRead;
use crate::segment_index::SegmentIndex;
use crate::time_lookup::{FoundTime, Looks, TimeLookup, WantedTime};
use crate::{Boundary, Offset, SegmentId};

/// The bytes of a segment.
pub trait SegmentBytes {
    /// Why they cannot be read.
    type Error;

    /// At least `length` bytes from that position on; fewer only where the file ends.
    ///
    /// # Errors
    /// They cannot be read.
    fn bytes(&mut self, position: u64, length: usize) -> Result<&[u8], Self::Error>;
}

/// Why batches are not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocateError<E> {
    /// The bytes cannot be read.
    Bytes(E),
    /// What stands there is not what was appended.
    Damaged {
        /// The segment.
        segment: SegmentId,
        /// Where in it, bytes.
        position: u64,
    },
}

/// Batches that were found: whole ones, from the one that holds the offset that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    /// Where the first begins.
    pub begin: Boundary,
    /// Where the last ends. Whoever reads on begins there.
    pub end: Boundary,
    /// The highest timestamp before the end, milliseconds, if it is known.
    pub highest_before_end_ms: Option<i64>,
}

impl Located {
    /// The end, as the place where a later read may begin.
    #[must_use]
    pub const fn hint(&self) -> Hint {
        Hint { at: self.end, highest_before_ms: self.highest_before_end_ms }
    }
}

/// A place at which somebody has found out that a batch ends and another begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// The place.
    pub at: Boundary,
    /// The highest timestamp before it, milliseconds, if it is known.
    pub highest_before_ms: Option<i64>,
}

impl SegmentRead {
    /// The place at or before the batches from which it is nearest to them, of those that are known.
    #[must_use]
    pub fn nearest(&self, hint: Option<Hint>, index: &SegmentIndex) -> Hint {
        let (known, highest) = index.before(self.from);
        let known = Hint { at: known, highest_before_ms: Some(highest) };
        let own = Hint { at: self.begin, highest_before_ms: Some(self.highest_before_ms) };
        let nearer = |a: Hint, b: Hint| if b.at.position > a.at.position { b } else { a };
        hint.filter(|hint| hint.at.offset <= self.from).into_iter().fold(nearer(own, known), nearer)
    }

    /// Finds the batches of a read; nothing if there are none below its bound. What is met on the way is learned.
    ///
    /// # Errors
    /// The bytes cannot be read, or are damaged.
    pub fn locate<B: SegmentBytes>(
        &self,
        hint: Option<Hint>,
        index: &mut SegmentIndex,
        bytes: &mut B,
    ) -> Result<Option<Located>, LocateError<B::Error>> {
        let start = self.nearest(hint, index);
        let mut walk = Walk::new(self, start, index);
        let first = loop {
            match walk.head(bytes)? {
                Some(head) if Offset(head.last_offset) >= self.from => break head,
                Some(head) => walk.pass(&head),
                None if self.from < self.limit.offset => return Err(walk.damaged(walk.at.position)),
                None => return Ok(None),
            }
        };
        if Offset(first.last_offset) >= self.bound {
            return Ok(None);
        }
        let begin = walk.at;
        walk.pass(&first);
        let most =
            Boundary { offset: self.bound, position: begin.position.saturating_add(self.bytes_max as u64) };
        let known = [self.end, self.limit, walk.index.within(most)].into_iter();
        let known = known.filter(|end| end.position <= most.position && end.offset <= most.offset);
        if let Some(end) = known.filter(|end| end.position > walk.at.position).max_by_key(|end| end.position)
        {
            return Ok(Some(Located { begin, end, highest_before_end_ms: None }));
        }
        while let Some(head) = walk.head(bytes)? {
            let fits = walk.at.position.saturating_add(head.bytes) <= most.position;
            if !fits || Offset(head.last_offset) >= self.bound {
                break;
            }
            walk.pass(&head);
        }
        Ok(Some(Located { begin, end: walk.at, highest_before_end_ms: walk.highest_ms }))
    }
}

impl TimeLookup {
    /// Finds the record in one of its segments; nothing if that holds none.
    ///
    /// # Errors
    /// The bytes cannot be read, or are damaged.
    pub fn find_in_segment<B: SegmentBytes>(
        &self,
        read: &SegmentRead,
        index: &mut SegmentIndex,
        bytes: &mut B,
    ) -> Result<Option<FoundTime>, LocateError<B::Error>> {
        let (known, highest) = match self.wanted {
            WantedTime::AtOrAfter(time) => index.before_time(time),
            WantedTime::Highest(_) => index.before(self.from),
        };
        let is_nearer = known.position > read.begin.position;
        let (at, highest) = if is_nearer { (known, highest) } else { (read.begin, read.highest_before_ms) };
        let start = Hint { at, highest_before_ms: Some(highest) };
        let mut walk = Walk::new(read, start, index);
        let mut looks = Looks::default();
        while let Some(head) = walk.head(bytes)? {
            if Offset(head.base_offset) >= read.bound {
                break;
            }
            if self.may_be_in(Offset(head.last_offset), head.max_timestamp) {
                let position = walk.at.position;
                let found = walk.bytes(bytes, position, head.bytes as usize)?;
                let batch = Batch::read(found).ok().filter(|(batch, _)| batch.verify().is_ok());
                let (batch, _) = batch.ok_or(LocateError::Damaged { segment: read.segment, position })?;
                if let Some(found) = self.find_in(&batch, &mut looks) {
                    return Ok(Some(found));
                }
            }
            walk.pass(&head);
        }
        Ok(None)
    }
}

/// Whether a batch that begins at `base` may stand behind one that ends before `end`, in a segment that may have holes or not. The
/// checksum of a batch does not cover its offset.
#[must_use]
pub fn follows(may_have_holes: bool, end: Offset, base: i64) -> bool {
    if may_have_holes { Offset(base) >= end } else { Offset(base) == end }
}

/// A way over the headers of a segment.
struct Walk<'i> {
    segment: SegmentId,
    may_have_holes: bool,
    /// What counts of the segment ends there.
    limit: Boundary,
    at: Boundary,
    /// The highest timestamp before, if it is known: without it nothing is learned.
    highest_ms: Option<i64>,
    /// The last place that is in the index.
    known: Boundary,
    index: &'i mut SegmentIndex,
}

impl<'i> Walk<'i> {
    const fn new(read: &SegmentRead, start: Hint, index: &'i mut SegmentIndex) -> Self {
        let SegmentRead { segment, may_have_holes, limit, .. } = *read;
        Self {
            segment,
            may_have_holes,
            limit,
            at: start.at,
            highest_ms: start.highest_before_ms,
            known: start.at,
            index,
        }
    }

    /// The header here; nothing at the end.
    fn head<B: SegmentBytes>(&self, bytes: &mut B) -> Result<Option<BatchHead>, LocateError<B::Error>> {
        let left = self.limit.position.saturating_sub(self.at.position);
        if left == 0 {
            return Ok(None);
        }
        let head = BatchHead::read(self.bytes(bytes, self.at.position, BATCH_HEADER_BYTES)?).ok();
        let fits = |head: &BatchHead| {
            follows(self.may_have_holes, self.at.offset, head.base_offset)
                && head.bytes <= left
                && Offset(head.last_offset) < self.limit.offset
        };
        head.filter(fits).map(Some).ok_or_else(|| self.damaged(self.at.position))
    }

    fn bytes<'b, B: SegmentBytes>(
        &self,
        bytes: &'b mut B,
        position: u64,
        length: usize,
    ) -> Result<&'b [u8], LocateError<B::Error>> {
        let found = bytes.bytes(position, length).map_err(LocateError::Bytes)?;
        found.get(..length).ok_or_else(|| self.damaged(position))
    }

    const fn damaged<E>(&self, position: u64) -> LocateError<E> {
        LocateError::Damaged { segment: self.segment, position }
    }

    /// Goes over to the next batch.
    fn pass(&mut self, head: &BatchHead) {
        let position = self.at.position.saturating_add(head.bytes);
        self.at = Boundary { offset: Offset(head.last_offset).next(), position };
        self.highest_ms = self.highest_ms.map(|highest| highest.max(head.max_timestamp));
        if SegmentIndex::is_far(self.known, self.at)
            && let Some(highest) = self.highest_ms
        {
            self.index.learn(self.at, highest);
            self.known = self.at;
        }
    }
}
