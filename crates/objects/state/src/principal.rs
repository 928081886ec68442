//! Who acts: a name, and what vouches for it.
//!
//! A command carries its principal into the log, so that the state judges it at its position: a token that was revoked while
//! its command was under way is worth nothing when the command is applied.

use crate::codec::{Cursor, Field, Malformed};
use crate::limits::KEY_BYTES_MAX;

/// The principal of requests without credentials.
pub const ANONYMOUS: &str = "anonymous";
/// The principal of a member's root token.
pub const ROOT: &str = "root";

/// A token's own number: the position at which it was created.
pub type TokenNumber = u64;

/// What vouches for a principal's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authority {
    /// The member that accepted the request: `anonymous`, the subject of a certificate, an object that sends a message.
    #[default]
    Member,
    /// A token. It has to be valid when the command is applied.
    Token(TokenNumber),
    /// A member's root token, or the member itself: it may do everything. Members trust each other.
    Root,
}

/// Who acts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Principal {
    /// Its name: at most 255 bytes.
    pub name: String,
    /// What vouches for the name.
    pub authority: Authority,
}

impl Principal {
    /// Whoever sends no credentials.
    #[must_use]
    pub fn anonymous() -> Self {
        Self::from(ANONYMOUS)
    }

    /// The principal of a root token.
    #[must_use]
    pub fn root() -> Self {
        Self { name: ROOT.into(), authority: Authority::Root }
    }

    /// Whether it sent no credentials.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.authority == Authority::Member && self.name == ANONYMOUS
    }
}

/// A principal for whose name the member vouches.
impl From<&str> for Principal {
    fn from(name: &str) -> Self {
        Self::from(String::from(name))
    }
}

impl From<String> for Principal {
    fn from(name: String) -> Self {
        Self { name, authority: Authority::Member }
    }
}

/// Stand where an identity follows in what earlier builds wrote: those begin with lower numbers.
const BY_TOKEN: u8 = 0x10;
const BY_ROOT: u8 = 0x11;

/// The member's word is written as nothing: so it is in all that earlier builds wrote. Something else has to follow.
impl Field for Authority {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Member => {}
            Self::Token(number) => {
                out.push(BY_TOKEN);
                number.put(out);
            }
            Self::Root => out.push(BY_ROOT),
        }
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        match cursor.rest().first() {
            Some(&BY_TOKEN) => {
                cursor.u8()?;
                Ok(Self::Token(Field::take(cursor)?))
            }
            Some(&BY_ROOT) => {
                cursor.u8()?;
                Ok(Self::Root)
            }
            _ => Ok(Self::Member),
        }
    }
}

impl Field for Principal {
    fn put(&self, out: &mut Vec<u8>) {
        self.name.put(out);
        self.authority.put(out);
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let name = short(cursor)?.into();
        Ok(Self { name, authority: Field::take(cursor)? })
    }

    fn skip(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
        short(cursor)?;
        Authority::take(cursor).map(drop)
    }
}

fn short<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, Malformed> {
    let name = cursor.text()?;
    if name.len() > KEY_BYTES_MAX {
        return Err(Malformed("command: the name of a principal is too long"));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::encoded;

    #[test]
    fn principal_for_whom_the_member_vouches_is_written_as_earlier_builds_wrote_it() {
        assert_eq!(encoded(&Principal::from("ada")), [3, b'a', b'd', b'a']);
        for authority in [Authority::Member, Authority::Token(300), Authority::Root] {
            let principal = Principal { name: "ada".into(), authority };
            let mut bytes = encoded(&principal);
            bytes.push(0);
            let mut cursor = Cursor::new(&bytes);
            assert_eq!(Principal::take(&mut cursor), Ok(principal));
            assert_eq!(cursor.rest(), [0]);
        }
    }
}
