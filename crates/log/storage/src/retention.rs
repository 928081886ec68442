//! Recycling the write-ahead log: what must be flushed before, and what each partition still needs of it.

use std::collections::VecDeque;

use storage_disk::{Disk, DiskError};
use storage_wal::{Fault, LogId, Position, Progress};

use crate::segment_name::{SEGMENT_DIRECTORY, segment_path};
use crate::store::Store;

/// How many segments of the write-ahead log may pass before a state is given again.
const STATE_AGE_MAX: u64 = 1;

impl<D: Disk> Store<D> {
    /// When a segment of the write-ahead log was begun, its first record has told what is flushed: earlier segments that
    /// no partition needs by that may go, once it is durable. To be called right after what may have begun it: what memory
    /// knows must still be what the record says.
    pub(crate) fn after_append(&mut self) -> Result<(), Fault> {
        let current = self.wal.end().sequence;
        if current == self.judged {
            return Ok(());
        }
        self.judged = current;
        self.needs = Some(self.logs.0.iter_mut().map(|(id, log)| (*id, log.needed_from(current))).collect());
        self.find_due();
        match self.flush() {
            Err(fault) if fault.error == DiskError::Full => Ok(()),
            other => other,
        }
    }

    /// What was judged is durable: segments of the write-ahead log that nothing needs go.
    pub(crate) fn recycle(&mut self) -> Result<(), Fault> {
        let Some(needs) = self.needs.take() else { return Ok(()) };
        for (id, sequence) in needs {
            // It may have been dropped since.
            if self.logs.0.contains_key(&id) {
                self.wal.retain_from(id, Position { sequence, offset: 0 });
            }
        }
        self.wal.recycle()
    }

    /// Finds what has to be done so that the write-ahead log can be recycled. That changes only when a segment of it is begun:
    /// no step between looks at all logs.
    pub(crate) fn find_due(&mut self) {
        let current = self.wal.end().sequence;
        (self.sync_due, self.state_due) = (VecDeque::new(), VecDeque::new());
        self.sync_started.clear();
        for (id, log) in &self.logs.0 {
            if log.holds_before(current) {
                self.sync_due.push_back(*id);
            }
            if log.state_in + STATE_AGE_MAX < current && !log.state_asked {
                self.state_due.push_back(*id);
            }
        }
        // Those that hold up the oldest segment come first: under load all partitions are due again with each segment, and the
        // last ones would never be reached.
        let oldest = |id: &LogId| self.logs.0.get(id).map_or(u64::MAX, |log| log.oldest_unflushed());
        self.sync_due.make_contiguous().sort_by_key(oldest);
    }

    /// How many segments the write-ahead log has: what a start has to read.
    #[must_use]
    pub fn wal_segments(&self) -> u64 {
        self.wal.stats().segments
    }

    /// Partitions whose owners have to give their state anew, with [`Self::put_state`], so that the write-ahead log can be
    /// recycled. Each is named once, and a few at a time.
    pub fn take_states_asked(&mut self) -> Vec<LogId> {
        let count = self.state_due.len().min(self.config.states_asked_max);
        let mut asked: Vec<LogId> = self.state_due.drain(..count).collect();
        asked.retain(|log| match self.logs.0.get_mut(log) {
            Some(log) => !std::mem::replace(&mut log.state_asked, true),
            // It was dropped since.
            None => false,
        });
        asked
    }

    /// Flushes segments of a few partitions whose batches lie in segments of the write-ahead log that are full. Flushing is
    /// started one step before it is waited for, so that the wait is short.
    ///
    /// # Errors
    /// A fault poisons the store.
    pub fn sync_step(&mut self) -> Result<Progress, Fault> {
        for log in std::mem::take(&mut self.sync_started) {
            self.sync_one(log)?;
            if self.logs.0.get(&log).is_some_and(|log| !log.pending.is_empty()) {
                // The disk had no room for batches that were appended since.
                self.sync_due.push_front(log);
            }
        }
        for _ in 0..self.config.sync_step_partitions {
            let Some(log) = self.sync_due.pop_front() else { break };
            self.write_one(log)?;
            if self.is_short {
                self.sync_due.push_front(log);
                return Ok(Progress::Idle);
            }
            self.start_sync(log);
            self.sync_started.push(log);
        }
        let is_done = self.sync_started.is_empty() && self.state_due.is_empty();
        Ok(if is_done { Progress::Idle } else { Progress::More })
    }

    fn start_sync(&mut self, id: LogId) {
        let Some(log) = self.logs.0.get(&id) else { return };
        for segment in &log.unflushed_segments {
            let disk = self.wal.disk();
            // A file that cannot be opened now is noticed when it is flushed.
            if let Ok(file) = self.files.get(disk, log.id, *segment, false) {
                disk.start_writeback(file);
            }
        }
    }

    /// Writes and flushes everything of a partition, unless the disk is full.
    pub(crate) fn sync_one(&mut self, id: LogId) -> Result<(), Fault> {
        self.write_one(id)?;
        let Some(log) = self.logs.0.get_mut(&id).filter(|log| log.pending.is_empty()) else { return Ok(()) };
        let partition = log.id;
        let (segments, reached) = (std::mem::take(&mut log.unflushed_segments), log.written);
        let indices = std::mem::take(&mut log.unflushed_indices);
        for segment in segments {
            let disk = self.wal.disk();
            let synced = match self.files.get(disk, partition, segment, false) {
                Ok(file) => disk.sync_data(file),
                Err(error) => Err(error),
            };
            self.wal.note(synced, "flush", || segment_path(partition, segment))?;
        }
        for segment in indices {
            self.sync_index(partition, segment);
        }
        if std::mem::take(&mut self.names_unflushed) {
            let synced = self.wal.disk().sync_directory(SEGMENT_DIRECTORY);
            self.wal.note(synced, "flush", || SEGMENT_DIRECTORY.into())?;
        }
        if let Some(log) = self.logs.0.get_mut(&id) {
            log.flushed = reached;
        }
        Ok(())
    }
}
