//! What the log carries: commands, with everything that decides their result.
//!
//! The encoded form is versioned by its first byte. It is the log's format: all later builds must read what is written
//! here.

use alloc::vec::Vec;
use base::WallTime;

use council_wire::{ErrorCode, Malformed, OpCode, SessionId};

use crate::codec::{Cursor, put_bytes, put_signed, put_varint};
use crate::{Identities, Policy};

/// The leader's wall clock when it made the entry, one per log entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// What it said.
    pub time: WallTime,
}

/// Where in which connection's stream a command stands: what makes it take effect exactly once, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The session.
    pub session: SessionId,
    /// Which of the session's connections, counted by attaches.
    pub generation: u32,
    /// The command's number on that connection, from 1.
    pub sequence: u64,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation<'a> {
    /// A client's write: its own request body, untouched.
    Client {
        /// The operation.
        opcode: OpCode,
        /// The jute record behind the request header.
        body: &'a [u8],
    },
    /// Opens a session, generation 1, sequence 0. Takes a zxid.
    CreateSession {
        /// Its id: not 0, not open, from level 1 on above all that its member (its first byte) opened before, and with a first byte other than 0xff or 0x80 00.. (which mark TTL and containers).
        session: SessionId,
        /// Its negotiated timeout.
        timeout_ms: i32,
        /// Its password.
        password: [u8; 16],
    },
    /// Moves a session to a new connection and starts its sequence at 0 again. Takes no zxid. Rejected when the
    /// session is gone (`SessionExpired`) or its generation is not below the new one (`SessionMoved`).
    Attach {
        /// The session.
        session: SessionId,
        /// The new generation: the one known plus one.
        generation: u32,
        /// The newly negotiated timeout.
        timeout_ms: i32,
    },
    /// Closes a session for its client: removes all its ephemeral nodes at one zxid.
    CloseSession {
        /// The session.
        session: SessionId,
    },
    /// Closes a session whose client has been silent. Rejected, without a zxid, when the generation has changed
    /// (`SessionMoved`) or the session is gone (`SessionExpired`).
    Expire {
        /// The session.
        session: SessionId,
        /// The generation that was silent.
        generation: u32,
    },
    /// Removes a container or TTL node if, judged by the stamp, it is due. Rejected, without a zxid, when it is not.
    Reap {
        /// The node.
        path: &'a str,
        /// After how many milliseconds a container goes that never had a child; 0 for never.
        never_used_ms: i64,
    },
    /// Raises the epoch by one and sets the count to 0.
    RaiseEpoch,
    /// Writes `/zookeeper/config`. Takes a zxid when the text is new there.
    SetConfig {
        /// The node's whole data.
        text: &'a [u8],
        /// The configuration's version, kept beside it.
        version: i64,
    },
    /// Raises the feature level to at least this one. Takes no zxid.
    FeatureLevel(u32),
    /// Holds the place of a client's command that the member had to refuse (because the disk is full, for example): it
    /// counts in its connection's sequence, takes no zxid and is rejected with this code.
    Refuse(ErrorCode),
    /// The same for so many commands of one connection, one behind the other, of which the origin names the first: from
    /// 1 to [`REFUSED_MAX`]. From feature level 2 on.
    RefuseMany {
        /// With which code they are rejected.
        refusal: ErrorCode,
        /// How many they are.
        count: u32,
    },
}

/// How many commands one [`Operation::RefuseMany`] refuses at the most: all of them are answered at once.
pub const REFUSED_MAX: u32 = 4096;

/// One command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// Which connection sent it; `None` when the ensemble itself did.
    pub origin: Option<Origin>,
    /// The configuration it is judged by.
    pub policy: Policy,
    /// The identities its connection had when it was sent.
    pub identities: Identities<'a>,
    /// What is to be done.
    pub operation: Operation<'a>,
}

/// The only form so far.
const VERSION: u8 = 1;

/// Kinds of commands.
const CLOSE_SESSION: u8 = 3;
const EXPIRE: u8 = 4;
/// Set beside the kind when an origin follows.
const HAS_ORIGIN: u8 = 0x80;

impl<'a> Command<'a> {
    /// A command of the ensemble itself.
    #[must_use]
    pub const fn internal(operation: Operation<'a>) -> Self {
        Self { origin: None, policy: Policy::standard(), identities: Identities::NONE, operation }
    }

    /// The number of the last command of its connection that it stands for: its own, unless it refuses several.
    #[must_use]
    pub fn last_sequence(&self) -> Option<u64> {
        let first = self.origin?.sequence;
        Some(match self.operation {
            Operation::RefuseMany { count, .. } => first.saturating_add(u64::from(count).saturating_sub(1)),
            _ => first,
        })
    }

    /// Whether an encoded command ends a session: told without reading it.
    #[must_use]
    pub fn ends_session(encoded: &[u8]) -> bool {
        matches!(encoded.get(1).map(|kind| kind & !HAS_ORIGIN), Some(CLOSE_SESSION | EXPIRE))
    }

    /// Appends the encoded form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        out.push(self.operation.kind() | if self.origin.is_some() { HAS_ORIGIN } else { 0 });
        if let Some(origin) = self.origin {
            out.extend_from_slice(&origin.session.0.to_le_bytes());
            put_varint(out, u64::from(origin.generation));
            put_varint(out, origin.sequence);
        }
        out.push(self.policy.bits());
        put_bytes(out, self.identities.raw());
        self.operation.encode(out);
    }

    /// Reads an encoded command.
    ///
    /// # Errors
    /// When the bytes are not one, or one of a later version.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes);
        if cursor.u8()? != VERSION {
            return Err(Malformed("command: an unknown version"));
        }
        let kind = cursor.u8()?;
        let origin = if kind & HAS_ORIGIN == 0 {
            None
        } else {
            let session = SessionId(cursor.i64()?);
            Some(Origin { session, generation: cursor.varint32()?, sequence: cursor.varint()? })
        };
        Ok(Self {
            origin,
            policy: Policy::from_bits(cursor.u8()?),
            identities: Identities::check(cursor.bytes()?)?,
            operation: Operation::decode(kind & !HAS_ORIGIN, &mut cursor)?,
        })
    }
}

impl<'a> Operation<'a> {
    const fn kind(&self) -> u8 {
        match self {
            Self::Client { .. } => 0,
            Self::CreateSession { .. } => 1,
            Self::Attach { .. } => 2,
            Self::CloseSession { .. } => CLOSE_SESSION,
            Self::Expire { .. } => EXPIRE,
            Self::Reap { .. } => 5,
            Self::RaiseEpoch => 6,
            Self::SetConfig { .. } => 7,
            Self::FeatureLevel(_) => 8,
            Self::Refuse(_) => 9,
            Self::RefuseMany { .. } => 10,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Client { opcode, body } => {
                put_signed(out, i64::from(opcode.code()));
                out.extend_from_slice(body);
            }
            Self::CreateSession { session, timeout_ms, password } => {
                out.extend_from_slice(&session.0.to_le_bytes());
                put_signed(out, i64::from(timeout_ms));
                out.extend_from_slice(&password);
            }
            Self::Attach { session, generation, timeout_ms } => {
                out.extend_from_slice(&session.0.to_le_bytes());
                put_varint(out, u64::from(generation));
                put_signed(out, i64::from(timeout_ms));
            }
            Self::CloseSession { session } => out.extend_from_slice(&session.0.to_le_bytes()),
            Self::Expire { session, generation } => {
                out.extend_from_slice(&session.0.to_le_bytes());
                put_varint(out, u64::from(generation));
            }
            Self::Reap { path, never_used_ms } => {
                put_signed(out, never_used_ms);
                put_bytes(out, path.as_bytes());
            }
            Self::RaiseEpoch => {}
            Self::SetConfig { text, version } => {
                put_signed(out, version);
                put_bytes(out, text);
            }
            Self::FeatureLevel(level) => put_varint(out, u64::from(level)),
            Self::Refuse(code) => put_signed(out, i64::from(code.code())),
            Self::RefuseMany { refusal, count } => {
                put_signed(out, i64::from(refusal.code()));
                put_varint(out, u64::from(count));
            }
        }
    }

    fn decode(kind: u8, cursor: &mut Cursor<'a>) -> Result<Self, Malformed> {
        Ok(match kind {
            0 => {
                let opcode = cursor.signed32()?;
                let opcode =
                    OpCode::from_code(opcode).ok_or(Malformed("command: an unknown operation code"))?;
                Self::Client { opcode, body: cursor.rest() }
            }
            1 => Self::CreateSession {
                session: SessionId(cursor.i64()?),
                timeout_ms: cursor.signed32()?,
                password: cursor.array()?,
            },
            2 => Self::Attach {
                session: SessionId(cursor.i64()?),
                generation: cursor.varint32()?,
                timeout_ms: cursor.signed32()?,
            },
            CLOSE_SESSION => Self::CloseSession { session: SessionId(cursor.i64()?) },
            EXPIRE => Self::Expire { session: SessionId(cursor.i64()?), generation: cursor.varint32()? },
            5 => Self::Reap { never_used_ms: cursor.signed()?, path: cursor.text()? },
            6 => Self::RaiseEpoch,
            7 => Self::SetConfig { version: cursor.signed()?, text: cursor.bytes()? },
            8 => Self::FeatureLevel(cursor.varint32()?),
            9 => Self::Refuse(decode_refusal(cursor)?),
            10 => {
                let (refusal, count) = (decode_refusal(cursor)?, cursor.varint32()?);
                if count == 0 || count > REFUSED_MAX {
                    return Err(Malformed("command: a refusal of too few or too many"));
                }
                Self::RefuseMany { refusal, count }
            }
            _ => return Err(Malformed("command: an unknown kind")),
        })
    }
}

fn decode_refusal(cursor: &mut Cursor<'_>) -> Result<ErrorCode, Malformed> {
    ErrorCode::from_code(cursor.signed32()?).ok_or(Malformed("command: an unknown error code"))
}
