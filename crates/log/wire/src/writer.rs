//! Writing a message's primitive types, as [`crate::Reader`] reads them.

use alloc::vec::Vec;

use crate::varint;

/// Appends to a byte vector that the caller keeps.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    flexible: bool,
}

impl<'a> Writer<'a> {
    /// Writes behind what `out` holds, for a flexible version or another.
    pub const fn new(out: &'a mut Vec<u8>, flexible: bool) -> Self {
        Self { out, flexible }
    }

    /// Whether the version is a flexible one.
    #[must_use]
    pub const fn is_flexible(&self) -> bool {
        self.flexible
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend_from_slice(bytes);
        self
    }

    /// One byte: 1 for true.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.raw(&[u8::from(value)])
    }

    /// One byte.
    pub fn i8(&mut self, value: i8) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// Two bytes, big-endian.
    pub fn i16(&mut self, value: i16) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// Four bytes, big-endian.
    pub fn i32(&mut self, value: i32) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// Eight bytes, big-endian.
    pub fn i64(&mut self, value: i64) -> &mut Self {
        self.raw(&value.to_be_bytes())
    }

    /// Sixteen bytes.
    pub fn uuid(&mut self, id: &[u8; 16]) -> &mut Self {
        self.raw(id)
    }

    fn length(&mut self, length: Option<usize>, wide: bool) -> &mut Self {
        if self.flexible {
            varint::write_u32(length.map_or(0, |length| length as u32 + 1), self.out);
            return self;
        }
        match wide {
            true => self.i32(length.map_or(-1, |length| length as i32)),
            false => self.i16(length.map_or(-1, |length| length as i16)),
        }
    }

    /// A text of at most 32,767 bytes, or null.
    pub fn nullable_text(&mut self, text: Option<&str>) -> &mut Self {
        self.length(text.map(str::len), false).raw(text.unwrap_or_default().as_bytes())
    }

    /// A text of at most 32,767 bytes.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.nullable_text(Some(text))
    }

    /// Bytes, or null.
    pub fn nullable_bytes(&mut self, bytes: Option<&[u8]>) -> &mut Self {
        self.length(bytes.map(<[u8]>::len), true).raw(bytes.unwrap_or_default())
    }

    /// Bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.nullable_bytes(Some(bytes))
    }

    /// How many elements of an array follow.
    pub fn count(&mut self, count: usize) -> &mut Self {
        self.length(Some(count), true)
    }

    /// An array that is null.
    pub fn null_array(&mut self) -> &mut Self {
        self.length(None, true)
    }

    /// No tagged field behind a struct; nothing in versions that are not flexible.
    pub fn no_tagged_fields(&mut self) -> &mut Self {
        if self.flexible {
            self.out.push(0);
        }
        self
    }

    /// Tagged fields behind a struct, whose tags rise; nothing in versions that are not flexible.
    pub fn tagged_fields(&mut self, fields: &[(u32, &[u8])]) -> &mut Self {
        if self.flexible {
            varint::write_u32(fields.len() as u32, self.out);
            for (tag, data) in fields {
                varint::write_u32(*tag, self.out);
                varint::write_u32(data.len() as u32, self.out);
                self.raw(data);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    #[test]
    fn reader_reads_what_was_written_in_both_kinds_of_versions() {
        for flexible in [false, true] {
            let mut out = Vec::new();
            let mut writer = Writer::new(&mut out, flexible);
            writer.bool(true).i8(-1).i16(-2).i32(-3).i64(-4).uuid(&[5; 16]);
            writer.text("six").nullable_text(None).bytes(b"7").nullable_bytes(None).count(8).null_array();
            writer.tagged_fields(&[(1, b"nine"), (300, b"")]).no_tagged_fields();
            let mut reader = Reader::new(&out, flexible);
            assert_eq!((reader.bool(), reader.i8(), reader.i16()), (Ok(true), Ok(-1), Ok(-2)));
            assert_eq!((reader.i32(), reader.i64(), reader.uuid()), (Ok(-3), Ok(-4), Ok([5; 16])));
            assert_eq!((reader.text(), reader.nullable_text()), (Ok("six"), Ok(None)));
            assert_eq!((reader.bytes(), reader.nullable_bytes()), (Ok(&b"7"[..]), Ok(None)));
            if flexible {
                assert_eq!(reader.count(1), Ok(8));
            } else {
                assert_eq!(reader.i32(), Ok(8));
            }
            assert_eq!(reader.nullable_count(1), Ok(None));
            let fields: Vec<_> = reader.tagged_fields().expect("well formed").collect();
            assert_eq!(fields.len(), if flexible { 2 } else { 0 });
            assert_eq!((reader.tagged_fields().map(Iterator::count), reader.end()), (Ok(0), Ok(())));
        }
    }
}
