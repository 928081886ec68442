//! Offsets by time: the first record that is not older than a given time, and the newest of all.
//!
//! Which segments and which batches in memory may hold it is known here; records are looked at by the caller, who reads the
//! segments. The highest timestamp of a batch is what its producer says, so a batch may turn out to hold none: then the next
//! one that may is looked at.

use bytes::Bytes;
use log_wire::{Batch, Compression, Records, TimestampType};

use crate::partition::Partition;
use crate::plain_records::{Unreadable, plain_records};
use crate::read::{Isolation, SegmentRead};
use crate::segment::Segment;
use crate::{LeaderEpoch, Offset};

/// How many segments, and how many batches in memory, are looked at in one lookup. Only headers that say what their records
/// do not hold make it more than one.
const CANDIDATES_MAX: usize = 64;

/// How many compressed batches are looked into in one lookup, for the same reason.
const LOOKS_MAX: usize = 64;

/// Which record is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedTime {
    /// The first that is not older than that, milliseconds.
    AtOrAfter(i64),
    /// The first that has this timestamp, which is the highest of all, milliseconds.
    Highest(i64),
}

/// Where to look for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeLookup {
    /// What is looked for.
    pub wanted: WantedTime,
    /// The first offset that counts.
    pub from: Offset,
    /// The offset that must not be reached.
    pub bound: Offset,
    /// Segments that may hold it, in order. What counts of each begins and ends at known places.
    pub segments: Vec<SegmentRead>,
    /// Batches behind those, in order.
    pub memory: Vec<Bytes>,
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
        self.look_for(WantedTime::AtOrAfter(timestamp_ms), Offset::ZERO, isolation)
    }

    /// Where to look for the newest record. If no record has a timestamp, it is the first one.
    #[must_use]
    pub fn look_for_newest(&self, isolation: Isolation) -> Option<TimeLookup> {
        let newest = |newest: Option<&Segment>, next: &Segment| {
            newest.is_none_or(|newest| newest.highest_ms() < next.highest_ms())
        };
        let all = self.segments.iter();
        let segment = all.fold(None, |best, next| if newest(best, next) { Some(next) } else { best })?;
        let wanted = WantedTime::Highest(segment.highest_ms());
        Some(self.look_for(wanted, segment.highest_at(), isolation))
    }

    fn look_for(&self, wanted: WantedTime, least: Offset, isolation: Isolation) -> TimeLookup {
        let (from, bound) = (self.start().max(least), self.readable_end(isolation));
        let in_memory = self.tail.front().map_or(Offset::MAX, |first| first.base);
        let may_hold = |segment: &&Segment| {
            segment.highest_ms() >= wanted.least_ms()
                && segment.end() > from
                && segment.base() < bound.min(in_memory)
                && self.written_end(segment).position > 0
        };
        let segments = self.segments.iter().filter(may_hold).take(CANDIDATES_MAX).map(|segment| {
            let begin = match wanted {
                WantedTime::AtOrAfter(time) => self.segments.before_time(segment, time),
                WantedTime::Highest(_) => self.segments.before(segment, from),
            };
            self.segment_read(segment, begin, (from, bound), usize::MAX)
        });
        let young = self.tail.iter().filter(|batch| batch.end > from && batch.base < bound);
        let young = young.filter(|batch| {
            Batch::read(&batch.bytes).is_ok_and(|(batch, _)| batch.max_timestamp() >= wanted.least_ms())
        });
        let memory = young.take(CANDIDATES_MAX).map(|batch| batch.bytes.clone());
        TimeLookup { wanted, from, bound, segments: segments.collect(), memory: memory.collect() }
    }
}

impl WantedTime {
    /// No older record is looked for.
    #[must_use]
    pub const fn least_ms(self) -> i64 {
        match self {
            Self::AtOrAfter(time) | Self::Highest(time) => time,
        }
    }
}

impl TimeLookup {
    /// Whether a batch with that last offset and that highest timestamp may hold it.
    #[must_use]
    pub fn may_be_in(&self, last: Offset, highest_ms: i64) -> bool {
        last >= self.from && highest_ms >= self.wanted.least_ms()
    }

    /// Finds it in memory.
    #[must_use]
    pub fn find_in_memory(&self) -> Option<FoundTime> {
        let mut looks = Looks::default();
        self.memory.iter().find_map(|bytes| self.find_in(&Batch::read(bytes).ok()?.0, &mut looks))
    }

    /// Finds it in a batch. If too many compressed batches were looked into in vain, the first offset stands for the record,
    /// with the highest timestamp; so it does for records that cannot be read.
    #[must_use]
    pub fn find_in(&self, batch: &Batch<'_>, looks: &mut Looks) -> Option<FoundTime> {
        let (base, last) = (Offset(batch.base_offset()), Offset(batch.last_offset()));
        if !self.may_be_in(last, batch.max_timestamp()) {
            return None;
        }
        let epoch = LeaderEpoch(batch.leader_epoch());
        let first = FoundTime { offset: base.max(self.from), timestamp_ms: batch.max_timestamp(), epoch };
        let is_stamped = batch.attributes().timestamp_type() == TimestampType::LogAppendTime;
        let found = if is_stamped || !looks.may_look(batch) {
            Some(first)
        } else {
            let Looks { buffer, .. } = looks;
            let records = plain_records(batch, buffer).and_then(|plain| self.find_among(batch, plain));
            records.unwrap_or(Some(first))
        };
        found.filter(|found| found.offset < self.bound)
    }

    fn find_among(&self, batch: &Batch<'_>, plain: &[u8]) -> Result<Option<FoundTime>, Unreadable> {
        let (base, epoch) = (Offset(batch.base_offset()), LeaderEpoch(batch.leader_epoch()));
        for record in Records::new(plain, batch.count()) {
            let record = record?;
            let offset = base.plus(i64::from(record.offset_delta));
            let timestamp_ms = batch.base_timestamp().saturating_add(record.timestamp_delta);
            if offset >= self.from && timestamp_ms >= self.wanted.least_ms() {
                return Ok(Some(FoundTime { offset, timestamp_ms, epoch }));
            }
        }
        Ok(None)
    }
}

/// How much was decompressed in a lookup.
#[derive(Debug, Default)]
pub struct Looks {
    count: usize,
    buffer: Vec<u8>,
}

impl Looks {
    fn may_look(&mut self, batch: &Batch<'_>) -> bool {
        let is_plain = batch.attributes().compression() == Some(Compression::None);
        self.count += usize::from(!is_plain);
        is_plain || self.count <= LOOKS_MAX
    }
}

#[cfg(test)]
mod tests {
    use base::WallTime;

    use super::*;
    use crate::PartitionConfig;
    use crate::test_support::{assigned, leading, plain};

    fn newest(times: &[i64]) -> Option<(i64, i64)> {
        let mut partition = leading(PartitionConfig::default());
        for time_ms in times {
            let appended = partition.append(&assigned(&plain(0, *time_ms, 1, 10)), WallTime::of_ms(1_000));
            partition.persisted(appended.expect("it may be appended").new.expect("it is new").persist);
        }
        let lookup = partition.look_for_newest(Isolation::ReadUncommitted)?;
        lookup.find_in_memory().map(|found| (found.offset.0, found.timestamp_ms))
    }

    #[test]
    fn newest_record_is_the_first_one_if_none_has_a_timestamp() {
        assert_eq!(newest(&[]), None);
        assert_eq!(newest(&[-1, -1]), Some((0, -1)));
        assert_eq!(newest(&[-1, 700, 600, 700]), Some((1, 700)));
    }
}
