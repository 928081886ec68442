//! What the log carries: commands, with everything that decides their result.
//!
//! The encoded form is versioned by its first byte. It is the log's format: all later builds read what is written here.

use core::fmt;

use crate::codec::{Cursor, Field, Malformed, put_varint, record};
use crate::limits::{BATCH_MAX, KEY_BYTES_MAX, NAME_BYTES_MAX};

/// A session: 128 random bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub [u8; 16]);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Field for SessionId {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(Self(cursor.array()?))
    }
}

/// A type of objects, by its number. [`crate::type_named`] finds it by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u8);

impl Field for TypeId {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.0);
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(Self(cursor.u8()?))
    }
}

record! {
    /// The type and the name of an object.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct ObjectName {
        /// Its type.
        pub kind: TypeId,
        /// Its name: 1 to 255 bytes, without control characters. Checked when a command is applied.
        pub name: String,
    }
}

impl ObjectName {
    pub(crate) fn is_valid(&self) -> bool {
        (1..=NAME_BYTES_MAX).contains(&self.name.len()) && !self.name.chars().any(char::is_control)
    }
}

record! {
    /// Whom the answer goes to: a request at a member. No part of the state, and different for each repeat.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Origin {
        /// The member that accepted the request.
        pub member: u64,
        /// Its own number for it.
        pub number: u64,
    }
}

/// What makes a request take effect once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Nothing: at most once, and a lost answer stays lost.
    Anonymous,
    /// The number of a request of a session.
    Session {
        /// The session. The accepting member has checked its secret against [`crate::Session::secret_hash`].
        session: SessionId,
        /// The request's number, from 1, rising.
        request: u64,
        /// The replies up to this one have come.
        acknowledged: u64,
    },
    /// A key that the principal chose: 1 to 255 bytes.
    Key(String),
}

impl Field for Identity {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Anonymous => out.push(0),
            Self::Session { session, request, acknowledged } => {
                out.push(1);
                session.put(out);
                request.put(out);
                acknowledged.put(out);
            }
            Self::Key(key) => {
                out.push(2);
                key.put(out);
            }
        }
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(match cursor.u8()? {
            0 => Self::Anonymous,
            1 => Self::Session {
                session: Field::take(cursor)?,
                request: Field::take(cursor)?,
                acknowledged: Field::take(cursor)?,
            },
            2 => Self::Key(short_text(cursor)?),
            _ => return Err(Malformed("command: an unknown identity")),
        })
    }
}

fn short_text(cursor: &mut Cursor<'_>) -> Result<String, Malformed> {
    let text = cursor.text()?;
    if text.len() > KEY_BYTES_MAX {
        return Err(Malformed("command: a key, a principal or a name is too long"));
    }
    Ok(text.into())
}

/// Who sends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Whom the answer goes to.
    pub origin: Origin,
    /// Who it is: at most 255 bytes. Keys are remembered for each principal.
    pub principal: String,
    /// What makes the request take effect once.
    pub identity: Identity,
}

impl Field for Caller {
    fn put(&self, out: &mut Vec<u8>) {
        self.origin.put(out);
        self.principal.put(out);
        self.identity.put(out);
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            origin: Field::take(cursor)?,
            principal: short_text(cursor)?,
            identity: Field::take(cursor)?,
        })
    }
}

record! {
    /// A session that is opened, or continued.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct NewSession {
        /// Its id, drawn by the accepting member.
        pub id: SessionId,
        /// A hash of its secret.
        pub secret_hash: [u8; 32],
        /// 1 at first. A higher one than the session's continues it: an expiry that was judged by the older one has no
        /// effect any more.
        pub generation: u32,
        /// For how long it lives without a sign of its client.
        pub ttl_ms: i64,
        /// A name for people.
        pub name: Option<String>,
    }
}

record! {
    /// A method and its arguments.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Invocation {
        /// The method.
        pub method: String,
        /// A JSON object; nothing stands for none.
        pub args: Vec<u8>,
    }
}

record! {
    /// One call of an object's method.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Call {
        /// Who calls.
        pub caller: Caller,
        /// Which object.
        pub object: ObjectName,
        /// The incarnation that the caller means, if it means one.
        pub incarnation: Option<u64>,
        /// Whether an object that does not exist is created (`objects.create-on-use`).
        pub create: bool,
        /// How long it waits. The argument `wait_ms` stands for the same; this one is stronger.
        pub wait_ms: Option<u64>,
        /// The session that the call opens, if it has `ttl_ms` and no session.
        pub opens: Option<NewSession>,
        /// What is called.
        pub invocation: Invocation,
    }
}

/// Up to [`BATCH_MAX`] calls of one object, one behind the other, each at a position of its own. None of them waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Who calls.
    pub caller: Caller,
    /// Which object.
    pub object: ObjectName,
    /// The incarnation that the caller means, if it means one.
    pub incarnation: Option<u64>,
    /// Whether an object that does not exist is created.
    pub create: bool,
    /// The calls: at least one.
    pub invocations: Vec<Invocation>,
}

impl Field for Batch {
    fn put(&self, out: &mut Vec<u8>) {
        self.caller.put(out);
        self.object.put(out);
        self.incarnation.put(out);
        self.create.put(out);
        put_varint(out, self.invocations.len() as u64);
        self.invocations.iter().for_each(|invocation| invocation.put(out));
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let (caller, object) = (Field::take(cursor)?, Field::take(cursor)?);
        let (incarnation, create) = (Field::take(cursor)?, Field::take(cursor)?);
        let count = cursor.varint()?;
        if !(1..=BATCH_MAX as u64).contains(&count) {
            return Err(Malformed("command: a batch of no calls, or of too many"));
        }
        let invocations = (0..count).map(|_| Field::take(cursor)).collect::<Result<_, _>>()?;
        Ok(Self { caller, object, incarnation, create, invocations })
    }
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Calls a method.
    Call(Call),
    /// Calls several methods of one object.
    Batch(Batch),
    /// Creates an object.
    Create {
        /// Who creates it.
        caller: Caller,
        /// Which one.
        object: ObjectName,
        /// The constructor's arguments, as those of a call.
        args: Vec<u8>,
    },
    /// Deletes an object: its waiters end with `object-deleted`, its holders hold nothing any more.
    Delete {
        /// Who deletes it.
        caller: Caller,
        /// Which one.
        object: ObjectName,
        /// The incarnation that the caller means, if it means one.
        incarnation: Option<u64>,
    },
    /// Opens a session, or continues it.
    OpenSession {
        /// Who opens it. Repeating the command changes nothing, so it needs no key.
        caller: Caller,
        /// The session.
        session: NewSession,
    },
    /// Closes a session for its client: what it held is free at once.
    CloseSession {
        /// Who closes it.
        caller: Caller,
        /// Which one.
        session: SessionId,
    },
    /// Ends a session whose client has been silent. Without effect if its generation has changed.
    ExpireSession {
        /// Which one.
        session: SessionId,
        /// The generation that was silent.
        generation: u32,
    },
    /// Ends a call that waits.
    CancelTicket {
        /// Who cancels it. `None`: the member whose caller, without session or key, has gone.
        caller: Option<Caller>,
        /// The ticket.
        ticket: u64,
    },
    /// Lets deadlines pass that are due by the stamp, [`crate::limits::DEADLINES_PER_TICK`] at the most.
    Tick,
    /// Raises the feature level to at least this one.
    FeatureLevel(u32),
}

/// The only form so far.
const VERSION: u8 = 1;

impl Command {
    /// Appends the encoded form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        out.push(self.kind());
        match self {
            Self::Call(call) => call.put(out),
            Self::Batch(batch) => batch.put(out),
            Self::Create { caller, object, args } => {
                caller.put(out);
                object.put(out);
                args.put(out);
            }
            Self::Delete { caller, object, incarnation } => {
                caller.put(out);
                object.put(out);
                incarnation.put(out);
            }
            Self::OpenSession { caller, session } => {
                caller.put(out);
                session.put(out);
            }
            Self::CloseSession { caller, session } => {
                caller.put(out);
                session.put(out);
            }
            Self::ExpireSession { session, generation } => {
                session.put(out);
                generation.put(out);
            }
            Self::CancelTicket { caller, ticket } => {
                caller.put(out);
                ticket.put(out);
            }
            Self::Tick => {}
            Self::FeatureLevel(level) => level.put(out),
        }
    }

    /// Reads an encoded command.
    ///
    /// # Errors
    /// When the bytes are not one, or one of a later version.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let at = &mut cursor;
        if at.u8()? != VERSION {
            return Err(Malformed("command: an unknown version"));
        }
        let command = match at.u8()? {
            0 => Self::Call(Field::take(at)?),
            1 => Self::Batch(Field::take(at)?),
            2 => Self::Create { caller: Field::take(at)?, object: Field::take(at)?, args: Field::take(at)? },
            3 => Self::Delete {
                caller: Field::take(at)?,
                object: Field::take(at)?,
                incarnation: Field::take(at)?,
            },
            4 => Self::OpenSession { caller: Field::take(at)?, session: Field::take(at)? },
            5 => Self::CloseSession { caller: Field::take(at)?, session: Field::take(at)? },
            6 => Self::ExpireSession { session: Field::take(at)?, generation: Field::take(at)? },
            7 => Self::CancelTicket { caller: Field::take(at)?, ticket: Field::take(at)? },
            8 => Self::Tick,
            9 => Self::FeatureLevel(Field::take(at)?),
            _ => return Err(Malformed("command: an unknown kind")),
        };
        cursor.end()?;
        Ok(command)
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Call(_) => 0,
            Self::Batch(_) => 1,
            Self::Create { .. } => 2,
            Self::Delete { .. } => 3,
            Self::OpenSession { .. } => 4,
            Self::CloseSession { .. } => 5,
            Self::ExpireSession { .. } => 6,
            Self::CancelTicket { .. } => 7,
            Self::Tick => 8,
            Self::FeatureLevel(_) => 9,
        }
    }
}
