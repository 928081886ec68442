//! The record: the unit of a segment that a checksum covers. Knows nothing of what payloads mean.
//!
//! ```text
//! crc32c u32 | payload length u32 | flushed u32 | tag u24, kind u8 | payload | zeros up to a multiple of 8
//! ```
//! All little-endian. The checksum covers the segment's salt, the record's own place in the file, the rest of the
//! header and the payload: a record left over from an earlier use of the file, or one written to a wrong place, never
//! verifies. `tag` is a part of the salt, so that looking for records behind damage is cheap.
//!
//! `flushed` is the place in this segment up to which an earlier flush had succeeded when the record was made. It
//! distinguishes a torn tail from damage: what lies below it was acknowledged (see `replay`).

use alloc::vec::Vec;

/// Bytes of a record's header.
pub(crate) const HEADER_BYTES: u64 = 16;
/// Records start at multiples of this.
pub(crate) const ALIGNMENT: u64 = 8;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// The first of a segment: the logs that there were when the segment was begun, each with its checkpoint.
    Start = 1,
    /// What an owner appended to its log: the log's id, then the owner's payload.
    Append = 2,
    /// A log begins: its id, then its first checkpoint.
    Create = 3,
    /// Nothing but its `flushed`; or, as the last record of a segment, which segment is the next.
    Mark = 4,
    /// A log ends: its id.
    Drop = 5,
}

impl RecordKind {
    fn from_byte(byte: u8) -> Option<Self> {
        let kinds = [Self::Start, Self::Append, Self::Create, Self::Mark, Self::Drop];
        kinds.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// A header that looks like one of this segment; its checksum may still be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    crc: u32,
    pub(crate) kind: RecordKind,
    pub(crate) payload_bytes: u64,
    pub(crate) flushed: u64,
}

impl Header {
    /// Where the next record starts, if this one starts at `offset`.
    pub(crate) fn end(&self, offset: u64) -> u64 {
        record_end(offset, self.payload_bytes)
    }
}

/// Where a record that starts at `offset` ends, its padding included.
pub(crate) const fn record_end(offset: u64, payload_bytes: u64) -> u64 {
    (offset + HEADER_BYTES + payload_bytes).next_multiple_of(ALIGNMENT)
}

/// What binds records to one life of one segment: their checksums begin with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChecksumContext {
    crc_seed: u32,
    tag: u32,
}

impl ChecksumContext {
    /// That of a segment: no two segments of one data directory have the same, nor two directories.
    pub(crate) fn new(incarnation: &[u8; 16], sequence: u64) -> Self {
        let mut salt = 0;
        for half in incarnation.chunks_exact(8) {
            let mut word = [0; 8];
            word.copy_from_slice(half);
            salt = mix(salt ^ u64::from_le_bytes(word));
        }
        salt = mix(salt ^ sequence);
        ChecksumContext { crc_seed: crc32c::crc32c(&salt.to_le_bytes()), tag: (salt >> 40) as u32 }
    }

    /// Appends the room for a header; the payload follows, then [`complete`](ChecksumContext::complete).
    pub(crate) fn begin(out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES as usize]);
        start
    }

    /// Completes the record begun at `start` of `out`, which will lie at `offset` of the segment; pads it.
    pub(crate) fn complete(
        &self,
        out: &mut Vec<u8>,
        start: usize,
        kind: RecordKind,
        offset: u64,
        flushed: u64,
    ) {
        let payload_start = start + HEADER_BYTES as usize;
        let payload_bytes = (out.len() - payload_start) as u32;
        out[start + 4..start + 8].copy_from_slice(&payload_bytes.to_le_bytes());
        out[start + 8..start + 12].copy_from_slice(&(flushed as u32).to_le_bytes());
        out[start + 12..start + 16].copy_from_slice(&(self.tag << 8 | kind as u32).to_le_bytes());
        let crc = self.checksum(&out[start + 4..], offset);
        out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
        let padded = start + (record_end(offset, u64::from(payload_bytes)) - offset) as usize;
        out.resize(padded, 0);
    }

    /// Whether these, as the second half of a header, carry the tag of this segment.
    pub(crate) fn may_begin(&self, second_half: [u8; 8]) -> bool {
        u64::from_le_bytes(second_half) >> 40 == u64::from(self.tag)
    }

    /// Reads the header at `offset` of a segment of `capacity` bytes, if it can be one of this segment.
    pub(crate) fn header(&self, bytes: &[u8], offset: u64, capacity: u64) -> Option<Header> {
        let word =
            |at: usize| -> Option<u32> { Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)) };
        let tag = word(12)?;
        if tag >> 8 != self.tag {
            return None;
        }
        let kind = RecordKind::from_byte(tag as u8)?;
        let header =
            Header { crc: word(0)?, kind, payload_bytes: u64::from(word(4)?), flushed: u64::from(word(8)?) };
        let fits = offset + HEADER_BYTES + header.payload_bytes <= capacity && header.flushed <= offset;
        fits.then_some(header)
    }

    /// Whether the record at `offset` with the header and payload in `bytes` is whole.
    pub(crate) fn verifies(&self, header: &Header, bytes: &[u8], offset: u64) -> bool {
        bytes.get(4..).is_some_and(|covered| self.checksum(covered, offset) == header.crc)
    }

    fn checksum(&self, covered: &[u8], offset: u64) -> u32 {
        let seed = crc32c::crc32c_append(self.crc_seed, &offset.to_le_bytes());
        crc32c::crc32c_append(seed, covered)
    }
}

/// The finalizer of splitmix64: spreads every bit of its input over all of the output.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(context: &ChecksumContext, offset: u64) -> Vec<u8> {
        let mut out = Vec::new();
        let start = ChecksumContext::begin(&mut out);
        out.extend_from_slice(b"payload");
        context.complete(&mut out, start, RecordKind::Append, offset, 40);
        out
    }

    fn check(context: &ChecksumContext, bytes: &[u8], offset: u64) -> bool {
        let Some(header) = context.header(bytes, offset, 4096) else { return false };
        let end = (HEADER_BYTES + header.payload_bytes) as usize;
        bytes.get(..end).is_some_and(|whole| context.verifies(&header, whole, offset))
    }

    #[test]
    fn a_record_verifies_only_in_its_own_place_and_segment() {
        let context = ChecksumContext::new(&[7; 16], 3);
        let bytes = record(&context, 64);
        assert_eq!(bytes.len(), 24);
        assert!(check(&context, &bytes, 64));
        assert!(!check(&context, &bytes, 72));
        assert!(!check(&ChecksumContext::new(&[7; 16], 4), &bytes, 64));
        assert!(!check(&ChecksumContext::new(&[8; 16], 3), &bytes, 64));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let context = ChecksumContext::new(&[1; 16], 1);
        let bytes = record(&context, 0x40);
        for bit in 0..(HEADER_BYTES as usize + 7) * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!check(&context, &bad, 0x40), "bit {bit}");
        }
    }
}
