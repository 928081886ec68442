//! Integers of variable length: seven bits a byte, the lowest first, the high bit set on all bytes but the last. Signed ones
//! are folded (zigzag), so that small negative numbers are short too.
//!
//! Source: KIP-482 for lengths and tags, the record format of magic 2 for the rest.

use alloc::vec::Vec;

use crate::Malformed;

const TOO_LONG: Malformed = Malformed("a varint that does not end");
const ENDS_EARLY: Malformed = Malformed("a message that ends early");

/// Reads an unsigned number of 64 bits, of which at most `bits` may be used. Gives it with the bytes behind it.
fn read(bytes: &[u8], bits: u32) -> Result<(u64, &[u8]), Malformed> {
    let mut value = 0u64;
    let mut rest = bytes;
    for shift in (0..bits).step_by(7) {
        let (byte, behind) = rest.split_first().ok_or(ENDS_EARLY)?;
        rest = behind;
        let part = u64::from(byte & 0x7f);
        if shift + 7 > bits && part >> (bits - shift) != 0 {
            return Err(TOO_LONG);
        }
        value |= part << shift;
        if byte & 0x80 == 0 {
            return Ok((value, rest));
        }
    }
    Err(TOO_LONG)
}

/// A number of one or two bytes, with the bytes behind it: nearly all of them are.
#[inline]
const fn read_short(bytes: &[u8]) -> Option<(u32, &[u8])> {
    match bytes {
        [only @ ..0x80, rest @ ..] => Some((*only as u32, rest)),
        [first, last @ ..0x80, rest @ ..] => Some(((*first & 0x7f) as u32 | (*last as u32) << 7, rest)),
        _ => None,
    }
}

#[cold]
fn read_long_u32(bytes: &[u8]) -> Result<(u32, &[u8]), Malformed> {
    read(bytes, 32).map(|(value, rest)| (value as u32, rest))
}

#[cold]
fn read_long_u64(bytes: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    read(bytes, 64)
}

#[inline]
pub(crate) fn read_u32(bytes: &[u8]) -> Result<(u32, &[u8]), Malformed> {
    read_short(bytes).map_or_else(|| read_long_u32(bytes), Ok)
}

#[inline]
pub(crate) fn read_i32(bytes: &[u8]) -> Result<(i32, &[u8]), Malformed> {
    read_u32(bytes).map(|(folded, rest)| ((folded >> 1) as i32 ^ -((folded & 1) as i32), rest))
}

#[inline]
pub(crate) fn read_i64(bytes: &[u8]) -> Result<(i64, &[u8]), Malformed> {
    let read = read_short(bytes).map(|(value, rest)| (u64::from(value), rest));
    let unfold = |(folded, rest)| ((folded >> 1) as i64 ^ -((folded & 1) as i64), rest);
    read.map_or_else(|| read_long_u64(bytes), Ok).map(unfold)
}

pub(crate) fn write_u64(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn write_u32(value: u32, out: &mut Vec<u8>) {
    write_u64(u64::from(value), out);
}

pub(crate) fn write_i32(value: i32, out: &mut Vec<u8>) {
    write_u32(((value << 1) ^ (value >> 31)) as u32, out);
}

pub(crate) fn write_i64(value: i64, out: &mut Vec<u8>) {
    write_u64(((value << 1) ^ (value >> 63)) as u64, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_leave_what_is_behind_them() {
        for value in [0, 1, -1, 63, 64, -64, -65, 300, i32::MAX, i32::MIN] {
            let mut bytes = Vec::new();
            write_i32(value, &mut bytes);
            bytes.push(7);
            assert_eq!(read_i32(&bytes), Ok((value, &[7][..])));
        }
        for value in [0, -1, 1 << 40, i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            write_i64(value, &mut bytes);
            assert_eq!(read_i64(&bytes), Ok((value, &[][..])));
        }
        for (value, expected) in [(0, &[0][..]), (127, &[127]), (128, &[0x80, 1]), (300, &[0xac, 2])] {
            let mut bytes = Vec::new();
            write_u32(value, &mut bytes);
            assert_eq!((&bytes[..], read_u32(&bytes)), (expected, Ok((value, &[][..]))));
        }
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3], "the folding of the field");
    }

    /// Any two bytes and what follows, with as many bytes as there may be: the short way gives what the long one gives.
    #[test]
    fn number_is_the_same_whichever_way_it_is_read() {
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                for rest in [&[][..], &[0], &[0x80], &[0x7f; 9], &[0xff; 9]] {
                    let bytes = [&[first, second], rest].concat();
                    for bytes in [&bytes[..], &bytes[..1]] {
                        assert_eq!(read_u32(bytes), read_long_u32(bytes), "{bytes:?}");
                        let long = read_long_u64(bytes).map(|(folded, rest)| {
                            ((folded >> 1).cast_signed() ^ -(folded & 1).cast_signed(), rest)
                        });
                        assert_eq!(read_i64(bytes), long, "{bytes:?}");
                    }
                }
            }
        }
    }

    fn zigzag(value: i32) -> u8 {
        let mut bytes = Vec::new();
        write_i32(value, &mut bytes);
        bytes[0]
    }

    #[test]
    fn number_that_ends_early_or_never_is_malformed() {
        assert_eq!(read_u32(&[]), Err(ENDS_EARLY));
        assert_eq!(read_u32(&[0x80, 0x80]), Err(ENDS_EARLY));
        assert_eq!(read_u32(&[0xff; 6]), Err(TOO_LONG));
        assert_eq!(read_u32(&[0xff, 0xff, 0xff, 0xff, 0x0f]).map(|(value, _)| value), Ok(u32::MAX));
        assert_eq!(read_u32(&[0xff, 0xff, 0xff, 0xff, 0x1f]), Err(TOO_LONG), "a bit beyond 32");
        assert_eq!(read_i64(&[0x80; 11]), Err(TOO_LONG));
        assert_eq!(read_i64(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]), Err(TOO_LONG));
    }
}
