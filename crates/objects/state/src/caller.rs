//! Who sends a command, and what makes it take effect once.

use core::fmt;

use crate::codec::{Cursor, Field, Malformed, record};
use crate::limits::KEY_BYTES_MAX;
use crate::principal::Principal;
use crate::problem::{Problem, SideEffect};
use crate::ranges::Ranges;

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

record! {
    /// Whom the answer goes to: a request at a member. No part of the state, and different for each repeat.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
        /// And these, above it. Only from feature level 2 on.
        above: Ranges,
    },
    /// A key that the principal chose: 1 to 255 bytes.
    Key(String),
}

impl Field for Identity {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Anonymous => out.push(0),
            Self::Session { session, request, acknowledged, above } => {
                out.push(if above.is_empty() { 1 } else { 3 });
                session.put(out);
                request.put(out);
                acknowledged.put(out);
                above.put(out);
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
            form @ (1 | 3) => Self::Session {
                session: Field::take(cursor)?,
                request: Field::take(cursor)?,
                acknowledged: Field::take(cursor)?,
                above: if form == 3 { some_ranges(cursor)? } else { Ranges::new() },
            },
            2 => Self::Key(short_text(cursor)?.into()),
            _ => return Err(Malformed("command: an unknown identity")),
        })
    }

    fn skip(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        match cursor.clone().u8()? {
            2 => {
                cursor.u8()?;
                short_text(cursor).map(drop)
            }
            // The others are made without a copy, but for those few that acknowledge single replies.
            _ => Self::take(cursor).map(drop),
        }
    }
}

fn some_ranges(cursor: &mut Cursor<'_>) -> Result<Ranges, Malformed> {
    let ranges = Ranges::take(cursor)?;
    if ranges.is_empty() { Err(Malformed("command: it acknowledges nothing")) } else { Ok(ranges) }
}

fn short_text<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, Malformed> {
    let text = cursor.text()?;
    if text.len() > KEY_BYTES_MAX {
        return Err(Malformed("command: a key or a name is too long"));
    }
    Ok(text)
}

/// Who sends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Whom the answer goes to.
    pub origin: Origin,
    /// Who it is. Keys are remembered for each principal's name.
    pub principal: Principal,
    /// What makes the request take effect once.
    pub identity: Identity,
}

impl Caller {
    /// The refusal of a request that does not get in. What a copy of it may have done is not looked up for somebody who may know
    /// nothing; so nothing is claimed of a request of which there may be copies.
    #[must_use]
    pub fn turned_away(&self, problem: Problem) -> Problem {
        let effect = match self.identity {
            Identity::Anonymous => SideEffect::None,
            Identity::Session { .. } | Identity::Key(_) => SideEffect::Unknown,
        };
        Problem { effect, ..problem }
    }
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
            principal: Field::take(cursor)?,
            identity: Field::take(cursor)?,
        })
    }

    fn skip(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        Origin::skip(cursor)?;
        Principal::skip(cursor)?;
        Identity::skip(cursor)
    }
}
