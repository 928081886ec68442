//! Replays the records of the log, and tells a torn tail from damage.
//!
//! Segments before the last end where the first record of the next one says, and all of them was flushed before
//! that record was written: whatever does not verify there is damage. In the last segment the records end where
//! the first one does not verify. If a record that does verify lies behind that place and says that an earlier
//! flush had covered it, what is there was acknowledged: damage. Otherwise it is the torn remainder of a flush
//! that never succeeded: the sectors of one flush reach the disk in any order, so whole records may well lie
//! behind a hole.
//!
//! The last record of a segment names the next one, durably before that has any record. So if it is missing, all that
//! it held was acknowledged, perhaps, and the log is damaged; if it is there and empty, a crash came in between.
//!
//! What cannot be told: damage within the very last flush, when nothing was written after it. That is why the
//! journal writes a mark when it is idle, when it is closed and when it is opened.

use crate::batch::{HardState, Membership, SnapshotMeta};
use crate::codec::{self, Input, Malformed};
use crate::disk::Disk;
use crate::error::{Corruption, OpenError};
use crate::index::{LogIndex, Position};
use crate::record::{RecordKind, Seal};
use crate::segment::{
    LOG_VERSION, Record, Remains, SEGMENT_BYTES_MIN, Scan, Segment, Start, segment_path, successor,
};
use alloc::string::ToString;
use alloc::vec::Vec;

const READ_BYTES: usize = 1 << 20;

pub(crate) const HINT: &str = "the log was left as it is, because what is damaged may have been acknowledged. Restore the data \
     directory from a backup, or, in an ensemble, start the member anew with an empty directory";

pub(crate) fn damaged(sequence: u64, offset: u64, what: &str) -> OpenError {
    OpenError::Corrupt(Corruption {
        file: segment_path(sequence),
        offset,
        what: what.to_string(),
        hint: HINT,
    })
}

/// What the log says, up to the record replayed last.
pub(crate) struct State {
    pub(crate) hard_state: HardState,
    pub(crate) membership: Membership,
    pub(crate) index: LogIndex,
    /// The index of the snapshot that last replaced the log; 0 if none did.
    pub(crate) reset_index: u64,
}

impl State {
    /// The state at the beginning of a segment.
    pub(crate) fn at(start: &Start) -> Self {
        State {
            hard_state: start.hard_state,
            membership: start.membership.clone(),
            index: LogIndex::after(start.last_index, start.last_term),
            reset_index: 0,
        }
    }

    /// The log is replaced by a snapshot from elsewhere.
    ///
    /// A snapshot's term was seen by this member, so a lower own term is raised; a vote in it was not given.
    pub(crate) fn reset(&mut self, reset: &Reset) {
        self.index = LogIndex::after(reset.index, reset.term);
        self.membership = reset.membership.clone();
        self.reset_index = reset.index;
        self.hard_state.commit = self.hard_state.commit.max(reset.index);
        if self.hard_state.term < reset.term {
            self.hard_state.term = reset.term;
            self.hard_state.vote = 0;
        }
    }

    /// Whether the log holds the entry that a snapshot ends with.
    pub(crate) fn follows(&self, meta: &SnapshotMeta) -> bool {
        let index = &self.index;
        meta.index <= index.last_index && index.term(meta.index).is_none_or(|term| term == meta.term)
    }
}

/// The content of a record that empties the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reset {
    pub(crate) index: u64,
    pub(crate) term: u64,
    pub(crate) membership: Membership,
}

impl Reset {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        codec::put_varint(out, self.index);
        codec::put_varint(out, self.term);
        codec::put_membership(out, &self.membership);
    }

    fn decode(payload: &[u8]) -> Result<Reset, Malformed> {
        let mut input = Input::new(payload);
        let reset = Reset {
            index: input.varint()?,
            term: input.varint()?,
            membership: codec::membership(&mut input)?,
        };
        input.finish()?;
        if reset.index >= u64::MAX - 1 { Err(Malformed) } else { Ok(reset) }
    }
}

/// Replays segments one after the other. What entries hold is verified and let go again: they are read when they are
/// wanted, so that a start needs no memory for the log.
pub(crate) struct Replay {
    pub(crate) state: State,
    /// Whether the record replayed last says nothing but that all before it was flushed.
    pub(crate) marked: bool,
    /// The next segment, if the record replayed last names it, and where that record lies.
    pub(crate) successor: Option<(u64, u64)>,
}

impl Replay {
    pub(crate) fn new(start: &Start) -> Self {
        Replay { state: State::at(start), marked: false, successor: None }
    }

    /// Replays a segment that another one follows, which says where this one ends.
    pub(crate) fn whole<D: Disk>(
        &mut self,
        disk: &mut D,
        incarnation: &[u8; 16],
        segment: &Segment<D::File>,
    ) -> Result<(), OpenError> {
        if segment.end > segment.capacity {
            return Err(damaged(segment.sequence, segment.capacity, "it is shorter than the next one says"));
        }
        let seal = Seal::new(incarnation, segment.sequence);
        let range = (0, segment.end);
        let mut scan = Scan::new(disk, &segment.file, segment.sequence, seal, range, READ_BYTES);
        self.run(&mut scan, segment.sequence)?;
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
    ) -> Result<(u64, Remains), OpenError> {
        let seal = Seal::new(incarnation, segment.sequence);
        let range = (0, segment.capacity);
        let mut scan = Scan::new(disk, &segment.file, segment.sequence, seal, range, READ_BYTES);
        self.run(&mut scan, segment.sequence)?;
        let end = scan.offset;
        let remains = scan.remains()?;
        if remains.flushed > end {
            return Err(damaged(segment.sequence, end, "a flushed record does not verify, later ones do"));
        }
        Ok((end, remains))
    }

    fn run<D: Disk>(&mut self, scan: &mut Scan<'_, D>, sequence: u64) -> Result<(), OpenError> {
        while let Some(record) = scan.next()? {
            let offset = record.offset;
            let malformed =
                |Malformed| damaged(sequence, offset, "the record verifies but cannot be understood");
            self.record(&record, sequence).map_err(malformed)?;
        }
        Ok(())
    }

    fn record(&mut self, record: &Record<'_>, sequence: u64) -> Result<(), Malformed> {
        self.marked = record.kind == RecordKind::Mark;
        let named = if self.marked { successor(record.payload) } else { None };
        self.successor = named.map(|sequence| (sequence, record.offset));
        match record.kind {
            // Only the first record of a segment may be one, and it was read before.
            RecordKind::Start if record.offset == 0 => Ok(()),
            RecordKind::Start => Err(Malformed),
            RecordKind::Mark => Ok(()),
            RecordKind::Reset => {
                self.state.reset(&Reset::decode(record.payload)?);
                Ok(())
            }
            RecordKind::Batch => self.batch(record.payload, Position { sequence, offset: record.offset }),
        }
    }

    fn batch(&mut self, payload: &[u8], position: Position) -> Result<(), Malformed> {
        let piece = codec::piece(payload)?;
        if let Some(hard_state) = piece.hard_state {
            self.state.hard_state = hard_state;
        }
        if let Some(membership) = piece.membership {
            self.state.membership = membership;
        }
        let Some(first) = piece.entries.first().map(|entry| entry.index) else { return Ok(()) };
        if first == 0 || first > self.state.index.last_index + 1 {
            return Err(Malformed);
        }
        self.state.index.note(first, piece.entries.iter().map(|entry| entry.term), position);
        Ok(())
    }
}

/// Reads the first record of a segment. Nothing is returned if no such record was ever flushed.
pub(crate) fn read_start<D: Disk>(
    disk: &mut D,
    incarnation: &[u8; 16],
    file: &D::File,
    (sequence, capacity): (u64, u64),
) -> Result<Option<Start>, OpenError> {
    let seal = Seal::new(incarnation, sequence);
    let mut scan = Scan::new(disk, file, sequence, seal, (0, capacity), 4096);
    let Some(record) = scan.next()? else { return Ok(None) };
    let malformed = |Malformed| damaged(sequence, 0, "its beginning verifies but cannot be understood");
    if record.kind != RecordKind::Start {
        return Err(malformed(Malformed));
    }
    let found = Start::version(record.payload).map_err(malformed)?;
    if found > LOG_VERSION {
        return Err(OpenError::Version { file: segment_path(sequence), found, known: LOG_VERSION });
    }
    let start = Start::decode(record.payload).map_err(malformed)?;
    if start.sequence != sequence || start.last_index >= u64::MAX - 1 {
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
    let seal = Seal::new(incarnation, sequence);
    let mut scan = Scan::new(disk, file, sequence, seal, (0, capacity), READ_BYTES);
    let remains = scan.remains()?;
    if remains.flushed > 0 {
        return Err(damaged(sequence, 0, "its beginning does not verify, later records do"));
    }
    Ok(remains)
}
