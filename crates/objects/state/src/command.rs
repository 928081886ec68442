//! What the log carries: commands, with everything that decides their result.
//!
//! The encoded form is versioned by its first byte. It is the log's format: all later builds read what is written here.

use crate::codec::{Cursor, Field, Malformed, put_varint, record};
use crate::content::Content;
use crate::limits::{BATCH_MAX, NAME_BYTES_MAX};
use crate::rights::AccessChange;
use crate::version::VersionHash;

pub use crate::caller::{Caller, Identity, Origin, SessionId};
pub use crate::content::Invocation;

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
    /// When a run that takes long was begun, or begun anew: no other run has the same.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Begun {
        /// The position.
        pub position: u64,
        /// A number of its own there.
        pub number: u32,
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
        let count = batch_length(cursor)?;
        let invocations = (0..count).map(|_| Field::take(cursor)).collect::<Result<_, _>>()?;
        Ok(Self { caller, object, incarnation, create, invocations })
    }

    fn skip(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        Caller::skip(cursor)?;
        ObjectName::skip(cursor)?;
        Option::<u64>::skip(cursor)?;
        bool::skip(cursor)?;
        (0..batch_length(cursor)?).try_for_each(|_| Invocation::skip(cursor))
    }
}

fn batch_length(cursor: &mut Cursor<'_>) -> Result<u64, Malformed> {
    let count = cursor.varint()?;
    if !(1..=BATCH_MAX as u64).contains(&count) {
        return Err(Malformed("command: a batch of no calls, or of too many"));
    }
    Ok(count)
}

record! {
    /// What members' engines say of a version: equal at all of them, for the log says it.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Verdict {
        /// Why it cannot be run, if an engine rejects it.
        pub rejected: Option<String>,
        /// What its source says of itself, if it is a source that its runner has loaded.
        pub described: Option<Vec<u8>>,
    }
}

/// Who gives a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenBy {
    /// A member, for a caller of its own.
    Member,
    /// The leader, of its own accord.
    Leader,
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
    /// Brings a piece of a module. Repeating it changes nothing, so it needs no key.
    TypePiece {
        /// Who brings it.
        caller: Caller,
        /// The SHA-256 of the whole module.
        hash: [u8; 32],
        /// Bytes of the whole module.
        size: u64,
        /// Where the piece begins: a multiple of [`crate::limits::PIECE_BYTES`].
        offset: u64,
        /// The piece.
        bytes: Vec<u8>,
    },
    /// Makes a version of a type from a module that has come whole. Repeating it changes nothing.
    TypePut {
        /// Who makes it.
        caller: Caller,
        /// The type's name.
        name: String,
        /// The hash of the module.
        module: [u8; 32],
        /// The source that it loads, if it is a runner.
        source: Option<Vec<u8>>,
        /// What the type's methods are: a JSON object.
        description: String,
    },
    /// A version may be run: the leader's engine is done with it.
    TypeReady {
        /// The type.
        kind: TypeId,
        /// The version.
        version: VersionHash,
    },
    /// Deletes a version that no object has.
    TypeDelete {
        /// Who deletes it.
        caller: Caller,
        /// The type's name.
        name: String,
        /// The version.
        version: VersionHash,
    },
    /// Lets objects of a version be created again whose creation has killed members. Only from feature level 9 on.
    TypeRelease {
        /// Who does it.
        caller: Caller,
        /// The type's name.
        name: String,
        /// The version.
        version: VersionHash,
    },
    /// Takes an object of a user's type to another version.
    Migrate {
        /// Who does it.
        caller: Caller,
        /// Which object.
        object: ObjectName,
        /// The incarnation that the caller means, if it means one.
        incarnation: Option<u64>,
        /// To which version.
        to: VersionHash,
    },
    /// A version may be run: the engines of the members that are alive, a majority at the least, are done with it. Or one of
    /// them rejects it: then it never is, or its objects are closed. Only from feature level 3 on, in the place of
    /// [`Command::TypeReady`].
    TypeVerdict {
        /// The type.
        kind: TypeId,
        /// The version.
        version: VersionHash,
        /// What the engines say.
        verdict: Verdict,
    },
    /// Puts an object of a user's type into quarantine, or releases it. Only from feature level 3 on.
    Quarantine {
        /// Who does it.
        caller: Caller,
        /// Which object.
        object: ObjectName,
        /// The incarnation that the caller means, if it means one.
        incarnation: Option<u64>,
        /// Why; nothing releases it.
        reason: Option<String>,
    },
    /// Takes an object of a user's type back to the version that it was migrated from. Only from feature level 3 on.
    Rollback {
        /// Who does it.
        caller: Caller,
        /// Which object.
        object: ObjectName,
        /// The incarnation that the caller means, if it means one.
        incarnation: Option<u64>,
        /// Whether what commands did since then may be lost.
        lose_commands: bool,
    },
    /// Makes an object of what another one was exported as. Only from feature level 7 on.
    Import {
        /// Who does it.
        caller: Caller,
        /// Which object. There is none of that name.
        object: ObjectName,
        /// What it is made of.
        content: Content,
    },
    /// A run of a module that went on beside the commands has ended: now it takes effect. Only from feature level 5 on, and
    /// without effect if that run is not under way any more.
    Finish {
        /// The object, by its space.
        space: u64,
        /// When the run was begun.
        begun: Begun,
    },
    /// Members came to different results of a run of an object's module: it goes into quarantine. Only from feature level 8 on,
    /// and without effect on one that is gone, is there already, or was released behind that position.
    Disagreed {
        /// Which object.
        object: ObjectName,
        /// Its incarnation.
        incarnation: u64,
        /// The position of the run.
        position: u64,
    },
    /// Changes who may do what: tokens, rights, whether they are looked at. Repeating it changes nothing, so it needs no key.
    /// Only from feature level 6 on.
    Access {
        /// Who does it.
        caller: Caller,
        /// What changes.
        change: AccessChange,
    },
}

/// The only form so far.
const VERSION: u8 = 1;

/// Goes past fields of these types.
macro_rules! skip {
    ($at:expr, $($field:ty),*) => {{ $(<$field>::skip($at)?;)* }};
}

/// The caller of a command, which is lent as the command is.
macro_rules! caller_of {
    ($command:expr) => {
        match $command {
            Command::Call(Call { caller, .. })
            | Command::Batch(Batch { caller, .. })
            | Command::Create { caller, .. }
            | Command::Delete { caller, .. }
            | Command::OpenSession { caller, .. }
            | Command::CloseSession { caller, .. }
            | Command::TypePiece { caller, .. }
            | Command::TypePut { caller, .. }
            | Command::TypeDelete { caller, .. }
            | Command::TypeRelease { caller, .. }
            | Command::Migrate { caller, .. }
            | Command::Quarantine { caller, .. }
            | Command::Rollback { caller, .. }
            | Command::Import { caller, .. }
            | Command::Access { caller, .. }
            | Command::CancelTicket { caller: Some(caller), .. } => Some(caller),
            Command::CancelTicket { caller: None, .. }
            | Command::ExpireSession { .. }
            | Command::TypeReady { .. }
            | Command::TypeVerdict { .. }
            | Command::Finish { .. }
            | Command::Disagreed { .. }
            | Command::Tick
            | Command::FeatureLevel(_) => None,
        }
    };
}

impl Command {
    /// Appends the encoded form.
    #[expect(clippy::too_many_lines, reason = "a list: an arm for each kind")]
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
            Self::TypePiece { caller, hash, size, offset, bytes } => {
                caller.put(out);
                hash.put(out);
                size.put(out);
                offset.put(out);
                bytes.put(out);
            }
            Self::TypePut { caller, name, module, source, description } => {
                caller.put(out);
                name.put(out);
                module.put(out);
                source.put(out);
                description.put(out);
            }
            Self::TypeReady { kind, version } => {
                kind.put(out);
                version.put(out);
            }
            Self::TypeDelete { caller, name, version } | Self::TypeRelease { caller, name, version } => {
                caller.put(out);
                name.put(out);
                version.put(out);
            }
            Self::Migrate { caller, object, incarnation, to } => {
                caller.put(out);
                object.put(out);
                incarnation.put(out);
                to.put(out);
            }
            Self::TypeVerdict { kind, version, verdict } => {
                kind.put(out);
                version.put(out);
                verdict.put(out);
            }
            Self::Quarantine { caller, object, incarnation, reason } => {
                caller.put(out);
                object.put(out);
                incarnation.put(out);
                reason.put(out);
            }
            Self::Rollback { caller, object, incarnation, lose_commands } => {
                caller.put(out);
                object.put(out);
                incarnation.put(out);
                lose_commands.put(out);
            }
            Self::Finish { space, begun } => {
                space.put(out);
                begun.put(out);
            }
            Self::Disagreed { object, incarnation, position } => {
                object.put(out);
                incarnation.put(out);
                position.put(out);
            }
            Self::Access { caller, change } => {
                caller.put(out);
                change.put(out);
            }
            Self::Import { caller, object, content } => {
                caller.put(out);
                object.put(out);
                content.put(out);
            }
        }
    }

    /// Reads an encoded command.
    ///
    /// # Errors
    /// When the bytes are not one, or one of a later version.
    #[expect(clippy::too_many_lines, reason = "a list: an arm for each kind")]
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
            10 => Self::TypePiece {
                caller: Field::take(at)?,
                hash: Field::take(at)?,
                size: Field::take(at)?,
                offset: Field::take(at)?,
                bytes: Field::take(at)?,
            },
            11 => Self::TypePut {
                caller: Field::take(at)?,
                name: Field::take(at)?,
                module: Field::take(at)?,
                source: Field::take(at)?,
                description: Field::take(at)?,
            },
            12 => Self::TypeReady { kind: Field::take(at)?, version: Field::take(at)? },
            13 => Self::TypeDelete {
                caller: Field::take(at)?,
                name: Field::take(at)?,
                version: Field::take(at)?,
            },
            14 => Self::Migrate {
                caller: Field::take(at)?,
                object: Field::take(at)?,
                incarnation: Field::take(at)?,
                to: Field::take(at)?,
            },
            18 => Self::TypeRelease {
                caller: Field::take(at)?,
                name: Field::take(at)?,
                version: Field::take(at)?,
            },
            19 => Self::Disagreed {
                object: Field::take(at)?,
                incarnation: Field::take(at)?,
                position: Field::take(at)?,
            },
            20 => Self::TypeVerdict {
                kind: Field::take(at)?,
                version: Field::take(at)?,
                verdict: Field::take(at)?,
            },
            21 => Self::Quarantine {
                caller: Field::take(at)?,
                object: Field::take(at)?,
                incarnation: Field::take(at)?,
                reason: Field::take(at)?,
            },
            22 => Self::Rollback {
                caller: Field::take(at)?,
                object: Field::take(at)?,
                incarnation: Field::take(at)?,
                lose_commands: Field::take(at)?,
            },
            23 => Self::Access { caller: Field::take(at)?, change: Field::take(at)? },
            24 => Self::Finish { space: Field::take(at)?, begun: Field::take(at)? },
            25 => {
                Self::Import { caller: Field::take(at)?, object: Field::take(at)?, content: Field::take(at)? }
            }
            _ => return Err(Malformed("command: an unknown kind")),
        };
        cursor.end()?;
        Ok(command)
    }

    /// Whether [`Command::decode`] would read these bytes, and who may give such a command. Makes nothing of it, so it costs
    /// a part of that.
    ///
    /// # Errors
    /// As [`Command::decode`].
    pub fn check(bytes: &[u8]) -> Result<GivenBy, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let at = &mut cursor;
        if at.u8()? != VERSION {
            return Err(Malformed("command: an unknown version"));
        }
        let kind = at.u8()?;
        match kind {
            0 => Call::skip(at)?,
            1 => Batch::skip(at)?,
            2 => skip!(at, Caller, ObjectName, Vec<u8>),
            3 => skip!(at, Caller, ObjectName, Option<u64>),
            4 => skip!(at, Caller, NewSession),
            5 => skip!(at, Caller, SessionId),
            6 => skip!(at, SessionId, u32),
            7 => skip!(at, Option<Caller>, u64),
            8 => {}
            9 => u32::skip(at)?,
            10 => skip!(at, Caller, [u8; 32], u64, u64, Vec<u8>),
            11 => skip!(at, Caller, String, [u8; 32], Option<Vec<u8>>, String),
            12 => skip!(at, TypeId, VersionHash),
            13 | 18 => skip!(at, Caller, String, VersionHash),
            14 => skip!(at, Caller, ObjectName, Option<u64>, VersionHash),
            19 => skip!(at, ObjectName, u64, u64),
            20 => skip!(at, TypeId, VersionHash, Verdict),
            21 => skip!(at, Caller, ObjectName, Option<u64>, Option<String>),
            22 => skip!(at, Caller, ObjectName, Option<u64>, bool),
            23 => skip!(at, Caller, AccessChange),
            24 => skip!(at, u64, Begun),
            25 => skip!(at, Caller, ObjectName, Content),
            _ => return Err(Malformed("command: an unknown kind")),
        }
        cursor.end()?;
        Ok(if matches!(kind, 6 | 8 | 9 | 12 | 19 | 20 | 24) { GivenBy::Leader } else { GivenBy::Member })
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
            Self::TypePiece { .. } => 10,
            Self::TypePut { .. } => 11,
            Self::TypeReady { .. } => 12,
            Self::TypeDelete { .. } => 13,
            Self::Migrate { .. } => 14,
            // Those between are free.
            Self::TypeRelease { .. } => 18,
            Self::Disagreed { .. } => 19,
            Self::TypeVerdict { .. } => 20,
            Self::Quarantine { .. } => 21,
            Self::Rollback { .. } => 22,
            Self::Access { .. } => 23,
            Self::Finish { .. } => 24,
            Self::Import { .. } => 25,
        }
    }

    /// Who gives a client's command; `None` for what only leaders and members command.
    #[must_use]
    pub const fn caller(&self) -> Option<&Caller> {
        caller_of!(self)
    }

    /// The same, to be changed.
    pub const fn caller_mut(&mut self) -> Option<&mut Caller> {
        caller_of!(self)
    }
}

#[cfg(test)]
mod tests;
