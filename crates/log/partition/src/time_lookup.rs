//! Offsets by time: the first record that is not older than a given time.

use bytes::Bytes;
use log_wire::{Batch, Compression, Records, TimestampType};

use crate::partition::Partition;
use crate::read::{Isolation, SegmentRead};
use crate::segment::Segment;
use crate::{LeaderEpoch, Offset};

/// Bytes between two entries of a segment's index, beside which the batch that is looked for may stand.
const AHEAD_BYTES: usize = 32 << 10;

/// Where to look for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeLookup {
    /// The time, milliseconds.
    pub timestamp_ms: i64,
    /// The first offset that counts.
    pub from: Offset,
    /// The offset that must not be reached.
    pub bound: Offset,
    /// Batches in a segment, the first that holds such a record among them, if one of the segment does.
    pub segment: Option<SegmentRead>,
    /// Otherwise it is in this one.
    pub memory: Option<Bytes>,
}

/// A record that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundTime {
    /// Its offset.
    pub offset: Offset,
    /// Its timestamp, milliseconds.
    pub timestamp_ms: i64,
    /// The epoch of its leader.
    pub epoch: LeaderEpoch,
}

impl Partition {
    /// Where to look for the first readable record that is not older than that.
    #[must_use]
    pub fn look_for_time(&self, timestamp_ms: i64, isolation: Isolation) -> TimeLookup {
        let (from, bound) = (self.start(), self.readable_end(isolation));
        let in_memory = self.tail.front().map_or(Offset::MAX, |first| first.base);
        let place =
            self.segments.iter().find_map(|segment| Some((segment, segment.place_of_time(timestamp_ms)?)));
        let segment = place.filter(|(segment, _)| segment.base() < in_memory).map(|(segment, at)| {
            let bytes = segment.bytes().saturating_sub(at.position);
            let bytes_max = AHEAD_BYTES + self.config.batch_bytes_max;
            SegmentRead { at, bytes, from, bound: bound.min(in_memory), bytes_max }
        });
        let young = self.tail.iter().filter(|batch| batch.end <= bound).find(|batch| {
            Batch::read(&batch.bytes).is_ok_and(|(batch, _)| batch.max_timestamp() >= timestamp_ms)
        });
        TimeLookup { timestamp_ms, from, bound, segment, memory: young.map(|batch| batch.bytes.clone()) }
    }

    /// The highest timestamp, milliseconds; nothing if there is none.
    #[must_use]
    pub fn highest_timestamp(&self) -> Option<i64> {
        self.segments.iter().map(Segment::highest_ms).max().filter(|highest| *highest >= 0)
    }
}

impl TimeLookup {
    /// Finds the record, with the batches of the segment that were read. Records of a compressed batch are not looked into: its first one stands
    /// for all, with the highest timestamp.
    #[must_use]
    pub fn find(&self, bytes: &[u8]) -> Option<FoundTime> {
        self.find_among(bytes).or_else(|| self.find_among(self.memory.as_deref().unwrap_or_default()))
    }

    fn find_among(&self, bytes: &[u8]) -> Option<FoundTime> {
        let mut rest = bytes;
        while let Ok((batch, behind)) = Batch::read(rest) {
            if batch.max_timestamp() >= self.timestamp_ms && Offset(batch.last_offset()) >= self.from {
                return self.find_in(&batch).filter(|found| found.offset < self.bound);
            }
            rest = behind;
        }
        None
    }

    fn find_in(&self, batch: &Batch<'_>) -> Option<FoundTime> {
        let epoch = LeaderEpoch(batch.leader_epoch());
        let attributes = batch.attributes();
        let first = Offset(batch.base_offset()).max(self.from);
        let whole = FoundTime { offset: first, timestamp_ms: batch.max_timestamp(), epoch };
        let is_plain = attributes.compression() == Some(Compression::None);
        if attributes.timestamp_type() == TimestampType::LogAppendTime || !is_plain {
            return Some(whole);
        }
        let records = Records::new(batch.records(), batch.count()).map_while(Result::ok);
        let found = records.map(|record| FoundTime {
            offset: Offset(batch.base_offset()).plus(i64::from(record.offset_delta)),
            timestamp_ms: batch.base_timestamp().saturating_add(record.timestamp_delta),
            epoch,
        });
        found.filter(|found| found.offset >= self.from).find(|found| found.timestamp_ms >= self.timestamp_ms)
    }
}
