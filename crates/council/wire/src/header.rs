//! The headers of requests and replies.

use crate::{Malformed, Reader, Writer};

/// xids that are not a client's counter.
pub mod xid {
    /// A watch event.
    pub const NOTIFICATION: i32 = -1;
    /// A ping and its reply.
    pub const PING: i32 = -2;
    /// An authentication packet of most clients.
    pub const AUTH: i32 = -4;
    /// A setWatches of most clients.
    pub const SET_WATCHES: i32 = -8;
}

/// What stands before every request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// The client's number for this request.
    pub xid: i32,
    /// The operation code; not every number is one.
    pub operation: i32,
}

impl RequestHeader {
    /// Reads a header.
    ///
    /// # Errors
    /// When the bytes end early.
    #[inline]
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { xid: reader.i32()?, operation: reader.i32()? })
    }

    /// Writes the header.
    pub fn write(&self, writer: &mut Writer<'_>) {
        writer.i32(self.xid).i32(self.operation);
    }
}

/// What stands before every reply's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHeader {
    /// The request's number, or a reserved one.
    pub xid: i32,
    /// The last transaction that the reply reflects.
    pub zxid: i64,
    /// 0, or an error code; most errors have no body behind them.
    pub err: i32,
}

impl ReplyHeader {
    /// Reads a header.
    ///
    /// # Errors
    /// When the bytes end early.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { xid: reader.i32()?, zxid: reader.i64()?, err: reader.i32()? })
    }

    /// Writes the header.
    #[inline]
    pub fn write(&self, writer: &mut Writer<'_>) {
        writer.i32(self.xid).i64(self.zxid).i32(self.err);
    }
}
