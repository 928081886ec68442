//! What lies in the directory of the log, read and sorted out before anything is changed.

use crate::error::{Fault, OpenError, damaged};
use crate::log::{LogId, Restore};
use crate::replay;
use crate::scan::Remains;
use crate::segment::{GROWING_PATH, LOG_DIRECTORY, Segment, segment_path, segment_sequence};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use storage_disk::Disk;

/// A segment that was made ready and holds no first record.
pub(crate) struct UnusedSegment<File> {
    pub(crate) file: File,
    pub(crate) sequence: u64,
    pub(crate) capacity: u64,
    /// What a torn first flush left in it.
    pub(crate) remains: Remains,
}

/// The files of the log.
pub(crate) struct DirectoryScan<File> {
    /// Segments that follow each other without a gap, up to the last that holds records.
    pub(crate) begun: Vec<Segment<File>>,
    /// The segment after those.
    pub(crate) next: Option<UnusedSegment<File>>,
    /// Files that nothing needs: below a gap, beyond the next segment, unfinished.
    pub(crate) leftovers: Vec<String>,
    /// From which segment on each log that the newest one lists is to be replayed; nothing if no checkpoint would do.
    pub(crate) from: BTreeMap<LogId, Option<u64>>,
    /// Where the segment before the one taken in last ends.
    previous_end: u64,
}

impl<File> DirectoryScan<File> {
    pub(crate) fn read<D: Disk<File = File>>(
        disk: &mut D,
        incarnation: &[u8; 16],
        owners: &mut impl Restore,
    ) -> Result<Self, OpenError> {
        let names = disk.list(LOG_DIRECTORY).map_err(|error| Fault::new(LOG_DIRECTORY, "list", error))?;
        let (begun, leftovers, from) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut scan = DirectoryScan { begun, next: None, leftovers, from, previous_end: 0 };
        if names.iter().any(|name| GROWING_PATH.strip_prefix("log/") == Some(name)) {
            scan.leftovers.push(GROWING_PATH.to_string());
        }
        let mut sequences: Vec<u64> = names.iter().filter_map(|name| segment_sequence(name)).collect();
        sequences.sort_unstable_by(|a, b| b.cmp(a));
        let mut gap = false;
        for sequence in sequences {
            gap |= scan.begun.last().is_some_and(|above| above.sequence != sequence + 1);
            if gap {
                scan.leftovers.push(segment_path(sequence));
            } else {
                scan.take(disk, incarnation, sequence, owners)?;
            }
        }
        scan.begun.reverse();
        scan.check_next()?;
        Ok(scan)
    }

    /// Takes in the segment below those that were taken in already.
    fn take<D: Disk<File = File>>(
        &mut self,
        disk: &mut D,
        incarnation: &[u8; 16],
        sequence: u64,
        owners: &mut impl Restore,
    ) -> Result<(), OpenError> {
        let path = segment_path(sequence);
        let file = disk.open(&path).map_err(|error| Fault::new(&path, "open", error))?;
        let length = disk.len(&file).map_err(|error| Fault::new(&path, "measure", error))?;
        let place = (sequence, length);
        let (newest, from) = (self.begun.is_empty(), &mut self.from);
        let start = replay::read_start(disk, incarnation, &file, place, |log, checkpoint| {
            if newest {
                from.insert(log, None);
            }
            // A log that the newest segment does not list was dropped since.
            let Some(chosen) = from.get_mut(&log) else { return Ok(()) };
            if owners.offer(log, sequence, checkpoint)? && chosen.is_none() {
                *chosen = Some(sequence);
            }
            Ok(())
        })?;
        if let Some(start) = start {
            // Logs that came after this first record were created in this segment, as all later ones list them.
            for chosen in from.range_mut(LogId(start.next_log)..).map(|(_, chosen)| chosen) {
                chosen.get_or_insert(sequence);
            }
            let end = core::mem::replace(&mut self.previous_end, start.previous_end);
            self.begun.push(Segment { file, sequence, capacity: start.capacity, end });
            return Ok(());
        }
        if !self.begun.is_empty() {
            return Err(damaged(sequence, 0, "its beginning does not verify, a later segment's does"));
        }
        let remains = replay::read_unused(disk, incarnation, &file, place)?;
        let above = self.next.replace(UnusedSegment { file, sequence, capacity: length, remains });
        self.leftovers.extend(above.map(|unused| segment_path(unused.sequence)));
        Ok(())
    }

    /// A segment is made ready only when the one before it is in use.
    fn check_next(&self) -> Result<(), OpenError> {
        let expected = self.begun.last().map_or(1, |last| last.sequence + 1);
        if self.next.as_ref().is_some_and(|unused| unused.sequence != expected) {
            let what = "this segment is missing, although the one after it is there";
            return Err(damaged(expected, 0, what));
        }
        Ok(())
    }

    /// The number of the oldest segment.
    pub(crate) fn first(&self) -> u64 {
        self.begun.first().map_or(1, |segment| segment.sequence)
    }

    /// The segments that must be replayed, so that each log is replayed from where its owner can begin.
    pub(crate) fn needed(&self) -> &[Segment<File>] {
        let newest = self.begun.last().map_or(0, |last| last.sequence);
        let from = self.from.values().copied().flatten().min().unwrap_or(newest);
        let at = self.begun.iter().position(|segment| segment.sequence >= from);
        at.and_then(|at| self.begun.get(at..)).unwrap_or_default()
    }
}
