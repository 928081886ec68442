//! The fields of an [`Append`].
//!
//! Fields that are near each other are written as distances, so an append to a follower that keeps up takes about 25 bytes
//! besides its entries. An encoder takes what it is given: distances wrap, and the decoder refuses what became of a message that
//! breaks an invariant.

use replication_appointed::{Append, BadAppend, Epoch, EpochStart, Position, Reset, Round, Seq};

use crate::WireError;
use crate::codec::{Input, put_near, put_varint};

/// Bits of an item's first byte, besides its kind.
pub(crate) const RESETS: u8 = 0x10;
pub(crate) const PROBES: u8 = 0x20;
pub(crate) const HAS_STARTS: u8 = 0x40;
pub(crate) const FLAGS: u8 = RESETS | PROBES | HAS_STARTS;

/// The bits of this one.
pub(crate) const fn flags(append: &Append) -> u8 {
    let resets = if append.resets.is_some() { RESETS } else { 0 };
    let probes = if append.probes { PROBES } else { 0 };
    resets | probes | if append.starts.is_empty() { 0 } else { HAS_STARTS }
}

#[inline]
pub(crate) fn encode(append: &Append, entries: &[&[u8]], out: &mut Vec<u8>) {
    let Append { epoch, epoch_start, after, to, ref starts, committed, start, resets, probes: _, round } =
        *append;
    put_varint(out, epoch.0.into());
    put_varint(out, epoch_start.0);
    put_varint(out, epoch.0.wrapping_sub(after.epoch.0).into());
    put_varint(out, after.end.0);
    put_varint(out, to.0.wrapping_sub(after.end.0));
    put_near(out, to.0, committed.0);
    put_varint(out, start.0);
    put_varint(out, round.0);
    if let Some(Reset { always, thinned_to }) = resets {
        put_varint(out, always.into());
        put_varint(out, thinned_to.0);
    }
    if !starts.is_empty() {
        encode_starts(starts, after, out);
    }
    put_varint(out, entries.iter().map(|piece| piece.len() as u64).sum());
    entries.iter().for_each(|piece| out.extend_from_slice(piece));
}

fn encode_starts(starts: &[EpochStart], after: Position, out: &mut Vec<u8>) {
    put_varint(out, starts.len() as u64);
    let mut last = after;
    for known in starts {
        put_varint(out, known.epoch.0.wrapping_sub(last.epoch.0).into());
        put_varint(out, known.start.0.wrapping_sub(last.end.0));
        last = Position { epoch: known.epoch, end: known.start };
    }
}

#[inline]
pub(crate) fn decode<'a>(flags: u8, input: &mut Input<'a>) -> Result<(Append, &'a [u8]), WireError> {
    let (epoch, epoch_start) = (input.epoch()?, input.seq()?);
    let before = epoch.0.checked_sub(input.varint32()?);
    let after_epoch =
        before.map(Epoch).ok_or(WireError::Forbidden("entries after those of a later epoch"))?;
    let after = Position { epoch: after_epoch, end: input.seq()? };
    let to = after.end.0.checked_add(input.varint()?).ok_or(WireError::Number)?;
    let (committed, start, round) = (Seq(input.near(to)?), input.seq()?, Round(input.varint()?));
    let resets = if flags & RESETS == 0 { None } else { Some(decode_reset(input)?) };
    let starts = if flags & HAS_STARTS == 0 { Vec::new() } else { decode_starts(after, input)? };
    let probes = flags & PROBES != 0;
    let to = Seq(to);
    let append = Append { epoch, epoch_start, after, to, starts, committed, start, resets, probes, round };
    append.check().map_err(|BadAppend(why)| WireError::Forbidden(why))?;
    let entries = input.bytes()?;
    if append.to == append.after.end && !entries.is_empty() {
        return Err(WireError::Forbidden("entries of an empty range"));
    }
    Ok((append, entries))
}

fn decode_reset(input: &mut Input<'_>) -> Result<Reset, WireError> {
    let always = match input.varint()? {
        0 => false,
        1 => true,
        _ => return Err(WireError::Forbidden("a log that starts anew in an unknown way")),
    };
    Ok(Reset { always, thinned_to: input.seq()? })
}

fn decode_starts(after: Position, input: &mut Input<'_>) -> Result<Vec<EpochStart>, WireError> {
    let count = input.count(2)?;
    if count == 0 {
        return Err(WireError::Forbidden("an empty list of epochs"));
    }
    let (mut starts, mut last) = (Vec::with_capacity(count), after);
    for _ in 0..count {
        let epoch = last.epoch.0.checked_add(input.varint32()?).ok_or(WireError::Number)?;
        let start = last.end.0.checked_add(input.varint()?).ok_or(WireError::Number)?;
        last = Position { epoch: Epoch(epoch), end: Seq(start) };
        starts.push(EpochStart { epoch: last.epoch, start: last.end });
    }
    Ok(starts)
}
