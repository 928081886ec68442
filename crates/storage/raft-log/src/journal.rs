//! The journal itself: what it holds, and the way of a batch from `append` to the disk.

use crate::batch::{Batch, Entry, HardState, Membership, SnapshotMeta};
use crate::codec::Piece;
use crate::config::{Identity, JournalConfig, JournalStats, Progress, Space};
use crate::disk::{Disk, DiskError};
use crate::error::{AppendError, Fault, OpenError};
use crate::index::{LogIndex, Position};
use crate::record::{HEADER_BYTES, RecordKind, Seal, record_end};
use crate::recovery::{self, Recovered};
use crate::replay::State;
use crate::reserve::Reserve;
use crate::segment::{Closed, SEGMENT_BYTES_MIN, SUCCESSOR_BYTES, Segment, Start, segment_path};
use crate::shelf::Shelf;
use crate::snapshot::SnapshotWriter;
use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// How many steps of making the next segment are done at once, if it is late.
const KEEP_AHEAD_STEPS_MAX: usize = 16;
/// What the system reads and writes at once.
const BLOCK_BYTES: u64 = 4096;
/// How much of the write buffer is kept allocated between flushes.
const BUFFER_KEPT_BYTES: usize = 1 << 20;

/// What an entry takes besides its content, if it has a record of its own: the record's header and padding, the hard
/// state, and the numbers before the content.
const ENTRY_OVERHEAD_BYTES: usize = 128;

/// The end of the current segment: what is appended but not yet written, or written but not yet flushed.
pub(crate) struct Tail {
    pub(crate) seal: Seal,
    /// Records not yet written; they go to `written`.
    pub(crate) pending: Vec<u8>,
    pub(crate) written: u64,
    /// Everything below this is flushed.
    pub(crate) flushed: u64,
    /// Whether the last record says nothing but that all before it is flushed.
    pub(crate) marked: bool,
}

impl Tail {
    pub(crate) fn at(seal: Seal, end: u64, marked: bool) -> Self {
        Tail { seal, pending: Vec::new(), written: end, flushed: end, marked }
    }
}

/// The write-ahead log and the snapshots in one data directory.
///
/// One thread owns it. Every call may block on the disk. After the first [`Fault`] every call that would write
/// answers with that fault.
pub struct Journal<D: Disk> {
    pub(crate) disk: D,
    pub(crate) config: JournalConfig,
    pub(crate) identity: Identity,
    pub(crate) poison: Option<Fault>,
    /// A write that found no room in a file that had it, and how many bytes it was; they wait to be written again.
    pub(crate) unwritten: Option<(Fault, u64)>,
    pub(crate) state: State,
    /// Segments before the current one, in order, all flushed.
    pub(crate) closed: VecDeque<Closed>,
    pub(crate) current: Segment<D::File>,
    pub(crate) tail: Tail,
    pub(crate) reserve: Reserve<D::File>,
    pub(crate) shelf: Shelf,
    pub(crate) snapshot: Option<SnapshotWriter<D::File>>,
    pub(crate) stats: JournalStats,
}

/// Who may use the room that is kept when the disk is full.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Ordinary,
    Reserve,
}

impl<D: Disk> Journal<D> {
    /// Opens a data directory, or makes an empty one ours. See [`Recovered`] for what it held.
    ///
    /// # Errors
    /// In every case nothing that may have been acknowledged was changed.
    pub fn open(disk: D, config: JournalConfig) -> Result<(Self, Recovered), OpenError> {
        recovery::open(disk, config)
    }

    /// Appends a batch; it is durable after the next [`flush`](Journal::flush).
    ///
    /// When the disk is full, what is left of the current segment is kept for
    /// [`append_reserved`](Journal::append_reserved). Every error but a fault leaves the journal as it was.
    pub fn append(&mut self, batch: &Batch) -> Result<(), AppendError> {
        self.append_as(batch, Class::Ordinary)
    }

    /// Appends a batch that may use the room kept for when the disk is full: a vote, the end of a session.
    pub fn append_reserved(&mut self, batch: &Batch) -> Result<(), AppendError> {
        self.append_as(batch, Class::Reserve)
    }

    /// Makes everything appended durable: one write, one `fdatasync`. Does nothing if all is durable already.
    ///
    /// # Errors
    /// A [`Fault`] whose error is [`DiskError::Full`] left the journal well: nothing became durable, and the flush is
    /// to be tried again when there is room ([`Journal::try_reserve`]). Any other poisons it.
    pub fn flush(&mut self) -> Result<(), Fault> {
        self.check()?;
        self.write_pending()?;
        if self.tail.flushed == self.current.end {
            return Ok(());
        }
        let synced = self.disk.sync_data(&self.current.file);
        let sequence = self.current.sequence;
        self.note(synced, "flush", || segment_path(sequence))?;
        self.tail.flushed = self.current.end;
        self.stats.flushes += 1;
        Ok(())
    }

    /// Flushes, and if that was not yet noted in the log, notes it there durably.
    ///
    /// To be called when the journal was idle for a moment, and before it is closed: without it, damage to what was
    /// flushed last looks like a flush that never succeeded.
    pub fn settle(&mut self) -> Result<(), Fault> {
        self.flush()?;
        if self.tail.marked || self.current.end + HEADER_BYTES > self.current.limit() {
            return Ok(());
        }
        self.put(RecordKind::Mark, |_| ());
        self.flush()
    }

    /// Settles and gives the disk back. What a full disk does not take was never acknowledged.
    pub fn close(mut self) -> Result<D, Fault> {
        match self.settle() {
            Err(fault) if fault.error == DiskError::Full => {}
            other => other?,
        }
        Ok(self.disk)
    }

    /// One step of making the next segment ready, if it is time for that. To be called between flushes.
    pub fn prepare(&mut self) -> Result<Progress, Fault> {
        self.check()?;
        let early = self.current.end < self.current.capacity / 8 && !self.reserve.is_growing();
        if early || self.reserve.is_full() || self.reserve.is_ready() {
            return Ok(Progress::Idle);
        }
        let bytes = self.next_bytes();
        let stepped = self.reserve.step(&mut self.disk, &self.config, self.current.sequence + 1, bytes);
        self.poison_by(stepped)?;
        let done = self.reserve.is_full() || self.reserve.is_ready();
        Ok(if done { Progress::Idle } else { Progress::More })
    }

    /// As many steps of [`prepare`](Journal::prepare) as are needed for the next segment to be ready in time, mostly
    /// none. To be called after each flush that was answered: under load there may be no idle moment, and a segment
    /// not ready when it is needed must be made while everything waits.
    pub fn keep_ahead(&mut self) -> Result<(), Fault> {
        // From the first eighth on, and done when three quarters are used.
        let eighth = self.current.capacity / 8;
        let (used, room) = (self.current.end.saturating_sub(eighth), 5 * eighth);
        for _ in 0..KEEP_AHEAD_STEPS_MAX {
            let (made, bytes) = (self.reserve.made_bytes(), self.next_bytes());
            let behind = u128::from(used) * u128::from(bytes) > u128::from(made) * u128::from(room);
            if !behind || self.prepare()? == Progress::Idle {
                break;
            }
        }
        Ok(())
    }

    /// Whether there is room for more. [`Space::Full`] is said as soon as the next segment cannot be had, long before
    /// [`append`](Journal::append) refuses: what is under way still finds its place.
    pub fn space(&self) -> Space {
        if self.shortage().is_some() { Space::Full } else { Space::Plenty }
    }

    /// How many bytes of records ordinary batches can still take, in one batch or in several, without a further
    /// segment. [`log_bytes_max`] says what a batch takes.
    pub fn room(&self) -> u64 {
        let left = self.current.limit().saturating_sub(self.current.end);
        let kept = self.config.kept_bytes(self.current.capacity);
        let Some(next) = self.reserve.ready_bytes() else { return left.saturating_sub(kept) };
        let start_bytes = Start::record_bytes_max(&self.state.membership);
        left.max(next.saturating_sub(start_bytes + SUCCESSOR_BYTES + self.config.kept_bytes(next)))
    }

    /// Makes the next segment ready at once if [`room`](Journal::room) is less than `bytes`. If the disk has no room
    /// for it, [`space`](Journal::space) says so afterwards.
    pub fn ensure_room(&mut self, bytes: u64) -> Result<(), AppendError> {
        self.check()?;
        match self.make_room(bytes, Class::Ordinary) {
            Err(AppendError::Full) => Ok(()),
            other => other,
        }
    }

    /// Whether everything appended is durable.
    pub fn is_flushed(&self) -> bool {
        self.tail.pending.is_empty() && self.tail.flushed == self.current.end
    }

    /// What the disk had no room for, and how many bytes that was; nothing while there is room.
    pub fn shortage(&self) -> Option<(&Fault, u64)> {
        let unwritten = self.unwritten.as_ref().map(|(fault, bytes)| (fault, *bytes));
        unwritten.or_else(|| self.reserve.shortage())
    }

    /// Tries again to make the next segment ready. To be called from time to time while the disk is full.
    pub fn try_reserve(&mut self) -> Result<Space, Fault> {
        self.check()?;
        if self.unwritten.is_some() {
            match self.flush() {
                Err(fault) if fault.error == DiskError::Full => return Ok(Space::Full),
                other => other?,
            }
        }
        if self.reserve.is_full() {
            let bytes = self.next_bytes().max(self.reserve.lacking());
            let sequence = self.current.sequence + 1;
            let completed = self.reserve.complete(&mut self.disk, &self.config, sequence, bytes);
            self.poison_by(completed)?;
        }
        Ok(self.space())
    }

    /// Whose directory this is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The hard state appended last.
    pub fn hard_state(&self) -> HardState {
        self.state.hard_state
    }

    /// The membership appended last.
    pub fn membership(&self) -> &Membership {
        &self.state.membership
    }

    /// The first entry that can be read with [`entries`](Journal::entries).
    pub fn first_index(&self) -> u64 {
        self.state.index.first_index
    }

    /// The last entry appended.
    pub fn last_index(&self) -> u64 {
        self.state.index.last_index
    }

    /// The term of an entry held, or of the one just before the first, if that is known.
    pub fn term(&self, index: u64) -> Option<u64> {
        self.state.index.term(index)
    }

    /// The newest snapshot.
    pub fn newest_snapshot(&self) -> Option<&SnapshotMeta> {
        self.shelf.newest()
    }

    /// What was done since the journal was opened, and what it holds.
    pub fn stats(&self) -> JournalStats {
        JournalStats {
            zero_bytes_written: self.reserve.zero_bytes_written,
            segments_recycled: self.reserve.recycled,
            segments: self.closed.len() as u64 + 1,
            snapshots: self.shelf.len() as u64,
            ..self.stats
        }
    }
}

impl<D: Disk> Journal<D> {
    /// Begins the log in a directory that has none.
    pub(crate) fn begin(mut disk: D, config: JournalConfig, identity: Identity) -> Result<Self, Fault> {
        let mut reserve = Reserve::new(None);
        let start_bytes = Start::record_bytes_max(&Membership::default());
        let least = config.capacity_for(start_bytes + SUCCESSOR_BYTES);
        let bytes = u64::from(config.first_segment_bytes).max(least).max(SEGMENT_BYTES_MIN);
        reserve.complete(&mut disk, &config, 1, bytes)?;
        let Some((file, capacity)) = reserve.take() else {
            return Err(Fault { file: segment_path(1), operation: "make", error: DiskError::Full });
        };
        let state = State {
            hard_state: HardState::default(),
            membership: Membership::default(),
            index: LogIndex::after(0, 0),
            reset_index: 0,
        };
        let current = Segment { file, sequence: 1, capacity, end: 0, base_index: 0 };
        let tail = Tail::at(Seal::new(&identity.incarnation, 1), 0, true);
        let (closed, shelf, stats) = (VecDeque::new(), Shelf::default(), JournalStats::default());
        let (poison, unwritten, snapshot) = (None, None, None);
        let mut journal = Journal {
            disk,
            config,
            identity,
            poison,
            unwritten,
            state,
            closed,
            current,
            tail,
            reserve,
            shelf,
            snapshot,
            stats,
        };
        journal.put_start(0);
        journal.flush()?;
        Ok(journal)
    }

    fn append_as(&mut self, batch: &Batch, class: Class) -> Result<(), AppendError> {
        self.check()?;
        self.check_order(batch)?;
        let pieces = split(batch, self.state.hard_state, self.config.record_bytes_max);
        let bytes: u64 = pieces.iter().map(|piece| record_end(0, piece.bytes_max() as u64)).sum();
        self.make_room(bytes, class)?;
        if bytes > self.current.limit().saturating_sub(self.current.end) {
            // The batch ends this segment: whether what comes before it can be written must be known before any of
            // it is appended.
            self.flush().map_err(full_or_fault)?;
        }
        for piece in pieces {
            self.append_piece(&piece)?;
        }
        self.stats.batches += 1;
        self.stats.entries += batch.entries.len() as u64;
        if self.tail.pending.len() >= self.config.write_buffer_bytes as usize {
            match self.write_pending() {
                // The flush tries again, and tells.
                Err(fault) if fault.error.is_shortage() => {}
                other => other?,
            }
        }
        Ok(())
    }

    fn append_piece(&mut self, piece: &Piece<'_>) -> Result<(), Fault> {
        if record_end(self.current.end, piece.bytes_max() as u64) > self.current.limit() {
            self.roll()?;
        }
        let offset = self.put(RecordKind::Batch, |out| piece.encode(out));
        if let Some(hard_state) = piece.hard_state {
            self.state.hard_state = hard_state;
        }
        if let Some(membership) = piece.membership {
            self.state.membership = membership.clone();
        }
        if let Some(first) = piece.entries.first() {
            let position = Position { sequence: self.current.sequence, offset };
            self.state.index.note(first.index, piece.entries.iter().map(|entry| entry.term), position);
        }
        Ok(())
    }

    /// Entries must follow the log without a hole and leave alone what is committed or in a snapshot; what a batch
    /// says is committed must be there with it.
    fn check_order(&self, batch: &Batch) -> Result<(), AppendError> {
        let (index, mut last) = (&self.state.index, self.state.index.last_index);
        if let Some(first) = batch.entries.first() {
            let snapshot = self.shelf.newest().map_or(0, |meta| meta.index);
            let settled = self.state.hard_state.commit.max(snapshot);
            if first.index < index.first_index || first.index <= settled || first.index > last + 1 {
                return Err(AppendError::OutOfOrder { found: first.index, last });
            }
            last = first.index - 1;
        }
        for entry in &batch.entries {
            if entry.index != last + 1 {
                return Err(AppendError::OutOfOrder { found: entry.index, last });
            }
            last = entry.index;
        }
        match batch.hard_state {
            Some(HardState { commit, .. }) if commit > last => Err(AppendError::CommitAhead { commit, last }),
            _ => Ok(()),
        }
    }

    /// Sees to it that `bytes` of records find a place, and that enough is left for the reserve class.
    pub(crate) fn make_room(&mut self, bytes: u64, class: Class) -> Result<(), AppendError> {
        let left = self.current.limit().saturating_sub(self.current.end);
        let kept = self.config.kept_bytes(self.current.capacity);
        let fits = bytes <= left;
        let start_bytes = Start::record_bytes_max(&self.state.membership);
        let need = self.config.capacity_for(start_bytes + bytes + SUCCESSOR_BYTES);
        let spared = class == Class::Reserve || bytes + kept <= left || self.reserve.is_ready();
        if fits && spared {
            return Ok(());
        }
        if need > u64::from(u32::MAX) {
            return Err(AppendError::TooLarge { bytes });
        }
        let next_bytes = need.max(self.next_bytes());
        if self.reserve.is_full() && !self.reserve.holds(next_bytes) {
            return Err(AppendError::Full);
        }
        let sequence = self.current.sequence + 1;
        let completed = self.reserve.complete(&mut self.disk, &self.config, sequence, next_bytes);
        if self.poison_by(completed)? { Ok(()) } else { Err(AppendError::Full) }
    }

    /// Goes over to the next segment, which [`make_room`](Journal::make_room) has made ready. All of the old one is
    /// flushed before the new one's first record can be written: that record vouches for it, and the old one's last names
    /// the new one.
    pub(crate) fn roll(&mut self) -> Result<(), Fault> {
        self.check()?;
        let sequence = self.current.sequence + 1;
        if self.current.end <= self.current.limit() && self.reserve.is_ready() {
            self.put(RecordKind::Mark, |out| out.extend_from_slice(&sequence.to_le_bytes()));
        }
        let flushed = self.flush();
        self.poison_by(flushed)?;
        let Some((file, capacity)) = self.reserve.take() else {
            let error = DiskError::Other("the next segment was not made ready".to_string());
            return self.poison_by(Err(Fault { file: segment_path(sequence), operation: "begin", error }));
        };
        let base_index = self.state.index.last_index;
        let next = Segment { file, sequence, capacity, end: 0, base_index };
        let previous = core::mem::replace(&mut self.current, next);
        self.tail.seal = Seal::new(&self.identity.incarnation, sequence);
        (self.tail.written, self.tail.flushed) = (0, 0);
        let previous_end = previous.end;
        self.closed.push_back(previous.close());
        self.put_start(previous_end);
        Ok(())
    }

    fn next_bytes(&self) -> u64 {
        next_segment_bytes(&self.config, self.current.capacity)
    }

    fn put_start(&mut self, previous_end: u64) {
        let last_index = self.state.index.last_index;
        let start = Start {
            sequence: self.current.sequence,
            capacity: self.current.capacity,
            previous_end,
            last_index,
            last_term: self.state.index.term(last_index).unwrap_or(0),
            hard_state: self.state.hard_state,
            membership: self.state.membership.clone(),
        };
        self.put(RecordKind::Start, |out| start.encode(out));
    }

    /// Appends a record to the write buffer. Returns where in the segment it starts.
    pub(crate) fn put(&mut self, kind: RecordKind, payload: impl FnOnce(&mut Vec<u8>)) -> u64 {
        let (offset, tail) = (self.current.end, &mut self.tail);
        let start = Seal::begin(&mut tail.pending);
        payload(&mut tail.pending);
        tail.seal.seal(&mut tail.pending, start, kind, offset, tail.flushed);
        tail.marked = kind == RecordKind::Mark;
        self.current.end = tail.written + tail.pending.len() as u64;
        offset
    }

    /// Writes what is in the write buffer, without a flush.
    pub(crate) fn write_pending(&mut self) -> Result<(), Fault> {
        if self.tail.pending.is_empty() {
            return Ok(());
        }
        // Up to the end of the block, behind which nothing lies: a block written whole need not be read from the disk
        // first, where the system does not hold it any more (a segment used again) or never did.
        let whole = self.current.end.next_multiple_of(BLOCK_BYTES).min(self.current.capacity);
        self.tail.pending.resize((whole - self.tail.written) as usize, 0);
        let written = self.disk.write_at(&self.current.file, self.tail.written, &self.tail.pending);
        let sequence = self.current.sequence;
        if written == Err(DiskError::Full) {
            // Nothing of it was acknowledged, and it stays here to be written again, the same bytes to the same place.
            let fault = Fault { file: segment_path(sequence), operation: "write", error: DiskError::Full };
            self.unwritten = Some((fault.clone(), self.tail.pending.len() as u64));
            self.tail.pending.truncate((self.current.end - self.tail.written) as usize);
            return Err(fault);
        }
        self.note(written, "write", || segment_path(sequence))?;
        self.unwritten = None;
        self.stats.log_bytes_written += self.current.end - self.tail.written;
        self.tail.written = self.current.end;
        self.tail.pending.clear();
        self.tail.pending.shrink_to(BUFFER_KEPT_BYTES);
        Ok(())
    }

    /// The fault that poisoned the journal, if one did.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.poison.clone().map_or(Ok(()), Err)
    }

    /// Passes a result of the disk on; a failure poisons the journal for good.
    pub(crate) fn note<T>(
        &mut self,
        result: Result<T, DiskError>,
        operation: &'static str,
        file: impl FnOnce() -> String,
    ) -> Result<T, Fault> {
        match result {
            Ok(value) => Ok(value),
            Err(error) => {
                let fault = Fault { file: file(), operation, error };
                self.poison = Some(fault.clone());
                Err(fault)
            }
        }
    }

    pub(crate) fn poison_by<T>(&mut self, result: Result<T, Fault>) -> Result<T, Fault> {
        result.inspect_err(|fault| self.poison = Some(fault.clone()))
    }
}

/// The most bytes of records that a batch of so many entries with so many bytes of content takes, without a membership.
#[must_use]
pub const fn log_bytes_max(entries: usize, content_bytes: usize) -> u64 {
    (ENTRY_OVERHEAD_BYTES * (entries + 1) + content_bytes) as u64
}

/// The size of the segment that follows one of this capacity: from a small first one they grow quickly.
pub(crate) fn next_segment_bytes(config: &JournalConfig, capacity: u64) -> u64 {
    u64::from(config.segment_bytes).min(capacity.saturating_mul(2)).max(SEGMENT_BYTES_MIN)
}

fn full_or_fault(fault: Fault) -> AppendError {
    if fault.error == DiskError::Full { AppendError::Full } else { AppendError::Fault(fault) }
}

/// Cuts a batch into pieces for one record each, so that no segment ends with much room unused.
///
/// If a crash keeps only a beginning of them, the hard state must not speak of entries that are lost: the first
/// piece carries term and vote, the last one the commit index.
fn split(batch: &Batch, before: HardState, record_bytes_max: usize) -> Vec<Piece<'_>> {
    let mut pieces = Vec::with_capacity(1);
    let mut rest = batch.entries.as_slice();
    loop {
        let mut bytes = 0;
        let fits = |entry: &&Entry| {
            bytes += entry.data.len();
            bytes <= record_bytes_max
        };
        let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
        let (entries, behind) = rest.split_at(count);
        rest = behind;
        pieces.push(Piece { hard_state: None, membership: None, entries });
        if rest.is_empty() {
            break;
        }
    }
    if let Some(last) = pieces.last_mut() {
        last.hard_state = batch.hard_state;
    }
    let several = pieces.len() > 1;
    if let Some(first) = pieces.first_mut() {
        first.membership = batch.membership.as_ref();
        if let (true, Some(state)) = (several, batch.hard_state) {
            first.hard_state = Some(HardState { commit: before.commit, ..state });
        }
    }
    pieces
}
