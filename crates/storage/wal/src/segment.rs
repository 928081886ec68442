//! One file of the log: its name, its place among the others, and what its first record says.

use crate::codec::{self, Input, Malformed, VARINT_BYTES_MAX};
use crate::limits::{CHECKPOINT_BYTES_MAX, LOGS_MAX};
use crate::log::{Checkpoints, LogId};
use crate::record::{HEADER_BYTES, record_end};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The directory of the segments, within the data directory.
pub const LOG_DIRECTORY: &str = "log";
/// A segment that is being filled with zeros.
pub(crate) const GROWING_PATH: &str = "log/growing.tmp";
/// The format of the log. Version 1 carried one log only.
pub(crate) const LOG_VERSION: u32 = 2;

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

/// The next segment that a mark names, if it names one.
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
}

impl<File> Segment<File> {
    /// Where records must end for the name of the next segment to find a place behind them.
    pub(crate) const fn limit(&self) -> u64 {
        self.capacity.saturating_sub(SUCCESSOR_BYTES)
    }

    /// Closes the file. A log of many segments would otherwise hold a descriptor for each of them.
    pub(crate) fn close(self) -> ClosedSegment {
        let Segment { sequence, capacity, end, .. } = self;
        ClosedSegment { sequence, capacity, end }
    }
}

/// A segment before the current one. Its file is opened whenever records are read from it.
#[derive(Clone, Copy)]
pub(crate) struct ClosedSegment {
    pub(crate) sequence: u64,
    pub(crate) capacity: u64,
    /// Where its records end.
    pub(crate) end: u64,
}

/// The first record of a segment without its checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentStart {
    pub(crate) sequence: u64,
    /// The length of the file.
    pub(crate) capacity: u64,
    /// Where the records of the segment before this one end, all flushed.
    pub(crate) previous_end: u64,
    /// The id that the next log will be given: ids of logs that were dropped are not given again.
    pub(crate) next_log: u64,
}

/// What a log takes in a first record, besides its checkpoint: its id, and how long the checkpoint is.
const LISTED_BYTES_MAX: usize = VARINT_BYTES_MAX + 4;

impl SegmentStart {
    /// Appends the record's payload: all logs, each with its owner's present checkpoint.
    pub(crate) fn encode(
        &self,
        logs: impl ExactSizeIterator<Item = LogId>,
        checkpoints: &impl Checkpoints,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(&LOG_VERSION.to_le_bytes());
        for number in [self.sequence, self.capacity, self.previous_end, self.next_log] {
            codec::put_varint(out, number);
        }
        codec::put_varint(out, logs.len() as u64);
        let declared = out.len() + logs.len() * LISTED_BYTES_MAX + checkpoints.bytes_max();
        for log in logs {
            codec::put_varint(out, log.0);
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            checkpoints.encode(log, out);
            let bytes = out.len() - start - 4;
            assert!(bytes <= CHECKPOINT_BYTES_MAX, "the checkpoint of log {log} takes {bytes} bytes");
            out[start..start + 4].copy_from_slice(&(bytes as u32).to_le_bytes());
        }
        assert!(out.len() <= declared, "the checkpoints take more bytes than their owners said");
    }

    /// The most bytes that the record may take, for so many logs with so many bytes of checkpoints.
    pub(crate) fn record_bytes_max(logs: usize, checkpoints: usize) -> u64 {
        let numbers = 5 * VARINT_BYTES_MAX;
        record_end(0, (4 + numbers + logs * LISTED_BYTES_MAX + checkpoints) as u64)
    }

    /// The format version alone, which must be read before the rest can be understood.
    pub(crate) fn version(payload: &[u8]) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(Input::new(payload).array()?))
    }

    /// The record's payload, and each log that it lists with its checkpoint.
    pub(crate) fn decode<'a>(
        payload: &'a [u8],
        mut each: impl FnMut(LogId, &'a [u8]) -> Result<(), Malformed>,
    ) -> Result<SegmentStart, Malformed> {
        let mut input = Input::new(payload);
        let _version: [u8; 4] = input.array()?;
        let start = SegmentStart {
            sequence: input.varint()?,
            capacity: input.varint()?,
            previous_end: input.varint()?,
            next_log: input.varint()?,
        };
        let count = input.count()?;
        let mut last = 0;
        for _ in 0..count {
            let log = input.varint()?;
            let bytes = u32::from_le_bytes(input.array()?) as usize;
            if log <= last || log >= start.next_log || bytes > CHECKPOINT_BYTES_MAX {
                return Err(Malformed);
            }
            last = log;
            each(LogId(log), input.take(bytes)?)?;
        }
        input.finish()?;
        if count > LOGS_MAX || start.next_log == 0 { Err(Malformed) } else { Ok(start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    struct Lengths;

    /// The checkpoint of log `n` is `n` bytes.
    impl Checkpoints for Lengths {
        fn bytes_max(&self) -> usize {
            100
        }

        fn encode(&self, log: LogId, out: &mut Vec<u8>) {
            out.resize(out.len() + log.0 as usize, 7);
        }
    }

    fn logs() -> [LogId; 3] {
        [LogId(2), LogId(5), LogId(40)]
    }

    fn sample() -> (SegmentStart, Vec<u8>) {
        let start = SegmentStart { sequence: 9, capacity: 8192, previous_end: 4096, next_log: 41 };
        let mut bytes = Vec::new();
        start.encode(logs().into_iter(), &Lengths, &mut bytes);
        (start, bytes)
    }

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
    fn first_record_comes_back_with_its_logs_and_says_its_version_first() {
        let (start, bytes) = sample();
        assert_eq!(SegmentStart::version(&bytes), Ok(LOG_VERSION));
        let mut listed = Vec::new();
        let decoded = SegmentStart::decode(&bytes, |log, checkpoint| {
            listed.push((log, checkpoint.to_vec()));
            Ok(())
        });
        assert_eq!(decoded, Ok(start));
        assert_eq!(listed, logs().map(|log| (log, vec![7; log.0 as usize])));
        assert!(HEADER_BYTES + bytes.len() as u64 <= SegmentStart::record_bytes_max(3, 47));
    }

    #[test]
    fn first_record_cut_anywhere_is_malformed() {
        let (_, bytes) = sample();
        for end in 0..bytes.len() {
            assert_eq!(SegmentStart::decode(&bytes[..end], |_, _| Ok(())), Err(Malformed), "cut at {end}");
        }
    }

    #[test]
    fn first_record_that_lists_a_log_twice_or_out_of_order_is_malformed() {
        let start = SegmentStart { sequence: 1, capacity: 8192, previous_end: 0, next_log: 6 };
        for logs in [[LogId(2), LogId(2)], [LogId(5), LogId(2)], [LogId(2), LogId(6)]] {
            let mut bytes = Vec::new();
            start.encode(logs.into_iter(), &Lengths, &mut bytes);
            assert_eq!(SegmentStart::decode(&bytes, |_, _| Ok(())), Err(Malformed), "{logs:?}");
        }
    }

    #[test]
    #[should_panic(expected = "more bytes than their owners said")]
    fn owner_that_says_more_than_it_declared_is_stopped() {
        let start = SegmentStart { sequence: 1, capacity: 8192, previous_end: 0, next_log: 600 };
        start.encode([LogId(500)].into_iter(), &Lengths, &mut Vec::new());
    }
}
