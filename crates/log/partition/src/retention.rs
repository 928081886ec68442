//! What of a log may go: by time, by size, by a client's wish.

use base::WallTime;
use log_wire::ErrorCode;
use replication_appointed::PersistId;

use crate::Offset;
use crate::partition::Partition;
use crate::segment::Segment;

/// How far ahead of this host's clock a timestamp may be before it is worth a word, milliseconds: as far as
/// `message.timestamp.after.max.ms` permits by default.
const FUTURE_MS: i64 = 3_600_000;

/// The log begins later than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewStart {
    /// There.
    pub start: Offset,
    /// The first segment that stays: all before it go.
    pub first_segment: Offset,
    /// Once that is durable, [`Partition::persisted`] is told this.
    pub persist: PersistId,
}

impl Partition {
    /// What retention takes away now: whole segments from the oldest on, all of them below the high watermark (L68).
    ///
    /// What is not committed does not count as bytes. A leader that is cut off from its followers may append much that another
    /// leader cuts off again. Committed records that had made room for it would be gone, and less than `retention.bytes` left.
    pub fn retain(&mut self, now: WallTime) -> Option<NewStart> {
        let mut bytes = self.bytes().saturating_sub(self.trail.bytes());
        let mut start = self.start();
        let is_old = |segment: &Segment, limit| now.ms().saturating_sub(segment.newest_ms()) > limit;
        let followers = self.segments.iter().skip(1).map(Some).chain([None]);
        for (segment, next) in self.segments.iter().zip(followers) {
            let own = segment.bytes();
            let old = self.config.retention_ms.is_some_and(|limit| is_old(segment, limit));
            let over = self.config.retention_bytes.is_some_and(|limit| bytes.saturating_sub(own) >= limit);
            let is_whole = own > 0 && segment.end() <= self.high_watermark();
            if !is_whole || !(old || over) {
                break;
            }
            bytes -= own;
            start = next.map_or(segment.end(), Segment::base);
        }
        (start > self.start()).then(|| self.truncate_start(start))
    }

    /// The newest timestamp of a segment, milliseconds, if it lies so far ahead of now that the segment and all behind it will be
    /// kept for longer than `retention.ms` says (KAFKA-7910). An operator should know.
    #[must_use]
    pub fn future_timestamp(&self, now: WallTime) -> Option<i64> {
        self.config.retention_ms?;
        let newest = self.segments.iter().map(Segment::highest_ms).max()?;
        (newest.saturating_sub(now.ms()) > FUTURE_MS).then_some(newest)
    }

    /// Deletes records before that offset, for a client; -1 stands for the high watermark. Gives the offset, and what the disk has
    /// to do unless the records are gone here. They are gone for good once [`Self::is_deleted`] says so.
    ///
    /// # Errors
    /// `OFFSET_OUT_OF_RANGE`: it is beyond the high watermark, or below -1. `NOT_LEADER_OR_FOLLOWER`: this replica does not lead.
    pub fn delete_records(&mut self, before: Offset) -> Result<(Offset, Option<NewStart>), ErrorCode> {
        let before = if before == Offset(-1) { self.high_watermark() } else { before };
        if !self.replica.is_leading() {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        if before < Offset::ZERO || before > self.high_watermark() {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        let persist = self.replica.delete_before(before.seq());
        Ok((before, persist.map(|persist| self.drop_before(before, persist))))
    }

    /// A follower's log begins where its leader's does, and a new leader's where records were deleted under a leader before.
    pub fn take_start(&mut self) -> Option<NewStart> {
        self.replica.start_to_take().map(|start| self.truncate_start(Offset::of(start)))
    }

    /// Whether records before that offset are deleted on so many replicas that none brings them back, whichever leads.
    #[must_use]
    pub fn is_deleted(&self, before: Offset) -> bool {
        self.replica.deleted_to() >= Some(before.seq())
    }

    /// Where the log begins for whoever deleted the records before that offset, if they are gone for good: not before it, also while
    /// this leader has begun another epoch and shows nothing of that yet.
    #[must_use]
    pub fn low_watermark(&self, deleted: Offset) -> Option<Offset> {
        self.is_deleted(deleted).then(|| self.shown_start().max(deleted))
    }

    /// Where the log begins for clients: not later than it will under every later leader, as far as clients have deleted records.
    #[must_use]
    pub const fn shown_start(&self) -> Offset {
        Offset::of(self.replica.shown_start())
    }

    /// The log begins at that offset from now on: records before it, which are committed, are gone.
    fn truncate_start(&mut self, start: Offset) -> NewStart {
        let persist = self.replica.cut_start(start.seq());
        self.drop_before(start, persist)
    }

    /// The replica's log begins there: so does everything else.
    pub(crate) fn drop_before(&mut self, start: Offset, persist: PersistId) -> NewStart {
        self.tables.truncate_start(self.start());
        self.segments.truncate_start(start);
        NewStart { start, first_segment: self.segments.first_base(), persist }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assigned, leading, plain};
    use crate::{Compaction, PartitionConfig};

    const NOW: WallTime = WallTime::of_ms(10_000_000);

    /// A log of segments with one batch each, of two records of these times; all is committed.
    fn log(config: PartitionConfig, times: &[i64]) -> Partition {
        let config = PartitionConfig { segment_bytes: 200, timestamp_after_max_ms: i64::MAX, ..config };
        let mut partition = leading(config);
        for time_ms in times {
            let appended = partition.append(&assigned(&plain(0, *time_ms, 2, 40)), NOW);
            partition.persisted(appended.expect("it may be appended").new.expect("it is new").persist);
        }
        assert_eq!(partition.segments().count(), times.len());
        partition
    }

    fn retained(mut partition: Partition, now: WallTime) -> Option<i64> {
        partition.retain(now).map(|new| {
            assert_eq!((new.start, new.first_segment), (partition.start(), partition.segments.first_base()));
            new.start.0
        })
    }

    #[test]
    fn segments_go_when_their_newest_record_is_too_old_the_last_one_too() {
        let config = PartitionConfig { retention_ms: Some(1_000), ..PartitionConfig::default() };
        let now = |ago: i64| NOW.ms() - ago;
        assert_eq!(retained(log(config, &[now(3_000), now(1_001), now(1_000)]), NOW), Some(4));
        assert_eq!(retained(log(config, &[now(1_000), now(3_000)]), NOW), None, "a prefix alone goes");
        let all = log(config, &[now(3_000), now(2_000)]);
        assert_eq!(retained(all, NOW), Some(4), "and an empty one is left");
        let forever = PartitionConfig { retention_ms: None, ..config };
        assert_eq!(retained(log(forever, &[0, 0]), NOW), None);
    }

    #[test]
    fn records_without_a_timestamp_are_as_old_as_their_append() {
        let config = PartitionConfig { retention_ms: Some(1_000), ..PartitionConfig::default() };
        let later = |ms| WallTime::of_ms(NOW.ms() + ms);
        assert_eq!(retained(log(config, &[-1, -1]), later(1_000)), None);
        assert_eq!(retained(log(config, &[-1, -1]), later(1_001)), Some(4));
    }

    #[test]
    fn segments_go_while_what_is_left_is_as_long_as_it_may_be() {
        let bytes = log(PartitionConfig::default(), &[0]).bytes();
        let of = |segments| {
            let retention_bytes = Some(bytes * segments);
            PartitionConfig { retention_ms: None, retention_bytes, ..PartitionConfig::default() }
        };
        assert_eq!(retained(log(of(3), &[0; 5]), NOW), Some(4));
        assert_eq!(retained(log(of(5), &[0; 5]), NOW), None);
        assert_eq!(retained(log(of(0), &[0; 3]), NOW), Some(6));
    }

    /// Appends a batch that is not committed before that is durable.
    fn append_one(partition: &mut Partition) -> PersistId {
        let batch = plain(0, 0, 2, 40);
        let appended = partition.append(&assigned(&batch), NOW).expect("it may be appended");
        appended.new.expect("it is new").persist
    }

    #[test]
    fn what_is_not_committed_stays_whatever_its_age() {
        let config = PartitionConfig { retention_ms: Some(0), ..PartitionConfig::default() };
        let mut partition = log(config, &[0, 0]);
        append_one(&mut partition);
        assert_eq!(retained(partition, NOW), Some(4));
    }

    #[test]
    fn what_is_not_committed_takes_no_place_of_what_is() {
        let bytes = log(PartitionConfig::default(), &[0]).bytes();
        let config = PartitionConfig {
            retention_ms: None,
            retention_bytes: Some(3 * bytes),
            ..PartitionConfig::default()
        };
        let mut partition = log(config, &[0; 3]);
        let persists = [(); 3].map(|()| append_one(&mut partition));
        assert_eq!((partition.bytes(), retained(partition.clone(), NOW)), (6 * bytes, None));
        for (persist, start) in persists.into_iter().zip([2, 4, 6]) {
            partition.persisted(persist);
            assert_eq!(retained(partition.clone(), NOW), Some(start), "it takes a place once committed");
        }
    }

    #[test]
    fn timestamp_far_ahead_is_told() {
        let config = PartitionConfig { retention_ms: Some(1_000), ..PartitionConfig::default() };
        let ahead = |ms| log(config, &[NOW.ms(), NOW.ms() + ms, 0]).future_timestamp(NOW);
        assert_eq!(ahead(FUTURE_MS), None);
        assert_eq!(ahead(FUTURE_MS + 1), Some(NOW.ms() + FUTURE_MS + 1));
        let forever = PartitionConfig { retention_ms: None, ..config };
        assert_eq!(log(forever, &[i64::MAX]).future_timestamp(NOW), None);
    }

    fn segments_after(config: PartitionConfig, appends: &[(i64, i64)]) -> usize {
        let mut partition = leading(config);
        for (time_ms, now_ms) in appends {
            let appended = partition.append(&assigned(&plain(0, *time_ms, 1, 10)), WallTime::of_ms(*now_ms));
            appended.expect("it may be appended");
        }
        partition.segments().count()
    }

    #[test]
    fn segment_ends_when_its_first_record_is_too_old() {
        let config = PartitionConfig {
            segment_ms: 1_000,
            timestamp_after_max_ms: i64::MAX,
            ..PartitionConfig::default()
        };
        assert_eq!(segments_after(config, &[(5_000, 0), (6_000, 0)]), 1);
        assert_eq!(segments_after(config, &[(5_000, 0), (6_001, 0)]), 2);
        assert_eq!(segments_after(config, &[(-1, 5_000), (-1, 6_000)]), 1, "by the clock without timestamps");
        assert_eq!(segments_after(config, &[(-1, 5_000), (-1, 6_001)]), 2);
        let compaction = Some(Compaction { lag_max_ms: 300, ..Compaction::default() });
        let compacted = PartitionConfig { compaction, ..config };
        let mut partition = leading(compacted);
        for time_ms in [5_000, 5_300, 5_301] {
            partition.append_own(plain(0, time_ms, 1, 10), WallTime::of_ms(time_ms)).expect("there is room");
        }
        assert_eq!(partition.segments().count(), 2, "so that it is compacted in time");
    }

    #[test]
    fn segments_of_many_partitions_end_at_different_times() {
        let config =
            PartitionConfig { segment_ms: 1_000, segment_jitter_ms: 400, ..PartitionConfig::default() };
        let ages: std::collections::BTreeSet<i64> = (0..100)
            .map(|seed| {
                let mut partition = leading(config);
                partition.set_seed(seed);
                let batch = plain(0, 0, 1, 10);
                let rolls = |age: &i64| {
                    let mut partition = partition.clone();
                    partition.append(&assigned(&batch), WallTime::of_ms(0)).expect("it may be appended");
                    partition
                        .append(&assigned(&plain(0, *age, 1, 10)), WallTime::of_ms(*age))
                        .expect("so may it");
                    partition.segments().count() == 2
                };
                (0..=1_001).find(rolls).expect("it ends at last")
            })
            .collect();
        assert!(ages.len() > 50, "{ages:?}");
        assert!(ages.iter().all(|age| (601..=1_001).contains(age)), "{ages:?}");
    }

    #[test]
    fn segment_holds_no_more_offsets_than_an_index_can_name() {
        let mut partition = leading(PartitionConfig::default());
        for _ in 0..3 {
            // A batch of more offsets than records is one that compaction has made; the widest has 2^31.
            let mut batch = plain(0, 0, 1, 10);
            batch[23..27].copy_from_slice(&(i32::MAX - 1).to_be_bytes());
            partition.append_own(batch, NOW).expect("there is room");
        }
        let ends: Vec<i64> =
            partition.segments().map(|segment| segment.end().since(segment.base())).collect();
        assert_eq!(ends, [i64::from(i32::MAX); 3]);
    }
}
