//! The store: the way of a batch into the write-ahead log, and behind it into its segment.

use std::collections::BTreeMap;

use base::WallTime;
use bytes::Bytes;
use log_partition::{Offset, PartitionId, Place};
use storage_disk::{Disk, DiskError};
use storage_wal::{
    AppendError, Checkpoints, Class, CreateError, Fault, LogId, Progress, Space, Wal, WalStats,
    record_bytes_max,
};

use crate::checkpoint::{CHECKPOINT_BYTES_MAX, Flushed};
use crate::config::StoreConfig;
use crate::files::{OpenFiles, SEGMENT_DIRECTORY, segment_path};
use crate::partition_log::PartitionLog;
use crate::record::Record;

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
    /// The batch.
    pub batch: Bytes,
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
    /// The segment of the write-ahead log up to which retention was judged.
    pub(crate) judged: u64,
    /// Logs that have more than enough in memory.
    pub(crate) due: Vec<LogId>,
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

    /// Drops the log of a partition with all its batches.
    ///
    /// # Errors
    /// Every error but a fault leaves the store as it was.
    pub fn drop_log(&mut self, log: LogId) -> Result<(), AppendError> {
        self.wal.drop_log(log, &self.logs)?;
        self.flush_now()?;
        let Some(dropped) = self.logs.0.remove(&log) else { return Ok(()) };
        self.memory_bytes -= dropped.pending_bytes;
        self.files.forget(dropped.id);
        self.remove_segments(dropped.id, Offset::MAX)?;
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
            self.memory_bytes += log.keep(append.at, append.end, append.batch.clone());
            if log.pending_bytes >= self.config.write_behind_bytes
                && log.pending_bytes - append.batch.len() < self.config.write_behind_bytes
            {
                self.due.push(append.log);
            }
        }
        group.end()?;
        self.after_append()?;
        Ok(Appended { room_bytes: self.wal.room(&self.logs) })
    }

    /// The tables of a partition, as of every batch that was given to [`Self::append`] until now.
    ///
    /// # Errors
    /// Every error but a fault leaves the store as it was.
    pub fn put_state(&mut self, log: LogId, state: &[u8]) -> Result<(), AppendError> {
        let sequence = self.put(log, &Record::State(state))?;
        // First: what a new segment says of this partition, it says without this state.
        self.after_append()?;
        if let Some(log) = self.logs.0.get_mut(&log) {
            (log.state_in, log.state_asked) = (sequence, false);
        }
        Ok(())
    }

    /// The log of a partition begins at that offset from now on, durably; segments before the second one are removed.
    ///
    /// # Errors
    /// Every error but a fault leaves the store as it was.
    pub fn set_start(&mut self, log: LogId, start: Offset, first_segment: Offset) -> Result<(), AppendError> {
        self.put(log, &Record::Start(start, first_segment))?;
        self.flush_now()?;
        self.after_append()?;
        let Some(of) = self.logs.0.get_mut(&log) else { return Ok(()) };
        let id = of.id;
        self.memory_bytes -= of.drop_before(first_segment);
        self.files.forget(id);
        Ok(self.remove_segments(id, first_segment)?)
    }

    fn flush_now(&mut self) -> Result<(), AppendError> {
        self.wal.flush().map_err(|fault| match fault.error {
            DiskError::Full => AppendError::Full,
            _ => AppendError::Fault(fault),
        })
    }

    fn put(&mut self, log: LogId, record: &Record<'_>) -> Result<u64, AppendError> {
        let bytes = record_bytes_max(record.bytes_max());
        let mut group = self.wal.group(bytes, Class::Reserved, &self.logs)?;
        let position = group.append(log, record.bytes_max(), &self.logs, |out| record.encode(out))?;
        group.end()?;
        Ok(position.sequence)
    }

    /// Makes everything appended durable: one write, one flush.
    ///
    /// # Errors
    /// A [`Fault`] whose error is that of a full disk left the store intact, and the flush is to be tried again. Any other
    /// poisons it.
    pub fn flush(&mut self) -> Result<(), Fault> {
        self.wal.flush()
    }

    /// Hands everything appended to the system, without a flush: it outlives the process, but not the machine.
    ///
    /// # Errors
    /// As [`Self::flush`].
    pub fn write(&mut self) -> Result<(), Fault> {
        self.wal.write()
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
        self.wal.space()
    }

    /// Bytes of batches for which there is room without a further segment.
    #[must_use]
    pub fn room_bytes(&self) -> u64 {
        self.wal.room(&self.logs)
    }

    /// Tries again to find room on a full disk.
    ///
    /// # Errors
    /// A fault poisons the store.
    pub fn try_preallocate(&mut self) -> Result<Space, Fault> {
        self.wal.try_preallocate()
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

    /// Writes batches of partitions to their segments: of those that have many, or, if all of them together have too many
    /// or `all` is asked for, of all. Only batches that are durable may be there: to be called after a flush.
    ///
    /// # Errors
    /// A fault poisons the store.
    pub fn write_behind(&mut self, all: bool) -> Result<(), Fault> {
        if all || self.memory_bytes > self.config.memory_bytes_max {
            let waits = self.logs.0.iter().filter(|(_, log)| !log.pending.is_empty());
            self.due = waits.map(|(log, _)| *log).collect();
        }
        for log in std::mem::take(&mut self.due) {
            self.write_one(log)?;
        }
        Ok(())
    }

    /// Batches that are in their segments since this was asked last.
    pub fn take_written(&mut self) -> Vec<Written> {
        std::mem::take(&mut self.written)
    }

    /// Writes all batches of a partition that wait, those of one segment at once.
    pub(crate) fn write_one(&mut self, id: LogId) -> Result<(), Fault> {
        let Some(log) = self.logs.0.get_mut(&id) else { return Ok(()) };
        let mut bytes = Vec::new();
        while let Some((at, end)) = log.take_pending(&mut bytes) {
            let create = at.position == 0;
            let disk = self.wal.disk();
            let result = match self.files.get(disk, log.id, at.segment, create) {
                Ok(file) => disk.write_at(file, at.position, &bytes),
                Err(error) => Err(error),
            };
            let partition = log.id;
            self.wal.note(result, "write", || segment_path(partition, at.segment))?;
            self.names_unflushed |= create;
            if log.unflushed_segments.last() != Some(&at.segment) {
                log.unflushed_segments.push(at.segment);
            }
            log.pending_bytes -= bytes.len();
            self.memory_bytes -= bytes.len();
            log.written = Flushed { end, place: at.plus(bytes.len() as u64) };
            self.written.push(Written { log: id, end });
        }
        Ok(())
    }

    /// Removes segments of a partition that begin before `first`.
    fn remove_segments(&mut self, id: PartitionId, first: Offset) -> Result<(), Fault> {
        let listed = self.wal.disk().list(SEGMENT_DIRECTORY);
        let names = self.wal.note(listed, "list", || SEGMENT_DIRECTORY.into())?;
        for name in names {
            let found = crate::files::parse_name(&name);
            if let Some((_, segment)) = found.filter(|(of, segment)| *of == id && *segment < first) {
                let path = segment_path(id, segment);
                let removed = self.wal.disk().remove(&path);
                self.wal.note(removed, "remove", || path)?;
            }
        }
        Ok(())
    }

    /// Gives the disk back.
    ///
    /// # Errors
    /// As [`Self::flush`], without the case of a full disk.
    pub fn close(mut self) -> Result<D, Fault> {
        self.wal.flush()?;
        self.write_behind(true)?;
        self.wal.close()
    }
}

fn record_of(append: &Append) -> Record<'_> {
    Record::Append { at: append.at, end: append.end, now: append.now, batch: &append.batch }
}
