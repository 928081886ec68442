//! What is asked of the core about tokens and rights.

use objects_state::limits::{KEY_BYTES_MAX, ROLES_PER_PRINCIPAL_MAX};
use objects_state::{AccessChange, Command, Grant, Identity, Json, QuotaLimits, QuotaOf, RoleNames};

use super::ask::{Asked, Asker};
use super::open::Purpose;
use crate::arguments;
use crate::message::Fault;
use crate::presented::{TOKEN_BYTES, hash_of_token, token_of};
use crate::route::ChangeAccess;

impl Asker<'_> {
    pub(super) fn change_access(&self, how: ChangeAccess) -> Result<Asked, Fault> {
        let fields = arguments::body(self.request.body)?;
        let change = match how {
            ChangeAccess::Open | ChangeAccess::Close => {
                arguments::only(&fields, &[])?;
                AccessChange::Set { closed: how == ChangeAccess::Close }
            }
            ChangeAccess::Allow => AccessChange::Allow {
                principal: principal(&fields)?,
                grants: grants(&fields, "allow")?
                    .ok_or_else(|| Fault::argument("allow", "it is missing: a list of rights"))?,
            },
            // Nothing stands for all.
            ChangeAccess::Deny => AccessChange::Deny {
                principal: principal(&fields)?,
                grants: grants(&fields, "deny")?.unwrap_or_default(),
            },
            ChangeAccess::Quota => quota(&fields)?,
            ChangeAccess::Role => role(&fields)?,
        };
        match how {
            ChangeAccess::Allow => arguments::only(&fields, &["principal", "allow"])?,
            ChangeAccess::Deny => arguments::only(&fields, &["principal", "deny"])?,
            ChangeAccess::Open | ChangeAccess::Close | ChangeAccess::Quota | ChangeAccess::Role => {}
        }
        Ok(self.access(change, Purpose::Command))
    }

    /// The token is drawn here. The core gets its hash, the client the token, once.
    pub(super) fn create_token(&mut self) -> Result<Asked, Fault> {
        let fields = arguments::body(self.request.body)?;
        arguments::only(&fields, &["name", "allow", "lives_ms"])?;
        let name = arguments::text(&fields, "name")?;
        let name =
            name.ok_or_else(|| Fault::argument("name", "it is missing: the principal of the token"))?;
        let lives_ms = arguments::integer(&fields, "lives_ms")?;
        let grants = grants(&fields, "allow")?.unwrap_or_default();
        let mut bits = [0; TOKEN_BYTES];
        (self.random)(&mut bits);
        let token = token_of(bits);
        let hash = hash_of_token(&token).ok_or_else(|| Fault::argument("", "no token was drawn"))?;
        Ok(self.access(AccessChange::CreateToken { name, hash, lives_ms, grants }, Purpose::Token(token)))
    }

    /// Doing it again changes nothing, so it needs no key.
    pub(super) fn access(&self, change: AccessChange, purpose: Purpose) -> Asked {
        self.command(|caller| Command::Access { caller, change }, Identity::Anonymous, None, purpose)
    }
}

fn principal(fields: &[(String, Json)]) -> Result<String, Fault> {
    arguments::text(fields, "principal")?.ok_or_else(|| Fault::argument("principal", "it is missing"))
}

/// Limits that are missing stand for none; without any there is no quota.
fn quota(fields: &[(String, Json)]) -> Result<AccessChange, Fault> {
    arguments::only(
        fields,
        &["principal", "namespace", "objects", "bytes", "waiters", "sessions", "calls_per_second"],
    )?;
    let (principal, namespace) =
        (arguments::text(fields, "principal")?, arguments::text(fields, "namespace")?);
    let of = match (principal, namespace) {
        (Some(name), None) => QuotaOf::Principal(name),
        (None, Some(name)) => QuotaOf::Namespace(name),
        _ => return Err(Fault::argument("namespace", "name either a `namespace` or a `principal`")),
    };
    let limit = |name: &str| match arguments::integer(fields, name)?.map(u64::try_from) {
        None => Ok(None),
        Some(Ok(limit)) => Ok(Some(limit)),
        Some(Err(_)) => Err(Fault::argument(name, "below 0")),
    };
    let limits = QuotaLimits {
        objects: limit("objects")?,
        bytes: limit("bytes")?,
        waiters: limit("waiters")?,
        sessions: limit("sessions")?,
        calls_per_second: limit("calls_per_second")?,
    };
    Ok(AccessChange::Quota { of, limits })
}

/// The rights of a role, or the roles of a principal. What is missing stands for none.
fn role(fields: &[(String, Json)]) -> Result<AccessChange, Fault> {
    if let Some(role) = arguments::text(fields, "role")? {
        arguments::only(fields, &["role", "allow"])?;
        return Ok(AccessChange::Role { role, grants: grants(fields, "allow")?.unwrap_or_default() });
    }
    arguments::only(fields, &["principal", "roles"])?;
    let roles = match arguments::field(fields, "roles") {
        None | Some(Json::Null) => Vec::new(),
        Some(Json::List(roles)) if roles.len() > ROLES_PER_PRINCIPAL_MAX => {
            return Err(Fault::argument("roles", "more roles than a principal may have"));
        }
        Some(Json::List(roles)) => roles.iter().map(name_of_role).collect::<Result<_, _>>()?,
        Some(one) => vec![name_of_role(one)?],
    };
    Ok(AccessChange::Roles { principal: principal(fields)?, roles: RoleNames(roles) })
}

fn name_of_role(name: &Json) -> Result<String, Fault> {
    match name {
        Json::Text(name) if name.len() <= KEY_BYTES_MAX => Ok(name.clone()),
        _ => Err(Fault::argument("roles", "the name of a role is a text")),
    }
}

/// A list of rights; one of them may stand for itself.
fn grants(fields: &[(String, Json)], name: &str) -> Result<Option<Vec<Grant>>, Fault> {
    let parse = |right: &Json| match right {
        Json::Text(text) => text.parse::<Grant>().map_err(|wrong| Fault::argument(name, wrong.to_string())),
        _ => Err(Fault::argument(name, "a right is a text")),
    };
    match arguments::field(fields, name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::List(rights)) if rights.len() > objects_state::limits::GRANTS_PER_PRINCIPAL_MAX => {
            Err(Fault::argument(name, "more rights than a principal may have"))
        }
        Some(Json::List(rights)) => rights.iter().map(parse).collect::<Result<_, _>>().map(Some),
        Some(one) => parse(one).map(|grant| Some(vec![grant])),
    }
}
