//! Opening a log that exists: everything is read and judged before the first byte is changed.
//!
//! What is changed then was never acknowledged: torn tails are overwritten with zeros, so that nothing in them can
//! become valid again behind new records, and what interrupted work left behind is removed. At last everything that was
//! accepted is flushed, because it may have been read from memory only.

use crate::config::WalConfig;
use crate::directory::DirectoryScan;
use crate::error::{Fault, OpenError, damaged};
use crate::log::{Position, Restore};
use crate::logs::LogTable;
use crate::preallocation::Preallocation;
use crate::record::ChecksumContext;
use crate::replay::Replay;
use crate::scan::Remains;
use crate::segment::{LOG_DIRECTORY, Segment, segment_path};
use crate::wal::{Tail, Wal, next_segment_bytes};
use alloc::collections::VecDeque;
use alloc::string::String;
use storage_disk::Disk;

/// What was cut off the end of the log: the remainder of a flush that never succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The segment, within the data directory.
    pub file: String,
    /// Where the log ends now.
    pub offset: u64,
    /// How many bytes were cut.
    pub bytes: u64,
}

/// Where the log ends and what lies behind.
struct End {
    offset: u64,
    /// The same without the name of a next segment that was not begun.
    unnamed: u64,
    remains: Remains,
}

/// A write-ahead log that was read, and nothing of it changed. Its owners judge what they were given before they let it
/// [`resume`](Replayed::resume).
pub struct Replayed<D: Disk> {
    disk: D,
    config: WalConfig,
    incarnation: [u8; 16],
    scan: DirectoryScan<D::File>,
    logs: LogTable,
    end: End,
    marked: bool,
}

impl<D: Disk> Replayed<D> {
    /// Reads the log in this directory, and gives its owners what it holds. The incarnation is the one that it was
    /// created with.
    ///
    /// # Errors
    /// In every case nothing was changed.
    pub fn read(
        mut disk: D,
        config: WalConfig,
        incarnation: [u8; 16],
        owners: &mut impl Restore,
    ) -> Result<Self, OpenError> {
        let scan = DirectoryScan::read(&mut disk, &incarnation, owners)?;
        let Some((last, earlier)) = scan.needed().split_last() else {
            return Err(damaged(1, 0, "the log is missing"));
        };
        let mut replay = Replay::new(&scan);
        for segment in earlier {
            replay.whole(&mut disk, &incarnation, segment, owners)?;
        }
        let (offset, remains) = replay.last(&mut disk, &incarnation, last, owners)?;
        replay.check_given(scan.first())?;
        let mut end = End { offset, unnamed: offset, remains };
        let named = replay.successor.filter(|(sequence, _)| *sequence == last.sequence + 1);
        if let Some((sequence, place)) = named {
            if scan.next.as_ref().is_none_or(|unused| unused.sequence != sequence) {
                let what = "this segment is missing, although the one before it says that it was begun";
                return Err(damaged(sequence, 0, what));
            }
            // A crash came before its first record. What names it goes, for the file may go as well.
            end.offset = place;
            replay.marked = false;
        }
        let logs = LogTable::new(replay.live, replay.next_log, scan.first());
        Ok(Replayed { disk, config, incarnation, scan, logs, end, marked: replay.marked })
    }

    /// The oldest segment that there is.
    pub fn first_sequence(&self) -> u64 {
        self.scan.first()
    }

    /// Where the log ends.
    pub fn end(&self) -> Position {
        let sequence = self.scan.begun.last().map_or(1, |last| last.sequence);
        Position { sequence, offset: self.end.offset }
    }

    /// The disk, for what else lies in the directory.
    pub fn disk(&mut self) -> &mut D {
        &mut self.disk
    }

    /// Resumes the log where it ends, and says what was cut off. Every log is assumed to need all segments, until its
    /// owner [says otherwise](Wal::retain_from).
    ///
    /// # Errors
    /// The disk refused a call. The next attempt finds all that this one found.
    pub fn resume(mut self) -> Result<(Wal<D>, Option<TornTail>), OpenError> {
        let torn_tail = self.clean_up()?;
        let Replayed { mut disk, config, incarnation, mut scan, logs, end, marked } = self;
        // One of another size may have been left while it was made larger, not all of it flushed.
        let capacity = scan.begun.last().map_or(0, |last| last.capacity);
        let next_bytes = next_segment_bytes(&config, capacity);
        let usable = scan.next.take_if(|unused| unused.capacity == next_bytes);
        if let Some(odd) = scan.next {
            let path = segment_path(odd.sequence);
            disk.remove(&path).map_err(|error| Fault::new(&path, "remove", error))?;
        }
        let preallocation = Preallocation::new(usable.map(|unused| (unused.file, unused.capacity)));
        let mut begun: VecDeque<Segment<D::File>> = scan.begun.into();
        let Some(mut current) = begun.pop_back() else {
            return Err(damaged(1, 0, "the log is missing"));
        };
        current.end = end.offset;
        let closed = begun.into_iter().map(Segment::close).collect();
        let context = ChecksumContext::new(&incarnation, current.sequence);
        let tail = Tail::at(context, end.offset, marked);
        let wal = Wal::new(disk, config, incarnation, logs, (closed, current), tail, preallocation);
        Ok((wal, torn_tail))
    }

    /// Removes what was never acknowledged, and makes durable what is kept.
    fn clean_up(&mut self) -> Result<Option<TornTail>, OpenError> {
        let (disk, scan, end) = (&mut self.disk, &self.scan, &self.end);
        let mut torn = None;
        if let Some(last) = scan.begun.last() {
            let path = segment_path(last.sequence);
            torn = cut(disk, &last.file, &path, end.offset, end.remains.end)?
                .filter(|_| end.remains.end > end.unnamed);
            disk.sync_data(&last.file).map_err(|error| Fault::new(&path, "flush", error))?;
        }
        if let Some(unused) = &scan.next {
            let path = segment_path(unused.sequence);
            let cut = cut(disk, &unused.file, &path, 0, unused.remains.end)?;
            disk.sync_data(&unused.file).map_err(|error| Fault::new(&path, "flush", error))?;
            torn = torn.or(cut);
        }
        for path in &scan.leftovers {
            disk.remove(path).map_err(|error| Fault::new(path, "remove", error))?;
        }
        for directory in ["", LOG_DIRECTORY] {
            disk.sync_directory(directory).map_err(|error| Fault::new(directory, "flush", error))?;
        }
        Ok(torn)
    }
}

fn cut<D: Disk>(
    disk: &mut D,
    file: &D::File,
    path: &str,
    offset: u64,
    end: u64,
) -> Result<Option<TornTail>, OpenError> {
    if end <= offset {
        return Ok(None);
    }
    disk.write_zeros(file, offset, end).map_err(|error| Fault::new(path, "cut", error))?;
    Ok(Some(TornTail { file: path.into(), offset, bytes: end - offset }))
}
