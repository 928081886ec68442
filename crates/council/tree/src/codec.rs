//! Variable-length numbers and length-prefixed bytes: what commands and snapshots are written with.
//!
//! Knows nothing of what it carries.

use alloc::vec::Vec;

use council_wire::Malformed;

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Numbers that are small and may be negative: the sign goes to the lowest bit.
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A cursor over bytes that may be anything.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed("bytes: they end early"))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed("bytes: they end early"))?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Malformed> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed("number: longer than 64 bits"))
    }

    pub(crate) fn varint32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.varint()?).map_err(|_| Malformed("number: longer than 32 bits"))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Malformed> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(crate) fn signed32(&mut self) -> Result<i32, Malformed> {
        i32::try_from(self.signed()?).map_err(|_| Malformed("number: longer than 32 bits"))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.varint()?).map_err(|_| Malformed("bytes: too long"))?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        core::str::from_utf8(self.bytes()?).map_err(|_| Malformed("text: not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_at_their_edges() {
        for value in [0, 1, -1, 63, 64, -64, -65, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            put_signed(&mut out, value);
            put_varint(&mut out, value as u64);
            let mut cursor = Cursor::new(&out);
            assert_eq!(cursor.signed(), Ok(value));
            assert_eq!(cursor.varint(), Ok(value as u64));
            assert!(cursor.rest().is_empty());
        }
    }

    #[test]
    fn a_number_beyond_64_bits_is_malformed() {
        assert!(Cursor::new(&[0xff; 10]).varint().is_err());
        assert!(Cursor::new(&[0x80; 11]).varint().is_err());
        assert!(Cursor::new(&[0x80]).varint().is_err());
    }
}
