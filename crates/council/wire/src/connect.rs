//! The handshake's two records.

use crate::{Malformed, Reader, Writer};

/// The first frame that a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectRequest<'a> {
    /// Always 0 in ZooKeeper's own clients.
    pub protocol_version: i32,
    /// The highest transaction that the client has seen anywhere.
    pub last_zxid_seen: i64,
    /// The session timeout that the client would like, in milliseconds.
    pub timeout_ms: i32,
    /// The session to go on with, or 0.
    pub session_id: i64,
    /// That session's password, if not null.
    pub password: Option<&'a [u8]>,
    /// Whether a read-only server will do. `None` when the client is too old to say; then the response must not
    /// say it either.
    pub read_only: Option<bool>,
}

impl<'a> ConnectRequest<'a> {
    /// Reads the first frame of a connection.
    ///
    /// # Errors
    /// When the bytes end early.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            protocol_version: reader.i32()?,
            last_zxid_seen: reader.i64()?,
            timeout_ms: reader.i32()?,
            session_id: reader.i64()?,
            password: reader.buffer()?,
            read_only: if reader.rest().is_empty() { None } else { Some(reader.bool()?) },
        })
    }

    /// Writes the record, as a client does.
    pub fn write(&self, writer: &mut Writer<'_>) {
        writer
            .i32(self.protocol_version)
            .i64(self.last_zxid_seen)
            .i32(self.timeout_ms)
            .i64(self.session_id)
            .buffer(self.password);
        if let Some(read_only) = self.read_only {
            writer.bool(read_only);
        }
    }
}

/// The server's answer to it. Time-out 0 and session 0 mean that the session is gone or the password wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectResponse<'a> {
    /// Always 0.
    pub protocol_version: i32,
    /// The session timeout that holds, in milliseconds.
    pub timeout_ms: i32,
    /// The session.
    pub session_id: i64,
    /// Its password, 16 bytes.
    pub password: Option<&'a [u8]>,
    /// Whether this server is read-only; only sent to a client whose request has the field.
    pub read_only: Option<bool>,
}

impl<'a> ConnectResponse<'a> {
    /// Reads a response, as a client does.
    ///
    /// # Errors
    /// When the bytes end early.
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            protocol_version: reader.i32()?,
            timeout_ms: reader.i32()?,
            session_id: reader.i64()?,
            password: reader.buffer()?,
            read_only: if reader.rest().is_empty() { None } else { Some(reader.bool()?) },
        })
    }

    /// Writes the response.
    pub fn write(&self, writer: &mut Writer<'_>) {
        writer.i32(self.protocol_version).i32(self.timeout_ms).i64(self.session_id).buffer(self.password);
        if let Some(read_only) = self.read_only {
            writer.bool(read_only);
        }
    }
}
