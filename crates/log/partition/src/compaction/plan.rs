//! Whether a partition is to be compacted, and what a pass has to know.

use std::collections::BTreeMap;

use base::WallTime;

use crate::config::Compaction;
use crate::partition::Partition;
use crate::producers::LastBatch;
use crate::segment::Segment;
use crate::{Aborted, Offset, ProducerId};

/// Why a partition is to be compacted, and how much it needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompactionNeed {
    /// Whether `max.compaction.lag.ms` has passed for a record: it is not to be put off for others.
    pub is_forced: bool,
    /// The share of bytes that were not compacted yet among all that a pass would look at.
    pub dirty_ratio: f64,
}

impl CompactionNeed {
    /// Whether a partition with that need comes first.
    #[must_use]
    pub fn is_less_than(&self, other: &Self) -> bool {
        (self.is_forced, self.dirty_ratio) < (other.is_forced, other.dirty_ratio)
    }
}

/// A pass over a log, as of the moment when it was planned.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionJob {
    /// All segments that are cleaned, the oldest first.
    pub segments: Vec<Segment>,
    /// Everything before is compacted.
    pub dirty_from: Offset,
    /// When it began.
    pub now: WallTime,
    /// `delete.retention.ms`.
    pub delete_retention_ms: i64,
    /// `segment.bytes`.
    pub segment_bytes: u64,
    /// Bytes of the map of keys: `log.cleaner.dedupe.buffer.size`.
    pub map_bytes_max: usize,
    /// The aborted transactions that have records there.
    pub aborted: Vec<Aborted>,
    /// From there on, records without a value and ends of transactions stay: not all replicas that are being sent this log have
    /// them.
    pub keeps_from: Offset,
    /// The batches that producers are known by.
    pub last_batches: BTreeMap<ProducerId, LastBatch>,
}

impl CompactionJob {
    /// Nothing from that offset on is looked at.
    #[must_use]
    pub fn bound(&self) -> Offset {
        self.segments.last().map_or(self.dirty_from, Segment::end)
    }

    /// The segments in groups that become one each.
    #[must_use]
    pub fn groups(&self, end: Offset) -> Vec<Vec<Segment>> {
        let mut groups: Vec<Vec<Segment>> = Vec::new();
        let mut bytes = 0;
        for segment in self.segments.iter().filter(|segment| segment.base() < end) {
            let first = groups.last().and_then(|group| group.first()).map(Segment::base);
            let spans = first.is_some_and(|first| segment.end().since(first) <= i64::from(i32::MAX));
            bytes += segment.bytes();
            match groups.last_mut() {
                Some(group) if spans && bytes <= self.segment_bytes => group.push(segment.clone()),
                _ => {
                    bytes = segment.bytes();
                    groups.push(vec![segment.clone()]);
                }
            }
        }
        groups
    }
}

impl Partition {
    /// Whether it is to be compacted now. A segment that is idle for longer than `max.compaction.lag.ms` is sealed for it.
    pub fn compaction_need(&mut self, now: WallTime) -> Option<CompactionNeed> {
        let settings = self.config.compaction?;
        self.seal_idle(settings, now);
        let dirty_from = self.dirty_from();
        let (mut clean, mut dirty, mut oldest_ms) = (0u64, 0u64, i64::MAX);
        for segment in self.compactable(settings, now) {
            if segment.end() <= dirty_from {
                clean += segment.bytes();
            } else {
                dirty += segment.bytes();
                oldest_ms = oldest_ms.min(segment.first_ms());
            }
        }
        let dirty_ratio = if dirty == 0 { 0.0 } else { dirty as f64 / (clean + dirty) as f64 };
        let is_forced = dirty > 0 && now.ms().saturating_sub(oldest_ms) > settings.lag_max_ms;
        let is_past = clean > 0 && self.last_pass.horizon_ms.is_some_and(|horizon| horizon <= now.ms());
        let is_past = is_past && self.last_pass.held_from.is_none_or(|held| held < self.keeps_from());
        let is_needed = is_forced || is_past || dirty_ratio > settings.dirty_ratio_min;
        is_needed.then_some(CompactionNeed { is_forced, dirty_ratio })
    }

    /// What a pass has to know; nothing if there is nothing to compact.
    #[must_use]
    pub fn compaction_job(&self, now: WallTime, map_bytes_max: usize) -> Option<CompactionJob> {
        let settings = self.config.compaction?;
        let segments: Vec<Segment> = self.compactable(settings, now).cloned().collect();
        let bound = segments.last()?.end();
        let dirty_from = self.dirty_from().min(bound);
        let aborted = self.tables.transactions.aborted(Offset::ZERO, bound).collect();
        Some(CompactionJob {
            segments,
            dirty_from,
            now,
            delete_retention_ms: settings.delete_retention_ms,
            segment_bytes: self.config.segment_bytes,
            map_bytes_max,
            aborted,
            keeps_from: self.keeps_from(),
            last_batches: self.tables.producers.last_batches(bound),
        })
    }

    /// What a follower that is being sent this log lacks of it is not removed before it is sent.
    pub(super) fn keeps_from(&self) -> Offset {
        self.replica.durable_on_all().map_or(Offset::MAX, Offset::of)
    }

    fn dirty_from(&self) -> Offset {
        self.last_pass.cleaned_to.max(self.segments.first_base())
    }

    /// The segments that a pass may look at, the oldest first.
    fn compactable(&self, settings: Compaction, now: WallTime) -> impl Iterator<Item = &Segment> {
        let stable = self.last_stable();
        let written = self.tail.front().map_or(Offset::MAX, |first| first.base);
        let active = self.segments.last().map_or(Offset::ZERO, Segment::base);
        let (bound, dirty_from) = (stable.min(written), self.dirty_from());
        self.segments.iter().take_while(move |segment| {
            let age = now.ms().saturating_sub(segment.newest_ms());
            let is_old = settings.lag_min_ms <= 0 || age >= settings.lag_min_ms;
            segment.base() < active && segment.end() <= bound && (is_old || segment.end() <= dirty_from)
        })
    }

    fn seal_idle(&mut self, settings: Compaction, now: WallTime) {
        let (end, last) = (self.end(), self.segments.last().filter(|last| !last.is_empty()));
        if last.is_some_and(|last| now.ms().saturating_sub(last.first_ms()) > settings.lag_max_ms) {
            self.segments.roll(end);
        }
    }
}
