//! Reading jute's primitive types from a borrowed slice.

use crate::Malformed;

/// A cursor over one record's bytes. Every read is bounded by what is left.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read yet.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes the next `count` bytes.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed("record: it ends early"))?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed("record: it ends early"))?;
        self.rest = rest;
        Ok(*taken)
    }

    /// One byte; anything but zero is true, as in Java.
    ///
    /// # Errors
    /// When nothing is left.
    #[inline]
    pub fn bool(&mut self) -> Result<bool, Malformed> {
        Ok(self.array::<1>()? != [0])
    }

    /// A 32-bit integer, big-endian.
    ///
    /// # Errors
    /// When fewer than four bytes are left.
    #[inline]
    pub fn i32(&mut self) -> Result<i32, Malformed> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// A 64-bit integer, big-endian.
    ///
    /// # Errors
    /// When fewer than eight bytes are left.
    #[inline]
    pub fn i64(&mut self) -> Result<i64, Malformed> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    /// A byte buffer; length -1 is null, which is not the empty buffer.
    ///
    /// # Errors
    /// When the length is below -1 or beyond what is left.
    #[inline]
    pub fn buffer(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| Malformed("buffer: a negative length"))?;
                self.take(length).map(Some)
            }
        }
    }

    /// A string; length -1 is null.
    ///
    /// # Errors
    /// As [`Self::buffer`], and when the bytes are not UTF-8.
    #[inline]
    pub fn string(&mut self) -> Result<Option<&'a str>, Malformed> {
        match self.buffer()? {
            None => Ok(None),
            Some(bytes) => core::str::from_utf8(bytes).map(Some).map_err(|_| Malformed("string: not UTF-8")),
        }
    }

    /// A string that must not be null.
    ///
    /// # Errors
    /// As [`Self::string`], and when it is null.
    #[inline]
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        self.string()?.ok_or(Malformed("string: it is null"))
    }

    /// The number of elements of a vector. Null (-1) and any other negative count read as none, as in Java.
    ///
    /// # Errors
    /// When fewer than four bytes are left.
    #[inline]
    pub fn count(&mut self) -> Result<usize, Malformed> {
        Ok(usize::try_from(self.i32()?).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_not_empty() {
        assert_eq!(Reader::new(&[255, 255, 255, 255]).buffer(), Ok(None));
        assert_eq!(Reader::new(&[0, 0, 0, 0]).buffer(), Ok(Some(&[][..])));
    }

    #[test]
    fn a_length_beyond_the_record_or_below_null_is_malformed() {
        assert!(Reader::new(&[0, 0, 0, 2, 1]).buffer().is_err());
        assert!(Reader::new(&[127, 255, 255, 255, 1]).buffer().is_err());
        assert!(Reader::new(&[255, 255, 255, 254, 1]).buffer().is_err());
    }

    #[test]
    fn a_string_must_be_utf8() {
        assert_eq!(Reader::new(&[0, 0, 0, 1, b'a']).text(), Ok("a"));
        assert!(Reader::new(&[0, 0, 0, 1, 0xff]).text().is_err());
        assert!(Reader::new(&[255, 255, 255, 255]).text().is_err());
    }
}
