//! The state in the log up to its last record, the checkpoint that stands for it, and getting it back at a start.
//!
//! At a start the content of entries is verified and dropped. It is read again when needed, so a start needs no memory
//! for the log.

use crate::batch::{HardState, Membership, SnapshotMeta};
use crate::codec::{self, Input, Malformed, Piece, RESET, VARINT_BYTES_MAX};
use crate::index::SparseIndex;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use base::{LogIndex, Term};
use storage_wal::{Checkpoints, LogId, Position, Restore};

/// The one log of a journal.
pub(crate) const LOG: LogId = LogId::FIRST;

/// The last index that a log may end with.
pub(crate) const LAST_INDEX_MAX: LogIndex = LogIndex(u64::MAX - 2);

/// The state in the log, up to the record appended or replayed last.
pub(crate) struct State {
    pub(crate) hard_state: HardState,
    pub(crate) membership: Membership,
    pub(crate) index: SparseIndex,
    /// The index of the snapshot that last replaced the log; 0 if none did.
    pub(crate) reset_index: LogIndex,
    /// The segments, in order: the number of each, and the last index of the log when it was begun.
    segments: VecDeque<(u64, LogIndex)>,
}

impl State {
    /// That of a log without records.
    pub(crate) fn empty() -> Self {
        State::at(Checkpoint::default(), [(1, LogIndex::ZERO)].into())
    }

    fn at(checkpoint: Checkpoint, segments: VecDeque<(u64, LogIndex)>) -> Self {
        State {
            hard_state: checkpoint.hard_state,
            membership: checkpoint.membership,
            index: SparseIndex::after(checkpoint.last_index, checkpoint.last_term),
            reset_index: LogIndex::ZERO,
            segments,
        }
    }

    /// Takes note of a piece that was appended here.
    pub(crate) fn append(&mut self, piece: &Piece<'_>, at: Position) {
        self.reach(at);
        if let Some(hard_state) = piece.hard_state {
            self.hard_state = hard_state;
        }
        if let Some(membership) = piece.membership {
            self.membership = membership.clone();
        }
        if let Some(first) = piece.entries.first() {
            self.index.note(first.index, piece.entries.iter().map(|entry| entry.term), at);
        }
    }

    /// The log is replaced by a snapshot from elsewhere.
    ///
    /// A snapshot's term was seen by this member, so a lower own term is raised; a vote in it was not given.
    pub(crate) fn reset(&mut self, reset: &Reset, at: Position) {
        self.reach(at);
        self.index = SparseIndex::after(reset.index, reset.term);
        self.membership = reset.membership.clone();
        self.reset_index = reset.index;
        self.hard_state.commit = self.hard_state.commit.max(reset.index);
        if self.hard_state.term < reset.term {
            self.hard_state.term = reset.term;
            self.hard_state.vote = None;
        }
    }

    /// Segments before this one are gone.
    pub(crate) fn drop_before(&mut self, sequence: u64) {
        if self.segments.front().is_none_or(|(oldest, _)| *oldest >= sequence) {
            return;
        }
        self.segments.retain(|(segment, _)| *segment >= sequence);
        self.index.drop_before(sequence);
    }

    /// Whether the log holds the entry that a snapshot ends with.
    pub(crate) fn follows(&self, meta: &SnapshotMeta) -> bool {
        let index = &self.index;
        meta.index <= index.last_index && index.term(meta.index).is_none_or(|term| term == meta.term)
    }

    /// From which segment on the log must be kept to have every entry behind `floor`.
    pub(crate) fn needed_from(&self, floor: LogIndex) -> Position {
        let beyond = self.segments.iter().skip(1).position(|(_, base)| *base > floor);
        let at = beyond.unwrap_or(self.segments.len().saturating_sub(1));
        Position { sequence: self.segments.get(at).map_or(1, |(sequence, _)| *sequence), offset: 0 }
    }

    /// A record lies in this segment, which may be one that was just begun.
    fn reach(&mut self, at: Position) {
        if self.segments.back().is_none_or(|(newest, _)| *newest < at.sequence) {
            self.segments.push_back((at.sequence, self.index.last_index));
        }
    }

    fn replay(&mut self, payload: &[u8], at: Position) -> Result<(), Malformed> {
        if let Some((&RESET, reset)) = payload.split_first() {
            self.reset(&Reset::decode(reset)?, at);
            return Ok(());
        }
        self.reach(at);
        let piece = codec::piece(payload)?;
        if let Some(hard_state) = piece.hard_state {
            self.hard_state = hard_state;
        }
        if let Some(membership) = piece.membership {
            self.membership = membership;
        }
        let Some(first) = piece.entries.first().map(|entry| entry.index) else { return Ok(()) };
        if first == LogIndex::ZERO || first > self.index.last_index.next() {
            return Err(Malformed);
        }
        self.index.note(first, piece.entries.iter().map(|entry| entry.term), at);
        Ok(())
    }
}

impl Checkpoints for State {
    fn bytes_max(&self) -> usize {
        checkpoint_bytes_max(&self.membership)
    }

    fn encode(&self, _: LogId, out: &mut Vec<u8>) {
        let last_index = self.index.last_index;
        codec::put_varint(out, last_index.0);
        codec::put_varint(out, self.index.term(last_index).unwrap_or_default().0);
        codec::put_hard_state(out, &self.hard_state);
        codec::put_membership(out, &self.membership);
    }
}

/// The most bytes that a checkpoint takes with this membership.
pub(crate) fn checkpoint_bytes_max(membership: &Membership) -> usize {
    5 * VARINT_BYTES_MAX + codec::membership_bytes_max(membership)
}

/// All that earlier segments say of the log, so that they can be dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Checkpoint {
    last_index: LogIndex,
    last_term: Term,
    hard_state: HardState,
    membership: Membership,
}

impl Checkpoint {
    fn decode(bytes: &[u8]) -> Result<Checkpoint, Malformed> {
        let mut input = Input::new(bytes);
        let checkpoint = Checkpoint {
            last_index: codec::log_index(&mut input)?,
            last_term: codec::term(&mut input)?,
            hard_state: codec::hard_state(&mut input)?,
            membership: codec::membership(&mut input)?,
        };
        input.finish()?;
        if checkpoint.last_index > LAST_INDEX_MAX { Err(Malformed) } else { Ok(checkpoint) }
    }
}

/// The content of a record that empties the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reset {
    pub(crate) index: LogIndex,
    pub(crate) term: Term,
    pub(crate) membership: Membership,
}

impl Reset {
    /// Because of this snapshot.
    pub(crate) fn of(meta: &SnapshotMeta) -> Self {
        Reset { index: meta.index, term: meta.term, membership: meta.membership.clone() }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(RESET);
        codec::put_varint(out, self.index.0);
        codec::put_varint(out, self.term.0);
        codec::put_membership(out, &self.membership);
    }

    /// The most bytes that [`encode`](Reset::encode) appends.
    pub(crate) fn bytes_max(&self) -> usize {
        1 + 2 * VARINT_BYTES_MAX + codec::membership_bytes_max(&self.membership)
    }

    fn decode(payload: &[u8]) -> Result<Reset, Malformed> {
        let mut input = Input::new(payload);
        let reset = Reset {
            index: codec::log_index(&mut input)?,
            term: codec::term(&mut input)?,
            membership: codec::membership(&mut input)?,
        };
        input.finish()?;
        if reset.index > LAST_INDEX_MAX { Err(Malformed) } else { Ok(reset) }
    }
}

/// Gets the state back at a start: from the newest checkpoint that the newest snapshot reaches, and the records behind
/// it.
pub(crate) struct Restoring {
    snapshot_index: LogIndex,
    segments: VecDeque<(u64, LogIndex)>,
    /// Nothing as long as the log was not begun.
    pub(crate) state: Option<State>,
}

impl Restoring {
    pub(crate) fn behind(snapshot_index: LogIndex) -> Self {
        Restoring { snapshot_index, segments: VecDeque::new(), state: None }
    }
}

impl Restore for Restoring {
    fn offer(&mut self, log: LogId, sequence: u64, checkpoint: &[u8]) -> Result<bool, Malformed> {
        if log != LOG {
            return Err(Malformed);
        }
        let last_index = Checkpoint::decode(checkpoint)?.last_index;
        self.segments.push_front((sequence, last_index));
        Ok(last_index <= self.snapshot_index)
    }

    fn begin(&mut self, log: LogId, _: Position, checkpoint: &[u8]) -> Result<(), Malformed> {
        if log != LOG {
            return Err(Malformed);
        }
        let segments = core::mem::take(&mut self.segments);
        self.state = Some(State::at(Checkpoint::decode(checkpoint)?, segments));
        Ok(())
    }

    fn record(&mut self, _: LogId, at: Position, payload: &[u8]) -> Result<(), Malformed> {
        self.state.as_mut().ok_or(Malformed)?.replay(payload, at)
    }

    fn dropped(&mut self, _: LogId) {
        self.state = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::MemberId;

    #[test]
    fn checkpoint_comes_back_and_fits_its_bound() {
        let mut state = State::empty();
        state.hard_state = HardState { term: Term(4), vote: Some(MemberId(1)), commit: LogIndex(70) };
        state.membership =
            Membership { voters: [1, u64::MAX].map(MemberId).to_vec(), ..Membership::default() };
        state.index = SparseIndex::after(LogIndex(77), Term(3));
        let mut bytes = Vec::new();
        state.encode(LOG, &mut bytes);
        assert!(bytes.len() <= state.bytes_max());
        let checkpoint = Checkpoint::decode(&bytes).expect("understood");
        assert_eq!((checkpoint.last_index, checkpoint.last_term), (LogIndex(77), Term(3)));
        assert_eq!((checkpoint.hard_state, &checkpoint.membership), (state.hard_state, &state.membership));
        for end in 0..bytes.len() {
            assert_eq!(Checkpoint::decode(&bytes[..end]), Err(Malformed), "cut at {end}");
        }
    }

    #[test]
    fn segment_is_needed_while_an_entry_behind_the_floor_may_lie_in_it() {
        let mut state = State::empty();
        state.segments =
            [(3, 0), (4, 10), (5, 20), (6, 15)].map(|(segment, base)| (segment, LogIndex(base))).into();
        let needed = |floor| state.needed_from(LogIndex(floor)).sequence;
        assert_eq!([0, 9, 10, 19, 20].map(needed), [3, 3, 4, 4, 6]);
    }
}
