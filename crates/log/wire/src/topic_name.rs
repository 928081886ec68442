//! How a message names a topic: by its name in older versions, by its id in newer ones (KIP-516).

use crate::{Malformed, Reader, Writer};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TopicName<'a> {
    /// By its name.
    Name(&'a str),
    /// By its id.
    Id([u8; 16]),
}

impl<'a> TopicName<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>, by_id: bool) -> Result<Self, Malformed> {
        if by_id { reader.uuid().map(Self::Id) } else { reader.text().map(Self::Name) }
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Name(name) => writer.text(name),
            Self::Id(id) => writer.uuid(id),
        };
    }
}
