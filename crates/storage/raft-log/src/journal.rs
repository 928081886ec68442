//! The journal itself: what it holds, and the way of a batch to the write-ahead log.

use crate::batch::{Batch, Entry, HardState, Membership, SnapshotMeta};
use crate::catalog::SnapshotCatalog;
use crate::codec::Piece;
use crate::config::{JournalConfig, JournalStats};
use crate::error::AppendError;
use crate::identity::Identity;
use crate::recovery::{self, Recovered};
use crate::snapshot::SnapshotWriter;
use crate::state::{LOG, State, checkpoint_bytes_max};
use alloc::vec::Vec;
use base::{LogIndex, Term};
use storage_disk::Disk;
use storage_wal::{
    CHECKPOINT_BYTES_MAX, Class, Fault, OpenError, Progress, RECORD_BYTES_MAX, Space, Wal, record_bytes_max,
};

/// What an entry takes besides its content, if it has a record of its own: the record's header and padding, the hard
/// state, and the numbers before the content.
const ENTRY_OVERHEAD_BYTES: usize = 128;

/// The log and the snapshots in one data directory.
///
/// One thread owns it. Every call may block on the disk. After the first [`Fault`] every call that would write
/// answers with that fault.
pub struct Journal<D: Disk> {
    pub(crate) wal: Wal<D>,
    pub(crate) config: JournalConfig,
    pub(crate) identity: Identity,
    pub(crate) state: State,
    pub(crate) catalog: SnapshotCatalog,
    pub(crate) snapshot: Option<SnapshotWriter<D::File>>,
    pub(crate) stats: JournalStats,
}

impl<D: Disk> Journal<D> {
    /// Opens a data directory, or initialises an empty one. See [`Recovered`] for what it held.
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
        self.append_as(batch, Class::Reserved)
    }

    /// Makes everything appended durable: one write, one `fdatasync`. Does nothing if all is durable already.
    ///
    /// # Errors
    /// A [`Fault`] whose error is [`DiskError::Full`](crate::DiskError::Full) left the journal intact: nothing became
    /// durable, and the flush is to be tried again when there is room ([`Journal::try_reserve`]). Any other poisons it.
    pub fn flush(&mut self) -> Result<(), Fault> {
        self.wal.flush()
    }

    /// Flushes, and if that was not yet noted in the log, notes it there durably.
    ///
    /// To be called when the journal was idle for a moment, and before it is closed: without it, damage to what was
    /// flushed last looks like a flush that never succeeded.
    pub fn settle(&mut self) -> Result<(), Fault> {
        self.wal.mark_clean()
    }

    /// Settles and gives the disk back. What a full disk does not take was never acknowledged.
    pub fn close(self) -> Result<D, Fault> {
        self.wal.close()
    }

    /// One step of making the next segment ready, if it is time for that. To be called between flushes.
    pub fn prepare(&mut self) -> Result<Progress, Fault> {
        self.wal.prepare()
    }

    /// As many steps of [`prepare`](Journal::prepare) as are needed for the next segment to be ready in time, mostly
    /// none. To be called after each flush that was answered: under load there may be no idle moment, and a segment
    /// not ready when it is needed must be made while everything waits.
    pub fn keep_ahead(&mut self) -> Result<(), Fault> {
        self.wal.keep_ahead()
    }

    /// Whether there is room for more. It is [`Space::Full`] as soon as the next segment cannot be made ready, long
    /// before [`append`](Journal::append) refuses: what is under way still fits.
    pub fn space(&self) -> Space {
        self.wal.space()
    }

    /// How many bytes of records ordinary batches can still take, in one batch or in several, without a further
    /// segment. [`log_bytes_max`] says what a batch takes.
    pub fn room(&self) -> u64 {
        self.wal.room(&self.state)
    }

    /// Makes the next segment ready at once if [`room`](Journal::room) is less than `bytes`. If the disk has no room
    /// for it, [`space`](Journal::space) says so afterwards.
    pub fn ensure_room(&mut self, bytes: u64) -> Result<(), AppendError> {
        Ok(self.wal.ensure_room(bytes, &self.state)?)
    }

    /// Whether everything appended is durable.
    pub fn is_flushed(&self) -> bool {
        self.wal.is_flushed()
    }

    /// What the disk had no room for, and how many bytes that was; nothing while there is room.
    pub fn shortage(&self) -> Option<(&Fault, u64)> {
        self.wal.shortage()
    }

    /// Tries again to make the next segment ready. To be called from time to time while the disk is full.
    pub fn try_reserve(&mut self) -> Result<Space, Fault> {
        self.wal.try_preallocate()
    }

    /// The owner of this directory.
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
    pub fn first_index(&self) -> LogIndex {
        self.state.index.first_index
    }

    /// The last entry appended.
    pub fn last_index(&self) -> LogIndex {
        self.state.index.last_index
    }

    /// The term of an entry held, or of the one just before the first, if that is known.
    pub fn term(&self, index: LogIndex) -> Option<Term> {
        self.state.index.term(index)
    }

    /// The newest snapshot.
    pub fn newest_snapshot(&self) -> Option<&SnapshotMeta> {
        self.catalog.newest()
    }

    /// What was done since the journal was opened, and what it holds.
    pub fn stats(&self) -> JournalStats {
        JournalStats { snapshots: self.catalog.len() as u64, ..self.stats }.with(self.wal.stats())
    }
}

impl<D: Disk> Journal<D> {
    fn append_as(&mut self, batch: &Batch, class: Class) -> Result<(), AppendError> {
        self.wal.check()?;
        self.check_order(batch)?;
        let pieces = split(batch, self.state.hard_state, self.config.record_bytes_max);
        let bytes = pieces.iter().map(|piece| record_bytes_max(piece.bytes_max())).sum();
        let checkpoint = batch.membership.as_ref().map_or(0, checkpoint_bytes_max);
        let too_large = |piece: &Piece<'_>| piece.bytes_max() > RECORD_BYTES_MAX;
        let may_be_too_large = bytes > RECORD_BYTES_MAX as u64;
        if checkpoint > CHECKPOINT_BYTES_MAX || (may_be_too_large && pieces.iter().any(too_large)) {
            return Err(AppendError::TooLarge { bytes });
        }
        let mut group = self.wal.group(bytes, class, &self.state)?;
        for piece in pieces {
            let position = group.append(LOG, piece.bytes_max(), &self.state, |out| piece.encode(out))?;
            self.state.append(&piece, position);
        }
        self.stats.batches += 1;
        self.stats.entries += batch.entries.len() as u64;
        Ok(())
    }

    /// Entries must follow the log without a hole and leave alone what is committed or in a snapshot; entries that a
    /// batch says are committed must be in the log or in the batch.
    fn check_order(&self, batch: &Batch) -> Result<(), AppendError> {
        let (index, mut last) = (&self.state.index, self.state.index.last_index);
        if let Some(first) = batch.entries.first() {
            let snapshot = self.catalog.newest().map_or(LogIndex::ZERO, |meta| meta.index);
            let settled = self.state.hard_state.commit.max(snapshot);
            if first.index < index.first_index || first.index <= settled || first.index > last.next() {
                return Err(AppendError::OutOfOrder { found: first.index, last });
            }
            last = first.index.previous();
        }
        for entry in &batch.entries {
            if entry.index != last.next() {
                return Err(AppendError::OutOfOrder { found: entry.index, last });
            }
            last = entry.index;
        }
        match batch.hard_state {
            Some(HardState { commit, .. }) if commit > last => Err(AppendError::CommitAhead { commit, last }),
            _ => Ok(()),
        }
    }
}

/// The most bytes of records that a batch of so many entries with so many bytes of content takes, without a membership.
#[must_use]
pub const fn log_bytes_max(entries: usize, content_bytes: usize) -> u64 {
    (ENTRY_OVERHEAD_BYTES * (entries + 1) + content_bytes) as u64
}

/// Cuts a batch into pieces for one record each, so that no segment ends with much room unused.
///
/// If a crash keeps only a beginning of them, the hard state must not refer to entries that are lost: the first piece
/// carries term and vote, the last one the commit index.
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
