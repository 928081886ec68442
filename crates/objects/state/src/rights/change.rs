//! What a change is: a part of a command.

use super::grant::Grant;
use crate::allowance::{QuotaLimits, QuotaOf};
use crate::codec::{Cursor, Field, Malformed, put_varint};
use crate::limits::{GRANTS_PER_PRINCIPAL_MAX, KEY_BYTES_MAX, ROLES_PER_PRINCIPAL_MAX};
use crate::principal::TokenNumber;

/// See the module. Each of them may be repeated: the second time it changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessChange {
    /// Makes a token, and gives its principal rights besides those that it has.
    CreateToken {
        /// The principal.
        name: String,
        /// The SHA-256 of the secret.
        hash: [u8; 32],
        /// After how long it ends, if it does.
        lives_ms: Option<i64>,
        /// The rights.
        grants: Vec<Grant>,
    },
    /// Revokes a token.
    RevokeToken {
        /// Which one.
        number: TokenNumber,
    },
    /// Revokes all tokens of a principal, and takes all its rights.
    RevokePrincipal {
        /// Whose.
        principal: String,
    },
    /// Gives a principal rights besides those that it has.
    Allow {
        /// Whom.
        principal: String,
        /// Which.
        grants: Vec<Grant>,
    },
    /// Takes rights from a principal.
    Deny {
        /// From whom.
        principal: String,
        /// Which, each on the objects on which it was given; none stands for all.
        grants: Vec<Grant>,
    },
    /// Rights are looked at from now on, or not any more.
    Set {
        /// Whether they are.
        closed: bool,
    },
    /// Sets the rights of a role; without any there is no such role, and nobody has it.
    Role {
        /// Its name.
        role: String,
        /// All rights that it has from now on.
        grants: Vec<Grant>,
    },
    /// Sets the roles of a principal.
    Roles {
        /// Whose.
        principal: String,
        /// All roles that it has from now on.
        roles: RoleNames,
    },
    /// Sets how much a namespace or a principal may have; if that is everything, it has no quota.
    Quota {
        /// Whose.
        of: QuotaOf,
        /// How much.
        limits: QuotaLimits,
    },
}

impl AccessChange {
    /// Those that builds before feature level 9 know nothing of.
    fn put_newer(&self, out: &mut Vec<u8>) {
        match self {
            Self::Quota { of, limits } => {
                out.push(6);
                of.put(out);
                limits.put(out);
            }
            Self::Role { role, grants } => {
                out.push(7);
                role.put(out);
                put_grants(grants, out);
            }
            Self::Roles { principal, roles } => {
                out.push(8);
                principal.put(out);
                roles.put(out);
            }
            _ => {}
        }
    }
}

fn put_grants(grants: &[Grant], out: &mut Vec<u8>) {
    put_varint(out, grants.len() as u64);
    grants.iter().for_each(|grant| grant.put(out));
}

fn take_grants(cursor: &mut Cursor<'_>) -> Result<Vec<Grant>, Malformed> {
    let count = cursor.varint()?;
    if count > GRANTS_PER_PRINCIPAL_MAX as u64 {
        return Err(Malformed("access: too many rights"));
    }
    (0..count).map(|_| Field::take(cursor)).collect()
}

/// The name of a principal, which may be another's than the caller's.
fn name(cursor: &mut Cursor<'_>) -> Result<String, Malformed> {
    let name = cursor.text()?;
    if name.len() > KEY_BYTES_MAX {
        return Err(Malformed("access: the name of a principal is too long"));
    }
    Ok(name.into())
}

impl Field for AccessChange {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::CreateToken { name, hash, lives_ms, grants } => {
                out.push(0);
                name.put(out);
                hash.put(out);
                lives_ms.put(out);
                put_grants(grants, out);
            }
            Self::RevokeToken { number } => {
                out.push(1);
                number.put(out);
            }
            Self::RevokePrincipal { principal } => {
                out.push(2);
                principal.put(out);
            }
            Self::Allow { principal, grants } => {
                out.push(3);
                principal.put(out);
                put_grants(grants, out);
            }
            Self::Deny { principal, grants } => {
                out.push(4);
                principal.put(out);
                put_grants(grants, out);
            }
            Self::Set { closed } => {
                out.push(5);
                closed.put(out);
            }
            of_level_9 => of_level_9.put_newer(out),
        }
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(match cursor.u8()? {
            0 => Self::CreateToken {
                name: name(cursor)?,
                hash: Field::take(cursor)?,
                lives_ms: Field::take(cursor)?,
                grants: take_grants(cursor)?,
            },
            1 => Self::RevokeToken { number: Field::take(cursor)? },
            2 => Self::RevokePrincipal { principal: name(cursor)? },
            3 => Self::Allow { principal: name(cursor)?, grants: take_grants(cursor)? },
            4 => Self::Deny { principal: name(cursor)?, grants: take_grants(cursor)? },
            5 => Self::Set { closed: Field::take(cursor)? },
            6 => Self::Quota { of: Field::take(cursor)?, limits: Field::take(cursor)? },
            7 => Self::Role { role: name(cursor)?, grants: take_grants(cursor)? },
            8 => Self::Roles { principal: name(cursor)?, roles: Field::take(cursor)? },
            _ => return Err(Malformed("access: an unknown change")),
        })
    }
}

/// Names of roles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleNames(pub Vec<String>);

impl Field for RoleNames {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.0.len() as u64);
        self.0.iter().for_each(|name| name.put(out));
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let count = cursor.varint()?;
        if count > ROLES_PER_PRINCIPAL_MAX as u64 {
            return Err(Malformed("access: too many roles"));
        }
        (0..count).map(|_| name(cursor)).collect::<Result<_, _>>().map(Self)
    }
}

/// Rights of a principal, as a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grants(pub(crate) Vec<Grant>);

impl Field for Grants {
    fn put(&self, out: &mut Vec<u8>) {
        put_grants(&self.0, out);
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        take_grants(cursor).map(Self)
    }
}
