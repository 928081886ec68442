//! The store: the way of a batch into the write-ahead log, and behind it into its segment.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::WallTime;
use bytes::Bytes;
use log_partition::{
    Begun, Commit, Cut, IndexFrame, LeaderEpoch, Offset, PartitionId, Place, SegmentId, State,
};
use storage_disk::Disk;
use storage_wal::{
    AppendError, Checkpoints, Class, CreateError, Fault, LogId, Progress, Space, Wal, WalStats,
    record_bytes_max,
};

use crate::checkpoint::{CHECKPOINT_BYTES_MAX, Flushed};
use crate::config::StoreConfig;
use crate::files::OpenFiles;
use crate::found::Found;
use crate::partition_log::{PartitionLog, Pending};
use crate::record::{LogStart, Record};
use crate::removals::Removals;
use crate::segment_name::FileKind;

/// A batch to be appended. Those of a partition come in order, without a hole.
#[derive(Clone, Debug)]
pub struct Append {
    /// The partition.
    pub log: LogId,
    /// Where it stands: behind the batch before it, or at the beginning of a segment.
    pub at: Place,
    /// The offset behind its last record.
    pub end: Offset,
    /// When it was appended.
    pub now: WallTime,
    /// What is to be known of epochs besides, as in [`NewBatch`](log_partition::NewBatch).
    pub begun: Begun,
    /// The batch.
    pub batch: Bytes,
    /// When it counts as committed: for the caller, who flushes or only writes.
    pub commit: Commit,
    /// Parts of indices of segments, which may be written once everything before the batch is durable.
    pub index: Vec<IndexFrame>,
}

/// How many bytes of the write-ahead log were used, and how many are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Bytes of batches for which there is room without a further segment.
    pub room_bytes: u64,
}

/// Batches that are in their segment from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The partition.
    pub log: LogId,
    /// The offset behind the last of them.
    pub end: Offset,
    /// How often batches of the partition were cut off before, since the start.
    pub cuts: u32,
}

/// The logs that there are, which answer for them when a segment of the write-ahead log is begun.
#[derive(Default)]
pub(crate) struct Logs(pub(crate) BTreeMap<LogId, PartitionLog>);

impl Checkpoints for Logs {
    fn bytes_max(&self) -> usize {
        self.0.len() * CHECKPOINT_BYTES_MAX
    }

    fn encode(&self, log: LogId, out: &mut Vec<u8>) {
        if let Some(log) = self.0.get(&log) {
            log.checkpoint().encode(out);
        }
    }
}

/// The partitions of a broker in one directory. One thread owns it; every call may block on the disk. After the first
/// [`Fault`] every call that would write answers with that fault.
pub struct Store<D: Disk> {
    pub(crate) wal: Wal<D>,
    pub(crate) config: StoreConfig,
    pub(crate) logs: Logs,
    pub(crate) files: OpenFiles<D::File>,
    /// Bytes of batches that are not in their segments.
    pub(crate) memory_bytes: usize,
    /// Whether a segment was made whose name is not flushed.
    pub(crate) names_unflushed: bool,
    /// The segment of the write-ahead log whose first record was judged last.
    pub(crate) judged: u64,
    /// What each log still needs of the write-ahead log by that record, until the record is flushed.
    pub(crate) needs: Option<Vec<(LogId, u64)>>,
    /// Segments that are not needed any more.
    pub(crate) removals: Removals,
    /// Logs that have more than enough in memory.
    pub(crate) due: BTreeSet<LogId>,
    /// Logs whose segments are to be flushed, so that the write-ahead log can be recycled.
    pub(crate) sync_due: VecDeque<LogId>,
    /// Those of them whose flushing was started.
    pub(crate) sync_started: Vec<LogId>,
    /// Logs whose owners are to be asked for a state, for the same reason.
    pub(crate) state_due: VecDeque<LogId>,
    /// The disk had no room for batches in their segments, where they are tried again.
    pub(crate) is_short: bool,
    /// The files that the start found, until it is known which of them are needed.
    pub(crate) found: Option<Found>,
    /// What was written to segments and not told yet.
    pub(crate) written: Vec<Written>,
}

impl<D: Disk> Store<D> {
    /// Creates the log of a partition, which begins at that offset. Durable after the next flush.
    ///
    /// # Errors
    /// Every error but a fault leaves the store as it was.
    pub fn create(&mut self, id: PartitionId, start: Offset) -> Result<LogId, CreateError> {
        let log = PartitionLog::new(id, start, 0);
        let checkpoint = log.checkpoint();
        let made = self
            .wal
            .create_log(Class::Ordinary, &self.logs, CHECKPOINT_BYTES_MAX, |out| checkpoint.encode(out))?;
        let state_in = self.wal.end().sequence;
        self.logs.0.insert(made, PartitionLog { state_in, ..log });
        self.after_append()?;
        Ok(made)
    }

    /// Drops the log of a partition with all its batches. Durable after the next flush, behind which its segments are
    /// [removed](Self::remove_step).
    ///
    /// # Errors
    /// Every error but a fault leaves the store as it was.
    pub fn drop_log(&mut self, log: LogId) -> Result<(), AppendError> {
        self.wal.drop_log(log, &self.logs)?;
        if let Some(dropped) = self.logs.0.remove(&log) {
            self.memory_bytes -= dropped.pending_bytes;
            self.files.forget(dropped.id);
            self.removals.add(dropped.id, dropped.files);
        }
        Ok(self.after_append()?)
    }

    /// Appends batches, of any partitions. They are durable after the next flush.
    ///
    /// # Errors
    /// [`AppendError::Full`]: nothing was appended. Other errors but a fault are the caller's.
    pub fn append(&mut self, batches: &[Append]) -> Result<Appended, AppendError> {
        let record = |append: &Append| record_bytes_max(record_of(append).bytes_max());
        let mut group = self.wal.group(batches.iter().map(record).sum(), Class::Ordinary, &self.logs)?;
        for append in batches {
            let record = record_of(append);
            let position =
                group.append(append.log, record.bytes_max(), &self.logs, |out| record.encode(out))?;
            let Some(log) = self.logs.0.get_mut(&append.log) else { continue };
            log.appended(position.sequence, append.end);
            let (batch, index) = (append.batch.clone(), append.index.clone());
            self.memory_bytes += log.keep(Pending { at: append.at, end: append.end, batch, index });
            if log.pending_bytes >= self.config.write_behind_bytes {
                self.due.insert(append.log);
            }
        }
        self.after_append()?;
        Ok(Appended { room_bytes: self.room_bytes() })
    }

    /// The tables of a partition, as of every batch that was given to [`Self::append`] until now. They may be of a moment at which
    /// the log began earlier than was [said here](Self::set_start) since: it does not begin there again.
    ///
    /// # Errors
    /// Every error but a fault leaves the store as it was.
    pub fn put_state(&mut self, log: LogId, state: &State) -> Result<(), AppendError> {
        let start = self.logs.0.get(&log).map_or(LogStart::NONE, |of| of.start);
        let sequence = self.put(log, &Record::State(start, state.end, &state.bytes))?;
        // First: what a new segment says of this partition, it says without this state.
        self.after_append()?;
        if let Some(log) = self.logs.0.get_mut(&log) {
            log.state_given(sequence, state.end);
        }
        Ok(())
    }

    /// An epoch was promised, and begins there, at the end of the log. Durable after the next flush.
    ///
    /// # Errors
    /// Every error but a fault leaves the store as it was.
    pub fn put_epoch(
        &mut self,
        log: LogId,
        promised: LeaderEpoch,
        begins: Option<Offset>,
    ) -> Result<(), AppendError> {
        self.put(log, &Record::Epoch(promised, begins))?;
        Ok(self.after_append()?)
    }

    /// The end of a log is cut off. Durable after the next flush, behind which segments that begin behind it are
    /// [removed](Self::remove_step).
    ///
    /// # Errors
    /// Every error but a fault leaves the store as it was.
    pub fn cut(&mut self, log: LogId, cut: &Cut) -> Result<(), AppendError> {
        let at = Flushed { end: cut.end, place: cut.at };
        self.put(log, &Record::Cut(at, cut.keeps_index))?;
        self.after_append()?;
        let Some(of) = self.logs.0.get_mut(&log) else { return Ok(()) };
        self.memory_bytes -= of.cut(at);
        of.cuts = of.cuts.wrapping_add(1);
        let (id, gone) = (of.id, of.take_files_behind(cut.at, cut.keeps_index));
        // At once: an index that tells of what is not there must not be met, and nothing depends on one.
        let own = (!cut.keeps_index).then_some(SegmentId::appended(cut.at.segment));
        for segment in gone.iter().copied().chain(own) {
            self.remove_file(id, segment, FileKind::Index)?;
        }
        self.remove_later(id, gone);
        Ok(())
    }

    /// Everything of a log is dropped, and it begins there. What was promised stays, in the same step. Durable after the next flush, behind which its segments are
    /// [removed](Self::remove_step).
    ///
    /// # Errors
    /// Every error but a fault leaves the store as it was.
    pub fn reset(&mut self, log: LogId, start: Offset, promised: LeaderEpoch) -> Result<(), AppendError> {
        let sequence = self.put(log, &Record::Reset(start, promised))?;
        self.after_append()?;
        let Some(of) = self.logs.0.get_mut(&log) else { return Ok(()) };
        self.memory_bytes -= of.reset(sequence, start);
        of.cuts = of.cuts.wrapping_add(1);
        let (id, gone) = (of.id, std::mem::take(&mut of.files));
        for segment in &gone {
            self.remove_file(id, *segment, FileKind::Index)?;
        }
        self.remove_later(id, gone);
        Ok(())
    }

    /// The log of a partition begins at that offset from now on. Durable after the next flush, behind which segments before the
    /// second offset are [removed](Self::remove_step).
    ///
    /// # Errors
    /// Every error but a fault leaves the store as it was.
    pub fn set_start(&mut self, log: LogId, start: Offset, first_segment: Offset) -> Result<(), AppendError> {
        let start = LogStart { offset: start, first_segment };
        self.put(log, &Record::Start(start))?;
        self.after_append()?;
        let Some(of) = self.logs.0.get_mut(&log) else { return Ok(()) };
        let (id, gone) = (of.id, of.take_files_before(first_segment));
        self.memory_bytes -= of.begins_at(start);
        self.remove_later(id, gone);
        Ok(())
    }

    /// Segments of a partition, which are not appended to, are replaced by another one, whose file is flushed with its name.
    /// `change` is what the owner is given back after a crash. Durable after the next flush: from then on the new segment counts,
    /// and the old ones are [removed](Self::remove_step). A crash before leaves the old ones, and the new one is removed by the
    /// next start.
    ///
    /// # Errors
    /// Every error but a fault leaves the store as it was. [`AppendError::Full`] also if the disk has no room for what was
    /// appended to the partition.
    ///
    /// Segments that are gone, because the log begins [behind them](Self::set_start), are not replaced.
    pub fn replace(
        &mut self,
        log: LogId,
        change: &[u8],
        removed: &[SegmentId],
        added: Option<SegmentId>,
    ) -> Result<(), AppendError> {
        let Some(of) = self.logs.0.get(&log) else { return Ok(()) };
        let first_segment = of.start.first_segment;
        if !removed.is_empty() && removed.iter().all(|segment| segment.base < first_segment) {
            // They are gone since this was asked for, and with them what was to take their place.
            self.remove_later(of.id, added.into_iter().collect());
            return Ok(());
        }
        // What was written to the old segments must not be written again: they will not be there.
        self.sync_one(log)?;
        let Some(of) = self.logs.0.get(&log) else { return Ok(()) };
        let (id, flushed) = (of.id, of.flushed);
        if !of.pending.is_empty() {
            return Err(AppendError::Full);
        }
        self.put(log, &Record::Replaced(flushed, change))?;
        self.after_append()?;
        let Some(of) = self.logs.0.get_mut(&log) else { return Ok(()) };
        let gone = of.take_replaced(removed, added);
        if let Some(added) = added {
            // If the log has begun anew, one that is gone may have had this name.
            self.removals.keep(id, added);
        }
        self.remove_later(id, gone);
        Ok(())
    }

    /// These segments are to be removed, once what was appended until now is durable.
    fn remove_later(&mut self, id: PartitionId, gone: BTreeSet<SegmentId>) {
        if !gone.is_empty() {
            self.files.forget(id);
            self.removals.add(id, gone);
        }
    }

    fn put(&mut self, log: LogId, record: &Record<'_>) -> Result<u64, AppendError> {
        let bytes = record_bytes_max(record.bytes_max());
        let mut group = self.wal.group(bytes, Class::Reserved, &self.logs)?;
        let position = group.append(log, record.bytes_max(), &self.logs, |out| record.encode(out))?;
        Ok(position.sequence)
    }

    /// Makes everything appended durable: one write, one flush.
    ///
    /// # Errors
    /// A [`Fault`] whose error is that of a full disk left the store intact, and the flush is to be tried again. Any other
    /// poisons it.
    pub fn flush(&mut self) -> Result<(), Fault> {
        self.wal.flush()?;
        self.removals.flushed();
        self.recycle()
    }

    /// Hands everything appended to the system, without a flush: it outlives the process, but not the machine.
    ///
    /// # Errors
    /// As [`Self::flush`].
    pub fn write(&mut self) -> Result<(), Fault> {
        self.wal.write()
    }

    /// Begins to flush what was [handed to the system](Self::write), so that the flush that counts finds less to do.
    pub fn start_flush(&mut self) {
        self.wal.start_flush();
    }

    /// One step of making the next segment of the write-ahead log ready. To be called when there is time.
    ///
    /// # Errors
    /// A fault poisons the store.
    pub fn prepare(&mut self) -> Result<Progress, Fault> {
        self.wal.prepare()
    }

    /// To be called after each flush that was answered.
    ///
    /// # Errors
    /// A fault poisons the store.
    pub fn keep_ahead(&mut self) -> Result<(), Fault> {
        self.wal.keep_ahead()
    }

    /// Whether there is room for more batches.
    #[must_use]
    pub fn space(&self) -> Space {
        if self.is_short { Space::Full } else { self.wal.space() }
    }

    /// Bytes of batches for which there is room without a further segment of the write-ahead log; nothing while the disk has
    /// no room for segments.
    #[must_use]
    pub fn room_bytes(&self) -> u64 {
        if self.is_short { 0 } else { self.wal.room(&self.logs) }
    }

    /// Tries again to find room on a full disk.
    ///
    /// # Errors
    /// A fault poisons the store.
    pub fn try_preallocate(&mut self) -> Result<Space, Fault> {
        let space = self.wal.try_preallocate()?;
        if self.is_short {
            self.write_behind(false)?;
        }
        Ok(if self.is_short { Space::Full } else { space })
    }

    /// What is this very directory: one that is made again is another.
    #[must_use]
    pub const fn incarnation(&self) -> [u8; 16] {
        self.wal.incarnation()
    }

    /// The write-ahead log's counts.
    #[must_use]
    pub fn stats(&self) -> WalStats {
        self.wal.stats()
    }

    /// Batches that are in their segments since this was asked last.
    pub fn take_written(&mut self) -> Vec<Written> {
        std::mem::take(&mut self.written)
    }

    /// Where a log ends by what was appended; nothing if there is no such log.
    #[must_use]
    pub fn end(&self, log: LogId) -> Option<Offset> {
        self.logs.0.get(&log).map(|log| log.end)
    }

    /// The segments of a partition that have files.
    pub fn segments(&self, log: LogId) -> impl Iterator<Item = SegmentId> {
        self.logs.0.get(&log).into_iter().flat_map(|log| log.files.iter().copied())
    }

    /// Gives the disk back.
    ///
    /// # Errors
    /// As [`Self::flush`], without the case of a full disk.
    pub fn close(mut self) -> Result<D, Fault> {
        self.flush()?;
        while self.write_behind(true)? == Progress::More {}
        while self.remove_step()? == Progress::More {}
        self.wal.close()
    }
}

fn record_of(append: &Append) -> Record<'_> {
    let Append { at, end, now, ref begun, ref batch, .. } = *append;
    Record::Append { at, end, now, begun: Cow::Borrowed(begun), batch }
}
