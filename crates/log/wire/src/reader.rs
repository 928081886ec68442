//! Reading a message's primitive types from a borrowed slice.
//!
//! A version of a message is flexible or not (KIP-482): flexible ones write lengths as varints of one more, and tagged fields
//! behind each struct. The reader knows which, so that what reads a message names each field once.

use crate::{Malformed, varint};

const ENDS_EARLY: Malformed = Malformed("a message that ends early");
const NULL: Malformed = Malformed("a null where there must be none");

/// A cursor over one message's bytes. Every read is bounded by what is left.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    flexible: bool,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`, of a flexible version or another.
    #[must_use]
    pub const fn new(bytes: &'a [u8], flexible: bool) -> Self {
        Self { rest: bytes, flexible }
    }

    /// Whether the version is a flexible one.
    #[must_use]
    pub const fn is_flexible(&self) -> bool {
        self.flexible
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
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(ENDS_EARLY)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(ENDS_EARLY)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// One byte; anything but zero is true.
    ///
    /// # Errors
    /// When nothing is left.
    #[inline]
    pub fn bool(&mut self) -> Result<bool, Malformed> {
        Ok(self.chunk::<1>()? != [0])
    }

    /// # Errors
    /// When nothing is left.
    #[inline]
    pub fn i8(&mut self) -> Result<i8, Malformed> {
        Ok(i8::from_be_bytes(self.chunk()?))
    }

    /// # Errors
    /// When fewer than two bytes are left.
    #[inline]
    pub fn i16(&mut self) -> Result<i16, Malformed> {
        Ok(i16::from_be_bytes(self.chunk()?))
    }

    /// # Errors
    /// When fewer than four bytes are left.
    #[inline]
    pub fn i32(&mut self) -> Result<i32, Malformed> {
        Ok(i32::from_be_bytes(self.chunk()?))
    }

    /// # Errors
    /// When fewer than eight bytes are left.
    #[inline]
    pub fn i64(&mut self) -> Result<i64, Malformed> {
        Ok(i64::from_be_bytes(self.chunk()?))
    }

    /// An identity of sixteen bytes.
    ///
    /// # Errors
    /// When fewer are left.
    #[inline]
    pub fn uuid(&mut self) -> Result<[u8; 16], Malformed> {
        self.chunk()
    }

    #[inline]
    fn varint(&mut self) -> Result<u32, Malformed> {
        let (value, rest) = varint::read_u32(self.rest)?;
        self.rest = rest;
        Ok(value)
    }

    /// A length, or nothing for null.
    fn length(&mut self, wide: bool) -> Result<Option<usize>, Malformed> {
        if self.flexible {
            return Ok((self.varint()? as usize).checked_sub(1));
        }
        let length = if wide { self.i32()? } else { i32::from(self.i16()?) };
        match length {
            -1 => Ok(None),
            _ => usize::try_from(length).map(Some).map_err(|_| Malformed("a length below -1")),
        }
    }

    /// A text, or nothing for null.
    ///
    /// # Errors
    /// When it ends early or is not UTF-8.
    pub fn nullable_text(&mut self) -> Result<Option<&'a str>, Malformed> {
        let Some(length) = self.length(false)? else { return Ok(None) };
        let bytes = self.take(length)?;
        core::str::from_utf8(bytes).map(Some).map_err(|_| Malformed("a text that is not UTF-8"))
    }

    /// A text.
    ///
    /// # Errors
    /// When it is null, ends early or is not UTF-8.
    pub fn text(&mut self) -> Result<&'a str, Malformed> {
        self.nullable_text()?.ok_or(NULL)
    }

    /// Bytes, or nothing for null.
    ///
    /// # Errors
    /// When they end early.
    pub fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.length(true)? {
            Some(length) => self.take(length).map(Some),
            None => Ok(None),
        }
    }

    /// Bytes.
    ///
    /// # Errors
    /// When they are null or end early.
    pub fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        self.nullable_bytes()?.ok_or(NULL)
    }

    /// How many elements an array has, or nothing for null. Each takes `element_bytes_min` at the least, which is not 0: a
    /// count that what is left cannot hold is refused before anything is made of it.
    ///
    /// # Errors
    /// When there cannot be so many.
    pub fn nullable_count(&mut self, element_bytes_min: usize) -> Result<Option<usize>, Malformed> {
        let count = self.length(true)?;
        let most = self.rest.len() / element_bytes_min.max(1);
        if count.is_some_and(|count| count > most) {
            return Err(Malformed("an array longer than its message"));
        }
        Ok(count)
    }

    /// How many elements an array has.
    ///
    /// # Errors
    /// When it is null, or there cannot be so many.
    pub fn count(&mut self, element_bytes_min: usize) -> Result<usize, Malformed> {
        self.nullable_count(element_bytes_min)?.ok_or(NULL)
    }

    /// The tagged fields behind a struct; none in versions that are not flexible.
    ///
    /// # Errors
    /// When one of them is malformed, or their tags do not rise.
    pub fn tagged_fields(&mut self) -> Result<TaggedFields<'a>, Malformed> {
        let count = if self.flexible { self.varint()? } else { 0 };
        let fields = TaggedFields { rest: self.rest, count };
        let mut last = None;
        for _ in 0..count {
            let tag = self.varint()?;
            if last.is_some_and(|last| tag <= last) {
                return Err(Malformed("tags that do not rise"));
            }
            last = Some(tag);
            let length = self.varint()? as usize;
            self.take(length)?;
        }
        Ok(fields)
    }

    /// Nothing is left.
    ///
    /// # Errors
    /// When something is.
    pub const fn end(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed("bytes behind the message")) }
    }
}

/// Tagged fields, which were found to be well formed: their tags, and their bytes. A tag that nobody knows means nothing.
#[derive(Clone, Debug)]
pub struct TaggedFields<'a> {
    rest: &'a [u8],
    count: u32,
}

impl<'a> Iterator for TaggedFields<'a> {
    type Item = (u32, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.count = self.count.checked_sub(1)?;
        let (tag, rest) = varint::read_u32(self.rest).ok()?;
        let (length, rest) = varint::read_u32(rest).ok()?;
        let (data, rest) = rest.split_at_checked(length as usize)?;
        self.rest = rest;
        Some((tag, data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_wide_or_of_one_more_as_the_version_says() {
        let mut old =
            Reader::new(&[0, 2, b'h', b'i', 0xff, 0xff, 0, 0, 0, 1, 9, 0xff, 0xff, 0xff, 0xff], false);
        assert_eq!((old.text(), old.nullable_text()), (Ok("hi"), Ok(None)));
        assert_eq!((old.bytes(), old.nullable_bytes(), old.end()), (Ok(&[9][..]), Ok(None), Ok(())));
        let mut new = Reader::new(&[3, b'h', b'i', 0, 2, 9, 0], true);
        assert_eq!((new.text(), new.nullable_text()), (Ok("hi"), Ok(None)));
        assert_eq!((new.bytes(), new.nullable_bytes(), new.end()), (Ok(&[9][..]), Ok(None), Ok(())));
    }

    #[test]
    fn length_beyond_the_message_below_null_or_null_itself_is_malformed() {
        assert_eq!(Reader::new(&[0, 9, 1], false).text(), Err(ENDS_EARLY));
        assert_eq!(Reader::new(&[0xff, 0xfe], false).text(), Err(Malformed("a length below -1")));
        assert_eq!(Reader::new(&[0], true).text(), Err(NULL));
        assert_eq!(Reader::new(&[3, 0xff, 0xff], true).text(), Err(Malformed("a text that is not UTF-8")));
        assert_eq!(Reader::new(&[1], true).end(), Err(Malformed("bytes behind the message")));
    }

    #[test]
    fn array_that_what_is_left_cannot_hold_is_refused_before_it_is_read() {
        let of_two_billion = [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0];
        assert!(Reader::new(&of_two_billion, false).count(4).is_err());
        assert_eq!(Reader::new(&[0, 0, 0, 1, 0, 0, 0, 0], false).count(4), Ok(1));
        assert_eq!(
            Reader::new(&[3, 0], true).nullable_count(1),
            Err(Malformed("an array longer than its message"))
        );
        assert_eq!(Reader::new(&[0], true).nullable_count(1), Ok(None));
    }

    #[test]
    fn tagged_fields_rise_and_those_that_nobody_knows_are_passed_over() {
        let mut reader = Reader::new(&[2, 0, 1, 7, 300u16 as u8 | 0x80, 2, 0, 42], true);
        let fields: Vec<_> = reader.tagged_fields().expect("they are well formed").collect();
        assert_eq!((fields, reader.i8()), (vec![(0, &[7][..]), (300, &[])], Ok(42)));
        assert_eq!(Reader::new(&[42], false).tagged_fields().map(Iterator::count), Ok(0));
        for bytes in [&[2, 1, 0, 1, 0][..], &[1, 0, 9], &[9]] {
            assert!(Reader::new(bytes, true).tagged_fields().is_err());
        }
    }
}
