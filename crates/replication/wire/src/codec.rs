//! Numbers in bytes, and a cursor that reads them back. Does not know what they mean.
//!
//! A varint has seven bits of a number in each byte, least significant first; the highest bit is set in all bytes but the last.
//! A number has exactly one form here: a varint with a superfluous last byte is refused. (The codec of the write-ahead log
//! takes such a varint, because a checksum of its own stands before its bytes.)

use replication_appointed::{Epoch, Position, ReplicaId, Seq};

use crate::WireError;

/// Appends a varint.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `value` as its distance from `base`, in either direction: a small distance takes few bytes.
#[inline]
pub(crate) fn put_near(out: &mut Vec<u8>, base: u64, value: u64) {
    let distance = value.wrapping_sub(base).cast_signed();
    put_varint(out, ((distance << 1) ^ (distance >> 63)).cast_unsigned());
}

pub(crate) fn put_position(out: &mut Vec<u8>, position: Position) {
    put_varint(out, position.epoch.0.into());
    put_varint(out, position.end.0);
}

/// A cursor over the bytes of a message.
#[derive(Clone, Debug)]
pub(crate) struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    /// At the beginning of these bytes.
    #[must_use]
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next byte.
    ///
    /// # Errors
    /// There is none.
    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, WireError> {
        let (first, rest) = self.rest.split_first().ok_or(WireError::Cut)?;
        self.rest = rest;
        Ok(*first)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (first, rest) = self.rest.split_first_chunk().ok_or(WireError::Cut)?;
        self.rest = rest;
        Ok(*first)
    }

    /// The next varint.
    ///
    /// # Errors
    /// The bytes end within it, it has more than 64 bits, or it is longer than it must be.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, WireError> {
        let (first, rest) = self.rest.split_first().ok_or(WireError::Cut)?;
        if *first >= 0x80 {
            return self.long_varint();
        }
        self.rest = rest;
        Ok(u64::from(*first))
    }

    fn long_varint(&mut self) -> Result<u64, WireError> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return Err(WireError::Number);
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return if byte == 0 { Err(WireError::Number) } else { Ok(value) };
            }
            shift += 7;
        }
    }

    /// The next varint, of at most 32 bits.
    ///
    /// # Errors
    /// As [`Self::varint`].
    #[inline]
    pub(crate) fn varint32(&mut self) -> Result<u32, WireError> {
        u32::try_from(self.varint()?).map_err(|_| WireError::Number)
    }

    /// A number that [`put_near`] appended with the same `base`.
    ///
    /// # Errors
    /// As [`Self::varint`].
    #[inline]
    pub(crate) fn near(&mut self, base: u64) -> Result<u64, WireError> {
        let folded = self.varint()?;
        Ok(base.wrapping_add((folded >> 1) ^ (folded & 1).wrapping_neg()))
    }

    /// A count of things that take at least `bytes_min` bytes each.
    ///
    /// # Errors
    /// As [`Self::varint`]; or the bytes that are left cannot hold so many.
    pub(crate) fn count(&mut self, bytes_min: usize) -> Result<usize, WireError> {
        let count = usize::try_from(self.varint()?).map_err(|_| WireError::Cut)?;
        self.check_count(count, bytes_min)?;
        Ok(count)
    }

    pub(crate) fn check_count(&self, count: usize, bytes_min: usize) -> Result<(), WireError> {
        let needed = count.checked_mul(bytes_min).ok_or(WireError::Cut)?;
        if needed > self.rest.len() { Err(WireError::Cut) } else { Ok(()) }
    }

    /// Bytes with their number before them, borrowed.
    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let length = usize::try_from(self.varint()?).map_err(|_| WireError::Cut)?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(WireError::Cut)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, WireError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError::Forbidden("a flag that is neither 0 nor 1")),
        }
    }

    /// An epoch that has a leader.
    #[inline]
    pub(crate) fn epoch(&mut self) -> Result<Epoch, WireError> {
        match self.varint32()? {
            0 => Err(WireError::Forbidden("an epoch that has no leader")),
            epoch => Ok(Epoch(epoch)),
        }
    }

    #[inline]
    pub(crate) fn seq(&mut self) -> Result<Seq, WireError> {
        self.varint().map(Seq)
    }

    pub(crate) fn position(&mut self) -> Result<Position, WireError> {
        Ok(Position { epoch: Epoch(self.varint32()?), end: self.seq()? })
    }

    pub(crate) fn replica(&mut self) -> Result<ReplicaId, WireError> {
        self.varint32().map(ReplicaId)
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// Something is left.
    pub(crate) const fn finish(&self) -> Result<(), WireError> {
        if self.rest.is_empty() { Ok(()) } else { Err(WireError::Trailing) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, value);
        out
    }

    #[test]
    fn numbers_of_every_length_come_back() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                assert_eq!(Input::new(&put(value)).varint(), Ok(value));
                let expected = u32::try_from(value).map_err(|_| WireError::Number);
                assert_eq!(Input::new(&put(value)).varint32(), expected);
            }
        }
    }

    #[test]
    fn number_has_one_form() {
        for superfluous in [&[0x80, 0][..], &[0xff, 0x80, 0], &[0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0]] {
            assert_eq!(Input::new(superfluous).varint(), Err(WireError::Number), "{superfluous:?}");
        }
        let mut large = vec![0xff; 9];
        large.push(1);
        assert_eq!(Input::new(&large).varint(), Ok(u64::MAX));
        for last in [2, 0x7f, 0x80, 0x81, 0xff] {
            large[9] = last;
            assert_eq!(Input::new(&large).varint(), Err(WireError::Number), "{last:#x}");
        }
        assert_eq!(Input::new(&[0xff; 9]).varint(), Err(WireError::Cut));
    }

    #[test]
    fn near_number_is_short_and_a_far_one_comes_back() {
        for (base, value, length) in [
            (1 << 40, (1 << 40) + 63, 1),
            (1 << 40, (1 << 40) - 64, 1),
            (5, 5 + 64, 2),
            (0, u64::MAX, 1),
            (u64::MAX, 0, 1),
            (0, 1 << 63, 10),
            (1 << 63, 0, 10),
            (7, 7, 1),
        ] {
            let mut out = Vec::new();
            put_near(&mut out, base, value);
            assert_eq!((Input::new(&out).near(base), out.len()), (Ok(value), length), "{base} {value}");
        }
    }

    #[test]
    fn count_beyond_the_bytes_is_refused() {
        let bytes = [3, 0, 0, 0, 0, 0];
        assert_eq!(Input::new(&bytes).count(2), Err(WireError::Cut));
        assert_eq!(Input::new(&bytes).count(1), Ok(3));
        let mut huge = put(u64::MAX);
        huge.push(0);
        assert_eq!(Input::new(&huge).count(16), Err(WireError::Cut));
    }
}
