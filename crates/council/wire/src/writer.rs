//! Writing jute's primitive types at the end of a byte vector.

use alloc::vec::Vec;

/// Appends records to a vector that the caller keeps.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Writer<'a> {
    /// A writer that appends to `out`.
    pub const fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// One byte, 0 or 1.
    #[inline]
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.out.push(u8::from(value));
        self
    }

    /// A 32-bit integer, big-endian.
    #[inline]
    pub fn i32(&mut self, value: i32) -> &mut Self {
        self.out.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// A 64-bit integer, big-endian.
    #[inline]
    pub fn i64(&mut self, value: i64) -> &mut Self {
        self.out.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// A byte buffer, or null.
    #[inline]
    pub fn buffer(&mut self, value: Option<&[u8]>) -> &mut Self {
        match value {
            None => self.i32(-1),
            Some(bytes) => {
                self.length(bytes.len());
                self.raw(bytes)
            }
        }
    }

    /// A string that is not null.
    #[inline]
    pub fn text(&mut self, value: &str) -> &mut Self {
        self.buffer(Some(value.as_bytes()))
    }

    /// A string, or null.
    #[inline]
    pub fn string(&mut self, value: Option<&str>) -> &mut Self {
        self.buffer(value.map(str::as_bytes))
    }

    /// The length of a vector or buffer that follows.
    ///
    /// # Panics
    /// When it does not fit the wire's 31 bits: no frame of ours is that large.
    #[inline]
    pub fn length(&mut self, length: usize) -> &mut Self {
        let length = i32::try_from(length).expect("a record longer than 2 GiB is never built");
        self.i32(length)
    }

    /// Bytes as they are.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend_from_slice(bytes);
        self
    }

    /// A vector of strings.
    pub fn texts<'s>(&mut self, values: impl ExactSizeIterator<Item = &'s str>) -> &mut Self {
        self.length(values.len());
        for value in values {
            self.text(value);
        }
        self
    }
}
