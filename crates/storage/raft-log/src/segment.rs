//! One file of the log: its name, its first record, and reading its records in order.

use crate::batch::{HardState, Membership};
use crate::codec::{self, Input, Malformed};
use crate::disk::{Disk, DiskError};
use crate::error::Fault;
use crate::record::{ALIGNMENT, HEADER_BYTES, Header, RecordKind, Seal, record_end};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub(crate) const LOG_DIRECTORY: &str = "log";
/// A segment that is being filled with zeros.
pub(crate) const GROWING_PATH: &str = "log/growing.tmp";
/// The newest format of the log that is known here.
pub(crate) const LOG_VERSION: u32 = 1;
/// No segment is made shorter: a shorter file has lost its end, and perhaps its first record with it.
pub(crate) const SEGMENT_BYTES_MIN: u64 = 2048;

pub(crate) fn segment_path(sequence: u64) -> String {
    format!("{LOG_DIRECTORY}/{sequence:016x}.seg")
}

/// The sequence number in the name of a segment file, if it is one.
pub(crate) fn segment_sequence(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".seg")?;
    let sequence = u64::from_str_radix(digits, 16).ok()?;
    let possible = (1..u64::MAX - 1).contains(&sequence);
    (digits.len() == 16 && possible && format!("{sequence:016x}") == digits).then_some(sequence)
}

/// Bytes of the last record of a segment that another follows: a mark that names the next one. Without it no start would
/// notice that the newest segment is missing, as long as the one behind it is not made ready.
pub(crate) const SUCCESSOR_BYTES: u64 = HEADER_BYTES + 8;

/// Whom a mark names as the next segment, if it does.
pub(crate) fn successor(payload: &[u8]) -> Option<u64> {
    payload.try_into().ok().map(u64::from_le_bytes)
}

/// A file of the log that holds records.
pub(crate) struct Segment<File> {
    pub(crate) file: File,
    pub(crate) sequence: u64,
    /// The length of the file.
    pub(crate) capacity: u64,
    /// Where its records end; of the last one, where the next record will go.
    pub(crate) end: u64,
    /// The last index of the log when the segment was begun.
    pub(crate) base_index: u64,
}

impl<File> Segment<File> {
    /// Where records must end for the name of the next segment to find a place behind them. A segment of an earlier
    /// build may be fuller.
    pub(crate) const fn limit(&self) -> u64 {
        self.capacity.saturating_sub(SUCCESSOR_BYTES)
    }

    /// Lets go of the file. A log of many segments would otherwise hold a descriptor for each of them.
    pub(crate) fn close(self) -> Closed {
        let Segment { sequence, capacity, end, base_index, .. } = self;
        Closed { sequence, capacity, end, base_index }
    }
}

/// A segment before the current one. Its file is opened whenever entries are read from it.
#[derive(Clone, Copy)]
pub(crate) struct Closed {
    pub(crate) sequence: u64,
    pub(crate) capacity: u64,
    /// Where its records end.
    pub(crate) end: u64,
    /// The last index of the log when the segment was begun.
    pub(crate) base_index: u64,
}

/// The content of a segment's first record: all that earlier segments could tell, so that they can be dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) sequence: u64,
    /// The length of the file.
    pub(crate) capacity: u64,
    /// Where the records of the segment before this one end, all flushed.
    pub(crate) previous_end: u64,
    pub(crate) last_index: u64,
    pub(crate) last_term: u64,
    pub(crate) hard_state: HardState,
    pub(crate) membership: Membership,
}

impl Start {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&LOG_VERSION.to_le_bytes());
        for number in [self.sequence, self.capacity, self.previous_end, self.last_index, self.last_term] {
            codec::put_varint(out, number);
        }
        codec::put_hard_state(out, &self.hard_state);
        codec::put_membership(out, &self.membership);
    }

    /// The most bytes that the record may take, for this membership.
    pub(crate) fn record_bytes_max(membership: &Membership) -> u64 {
        let numbers = 8 * codec::VARINT_BYTES_MAX as u64;
        record_end(0, 4 + numbers + codec::membership_bytes_max(membership) as u64)
    }

    /// The format version alone, which must be read before the rest can be understood.
    pub(crate) fn version(payload: &[u8]) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(Input::new(payload).array()?))
    }

    pub(crate) fn decode(payload: &[u8]) -> Result<Start, Malformed> {
        let mut input = Input::new(payload);
        let _version: [u8; 4] = input.array()?;
        let start = Start {
            sequence: input.varint()?,
            capacity: input.varint()?,
            previous_end: input.varint()?,
            last_index: input.varint()?,
            last_term: input.varint()?,
            hard_state: codec::hard_state(&mut input)?,
            membership: codec::membership(&mut input)?,
        };
        input.finish()?;
        Ok(start)
    }
}

/// A record that verified.
pub(crate) struct Record<'a> {
    pub(crate) offset: u64,
    pub(crate) kind: RecordKind,
    pub(crate) payload: &'a [u8],
}

/// Reads a segment through a window of bytes that moves forward.
pub(crate) struct Scan<'d, D: Disk> {
    disk: &'d mut D,
    file: &'d D::File,
    path: String,
    seal: Seal,
    /// Nothing at or behind this is read.
    limit: u64,
    window: Vec<u8>,
    window_start: u64,
    /// How many bytes a read asks for at least.
    read_bytes: usize,
    /// Where the next record is expected.
    pub(crate) offset: u64,
}

impl<'d, D: Disk> Scan<'d, D> {
    pub(crate) fn new(
        disk: &'d mut D,
        file: &'d D::File,
        sequence: u64,
        seal: Seal,
        (offset, limit): (u64, u64),
        read_bytes: usize,
    ) -> Self {
        let path = segment_path(sequence);
        let window = Vec::new();
        Scan { disk, file, path, seal, limit, window, window_start: offset, read_bytes, offset }
    }

    /// The record at the current offset, or nothing if no whole record of this segment is there.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>, Fault> {
        let offset = self.offset;
        let Some((header, whole)) = self.whole_at(offset)? else { return Ok(None) };
        self.offset = header.end(offset);
        let from = (offset - self.window_start) as usize;
        let payload = &self.window[from + HEADER_BYTES as usize..from + whole];
        Ok(Some(Record { offset, kind: header.kind, payload }))
    }

    /// Looks behind the current offset, where no whole record is, for what may still be there.
    pub(crate) fn remains(&mut self) -> Result<Remains, Fault> {
        let from = self.offset;
        let mut remains = Remains { flushed: 0, end: from };
        let mut at = from;
        while let Some(candidate) = self.candidate(at)? {
            at = candidate;
            let Some(header) = self.header_at(at)? else {
                at += ALIGNMENT;
                continue;
            };
            remains.end = remains.end.max(header.end(at).min(self.limit));
            if self.whole_at(at)?.is_some() {
                remains.flushed = remains.flushed.max(header.flushed);
                at = header.end(at);
            } else {
                at += ALIGNMENT;
            }
        }
        Ok(remains)
    }

    /// The next place from `at` on where a header of this segment may lie. Nearly all of what is searched is zeros
    /// or an earlier life of the file, so this looks at nothing but the tag.
    fn candidate(&mut self, mut at: u64) -> Result<Option<u64>, Fault> {
        let (seal, read_bytes) = (self.seal, self.read_bytes);
        while at + HEADER_BYTES <= self.limit {
            let words = self.bytes(at + ALIGNMENT, read_bytes)?.as_chunks::<{ ALIGNMENT as usize }>().0;
            if let Some(nth) = words.iter().position(|word| seal.may_begin(*word)) {
                return Ok(Some(at + nth as u64 * ALIGNMENT));
            }
            if words.is_empty() {
                break;
            }
            at += words.len() as u64 * ALIGNMENT;
        }
        Ok(None)
    }

    /// The header at `offset` and the length of header and payload, if they verify.
    fn whole_at(&mut self, offset: u64) -> Result<Option<(Header, usize)>, Fault> {
        let Some(header) = self.header_at(offset)? else { return Ok(None) };
        let length = (HEADER_BYTES + header.payload_bytes) as usize;
        let seal = self.seal;
        let bytes = self.bytes(offset, length)?;
        let verifies = bytes.len() == length && seal.verifies(&header, bytes, offset);
        Ok(verifies.then_some((header, length)))
    }

    fn header_at(&mut self, offset: u64) -> Result<Option<Header>, Fault> {
        let (seal, limit) = (self.seal, self.limit);
        let bytes = self.bytes(offset, HEADER_BYTES as usize)?;
        Ok(seal.header(bytes, offset, limit))
    }

    /// The bytes at `offset`; fewer than asked for where the segment ends.
    fn bytes(&mut self, offset: u64, length: usize) -> Result<&[u8], Fault> {
        let length = (length as u64).min(self.limit.saturating_sub(offset)) as usize;
        let have_until = self.window_start + self.window.len() as u64;
        if offset < self.window_start || offset + length as u64 > have_until {
            self.fill(offset, length).map_err(|error| self.fault(error))?;
        }
        let from = (offset - self.window_start) as usize;
        let until = self.window.len().min(from + length);
        Ok(self.window.get(from..until).unwrap_or_default())
    }

    /// Moves the window so that it starts at `offset` and holds at least `length` bytes, if the file does.
    fn fill(&mut self, offset: u64, length: usize) -> Result<(), DiskError> {
        let keep = offset.checked_sub(self.window_start).filter(|skip| *skip <= self.window.len() as u64);
        match keep {
            Some(skip) => drop(self.window.drain(..skip as usize)),
            None => self.window.clear(),
        }
        self.window_start = offset;
        let have = self.window.len();
        let left = self.limit.saturating_sub(offset + have as u64);
        let want = (length.saturating_sub(have).max(self.read_bytes) as u64).min(left) as usize;
        self.window.resize(have + want, 0);
        let read = self.disk.read_at(self.file, offset + have as u64, &mut self.window[have..])?;
        self.window.truncate(have + read);
        Ok(())
    }

    fn fault(&self, error: DiskError) -> Fault {
        Fault { file: self.path.clone(), operation: "read", error }
    }
}

/// What lies behind the last whole record of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remains {
    /// The highest place that a record found there says was flushed.
    pub(crate) flushed: u64,
    /// Where the last thing that looks like a record ends.
    pub(crate) end: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_segments_are_exact() {
        assert_eq!(segment_path(0x1f), "log/000000000000001f.seg");
        assert_eq!(segment_sequence("000000000000001f.seg"), Some(0x1f));
        for name in [
            "1f.seg",
            "000000000000001F.seg",
            "0000000000000000.seg",
            "+00000000000001f.seg",
            "ffffffffffffffff.seg",
            "x",
        ] {
            assert_eq!(segment_sequence(name), None, "{name}");
        }
    }

    #[test]
    fn the_first_record_comes_back_and_says_its_version_first() {
        let start = Start {
            sequence: 9,
            capacity: 8192,
            previous_end: 4096,
            last_index: 77,
            last_term: 3,
            hard_state: HardState { term: 4, vote: 1, commit: 70 },
            membership: Membership { voters: alloc::vec![1], ..Membership::default() },
        };
        let mut bytes = Vec::new();
        start.encode(&mut bytes);
        assert_eq!(Start::version(&bytes), Ok(LOG_VERSION));
        assert_eq!(Start::decode(&bytes), Ok(start));
        assert_eq!(Start::decode(&bytes[..bytes.len() - 1]), Err(Malformed));
    }
}
