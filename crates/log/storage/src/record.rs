//! The records of a partition in the write-ahead log.

use std::borrow::Cow;

use base::WallTime;
use log_partition::{Begun, LeaderEpoch, Offset, Place};
use storage_wal::codec::{Input, Malformed, put_varint};

use crate::checkpoint::{Flushed, put_offset, take_offset};

const APPEND: u8 = 1;
const STATE: u8 = 2;
const START: u8 = 3;
const REPLACED: u8 = 4;
const CUT: u8 = 5;
const EPOCH: u8 = 6;
const RESET: u8 = 7;
/// As [`APPEND`], with what is said of epochs besides.
const APPEND_BEHIND: u8 = 8;

/// Bytes of a record besides its batch or state, at most.
pub(crate) const OVERHEAD_BYTES: usize = 48;
/// Of an epoch and where it begins, at most.
const BEGUN_BYTES: usize = 4 + 10;

/// Where a log begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogStart {
    pub(crate) offset: Offset,
    /// Segments before that are gone.
    pub(crate) first_segment: Offset,
}

impl LogStart {
    /// It was not said.
    pub(crate) const NONE: Self = Self { offset: Offset::ZERO, first_segment: Offset::ZERO };

    fn encode(self, out: &mut Vec<u8>) {
        put_offset(out, self.offset);
        put_offset(out, self.first_segment);
    }

    fn decode(input: &mut Input<'_>) -> Result<Self, Malformed> {
        Ok(Self { offset: take_offset(input)?, first_segment: take_offset(input)? })
    }
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// A batch was appended, and these epochs begin before its end where the batches do not tell of it.
    Append { at: Place, end: Offset, now: WallTime, begun: Cow<'a, [(LeaderEpoch, Offset)]>, batch: &'a [u8] },
    /// The tables, as of the batches before that offset and everything else before, but for where the log begins: there at least,
    /// as in [`Self::Start`].
    State(LogStart, Offset, &'a [u8]),
    /// The log begins later.
    Start(LogStart),
    /// Segments took the place of others, as the owner says. Everything that was written was flushed before, up to there.
    Replaced(Flushed, &'a [u8]),
    /// Batches from that offset on are cut off; the next one stands at that place. Whether the index beside its segment is kept.
    Cut(Flushed, bool),
    /// An epoch was promised, and begins there.
    Epoch(LeaderEpoch, Option<Offset>),
    /// Everything is gone but this promise, and the log begins there.
    Reset(Offset, LeaderEpoch),
}

impl<'a> Record<'a> {
    pub(crate) fn bytes_max(&self) -> usize {
        OVERHEAD_BYTES
            + match self {
                Self::Append { begun, batch, .. } => BEGUN_BYTES * begun.len() + batch.len(),
                Self::State(_, _, bytes) | Self::Replaced(_, bytes) => bytes.len(),
                Self::Start(_) | Self::Cut(..) | Self::Epoch(..) | Self::Reset(..) => 0,
            }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Append { at, end, now, begun, batch } => {
                out.push(if begun.is_empty() { APPEND } else { APPEND_BEHIND });
                put_begun(out, begun);
                put_offset(out, at.segment);
                put_varint(out, at.position);
                put_offset(out, *end);
                out.extend_from_slice(&now.ms().to_le_bytes());
                out.extend_from_slice(batch);
            }
            Self::State(start, end, state) => {
                out.push(STATE);
                start.encode(out);
                put_offset(out, *end);
                out.extend_from_slice(state);
            }
            Self::Start(start) => {
                out.push(START);
                start.encode(out);
            }
            Self::Replaced(flushed, change) => {
                out.push(REPLACED);
                flushed.encode(out);
                out.extend_from_slice(change);
            }
            Self::Cut(at, keeps_index) => {
                out.push(CUT);
                at.encode(out);
                out.push(u8::from(*keeps_index));
            }
            Self::Epoch(promised, begins) => {
                out.push(EPOCH);
                out.extend_from_slice(&promised.0.to_le_bytes());
                out.push(u8::from(begins.is_some()));
                put_offset(out, begins.unwrap_or_default());
            }
            Self::Reset(start, promised) => put_reset(out, *start, *promised),
        }
    }

    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut input = Input::new(bytes);
        match input.byte()? {
            kind @ (APPEND | APPEND_BEHIND) => {
                let begun = if kind == APPEND { Vec::new() } else { take_begun(&mut input)? };
                let at = Place { segment: take_offset(&mut input)?, position: input.varint()? };
                let end = take_offset(&mut input)?;
                let now = WallTime::of_ms(i64::from_le_bytes(input.array()?));
                Ok(Self::Append { at, end, now, begun: Cow::Owned(begun), batch: input.rest() })
            }
            STATE => {
                let start = LogStart::decode(&mut input)?;
                Ok(Self::State(start, take_offset(&mut input)?, input.rest()))
            }
            START => {
                let start = LogStart::decode(&mut input)?;
                input.finish()?;
                Ok(Self::Start(start))
            }
            REPLACED => Ok(Self::Replaced(Flushed::decode(&mut input)?, input.rest())),
            CUT => {
                let (at, keeps_index) = (Flushed::decode(&mut input)?, flag(&mut input)?);
                input.finish()?;
                Ok(Self::Cut(at, keeps_index))
            }
            EPOCH => {
                let promised = LeaderEpoch(i32::from_le_bytes(input.array()?));
                let (begins, at) = (flag(&mut input)?, take_offset(&mut input)?);
                input.finish()?;
                Ok(Self::Epoch(promised, begins.then_some(at)))
            }
            RESET => {
                let start = take_offset(&mut input)?;
                let promised = LeaderEpoch(i32::from_le_bytes(input.array()?));
                input.finish()?;
                Ok(Self::Reset(start, promised))
            }
            _ => Err(Malformed),
        }
    }
}

fn put_reset(out: &mut Vec<u8>, start: Offset, promised: LeaderEpoch) {
    out.push(RESET);
    put_offset(out, start);
    out.extend_from_slice(&promised.0.to_le_bytes());
}

/// Nothing for none.
fn put_begun(out: &mut Vec<u8>, begun: &[(LeaderEpoch, Offset)]) {
    if begun.is_empty() {
        return;
    }
    put_varint(out, begun.len() as u64);
    for (epoch, start) in begun {
        out.extend_from_slice(&epoch.0.to_le_bytes());
        put_offset(out, *start);
    }
}

fn take_begun(input: &mut Input<'_>) -> Result<Begun, Malformed> {
    let count = input.varint()?;
    (0..count).map(|_| Ok((LeaderEpoch(i32::from_le_bytes(input.array()?)), take_offset(input)?))).collect()
}

fn flag(input: &mut Input<'_>) -> Result<bool, Malformed> {
    match input.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_is_read_back_within_the_bytes_that_it_said() {
        let at = Place { segment: Offset(i64::MAX), position: u64::MAX };
        let now = WallTime::of_ms(-5);
        let start = LogStart { offset: Offset(i64::MAX), first_segment: Offset(7) };
        const BEGUN: [(LeaderEpoch, Offset); 2] =
            [(LeaderEpoch(0), Offset(0)), (LeaderEpoch(i32::MAX), Offset(i64::MAX))];
        let records = [
            Record::Append { at, end: Offset(i64::MAX), now, begun: Cow::Borrowed(&[]), batch: b"batch" },
            Record::Append { at, end: Offset(i64::MAX), now, begun: Cow::Borrowed(&BEGUN), batch: b"batch" },
            Record::State(start, Offset(i64::MAX), b"state"),
            Record::Start(start),
            Record::Replaced(Flushed { end: Offset(i64::MAX), place: at }, b"change"),
            Record::Cut(Flushed { end: Offset(i64::MAX), place: at }, true),
            Record::Epoch(LeaderEpoch(i32::MAX), Some(Offset(i64::MAX))),
            Record::Epoch(LeaderEpoch(0), None),
            Record::Reset(Offset(i64::MAX), LeaderEpoch(i32::MAX)),
        ];
        for record in records {
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            assert!(bytes.len() <= record.bytes_max());
            assert_eq!(Record::decode(&bytes), Ok(record));
        }
        assert_eq!(Record::decode(&[9]), Err(Malformed));
    }
}
