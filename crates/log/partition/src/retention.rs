//! What of a log may go: by time, by size, by a client's wish.

use base::WallTime;
use log_wire::ErrorCode;

use crate::Offset;
use crate::partition::Partition;
use crate::segment::Segment;

/// The log begins later than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewStart {
    /// There.
    pub start: Offset,
    /// The first segment that stays: all before it go.
    pub first_segment: Offset,
}

impl Partition {
    /// What retention takes away now: whole segments from the oldest on, all of them below the high watermark (L68).
    pub fn retain(&mut self, now: WallTime) -> Option<NewStart> {
        let mut bytes = self.bytes();
        let mut start = self.start();
        let is_old = |segment: &Segment, limit| now.ms().saturating_sub(segment.newest_ms()) > limit;
        let followers = self.segments.iter().skip(1).map(Some).chain([None]);
        for (segment, next) in self.segments.iter().zip(followers) {
            let own = segment.bytes();
            let old = self.config.retention_ms.is_some_and(|limit| is_old(segment, limit));
            let over = self.config.retention_bytes.is_some_and(|limit| bytes.saturating_sub(own) >= limit);
            let is_whole = own > 0 && segment.end() <= self.high_watermark;
            if !is_whole || !(old || over) {
                break;
            }
            bytes -= own;
            start = next.map_or(segment.end(), Segment::base);
        }
        (start > self.start()).then(|| self.truncate_start(start))
    }

    /// Deletes records before that offset, for a client; -1 stands for the high watermark. Nothing to do if they are gone
    /// already.
    ///
    /// # Errors
    /// `OFFSET_OUT_OF_RANGE`: it is beyond the high watermark, or below -1.
    pub fn delete_records(&mut self, before: Offset) -> Result<Option<NewStart>, ErrorCode> {
        let before = if before == Offset(-1) { self.high_watermark } else { before };
        if before < Offset::ZERO || before > self.high_watermark {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        Ok((before > self.start()).then(|| self.truncate_start(before)))
    }

    /// The log begins at that offset from now on: records before it are gone.
    pub fn truncate_start(&mut self, start: Offset) -> NewStart {
        self.tables.truncate_start(start);
        self.segments.truncate_start(start);
        NewStart { start, first_segment: self.segments.first_base() }
    }
}
