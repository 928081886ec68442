//! Access control lists as the wire carries them.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{Malformed, Reader, Writer};

/// The bits of an ACL entry's permissions.
pub mod permission {
    /// Read data, list children, see the Stat.
    pub const READ: i32 = 1;
    /// Change data.
    pub const WRITE: i32 = 2;
    /// Create children.
    pub const CREATE: i32 = 4;
    /// Delete children.
    pub const DELETE: i32 = 8;
    /// Change the ACL.
    pub const ADMIN: i32 = 16;
    /// All of them.
    pub const ALL: i32 = 31;
}

/// One entry of a stored ACL.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Acl {
    /// Permission bits; ZooKeeper stores any number that was sent.
    pub permissions: i32,
    /// `world`, `digest`, `ip`, ...
    pub scheme: String,
    /// The id, in the scheme's form.
    pub id: String,
}

impl Acl {
    /// The entry that gives every client all permissions.
    #[must_use]
    pub fn open() -> Self {
        Self::world(permission::ALL)
    }

    /// The entry that gives every client `permissions`.
    #[must_use]
    pub fn world(permissions: i32) -> Self {
        Self { permissions, scheme: String::from("world"), id: String::from("anyone") }
    }

    /// Writes a vector of entries.
    pub fn write_all(entries: &[Self], writer: &mut Writer<'_>) {
        writer.length(entries.len());
        for entry in entries {
            writer.i32(entry.permissions).text(&entry.scheme).text(&entry.id);
        }
    }
}

/// One entry of an ACL in a request. Scheme and id may be null there; whether that is valid is not for the wire to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AclEntry<'a> {
    /// Permission bits.
    pub permissions: i32,
    /// The scheme, if not null.
    pub scheme: Option<&'a str>,
    /// The id, if not null.
    pub id: Option<&'a str>,
}

/// The ACL of a request, checked for shape once and then read as often as needed without a copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct AclList<'a> {
    raw: &'a [u8],
    count: usize,
    null: bool,
}

impl<'a> AclList<'a> {
    /// Reads a vector of entries, checking each.
    ///
    /// # Errors
    /// When an entry is malformed or the bytes end early.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let null = reader.clone().i32()? == -1;
        let count = reader.count()?;
        let start = reader.rest();
        for _ in 0..count {
            Self::entry(reader)?;
        }
        let used = start.len() - reader.rest().len();
        Ok(Self { raw: start.get(..used).unwrap_or_default(), count, null })
    }

    fn entry(reader: &mut Reader<'a>) -> Result<AclEntry<'a>, Malformed> {
        Ok(AclEntry { permissions: reader.i32()?, scheme: reader.string()?, id: reader.string()? })
    }

    /// How many entries there are; null reads as none.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the vector was null, which counts as empty nearly everywhere.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        self.null
    }

    /// The entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = AclEntry<'a>> + use<'a> {
        let mut reader = Reader::new(self.raw);
        (0..self.count).map_while(move |_| Self::entry(&mut reader).ok())
    }

    /// The entries as owned ones, nulls as empty strings.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Acl> {
        self.iter()
            .map(|entry| Acl {
                permissions: entry.permissions,
                scheme: String::from(entry.scheme.unwrap_or_default()),
                id: String::from(entry.id.unwrap_or_default()),
            })
            .collect()
    }
}
