//! Replays the records of the log, and distinguishes a torn tail from damage.
//!
//! Segments before the last end where the first record of the next one says, and all of each was flushed before that
//! record was written: a record that does not verify there is damage. In the last segment the records end where the
//! first one does not verify. If a record that does verify lies behind that place and says that an earlier flush had
//! covered it, what is there was acknowledged: damage. Otherwise it is the torn remainder of a flush that never
//! succeeded: the sectors of one flush reach the disk in any order, so whole records may well lie behind a hole.
//!
//! The last record of a segment names the next one, durably before that has any record. So if it is missing, its
//! records may have been acknowledged, and the log is damaged; if it is there and empty, a crash came in between.
//!
//! The logs that a segment lists must be those that there were at the end of the segment before it: a log that is
//! left out there would be lost as soon as that one is recycled.
//!
//! What cannot be told: damage within the very last flush, when nothing was written after it. That is why a mark is
//! written when the log is idle, when it is closed and when it is opened.

use crate::codec::{Input, Malformed};
use crate::directory::DirectoryScan;
use crate::error::{OpenError, damaged};
use crate::limits::SEGMENT_BYTES_MIN;
use crate::log::{LogId, Position, Restore};
use crate::record::{ChecksumContext, RecordKind};
use crate::scan::{Record, Remains, Scan, ScannedFile};
use crate::segment::{LOG_VERSION, Segment, SegmentStart, segment_path, successor};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use storage_disk::Disk;

const READ_BYTES: usize = 1 << 20;

/// How much is read at once to find a first record, which is short as long as logs are few.
const START_READ_BYTES: usize = 4096;

/// Replays segments one after the other. What records hold is verified and let go again.
pub(crate) struct Replay {
    /// The logs that there are behind the record replayed last.
    pub(crate) live: BTreeSet<LogId>,
    /// The id that the next log will be given; 0 before the first segment.
    pub(crate) next_log: u64,
    /// From which segment on each log is given to its owner.
    from: BTreeMap<LogId, Option<u64>>,
    /// The number of the last segment.
    last: u64,
    /// Whether the record replayed last only says that all before it was flushed.
    pub(crate) marked: bool,
    /// The next segment, if the record replayed last names it, and where that record lies.
    pub(crate) successor: Option<(u64, u64)>,
}

/// Why a record was not taken.
enum Refused {
    Malformed,
    /// The first record of a segment lists other logs than there are.
    OtherLogs,
}

impl From<Malformed> for Refused {
    fn from(_: Malformed) -> Refused {
        Refused::Malformed
    }
}

impl Replay {
    pub(crate) fn new<File>(scan: &DirectoryScan<File>) -> Self {
        let last = scan.begun.last().map_or(0, |last| last.sequence);
        let (live, from) = (BTreeSet::new(), scan.from.clone());
        Replay { live, next_log: 0, from, last, marked: false, successor: None }
    }

    /// Replays a segment that another one follows, which says where this one ends.
    pub(crate) fn whole<D: Disk>(
        &mut self,
        disk: &mut D,
        incarnation: &[u8; 16],
        segment: &Segment<D::File>,
        owners: &mut impl Restore,
    ) -> Result<(), OpenError> {
        if segment.end > segment.capacity {
            return Err(damaged(segment.sequence, segment.capacity, "it is shorter than the next one says"));
        }
        let mut scan = scan(disk, incarnation, segment, segment.end);
        self.run(&mut scan, segment.sequence, owners)?;
        if scan.offset == segment.end {
            return Ok(());
        }
        Err(damaged(segment.sequence, scan.offset, "a flushed record does not verify"))
    }

    /// Replays the last segment. Returns where its records end and what lies behind them.
    pub(crate) fn last<D: Disk>(
        &mut self,
        disk: &mut D,
        incarnation: &[u8; 16],
        segment: &Segment<D::File>,
        owners: &mut impl Restore,
    ) -> Result<(u64, Remains), OpenError> {
        let mut scan = scan(disk, incarnation, segment, segment.capacity);
        self.run(&mut scan, segment.sequence, owners)?;
        let end = scan.offset;
        let remains = scan.remains()?;
        if remains.flushed > end {
            return Err(damaged(segment.sequence, end, "a flushed record does not verify, later ones do"));
        }
        Ok((end, remains))
    }

    /// Every log that there is must have been given to its owner.
    pub(crate) fn check_given(&self, oldest: u64) -> Result<(), OpenError> {
        let lacking = |log: &&LogId| self.from.get(log).copied().flatten().is_none();
        let Some(log) = self.live.iter().find(lacking) else { return Ok(()) };
        let what = format!("this segment is missing, and log {log} needs it");
        Err(damaged(oldest.saturating_sub(1), 0, &what))
    }

    fn run<D: Disk>(
        &mut self,
        scan: &mut Scan<'_, D>,
        sequence: u64,
        owners: &mut impl Restore,
    ) -> Result<(), OpenError> {
        while let Some(record) = scan.next()? {
            let offset = record.offset;
            self.record(&record, sequence, owners).map_err(|refused| match refused {
                Refused::Malformed => {
                    damaged(sequence, offset, "the record verifies but cannot be understood")
                }
                Refused::OtherLogs => {
                    damaged(sequence, offset, "it lists other logs than the segment before it ends with")
                }
            })?;
        }
        Ok(())
    }

    fn record(
        &mut self,
        record: &Record<'_>,
        sequence: u64,
        owners: &mut impl Restore,
    ) -> Result<(), Refused> {
        let at = Position { sequence, offset: record.offset };
        self.marked = record.kind == RecordKind::Mark;
        let named = if self.marked { successor(record.payload) } else { None };
        self.successor = named.map(|sequence| (sequence, record.offset));
        match record.kind {
            RecordKind::Start if record.offset == 0 => self.start(record.payload, at, owners),
            RecordKind::Start => Err(Refused::Malformed),
            RecordKind::Mark => Ok(()),
            RecordKind::Append => {
                let (log, payload) = addressed(record.payload)?;
                if !self.live.contains(&log) {
                    return Err(Refused::Malformed);
                }
                if self.is_given(log, sequence) {
                    owners.record(log, at, payload)?;
                }
                Ok(())
            }
            RecordKind::Create => Ok(self.create(record.payload, at, owners)?),
            RecordKind::Drop => Ok(self.drop(record.payload, owners)?),
        }
    }

    /// The first record of a segment: where those logs begin whose owners have taken this checkpoint.
    fn start(&mut self, payload: &[u8], at: Position, owners: &mut impl Restore) -> Result<(), Refused> {
        let mut listed = BTreeSet::new();
        let start = SegmentStart::decode(payload, |log, checkpoint| {
            listed.insert(log);
            if self.from.get(&log) == Some(&Some(at.sequence)) {
                owners.begin(log, at, checkpoint)?;
            }
            Ok(())
        })?;
        if self.next_log == 0 {
            (self.live, self.next_log) = (listed, start.next_log);
        } else if listed != self.live || start.next_log != self.next_log {
            return Err(Refused::OtherLogs);
        }
        Ok(())
    }

    fn create(&mut self, payload: &[u8], at: Position, owners: &mut impl Restore) -> Result<(), Malformed> {
        let (log, checkpoint) = addressed(payload)?;
        if log.0 != self.next_log {
            return Err(Malformed);
        }
        self.next_log = log.0.checked_add(1).ok_or(Malformed)?;
        self.live.insert(log);
        if at.sequence == self.last {
            self.from.insert(log, Some(at.sequence));
        }
        if self.from.get(&log) == Some(&Some(at.sequence)) {
            owners.begin(log, at, checkpoint)?;
        }
        Ok(())
    }

    fn drop(&mut self, payload: &[u8], owners: &mut impl Restore) -> Result<(), Malformed> {
        let (log, rest) = addressed(payload)?;
        if !rest.is_empty() || !self.live.remove(&log) {
            return Err(Malformed);
        }
        if self.from.remove(&log).is_some() {
            owners.dropped(log);
        }
        Ok(())
    }

    /// Whether records of this log in this segment are for its owner. Those of a log that was dropped before the last
    /// segment are not: nothing remains of it.
    fn is_given(&self, log: LogId, sequence: u64) -> bool {
        self.from.get(&log).copied().flatten().is_some_and(|from| from <= sequence)
    }
}

/// The log that a record is for, and what is left of its payload.
pub(crate) fn addressed(payload: &[u8]) -> Result<(LogId, &[u8]), Malformed> {
    let mut input = Input::new(payload);
    let log = input.varint()?;
    Ok((LogId(log), input.rest()))
}

fn scan<'d, D: Disk>(
    disk: &'d mut D,
    incarnation: &[u8; 16],
    segment: &'d Segment<D::File>,
    limit: u64,
) -> Scan<'d, D> {
    let context = ChecksumContext::new(incarnation, segment.sequence);
    let file = ScannedFile::Borrowed(&segment.file);
    Scan::new(disk, file, segment.sequence, context, (0, limit), READ_BYTES)
}

/// Reads the first record of a segment, and reports each log that it lists. Nothing is returned if no such record was
/// ever flushed.
pub(crate) fn read_start<D: Disk>(
    disk: &mut D,
    incarnation: &[u8; 16],
    file: &D::File,
    (sequence, capacity): (u64, u64),
    each: impl FnMut(LogId, &[u8]) -> Result<(), Malformed>,
) -> Result<Option<SegmentStart>, OpenError> {
    let context = ChecksumContext::new(incarnation, sequence);
    let file = ScannedFile::Borrowed(file);
    let mut scan = Scan::new(disk, file, sequence, context, (0, capacity), START_READ_BYTES);
    let Some(record) = scan.next()? else { return Ok(None) };
    let malformed = |Malformed| damaged(sequence, 0, "its beginning verifies but cannot be understood");
    if record.kind != RecordKind::Start {
        return Err(malformed(Malformed));
    }
    let found = SegmentStart::version(record.payload).map_err(malformed)?;
    if found != LOG_VERSION {
        return Err(OpenError::Version { file: segment_path(sequence), found, known: LOG_VERSION });
    }
    let start = SegmentStart::decode(record.payload, each).map_err(malformed)?;
    if start.sequence != sequence {
        return Err(malformed(Malformed));
    }
    if start.capacity > capacity {
        return Err(damaged(sequence, capacity, "the file is shorter than it was made"));
    }
    Ok(Some(start))
}

/// What is left in a segment that has no first record: nothing, or the torn remainder of its first flush.
pub(crate) fn read_unused<D: Disk>(
    disk: &mut D,
    incarnation: &[u8; 16],
    file: &D::File,
    (sequence, capacity): (u64, u64),
) -> Result<Remains, OpenError> {
    if capacity < SEGMENT_BYTES_MIN {
        return Err(damaged(sequence, capacity, "the file is shorter than any segment is made"));
    }
    let context = ChecksumContext::new(incarnation, sequence);
    let file = ScannedFile::Borrowed(file);
    let mut scan = Scan::new(disk, file, sequence, context, (0, capacity), READ_BYTES);
    let remains = scan.remains()?;
    if remains.flushed > 0 {
        return Err(damaged(sequence, 0, "its beginning does not verify, later records do"));
    }
    Ok(remains)
}
