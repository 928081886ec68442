//! The write-ahead log itself: what it holds, and the way of a record from `append` to the disk.

use crate::codec::{self, VARINT_BYTES_MAX};
use crate::config::{Class, WalConfig, WalStats};
use crate::error::{AppendError, Fault};
use crate::limits::{FIRST_RECORD_BYTES_MAX, RECORD_BYTES_MAX, SEGMENT_BYTES_MIN};
use crate::log::{Checkpoints, LogId, Position};
use crate::logs::LogTable;
use crate::preallocation::Preallocation;
use crate::record::{ChecksumContext, HEADER_BYTES, RecordKind, record_end};
use crate::segment::{ClosedSegment, LOG_DIRECTORY, SUCCESSOR_BYTES, Segment, SegmentStart, segment_path};
use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use storage_disk::{Disk, DiskError};

/// What the system reads and writes at once.
const BLOCK_BYTES: u64 = 4096;
/// How much of the write buffer is kept allocated between flushes.
const BUFFER_KEPT_BYTES: usize = 1 << 20;

/// The end of the current segment: what is appended but not yet written, or written but not yet flushed.
pub(crate) struct Tail {
    pub(crate) context: ChecksumContext,
    /// Records not yet written; they go to `written`.
    pub(crate) pending: Vec<u8>,
    pub(crate) written: u64,
    /// Everything below this is flushed.
    pub(crate) flushed: u64,
    /// Whether the last record only says that all before it is flushed.
    pub(crate) marked: bool,
}

impl Tail {
    pub(crate) fn at(context: ChecksumContext, end: u64, marked: bool) -> Self {
        Tail { context, pending: Vec::new(), written: end, flushed: end, marked }
    }

    /// Appends a record to the write buffer and moves the end of the segment. Returns where in the segment it starts.
    pub(crate) fn put(&mut self, end: &mut u64, kind: RecordKind, payload: impl FnOnce(&mut Vec<u8>)) -> u64 {
        let offset = *end;
        let start = ChecksumContext::begin(&mut self.pending);
        payload(&mut self.pending);
        self.context.complete(&mut self.pending, start, kind, offset, self.flushed);
        self.marked = kind == RecordKind::Mark;
        *end = self.written + self.pending.len() as u64;
        offset
    }
}

/// What is done with the write buffer.
#[derive(Clone, Copy)]
enum Durability {
    Written,
    /// Written and flushed, in one call of the disk.
    Flushed,
}

/// Many logs in one chain of segments on one disk. The crate's documentation says what holds, and why.
///
/// One thread owns it. Every call may block on the disk. After the first [`Fault`] every call that would write
/// answers with that fault.
pub struct Wal<D: Disk> {
    pub(crate) disk: D,
    pub(crate) config: WalConfig,
    pub(crate) incarnation: [u8; 16],
    poison: Option<Fault>,
    /// A write that found no room in a file that had it, and how many bytes it was; they wait to be written again.
    pub(crate) unwritten: Option<(Fault, u64)>,
    pub(crate) logs: LogTable,
    /// Segments before the current one, in order, all flushed.
    pub(crate) closed: VecDeque<ClosedSegment>,
    pub(crate) current: Segment<D::File>,
    pub(crate) tail: Tail,
    pub(crate) preallocation: Preallocation<D::File>,
    stats: WalStats,
}

/// Records that are appended together, and for which there is room. Nothing else is appended meanwhile.
#[must_use = "nothing is appended by asking for room"]
pub struct Group<'w, D: Disk> {
    wal: &'w mut Wal<D>,
    /// Bytes of records for which room was asked and that were not yet appended.
    bytes_left: u64,
}

impl<D: Disk> Wal<D> {
    /// Begins a log in a directory that has none, with so many logs, whose ids are the first ones. What binds records to
    /// this directory is its incarnation: no other directory may have the same, not even one made later in its place.
    ///
    /// # Errors
    /// The disk refused a call. The log is unfinished: [`meta`](crate::meta) distinguishes it from a log that is in
    /// use.
    pub fn create(
        mut disk: D,
        config: WalConfig,
        incarnation: [u8; 16],
        logs: u64,
        checkpoints: &impl Checkpoints,
    ) -> Result<Self, Fault> {
        disk.create_directory(LOG_DIRECTORY).map_err(|error| Fault::new(LOG_DIRECTORY, "create", error))?;
        for directory in ["", LOG_DIRECTORY] {
            disk.sync_directory(directory).map_err(|error| Fault::new(directory, "flush", error))?;
        }
        let mut preallocation = Preallocation::new(None);
        let start_bytes = SegmentStart::record_bytes_max(logs as usize, checkpoints.bytes_max());
        assert!(start_bytes <= FIRST_RECORD_BYTES_MAX, "a log begins with too much: {start_bytes} bytes");
        let least = config.capacity_for(start_bytes + SUCCESSOR_BYTES);
        let bytes = u64::from(config.first_segment_bytes).max(least).max(SEGMENT_BYTES_MIN);
        preallocation.complete(&mut disk, &config, 1, bytes)?;
        let Some((file, capacity)) = preallocation.take() else {
            return Err(Fault::new(&segment_path(1), "make", DiskError::Full));
        };
        let logs = LogTable::new((1..=logs).map(LogId).collect(), logs + 1, 1);
        let current = Segment { file, sequence: 1, capacity, end: 0 };
        let tail = Tail::at(ChecksumContext::new(&incarnation, 1), 0, true);
        let segments = (VecDeque::new(), current);
        let mut wal = Wal::new(disk, config, incarnation, logs, segments, tail, preallocation);
        wal.put_start(0, checkpoints);
        wal.flush()?;
        Ok(wal)
    }

    pub(crate) fn new(
        disk: D,
        config: WalConfig,
        incarnation: [u8; 16],
        logs: LogTable,
        (closed, current): (VecDeque<ClosedSegment>, Segment<D::File>),
        tail: Tail,
        preallocation: Preallocation<D::File>,
    ) -> Self {
        let (poison, unwritten, stats) = (None, None, WalStats::default());
        Wal {
            disk,
            config,
            incarnation,
            poison,
            unwritten,
            logs,
            closed,
            current,
            tail,
            preallocation,
            stats,
        }
    }

    /// Sees to it that records of so many bytes find a place ([`record_bytes_max`] of each, in all), so that appending
    /// them meets no full disk half-way. They may be of several logs.
    ///
    /// When the disk is full, what is left of the current segment is kept for [`Class::Reserved`].
    ///
    /// # Errors
    /// Every error but a fault leaves the log as it was.
    pub fn group(
        &mut self,
        bytes: u64,
        class: Class,
        checkpoints: &impl Checkpoints,
    ) -> Result<Group<'_, D>, AppendError> {
        self.begin(bytes, class, checkpoints)?;
        Ok(Group { wal: self, bytes_left: bytes })
    }

    /// Makes everything appended durable, for all logs: one write, one `fdatasync`. Does nothing if all is durable
    /// already.
    ///
    /// # Errors
    /// A [`Fault`] whose error is [`DiskError::Full`] left the log intact: nothing became durable, and the flush is to
    /// be tried again when there is room ([`Wal::try_preallocate`]). Any other poisons it.
    pub fn flush(&mut self) -> Result<(), Fault> {
        self.check()?;
        let is_alone = self.tail.flushed == self.tail.written;
        self.put_pending(if is_alone { Durability::Flushed } else { Durability::Written })?;
        if self.tail.flushed == self.current.end {
            return Ok(());
        }
        if !is_alone {
            let synced = self.disk.sync_data(&self.current.file);
            let sequence = self.current.sequence;
            self.note(synced, "flush", || segment_path(sequence))?;
        }
        self.tail.flushed = self.current.end;
        self.logs.drop_unflushed = false;
        self.stats.flushes += 1;
        Ok(())
    }

    /// Writes what was appended, without a flush: it outlives this process, but not the machine.
    ///
    /// # Errors
    /// As [`flush`](Wal::flush).
    pub fn write(&mut self) -> Result<(), Fault> {
        self.check()?;
        self.write_pending()
    }

    /// Begins to flush what was [written](Self::write), and does not wait for it: the flush that counts finds less to do, and
    /// learns of a failure.
    pub fn start_flush(&mut self) {
        self.disk.start_writeback(&self.current.file);
    }

    /// Flushes, and if that was not yet noted in the log, notes it there durably.
    ///
    /// To be called when the log was idle for a moment, and before it is closed: without it, damage to what was
    /// flushed last looks like a flush that never succeeded.
    ///
    /// # Errors
    /// As [`flush`](Wal::flush).
    pub fn mark_clean(&mut self) -> Result<(), Fault> {
        self.flush()?;
        if self.tail.marked || self.current.end + HEADER_BYTES > self.current.limit() {
            return Ok(());
        }
        self.tail.put(&mut self.current.end, RecordKind::Mark, |_| ());
        self.flush()
    }

    /// Marks the log clean and gives the disk back. What a full disk does not take was never acknowledged.
    ///
    /// # Errors
    /// As [`flush`](Wal::flush), without the case of a full disk.
    pub fn close(mut self) -> Result<D, Fault> {
        match self.mark_clean() {
            Err(fault) if fault.error == DiskError::Full => {}
            other => other?,
        }
        Ok(self.disk)
    }

    /// Writes what was appended, without a flush, if it is more than the write buffer is to hold.
    fn write_if_large(&mut self) -> Result<(), Fault> {
        if self.tail.pending.len() < self.config.write_buffer_bytes as usize {
            return Ok(());
        }
        match self.write_pending() {
            // The flush tries again, and reports it.
            Err(fault) if fault.error.is_shortage() => Ok(()),
            other => other,
        }
    }

    /// Writes what is in the write buffer, without a flush.
    pub(crate) fn write_pending(&mut self) -> Result<(), Fault> {
        self.put_pending(Durability::Written)
    }

    fn put_pending(&mut self, durability: Durability) -> Result<(), Fault> {
        if self.tail.pending.is_empty() {
            return Ok(());
        }
        // Up to the end of the block, behind which nothing lies: a block written whole need not be read from the disk
        // first, where the system does not hold it any more (a segment used again) or never did.
        let whole = self.current.end.next_multiple_of(BLOCK_BYTES).min(self.current.capacity);
        self.tail.pending.resize((whole - self.tail.written) as usize, 0);
        let (file, offset, bytes) = (&self.current.file, self.tail.written, &self.tail.pending);
        let written = match durability {
            Durability::Written => self.disk.write_at(file, offset, bytes),
            Durability::Flushed => self.disk.write_durably_at(file, offset, bytes),
        };
        let sequence = self.current.sequence;
        if written == Err(DiskError::Full) {
            // Nothing of it was acknowledged, and it stays here to be written again, the same bytes to the same place.
            let fault = Fault::new(&segment_path(sequence), "write", DiskError::Full);
            self.unwritten = Some((fault.clone(), self.tail.pending.len() as u64));
            self.tail.pending.truncate((self.current.end - self.tail.written) as usize);
            return Err(fault);
        }
        self.note(written, "write", || segment_path(sequence))?;
        self.unwritten = None;
        self.stats.bytes_written += self.current.end - self.tail.written;
        self.tail.written = self.current.end;
        self.tail.pending.clear();
        self.tail.pending.shrink_to(BUFFER_KEPT_BYTES);
        Ok(())
    }

    /// The disk, for what else its owner keeps in the directory.
    pub fn disk(&mut self) -> &mut D {
        &mut self.disk
    }

    /// Passes a result of the disk on; a failure poisons the log for good, as one of its own would.
    ///
    /// # Errors
    /// The failure.
    pub fn note<T>(
        &mut self,
        result: Result<T, DiskError>,
        operation: &'static str,
        file: impl FnOnce() -> String,
    ) -> Result<T, Fault> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => self.poison_by(Err(Fault { file: file(), operation, error })),
        }
    }

    /// The same for a result that names its file already.
    ///
    /// # Errors
    /// The failure.
    pub fn poison_by<T>(&mut self, result: Result<T, Fault>) -> Result<T, Fault> {
        result.inspect_err(|fault| self.poison = Some(fault.clone()))
    }

    /// Whether anything may be written.
    ///
    /// # Errors
    /// The fault that poisoned the log.
    #[inline]
    pub fn check(&self) -> Result<(), Fault> {
        match &self.poison {
            None => Ok(()),
            Some(fault) => Err(fault.clone()),
        }
    }

    /// Whether everything appended is durable.
    pub fn is_flushed(&self) -> bool {
        self.tail.pending.is_empty() && self.tail.flushed == self.current.end
    }

    /// What binds records to this very directory.
    #[must_use]
    pub const fn incarnation(&self) -> [u8; 16] {
        self.incarnation
    }

    /// Where the next record goes, unless it begins a segment.
    pub fn end(&self) -> Position {
        Position { sequence: self.current.sequence, offset: self.current.end }
    }

    /// What was done since the log was opened, and what it holds.
    pub fn stats(&self) -> WalStats {
        WalStats {
            zero_bytes_written: self.preallocation.zero_bytes_written,
            segments_recycled: self.preallocation.segments_recycled,
            segments: self.closed.len() as u64 + 1,
            logs: self.logs.len() as u64,
            ..self.stats
        }
    }
}

impl<D: Disk> Wal<D> {
    /// Makes room for records of so many bytes.
    pub(crate) fn begin(
        &mut self,
        bytes: u64,
        class: Class,
        checkpoints: &impl Checkpoints,
    ) -> Result<(), AppendError> {
        self.check()?;
        self.make_room(bytes, class, checkpoints)?;
        if bytes > self.current.limit().saturating_sub(self.current.end) {
            // The records end this segment: whether what comes before them can be written must be known before any of
            // them is appended.
            self.flush().map_err(full_or_fault)?;
        }
        Ok(())
    }

    /// Goes over to the next segment if a record of at most so many bytes has no place in this one.
    pub(crate) fn roll_unless_fits(
        &mut self,
        record_bytes: u64,
        checkpoints: &impl Checkpoints,
    ) -> Result<(), Fault> {
        if self.current.end + record_bytes > self.current.limit() {
            self.roll(checkpoints)?;
        }
        Ok(())
    }

    /// Goes over to the next segment, which [`make_room`](Wal::make_room) has made ready. All of the old one is flushed
    /// before the new one's first record can be written: that record vouches for it, and the old one's last names the
    /// new one.
    fn roll(&mut self, checkpoints: &impl Checkpoints) -> Result<(), Fault> {
        self.check()?;
        let sequence = self.current.sequence + 1;
        if self.current.end <= self.current.limit() && self.preallocation.is_ready() {
            let name = |out: &mut Vec<u8>| out.extend_from_slice(&sequence.to_le_bytes());
            self.tail.put(&mut self.current.end, RecordKind::Mark, name);
        }
        let flushed = self.flush();
        self.poison_by(flushed)?;
        let Some((file, capacity)) = self.preallocation.take() else {
            let error = DiskError::Other("the next segment was not made ready".to_string());
            return self.poison_by(Err(Fault { file: segment_path(sequence), operation: "begin", error }));
        };
        let next = Segment { file, sequence, capacity, end: 0 };
        let previous = core::mem::replace(&mut self.current, next);
        self.tail.context = ChecksumContext::new(&self.incarnation, sequence);
        (self.tail.written, self.tail.flushed) = (0, 0);
        let previous_end = previous.end;
        self.closed.push_back(previous.close());
        self.put_start(previous_end, checkpoints);
        Ok(())
    }

    /// The first record of the current segment: every log, with its owner's present checkpoint.
    fn put_start(&mut self, previous_end: u64, checkpoints: &impl Checkpoints) {
        let Segment { sequence, capacity, .. } = self.current;
        let start = SegmentStart { sequence, capacity, previous_end, next_log: self.logs.next };
        let logs = self.logs.ids();
        self.tail.put(&mut self.current.end, RecordKind::Start, |out| start.encode(logs, checkpoints, out));
    }
}

impl<D: Disk> Group<'_, D> {
    /// Appends a record to a log; it is durable after the next [`flush`](Wal::flush). The payload takes at most
    /// `payload_bytes_max`, as given when room was asked for.
    ///
    /// # Errors
    /// A fault poisons the log.
    pub fn append(
        &mut self,
        log: LogId,
        payload_bytes_max: usize,
        checkpoints: &impl Checkpoints,
        payload: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Position, Fault> {
        let (wal, bytes) = (&mut *self.wal, record_bytes_max(payload_bytes_max));
        assert!(wal.logs.contains(log), "log {log} was not created, or is dropped");
        assert!(payload_bytes_max <= RECORD_BYTES_MAX, "a record of {payload_bytes_max} bytes is too large");
        assert!(bytes <= self.bytes_left, "no room was asked for a record of {bytes} bytes");
        self.bytes_left -= bytes;
        wal.roll_unless_fits(bytes, checkpoints)?;
        let offset = wal.tail.put(&mut wal.current.end, RecordKind::Append, |out| {
            codec::put_varint(out, log.0);
            payload(out);
        });
        assert!(wal.current.end <= wal.current.limit(), "log {log} appended more bytes than it said");
        let position = Position { sequence: wal.current.sequence, offset };
        wal.write_if_large()?;
        Ok(position)
    }
}

/// The most bytes that a record takes, for a payload of at most so many.
#[must_use]
pub const fn record_bytes_max(payload_bytes_max: usize) -> u64 {
    record_end(0, (VARINT_BYTES_MAX + payload_bytes_max) as u64)
}

/// The size of the segment that follows one of this capacity: from a small first one they grow quickly.
pub(crate) fn next_segment_bytes(config: &WalConfig, capacity: u64) -> u64 {
    u64::from(config.segment_bytes).min(capacity.saturating_mul(2)).max(SEGMENT_BYTES_MIN)
}

fn full_or_fault(fault: Fault) -> AppendError {
    if fault.error == DiskError::Full { AppendError::Full } else { AppendError::Fault(fault) }
}
