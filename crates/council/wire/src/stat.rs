//! A node's Stat: 68 bytes on the wire.

use crate::{Malformed, Reader, Writer};

/// The metadata of a node that clients get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Transaction that created the node.
    pub czxid: i64,
    /// Transaction that last changed its data.
    pub mzxid: i64,
    /// Creation, in milliseconds since 1970.
    pub ctime: i64,
    /// Last change of its data, in milliseconds since 1970.
    pub mtime: i64,
    /// Changes of its data.
    pub version: i32,
    /// Changes of its children, creations and deletions.
    pub cversion: i32,
    /// Changes of its ACL.
    pub aversion: i32,
    /// The session that owns an ephemeral node, else 0.
    pub ephemeral_owner: i64,
    /// Bytes of data.
    pub data_length: i32,
    /// Children now.
    pub num_children: i32,
    /// Transaction that last created or deleted a child.
    pub pzxid: i64,
}

impl Stat {
    /// Bytes on the wire.
    pub const LENGTH: usize = 68;

    /// Reads a Stat.
    ///
    /// # Errors
    /// When the bytes end early.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            czxid: reader.i64()?,
            mzxid: reader.i64()?,
            ctime: reader.i64()?,
            mtime: reader.i64()?,
            version: reader.i32()?,
            cversion: reader.i32()?,
            aversion: reader.i32()?,
            ephemeral_owner: reader.i64()?,
            data_length: reader.i32()?,
            num_children: reader.i32()?,
            pzxid: reader.i64()?,
        })
    }

    /// Writes the Stat.
    #[inline]
    pub fn write(&self, writer: &mut Writer<'_>) {
        writer
            .i64(self.czxid)
            .i64(self.mzxid)
            .i64(self.ctime)
            .i64(self.mtime)
            .i32(self.version)
            .i32(self.cversion)
            .i32(self.aversion)
            .i64(self.ephemeral_owner)
            .i32(self.data_length)
            .i32(self.num_children)
            .i64(self.pzxid);
    }
}
