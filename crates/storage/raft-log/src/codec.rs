//! The bytes of batches, memberships and snapshot metas. Knows nothing of records and files.

use crate::batch::{Entry, EntryKind, HardState, Membership, SnapshotMeta};
use alloc::vec::Vec;
use base::{LogIndex, MemberId, Term, WallTime};
use core::ops::Range;
pub(crate) use storage_wal::codec::{Input, Malformed, VARINT_BYTES_MAX, put_varint};

const HAS_HARD_STATE: u8 = 1;
const HAS_MEMBERSHIP: u8 = 2;
const KNOWN_FLAGS: u8 = HAS_HARD_STATE | HAS_MEMBERSHIP;
/// Instead of flags: the log was emptied, because a snapshot from elsewhere replaced it.
pub(crate) const RESET: u8 = 0x80;

pub(crate) fn term(input: &mut Input<'_>) -> Result<Term, Malformed> {
    input.varint().map(Term)
}

pub(crate) fn log_index(input: &mut Input<'_>) -> Result<LogIndex, Malformed> {
    input.varint().map(LogIndex)
}

pub(crate) fn put_hard_state(out: &mut Vec<u8>, state: &HardState) {
    put_varint(out, state.term.0);
    put_varint(out, state.vote.unwrap_or_default().0);
    put_varint(out, state.commit.0);
}

pub(crate) fn hard_state(input: &mut Input<'_>) -> Result<HardState, Malformed> {
    Ok(HardState { term: term(input)?, vote: MemberId(input.varint()?).known(), commit: log_index(input)? })
}

pub(crate) fn put_membership(out: &mut Vec<u8>, membership: &Membership) {
    let Membership { voters, learners, voters_outgoing, learners_next, auto_leave } = membership;
    for list in [voters, learners, voters_outgoing, learners_next] {
        put_varint(out, list.len() as u64);
        list.iter().for_each(|id| put_varint(out, id.0));
    }
    out.push(u8::from(*auto_leave));
}

pub(crate) fn membership(input: &mut Input<'_>) -> Result<Membership, Malformed> {
    let mut list = || -> Result<Vec<MemberId>, Malformed> {
        let count = input.count()?;
        (0..count).map(|_| input.varint().map(MemberId)).collect()
    };
    let (voters, learners, voters_outgoing, learners_next) = (list()?, list()?, list()?, list()?);
    let auto_leave = match input.byte()? {
        0 => false,
        1 => true,
        _ => return Err(Malformed),
    };
    Ok(Membership { voters, learners, voters_outgoing, learners_next, auto_leave })
}

pub(crate) fn membership_bytes_max(membership: &Membership) -> usize {
    let ids = membership.voters.len()
        + membership.learners.len()
        + membership.voters_outgoing.len()
        + membership.learners_next.len();
    (ids + 4) * VARINT_BYTES_MAX + 1
}

/// The part of a batch that goes into one record.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) hard_state: Option<HardState>,
    pub(crate) membership: Option<&'a Membership>,
    pub(crate) entries: &'a [Entry],
}

impl Piece<'_> {
    /// The most bytes that [`encode`](Piece::encode) may append.
    pub(crate) fn bytes_max(&self) -> usize {
        let entries: usize = self.entries.iter().map(|e| 2 * VARINT_BYTES_MAX + e.data.len()).sum();
        1 + 3 * VARINT_BYTES_MAX
            + self.membership.map_or(0, membership_bytes_max)
            + 2 * VARINT_BYTES_MAX
            + entries
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut flags = 0;
        flags |= if self.hard_state.is_some() { HAS_HARD_STATE } else { 0 };
        flags |= if self.membership.is_some() { HAS_MEMBERSHIP } else { 0 };
        out.push(flags);
        if let Some(state) = &self.hard_state {
            put_hard_state(out, state);
        }
        if let Some(membership) = self.membership {
            put_membership(out, membership);
        }
        put_varint(out, self.entries.len() as u64);
        let Some(first) = self.entries.first() else { return };
        put_varint(out, first.index.0);
        for entry in self.entries {
            put_varint(out, entry.term.0);
            let kind = u64::from(entry.kind == EntryKind::Membership);
            put_varint(out, (entry.data.len() as u64) << 1 | kind);
            out.extend_from_slice(&entry.data);
        }
    }
}

/// An entry inside the payload of a record: where its content lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryAt {
    pub(crate) index: LogIndex,
    pub(crate) term: Term,
    pub(crate) kind: EntryKind,
    pub(crate) data: Range<usize>,
}

/// What one batch record holds; the contents of its entries stay in the payload.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PieceAt {
    pub(crate) hard_state: Option<HardState>,
    pub(crate) membership: Option<Membership>,
    pub(crate) entries: Vec<EntryAt>,
}

pub(crate) fn piece(payload: &[u8]) -> Result<PieceAt, Malformed> {
    let mut input = Input::new(payload);
    let flags = input.byte()?;
    if flags & !KNOWN_FLAGS != 0 {
        return Err(Malformed);
    }
    let hard_state = if flags & HAS_HARD_STATE == 0 { None } else { Some(hard_state(&mut input)?) };
    let membership = if flags & HAS_MEMBERSHIP == 0 { None } else { Some(membership(&mut input)?) };
    let count = input.count()?;
    // An entry takes less room here than in memory.
    let mut entries = Vec::with_capacity(count.min(1024));
    let first = if count == 0 { 0 } else { input.varint()? };
    let end = first.checked_add(count as u64).ok_or(Malformed)?;
    for index in first..end {
        let term = term(&mut input)?;
        let length_and_kind = input.varint()?;
        let kind = if length_and_kind & 1 == 0 { EntryKind::Normal } else { EntryKind::Membership };
        let length = usize::try_from(length_and_kind >> 1).map_err(|_| Malformed)?;
        let start = input.position();
        input.take(length)?;
        entries.push(EntryAt { index: LogIndex(index), term, kind, data: start..start + length });
    }
    input.finish()?;
    Ok(PieceAt { hard_state, membership, entries })
}

pub(crate) fn put_snapshot_meta(out: &mut Vec<u8>, meta: &SnapshotMeta) {
    put_varint(out, meta.index.0);
    put_varint(out, meta.term.0);
    put_membership(out, &meta.membership);
    out.extend_from_slice(&meta.position.to_le_bytes());
    out.extend_from_slice(&meta.digest.to_le_bytes());
    out.extend_from_slice(&meta.created.ms().to_le_bytes());
}

pub(crate) fn snapshot_meta(input: &mut Input<'_>) -> Result<SnapshotMeta, Malformed> {
    Ok(SnapshotMeta {
        index: log_index(input)?,
        term: term(input)?,
        membership: membership(input)?,
        position: i64::from_le_bytes(input.array()?),
        digest: u64::from_le_bytes(input.array()?),
        created: WallTime::of_ms(i64::from_le_bytes(input.array()?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use bytes::Bytes;

    fn sample() -> (HardState, Membership, Vec<Entry>) {
        let state = HardState { term: Term(300), vote: Some(MemberId(u64::MAX)), commit: LogIndex::ZERO };
        let membership = Membership {
            voters: [1, 2, 300].map(MemberId).to_vec(),
            learners: vec![MemberId(u64::MAX)],
            voters_outgoing: vec![],
            learners_next: vec![MemberId(7)],
            auto_leave: true,
        };
        let entry = |index, kind, data: &'static [u8]| Entry {
            index: LogIndex(index),
            term: Term(9),
            kind,
            data: data.into(),
        };
        let entries = vec![entry(128, EntryKind::Normal, b"abc"), entry(129, EntryKind::Membership, b"")];
        (state, membership, entries)
    }

    #[test]
    fn a_piece_comes_back_as_it_was_and_fits_its_bound() {
        let (state, membership, entries) = sample();
        let piece_in = Piece { hard_state: Some(state), membership: Some(&membership), entries: &entries };
        let mut bytes = Vec::new();
        piece_in.encode(&mut bytes);
        assert!(bytes.len() <= piece_in.bytes_max());
        let out = piece(&bytes).unwrap();
        assert_eq!((out.hard_state, out.membership), (Some(state), Some(membership)));
        let back: Vec<Entry> = out
            .entries
            .iter()
            .map(|e| Entry {
                index: e.index,
                term: e.term,
                kind: e.kind,
                data: Bytes::copy_from_slice(&bytes[e.data.clone()]),
            })
            .collect();
        assert_eq!(back, entries);
    }

    #[test]
    fn a_piece_cut_anywhere_is_malformed() {
        let (state, membership, entries) = sample();
        let mut bytes = Vec::new();
        Piece { hard_state: Some(state), membership: Some(&membership), entries: &entries }
            .encode(&mut bytes);
        for end in 0..bytes.len() {
            assert_eq!(piece(&bytes[..end]), Err(Malformed), "cut at {end}");
        }
        bytes.push(0);
        assert_eq!(piece(&bytes), Err(Malformed));
    }

    #[test]
    fn a_huge_count_allocates_nothing() {
        let mut bytes = vec![0];
        put_varint(&mut bytes, u64::MAX);
        assert_eq!(piece(&bytes), Err(Malformed));
    }

    #[test]
    fn any_bytes_are_decoded_or_refused_without_a_panic() {
        let (state, membership, entries) = sample();
        let mut good = Vec::new();
        Piece { hard_state: Some(state), membership: Some(&membership), entries: &entries }.encode(&mut good);
        let mut noise = 0x2545_f491_4f6c_dd1du64;
        let mut refused = 0;
        for _ in 0..20_000 {
            let mut bytes = good.clone();
            for _ in 0..3 {
                noise ^= noise << 13;
                noise ^= noise >> 7;
                noise ^= noise << 17;
                let at = noise as usize % bytes.len();
                bytes[at] = if noise >> 63 == 0 { 0xff } else { (noise >> 32) as u8 };
            }
            refused += u32::from(piece(&bytes).is_err());
            let _ = membership_and_meta(&bytes);
        }
        assert!(refused > 1000);
    }

    fn membership_and_meta(bytes: &[u8]) -> Result<(), Malformed> {
        snapshot_meta(&mut Input::new(bytes))?;
        super::membership(&mut Input::new(bytes)).map(|_| ())
    }
}
