//! Records of a batch that is not compressed, or was decompressed. A broker reads them only where it must: for compaction, to
//! find a timestamp, or to judge a topic's rules.

use crate::{Malformed, varint};

const ENDS_EARLY: Malformed = Malformed("a record that ends early");

/// A record. Its offset and timestamp count from those of its batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// By how much its offset is above the batch's first.
    pub offset_delta: i32,
    /// By how much its timestamp is above the batch's base, milliseconds.
    pub timestamp_delta: i64,
    /// What it is about.
    pub key: Option<&'a [u8]>,
    /// What it says; nothing for a tombstone.
    pub value: Option<&'a [u8]>,
    headers: Headers<'a>,
}

impl<'a> Record<'a> {
    /// Its headers, in order.
    #[must_use]
    pub const fn headers(&self) -> Headers<'a> {
        self.headers
    }
}

/// A record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// Its name, UTF-8 by the protocol; nobody has checked that.
    pub key: &'a [u8],
    /// What it says.
    pub value: Option<&'a [u8]>,
}

/// Headers that are still to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers<'a> {
    bytes: &'a [u8],
    left: u32,
}

impl<'a> Headers<'a> {
    /// How many they are, and their bytes.
    pub(crate) const fn raw(&self) -> (i32, &'a [u8]) {
        (self.left as i32, self.bytes)
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = Result<Header<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let mut cursor = Cursor(self.bytes);
        let header = cursor.header();
        (self.bytes, self.left) =
            if header.is_ok() { (cursor.0, self.left) } else { (Default::default(), 0) };
        Some(header)
    }
}

/// Records that are still to be read. It ends with the first that is malformed.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    left: u32,
}

impl<'a> Records<'a> {
    /// So many records, which are not compressed.
    #[must_use]
    pub fn new(bytes: &'a [u8], count: i32) -> Self {
        Self { bytes, left: u32::try_from(count).unwrap_or(0) }
    }

    /// What is behind the last record that was read: nothing, once all were.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let mut cursor = Cursor(self.bytes);
        let record = cursor.record();
        (self.bytes, self.left) =
            if record.is_ok() { (cursor.0, self.left) } else { (Default::default(), 0) };
        Some(record)
    }
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    #[inline]
    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(ENDS_EARLY)?;
        self.0 = rest;
        Ok(taken)
    }

    #[inline]
    fn varint(&mut self) -> Result<i32, Malformed> {
        let (value, rest) = varint::read_i32(self.0)?;
        self.0 = rest;
        Ok(value)
    }

    #[inline]
    fn varlong(&mut self) -> Result<i64, Malformed> {
        let (value, rest) = varint::read_i64(self.0)?;
        self.0 = rest;
        Ok(value)
    }

    #[inline]
    fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>, Malformed> {
        match self.varint()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| Malformed("a length below -1"))?;
                self.take(length).map(Some)
            }
        }
    }

    #[inline]
    fn record(&mut self) -> Result<Record<'a>, Malformed> {
        let length =
            usize::try_from(self.varint()?).map_err(|_| Malformed("a record of a length below 0"))?;
        let mut own = Cursor(self.take(length)?);
        let _attributes = own.take(1)?;
        let (timestamp_delta, offset_delta) = (own.varlong()?, own.varint()?);
        let (key, value) = (own.nullable_bytes()?, own.nullable_bytes()?);
        let left = u32::try_from(own.varint()?).map_err(|_| Malformed("fewer headers than none"))?;
        let headers = Headers { bytes: own.0, left };
        own.pass_headers(left)?;
        if !own.0.is_empty() {
            return Err(Malformed("a record longer than what it holds"));
        }
        Ok(Record { offset_delta, timestamp_delta, key, value, headers })
    }

    fn pass_headers(&mut self, count: u32) -> Result<(), Malformed> {
        for _ in 0..count {
            self.header()?;
        }
        Ok(())
    }

    #[inline]
    fn header(&mut self) -> Result<Header<'a>, Malformed> {
        let key = self.nullable_bytes()?.ok_or(Malformed("a header without a name"))?;
        Ok(Header { key, value: self.nullable_bytes()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn put_bytes(bytes: Option<&[u8]>, out: &mut Vec<u8>) {
        varint::write_i32(bytes.map_or(-1, |bytes| bytes.len() as i32), out);
        out.extend_from_slice(bytes.unwrap_or_default());
    }

    /// A record as a producer writes it.
    fn record(
        offset_delta: i32,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[(&[u8], Option<&[u8]>)],
    ) -> Vec<u8> {
        let mut body = vec![0];
        varint::write_i64(5, &mut body);
        varint::write_i32(offset_delta, &mut body);
        put_bytes(key, &mut body);
        put_bytes(value, &mut body);
        varint::write_i32(headers.len() as i32, &mut body);
        for (name, value) in headers {
            put_bytes(Some(name), &mut body);
            put_bytes(*value, &mut body);
        }
        let mut out = Vec::new();
        varint::write_i32(body.len() as i32, &mut out);
        out.extend(body);
        out
    }

    #[test]
    fn records_are_read_one_after_the_other() {
        let mut bytes = record(0, Some(b"k"), Some(b"v"), &[(b"h", None), (b"i", Some(b"j"))]);
        bytes.extend(record(1, None, None, &[]));
        let mut records = Records::new(&bytes, 2);
        let first = records.next().expect("there is one").expect("well formed");
        assert_eq!((first.offset_delta, first.timestamp_delta), (0, 5));
        assert_eq!((first.key, first.value), (Some(&b"k"[..]), Some(&b"v"[..])));
        let headers: Vec<_> = first.headers().map(|header| header.expect("well formed")).collect();
        assert_eq!(headers, [Header { key: b"h", value: None }, Header { key: b"i", value: Some(b"j") }]);
        let second = records.next().expect("there is one").expect("well formed");
        assert_eq!((second.key, second.value, second.headers().count()), (None, None, 0));
        assert!(records.next().is_none() && records.rest().is_empty());
    }

    #[test]
    fn record_that_is_malformed_ends_them() {
        let whole = record(0, Some(b"key"), Some(b"value"), &[(b"h", None)]);
        for cut in 0..whole.len() {
            let mut records = Records::new(&whole[..cut], 9);
            assert!(
                records.next().is_some_and(|record| record.is_err()) && records.next().is_none(),
                "{cut}"
            );
        }
        let mut longer = whole.clone();
        longer[0] += 2;
        longer.push(0);
        assert!(Records::new(&longer, 1).next().is_some_and(|record| record.is_err()), "a byte too many");
        assert!(Records::new(&whole, -1).next().is_none());
    }

    #[test]
    fn any_bytes_are_read_without_a_panic() {
        let mut state = 1u64;
        for length in 0..400usize {
            let bytes: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            Records::new(&bytes, i32::MAX).for_each(drop);
            let _ = crate::Batch::read(&bytes);
            let _ = crate::RequestHeader::read(&bytes);
        }
    }
}
