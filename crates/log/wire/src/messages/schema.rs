//! Messages as data: a table of fields, each with its name, its type and the versions that have it, becomes a struct that is
//! read and written.
//!
//! ```text
//! struct Name {
//!     [0..] field: Type,            in all versions
//!     [3..] field: Type = value,    from version 3 on; in others it has this value
//!     [0..5] field: Type,           up to version 4
//!     tag 0 [5..] field: Type,      behind all others and tagged, if it has another value than that of `Default`
//! }
//! ```
//! Reading is bounded by the bytes that there are: no count that a peer writes makes room for more than they hold. A field
//! that a version does not have is not written, whatever its value.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{Malformed, Reader, Writer};

/// How many elements of an array are made room for before they are read.
const ROOM_MAX: usize = 1_024;

/// A part of a message.
pub trait Field: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// It is malformed.
    fn read(reader: &mut Reader<'_>, version: i16) -> Result<Self, Malformed>;

    /// Writes it.
    fn write(&self, writer: &mut Writer<'_>, version: i16);

    /// Any value.
    #[cfg(test)]
    fn sample(random: &mut super::tests::Draw) -> Self;
}

/// Bytes that have a meaning elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blob(pub Vec<u8>);

macro_rules! numbers {
    ($($type:ty: $method:ident),+ $(,)?) => {$(
        impl Field for $type {
            fn read(reader: &mut Reader<'_>, _: i16) -> Result<Self, Malformed> {
                reader.$method()
            }

            fn write(&self, writer: &mut Writer<'_>, _: i16) {
                writer.$method(*self);
            }

            #[cfg(test)]
            fn sample(random: &mut super::tests::Draw) -> Self {
                random.number() as Self
            }
        }
    )+};
}

numbers!(i8: i8, i16: i16, i32: i32, i64: i64);

impl Field for u16 {
    fn read(reader: &mut Reader<'_>, _: i16) -> Result<Self, Malformed> {
        reader.i16().map(i16::cast_unsigned)
    }

    fn write(&self, writer: &mut Writer<'_>, _: i16) {
        writer.i16(self.cast_signed());
    }

    #[cfg(test)]
    fn sample(random: &mut super::tests::Draw) -> Self {
        random.number() as Self
    }
}

impl Field for bool {
    fn read(reader: &mut Reader<'_>, _: i16) -> Result<Self, Malformed> {
        reader.bool()
    }

    fn write(&self, writer: &mut Writer<'_>, _: i16) {
        writer.bool(*self);
    }

    #[cfg(test)]
    fn sample(random: &mut super::tests::Draw) -> Self {
        random.number() % 2 == 0
    }
}

impl Field for f64 {
    fn read(reader: &mut Reader<'_>, _: i16) -> Result<Self, Malformed> {
        reader.i64().map(|bits| Self::from_bits(bits.cast_unsigned()))
    }

    fn write(&self, writer: &mut Writer<'_>, _: i16) {
        writer.i64(self.to_bits().cast_signed());
    }

    #[cfg(test)]
    fn sample(random: &mut super::tests::Draw) -> Self {
        random.number() as Self / 3.0
    }
}

impl Field for [u8; 16] {
    fn read(reader: &mut Reader<'_>, _: i16) -> Result<Self, Malformed> {
        reader.uuid()
    }

    fn write(&self, writer: &mut Writer<'_>, _: i16) {
        writer.uuid(self);
    }

    #[cfg(test)]
    fn sample(random: &mut super::tests::Draw) -> Self {
        [random.number() as u8; 16]
    }
}

impl Field for String {
    fn read(reader: &mut Reader<'_>, _: i16) -> Result<Self, Malformed> {
        reader.text().map(Self::from)
    }

    fn write(&self, writer: &mut Writer<'_>, _: i16) {
        writer.text(self);
    }

    #[cfg(test)]
    fn sample(random: &mut super::tests::Draw) -> Self {
        random.text()
    }
}

impl Field for Option<String> {
    fn read(reader: &mut Reader<'_>, _: i16) -> Result<Self, Malformed> {
        Ok(reader.nullable_text()?.map(String::from))
    }

    fn write(&self, writer: &mut Writer<'_>, _: i16) {
        writer.nullable_text(self.as_deref());
    }

    #[cfg(test)]
    fn sample(random: &mut super::tests::Draw) -> Self {
        random.nullable(|random| random.text())
    }
}

impl Field for Blob {
    fn read(reader: &mut Reader<'_>, _: i16) -> Result<Self, Malformed> {
        reader.bytes().map(|bytes| Self(bytes.into()))
    }

    fn write(&self, writer: &mut Writer<'_>, _: i16) {
        writer.bytes(&self.0);
    }

    #[cfg(test)]
    fn sample(random: &mut super::tests::Draw) -> Self {
        Self(random.text().into_bytes())
    }
}

impl<T: Field> Field for Vec<T> {
    fn read(reader: &mut Reader<'_>, version: i16) -> Result<Self, Malformed> {
        let count = reader.count(1)?;
        read_elements(reader, version, count)
    }

    fn write(&self, writer: &mut Writer<'_>, version: i16) {
        writer.count(self.len());
        self.iter().for_each(|element| element.write(writer, version));
    }

    #[cfg(test)]
    fn sample(random: &mut super::tests::Draw) -> Self {
        (0..random.number() % 3).map(|_| T::sample(random)).collect()
    }
}

impl<T: Field> Field for Option<Vec<T>> {
    fn read(reader: &mut Reader<'_>, version: i16) -> Result<Self, Malformed> {
        let count = reader.nullable_count(1)?;
        count.map(|count| read_elements(reader, version, count)).transpose()
    }

    fn write(&self, writer: &mut Writer<'_>, version: i16) {
        match self {
            Some(elements) => elements.write(writer, version),
            None => drop(writer.null_array()),
        }
    }

    #[cfg(test)]
    fn sample(random: &mut super::tests::Draw) -> Self {
        random.nullable(Vec::sample)
    }
}

fn read_elements<T: Field>(reader: &mut Reader<'_>, version: i16, count: usize) -> Result<Vec<T>, Malformed> {
    let mut elements = Vec::with_capacity(count.min(ROOM_MAX));
    for _ in 0..count {
        elements.push(T::read(reader, version)?);
    }
    Ok(elements)
}

/// Structs of tables: see the module.
macro_rules! messages {
    ($(
        $(#[$doc:meta])*
        struct $name:ident {
            $([$from:literal .. $($until:literal)?] $field:ident: $type:ty $(= $value:expr)?,)*
            $(tag $tag:literal [$tagged_from:literal ..] $tagged:ident: $tagged_type:ty,)*
        }
    )+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        #[expect(missing_docs, reason = "the protocol's names")]
        pub struct $name {
            $(pub $field: $type,)*
            $(pub $tagged: $tagged_type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: $crate::messages::schema::default_of!($($value)?),)*
                    $($tagged: Default::default(),)*
                }
            }
        }

        impl $crate::messages::Field for $name {
            fn read(reader: &mut $crate::Reader<'_>, version: i16) -> Result<Self, $crate::Malformed> {
                let _ = version;
                let read = Self {
                    $($tagged: Default::default(),)*
                    $($field: if $crate::messages::schema::has!(version, $from, $($until)?) {
                        $crate::messages::Field::read(reader, version)?
                    } else {
                        $crate::messages::schema::default_of!($($value)?)
                    },)*
                };
                let fields = reader.tagged_fields()?;
                $crate::messages::schema::read_tagged!(read, fields, version, $($tag $tagged)*)
            }

            fn write(&self, writer: &mut $crate::Writer<'_>, version: i16) {
                let _ = version;
                $(if $crate::messages::schema::has!(version, $from, $($until)?) {
                    $crate::messages::Field::write(&self.$field, writer, version);
                })*
                $crate::messages::schema::write_tagged!(self, writer, version, $($tag $tagged_from $tagged)*);
            }

            #[cfg(test)]
            fn sample(random: &mut $crate::messages::tests::Draw) -> Self {
                let _ = &random;
                Self {
                    $($field: $crate::messages::Field::sample(random),)*
                    $($tagged: $crate::messages::Field::sample(random),)*
                }
            }
        }

        impl $crate::messages::Field for Option<$name> {
            fn read(reader: &mut $crate::Reader<'_>, version: i16) -> Result<Self, $crate::Malformed> {
                Ok(if reader.i8()? < 0 { None } else { Some($crate::messages::Field::read(reader, version)?) })
            }

            fn write(&self, writer: &mut $crate::Writer<'_>, version: i16) {
                writer.i8(if self.is_some() { 1 } else { -1 });
                if let Some(value) = self {
                    $crate::messages::Field::write(value, writer, version);
                }
            }

            #[cfg(test)]
            fn sample(random: &mut $crate::messages::tests::Draw) -> Self {
                random.nullable(|random| $crate::messages::Field::sample(random))
            }
        }
    )+};
}

/// Reads tagged fields into a struct, and gives it.
macro_rules! read_tagged {
    ($read:ident, $fields:ident, $version:ident,) => {{
        let _ = $fields;
        Ok($read)
    }};
    ($read:ident, $fields:ident, $version:ident, $($tag:literal $field:ident)+) => {{
        let mut read = $read;
        for (tag, data) in $fields {
            $(if tag == $tag {
                read.$field = $crate::messages::Field::read(&mut $crate::Reader::new(data, true), $version)?;
            })+
        }
        Ok(read)
    }};
}

/// Writes tagged fields that have another value than the usual one.
macro_rules! write_tagged {
    ($of:ident, $writer:ident, $version:ident,) => {
        $writer.no_tagged_fields();
    };
    ($of:ident, $writer:ident, $version:ident, $($tag:literal $from:literal $field:ident)+) => {
        let mut tagged = Vec::new();
        $(if $version >= $from && $of.$field != Default::default() {
            let mut data = Vec::new();
            $crate::messages::Field::write(&$of.$field, &mut $crate::Writer::new(&mut data, true), $version);
            tagged.push(($tag, data));
        })+
        let fields: Vec<(u32, &[u8])> = tagged.iter().map(|(tag, data)| (*tag, data.as_slice())).collect();
        $writer.tagged_fields(&fields);
    };
}

/// Whether a version has a field.
macro_rules! has {
    ($version:ident, 0,) => {
        true
    };
    ($version:ident, 0, $until:literal) => {
        $version < $until
    };
    ($version:ident, $from:literal,) => {
        $version >= $from
    };
    ($version:ident, $from:literal, $until:literal) => {
        ($from..$until).contains(&$version)
    };
}

/// The value of a field that is not there.
macro_rules! default_of {
    () => {
        Default::default()
    };
    ($value:expr) => {
        $value
    };
}

pub(crate) use {default_of, has, messages, read_tagged, write_tagged};
