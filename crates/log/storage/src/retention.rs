//! Recycling the write-ahead log: what must be flushed before, and what each partition still needs of it.

use storage_disk::{Disk, DiskError};
use storage_wal::{Fault, LogId, Position, Progress};

use crate::files::{SEGMENT_DIRECTORY, segment_path};
use crate::store::Store;

/// How many segments of the write-ahead log may pass before a state is given again.
const STATE_AGE_MAX: u64 = 1;

impl<D: Disk> Store<D> {
    /// When a segment of the write-ahead log was begun, its first record has told what is flushed: earlier segments that
    /// no partition needs by that may go.
    pub(crate) fn after_append(&mut self) -> Result<(), Fault> {
        let current = self.wal.end().sequence;
        if current == self.judged {
            return Ok(());
        }
        // What follows is about this first record: it must be durable before anything goes because of it.
        match self.wal.flush() {
            Err(fault) if fault.error == DiskError::Full => return Ok(()),
            other => other?,
        }
        self.judged = current;
        for (id, log) in &mut self.logs.0 {
            let sequence = log.needed_from(current);
            self.wal.retain_from(*id, Position { sequence, offset: 0 });
        }
        self.wal.recycle()
    }

    /// Partitions whose owners have to give their state anew, with [`Self::put_state`], so that the write-ahead log can be
    /// recycled. Each is named once.
    pub fn take_states_asked(&mut self) -> Vec<LogId> {
        let current = self.wal.end().sequence;
        let mut asked = Vec::new();
        for (id, log) in &mut self.logs.0 {
            if log.state_in + STATE_AGE_MAX < current && !log.state_asked {
                log.state_asked = true;
                asked.push(*id);
            }
        }
        asked
    }

    /// Flushes segments of a few partitions whose batches lie in segments of the write-ahead log that are full. To be called
    /// after a flush, for it writes their batches first.
    ///
    /// # Errors
    /// A fault poisons the store.
    pub fn sync_step(&mut self) -> Result<Progress, Fault> {
        let current = self.wal.end().sequence;
        let holds_old = |log: &crate::partition_log::PartitionLog| {
            log.is_dirty() && log.first_ends.front().is_some_and(|(sequence, _)| *sequence < current)
        };
        let old = self.logs.0.iter().filter(|(_, log)| holds_old(log)).map(|(id, _)| *id);
        let some: Vec<LogId> = old.take(self.config.sync_step_partitions).collect();
        for log in &some {
            self.sync_one(*log)?;
        }
        let more = some.len() == self.config.sync_step_partitions;
        Ok(if more { Progress::More } else { Progress::Idle })
    }

    fn sync_one(&mut self, id: LogId) -> Result<(), Fault> {
        self.write_one(id)?;
        let Some(log) = self.logs.0.get_mut(&id) else { return Ok(()) };
        let partition = log.id;
        let (segments, reached) = (std::mem::take(&mut log.unflushed_segments), log.written);
        for segment in segments {
            let disk = self.wal.disk();
            let synced = match self.files.get(disk, partition, segment, false) {
                Ok(file) => disk.sync_data(file),
                Err(error) => Err(error),
            };
            self.wal.note(synced, "flush", || segment_path(partition, segment))?;
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
