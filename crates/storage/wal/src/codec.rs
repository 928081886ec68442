//! Numbers in bytes, and a cursor that reads them back. Does not know what they mean.
//!
//! Numbers are written seven bits a byte, least significant first, so that small ones cost one byte. Decoding is
//! bounded by the bytes it is given: a count read from a disk never makes it allocate more than they could hold.

use alloc::vec::Vec;

/// The bytes are not what this program writes, although their checksum is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The longest form of a number.
pub const VARINT_BYTES_MAX: usize = 10;

/// Appends a number.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A cursor over bytes that came from a disk.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Input<'a> {
    /// At the beginning of these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Input { bytes, position: 0 }
    }

    /// The next bytes, so many.
    ///
    /// # Errors
    /// There are fewer.
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let end = self.position.checked_add(length).ok_or(Malformed)?;
        let taken = self.bytes.get(self.position..end).ok_or(Malformed)?;
        self.position = end;
        Ok(taken)
    }

    /// The next byte.
    ///
    /// # Errors
    /// There is none.
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = *self.bytes.get(self.position).ok_or(Malformed)?;
        self.position += 1;
        Ok(byte)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// There are fewer.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    /// The next number.
    ///
    /// # Errors
    /// The bytes end within it, or it has more than 64 bits.
    pub fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Malformed);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    /// A count of things that take at least one byte each.
    ///
    /// # Errors
    /// The bytes that are left could not hold so many.
    pub fn count(&mut self) -> Result<usize, Malformed> {
        let count = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
        if count > self.bytes.len() - self.position { Err(Malformed) } else { Ok(count) }
    }

    /// How many bytes were read.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// All that is left.
    #[must_use]
    pub fn rest(self) -> &'a [u8] {
        self.bytes.get(self.position..).unwrap_or_default()
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// Something is left.
    pub fn finish(self) -> Result<(), Malformed> {
        if self.position == self.bytes.len() { Ok(()) } else { Err(Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_come_back() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                put_varint(&mut bytes, value);
                assert_eq!(Input::new(&bytes).varint(), Ok(value));
            }
        }
        assert_eq!(Input::new(&[0xff; 10]).varint(), Err(Malformed));
    }

    #[test]
    fn count_beyond_the_bytes_is_malformed() {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, 3);
        bytes.extend_from_slice(&[0; 2]);
        assert_eq!(Input::new(&bytes).count(), Err(Malformed));
        bytes.push(0);
        assert_eq!(Input::new(&bytes).count(), Ok(3));
    }
}
