//! What commands, records and snapshots are written with: numbers of variable length, bytes behind their length, and
//! records made of such fields.
//!
//! Reading is total: any bytes give a value or [`Malformed`], and nothing is allocated before its length is checked
//! against the bytes that are there. Knows nothing of what it carries.

use core::fmt;

/// Bytes that are not what they should be. They came from a peer or a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl core::error::Error for Malformed {}

pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A cursor over bytes that may be anything.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    cut: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) const fn new(rest: &'a [u8]) -> Self {
        Self { rest, cut: false }
    }

    /// Whether something could not be read because the bytes end.
    pub(crate) const fn is_cut(&self) -> bool {
        self.cut
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            self.cut = true;
            return Err(Malformed("bytes: they end early"));
        };
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            self.cut = true;
            return Err(Malformed("bytes: they end early"));
        };
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    /// Eight bytes, the highest first, as keys have them.
    pub(crate) fn ordered(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// A number in its only form: the shortest one. Otherwise two texts of one record would have two digests.
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 || shift > 0 && byte == 0 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed("number: not in its shortest form, or longer than 64 bits"))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = usize::try_from(self.varint()?).map_err(|_| Malformed("bytes: too long"))?;
        self.take(length)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, Malformed> {
        core::str::from_utf8(self.bytes()?).map_err(|_| Malformed("text: not UTF-8"))
    }

    /// Nothing may be left.
    pub(crate) const fn end(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(Malformed("bytes: there are too many")) }
    }
}

/// What a record is made of.
pub(crate) trait Field: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed>;
    /// Goes past a field that [`Field::take`] would read, and fails where it would; without making anything of it.
    fn skip(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        Self::take(cursor).map(drop)
    }
}

/// A whole record as bytes.
pub(crate) fn encoded<F: Field>(field: &F) -> Vec<u8> {
    let mut out = Vec::new();
    field.put(&mut out);
    out
}

/// A record of these very bytes.
pub(crate) fn decoded<F: Field>(bytes: &[u8]) -> Result<F, Malformed> {
    let mut cursor = Cursor::new(bytes);
    let field = F::take(&mut cursor)?;
    cursor.end()?;
    Ok(field)
}

impl Field for () {
    fn put(&self, _: &mut Vec<u8>) {}
    fn take(_: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(())
    }
}

impl Field for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, *self);
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        cursor.varint()
    }
}

impl Field for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(*self));
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Self::try_from(cursor.varint()?).map_err(|_| Malformed("number: longer than 32 bits"))
    }
}

impl Field for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        cursor.u8()
    }
}

/// Small numbers of both signs are short: the sign goes to the lowest bit.
impl Field for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, ((self << 1) ^ (self >> 63)) as u64);
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let value = cursor.varint()?;
        Ok((value >> 1) as Self ^ -((value & 1) as Self))
    }
}

impl Field for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        match cursor.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed("flag: neither 0 nor 1")),
        }
    }
}

impl Field for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, self.as_bytes());
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(Self::from(cursor.text()?))
    }
    fn skip(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        cursor.text().map(drop)
    }
}

impl Field for Vec<u8> {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, self);
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(cursor.bytes()?.to_vec())
    }
    fn skip(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        cursor.bytes().map(drop)
    }
}

impl<const N: usize> Field for [u8; N] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        cursor.array()
    }
}

impl<F: Field> Field for Option<F> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(field) = self {
            field.put(out);
        }
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        bool::take(cursor)?.then(|| F::take(cursor)).transpose()
    }
    fn skip(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        if bool::take(cursor)? { F::skip(cursor) } else { Ok(()) }
    }
}

impl<A: Field, B: Field> Field for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok((A::take(cursor)?, B::take(cursor)?))
    }
}

/// Defines a record: a struct whose fields are written one behind the other.
macro_rules! record {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty,)*
    }) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type,)*
        }

        impl $crate::codec::Field for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $($crate::codec::Field::put(&self.$field, out);)*
            }
            fn take(
                cursor: &mut $crate::codec::Cursor<'_>,
            ) -> ::core::result::Result<Self, $crate::codec::Malformed> {
                Ok(Self { $($field: $crate::codec::Field::take(cursor)?,)* })
            }
            fn skip(
                cursor: &mut $crate::codec::Cursor<'_>,
            ) -> ::core::result::Result<(), $crate::codec::Malformed> {
                $(<$type as $crate::codec::Field>::skip(cursor)?;)*
                Ok(())
            }
        }
    };
}
pub(crate) use record;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_at_their_edges() {
        for value in [0, 1, -1, 63, 64, -64, -65, i64::MAX, i64::MIN] {
            assert_eq!(decoded(&encoded(&value)), Ok(value));
            assert_eq!(decoded(&encoded(&(value as u64))), Ok(value as u64));
        }
    }

    #[test]
    fn a_number_has_one_form() {
        for bytes in [&[0xff; 10][..], &[0x80; 11], &[0x80], &[0x80, 0], &[0x81, 0x80, 0]] {
            assert!(decoded::<u64>(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_length_beyond_the_bytes_is_malformed() {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, u64::MAX);
        assert!(decoded::<Vec<u8>>(&bytes).is_err());
        assert!(decoded::<String>(&[2, 0xff, 0xff]).is_err());
        assert!(decoded::<Option<bool>>(&[1, 2]).is_err());
    }
}
