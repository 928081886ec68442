//! The logs that there are: creating and dropping them, and recycling the segments that none of them needs.

use crate::codec::{self, VARINT_BYTES_MAX};
use crate::config::Class;
use crate::error::{AppendError, CreateError, Fault};
use crate::limits::{CHECKPOINT_BYTES_MAX, LOGS_MAX};
use crate::log::{Checkpoints, LogId, Position};
use crate::preallocation::RecycledSegment;
use crate::record::RecordKind;
use crate::segment::{ClosedSegment, SegmentStart, segment_path};
use crate::wal::{Wal, record_bytes_max};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use storage_disk::{Disk, DiskError};

/// The logs that were created and not dropped.
pub(crate) struct LogTable {
    /// Each with the number of the oldest segment that it needs.
    needed_from: BTreeMap<LogId, u64>,
    /// The id that the next log will be given.
    pub(crate) next: u64,
    /// Whether a log was dropped since the last flush. Until that is durable a crash brings the log back, so that what
    /// it needs must be there.
    pub(crate) drop_unflushed: bool,
}

impl LogTable {
    /// These logs, all of which need everything from this segment on.
    pub(crate) fn new(live: BTreeSet<LogId>, next: u64, oldest: u64) -> Self {
        let needed_from = live.into_iter().map(|log| (log, oldest)).collect();
        LogTable { needed_from, next, drop_unflushed: false }
    }

    pub(crate) fn contains(&self, log: LogId) -> bool {
        self.needed_from.contains_key(&log)
    }

    pub(crate) fn len(&self) -> usize {
        self.needed_from.len()
    }

    /// In the order of their ids.
    pub(crate) fn ids(&self) -> impl ExactSizeIterator<Item = LogId> {
        self.needed_from.keys().copied()
    }

    /// The oldest segment that any log needs; nothing if there is no log.
    fn oldest_needed(&self) -> Option<u64> {
        self.needed_from.values().copied().min()
    }
}

impl<D: Disk> Wal<D> {
    /// Creates a log, and gives its id. Durable after the next flush, as all records appended to it since. `checkpoint`
    /// is what its owner is given back when the log is opened before a segment was begun; it takes at most
    /// `checkpoint_bytes_max`. From now on [`Checkpoints`] must know the log.
    ///
    /// # Errors
    /// Every error but a fault leaves the log as it was.
    pub fn create_log(
        &mut self,
        class: Class,
        checkpoints: &impl Checkpoints,
        checkpoint_bytes_max: usize,
        checkpoint: impl FnOnce(&mut Vec<u8>),
    ) -> Result<LogId, CreateError> {
        if self.logs.len() >= LOGS_MAX {
            return Err(CreateError::TooManyLogs);
        }
        let bytes = record_bytes_max(checkpoint_bytes_max);
        // All that is to be listed must find a place in one segment.
        let listed = checkpoints.bytes_max().saturating_add(checkpoint_bytes_max);
        let start_bytes = SegmentStart::record_bytes_max(self.logs.len() + 1, listed);
        if checkpoint_bytes_max > CHECKPOINT_BYTES_MAX || !self.fits_a_segment(start_bytes + bytes) {
            return Err(AppendError::TooLarge { bytes }.into());
        }
        self.begin(bytes, class, checkpoints)?;
        self.roll_unless_fits(bytes, checkpoints)?;
        let log = LogId(self.logs.next);
        self.tail.put(&mut self.current.end, RecordKind::Create, |out| {
            codec::put_varint(out, log.0);
            checkpoint(out);
        });
        self.logs.next += 1;
        self.logs.needed_from.insert(log, self.current.sequence);
        Ok(log)
    }

    /// Drops a log: durable after the next flush. Nothing of it is needed any more, and its id is never given again.
    ///
    /// # Errors
    /// Every error but a fault leaves the log as it was.
    pub fn drop_log(&mut self, log: LogId, checkpoints: &impl Checkpoints) -> Result<(), AppendError> {
        assert!(self.logs.contains(log), "log {log} was not created, or is dropped already");
        let bytes = record_bytes_max(VARINT_BYTES_MAX);
        self.begin(bytes, Class::Reserved, checkpoints)?;
        self.roll_unless_fits(bytes, checkpoints)?;
        self.tail.put(&mut self.current.end, RecordKind::Drop, |out| codec::put_varint(out, log.0));
        self.logs.needed_from.remove(&log);
        self.logs.drop_unflushed = true;
        Ok(())
    }

    /// The owner of a log needs its records from this position on, and none before. It must be able to begin with the
    /// checkpoint at the beginning of that segment; what makes it so must be durable.
    ///
    /// Nothing is removed before [`recycle`](Wal::recycle). A position that is lower than one said before changes nothing.
    pub fn retain_from(&mut self, log: LogId, from: Position) {
        assert!(from.sequence <= self.current.sequence, "log {log} needs nothing that there is");
        let needed = self.logs.needed_from.get_mut(&log);
        assert!(needed.is_some(), "log {log} was not created, or is dropped");
        if let Some(needed) = needed {
            *needed = from.sequence.max(*needed);
        }
    }

    /// Drops segments that no log needs. Files of dropped segments are used again for the next ones.
    ///
    /// Only the first record of the segment behind it makes a segment superfluous, so that record must be flushed; so
    /// must be what dropped a log.
    ///
    /// # Errors
    /// A fault poisons the log.
    pub fn recycle(&mut self) -> Result<(), Fault> {
        self.check()?;
        let needed = self.logs.oldest_needed().unwrap_or(self.current.sequence);
        if self.closed.front().is_some_and(|oldest| oldest.sequence < needed)
            && (self.tail.flushed == 0 || self.logs.drop_unflushed)
        {
            match self.flush() {
                Err(fault) if fault.error == DiskError::Full => return Ok(()),
                other => other?,
            }
        }
        while let Some(oldest) = self.closed.pop_front_if(|oldest| oldest.sequence < needed) {
            self.recycle_or_remove(oldest)?;
        }
        if self.preallocation.is_full() && !self.preallocation.recycled.is_empty() {
            self.try_preallocate()?;
        }
        Ok(())
    }

    /// The logs that there are, in the order of their ids.
    pub fn logs(&self) -> impl ExactSizeIterator<Item = LogId> {
        self.logs.ids()
    }

    /// The id that the next log will be given.
    pub fn next_log(&self) -> LogId {
        LogId(self.logs.next)
    }

    /// The number of the oldest segment.
    pub fn first_sequence(&self) -> u64 {
        self.closed.front().map_or(self.current.sequence, |oldest| oldest.sequence)
    }

    fn recycle_or_remove(&mut self, segment: ClosedSegment) -> Result<(), Fault> {
        let path = segment_path(segment.sequence);
        let ready = usize::from(self.preallocation.is_ready());
        let wanted = self.config.recycled_segments_max.saturating_sub(ready);
        let fits = segment.capacity == u64::from(self.config.segment_bytes);
        if fits && self.preallocation.recycled.len() < wanted {
            let capacity = segment.capacity;
            self.preallocation.recycled.push(RecycledSegment { path, capacity });
            return Ok(());
        }
        let removed = self.disk.remove(&path);
        self.note(removed, "remove", || path)
    }
}
