//! Whether a principal may do something, at this position.

use crate::asked;
use crate::builtin::{Method, MethodKind, methods, type_name};
use crate::codec::Cursor;
use crate::command::{Command, ObjectName, TypeId};
use crate::group::Core;
use crate::key;
use crate::placement;
use crate::principal::{ANONYMOUS, Authority, Principal};
use crate::problem::{Problem, Slug};
use crate::rights::{Compiled, Rights};
use crate::types;
use crate::user;

/// What a principal wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act<'a> {
    /// To call a method of an object, or to evaluate it as a query.
    Method(&'a ObjectName, &'a str),
    /// To see an object, or what happens to it.
    See(&'a ObjectName),
    /// To list the objects of a type whose names begin so.
    List(TypeId, &'a str),
    /// To list the objects of all types whose names begin so.
    ListAll(&'a str),
    /// To create an object on purpose.
    Create(&'a ObjectName),
    /// To look after an object: to delete it, migrate it, put it into quarantine, export or import it.
    LookAfter(&'a ObjectName),
    /// To look after a type of that name: to bring versions of it, and to delete them.
    LookAfterType(&'a str),
    /// To bring a piece of a module, for whatever type.
    BringModule,
    /// To look after tokens and rights, and after what belongs to all.
    Administer,
    /// To see what everybody may who has any right: types, how much there is.
    Know,
}

/// An act in words, for its refusal.
fn words(core: &Core, act: &Act<'_>) -> String {
    let path = |object: &ObjectName| format!("{}/{}", name_of(core, object.kind), object.name);
    match act {
        Act::Method(object, method) => format!("call `{method}` of `{}`", path(object)),
        Act::See(object) => format!("see `{}`", path(object)),
        Act::List(kind, beginning) => format!("list all of `{}/{beginning}*`", name_of(core, *kind)),
        Act::ListAll(beginning) => format!("list all of `*/{beginning}*`"),
        Act::Create(object) => format!("create `{}`", path(object)),
        Act::LookAfter(object) => format!("administer `{}`", path(object)),
        Act::LookAfterType(name) => format!("administer `{name}/*`"),
        Act::BringModule => String::from("administer any type"),
        Act::Administer => String::from("administer tokens and rights"),
        Act::Know => String::from("do anything"),
    }
}

/// Whether what vouches for a principal still holds, and whether it may do anything at all. It is asked of everything before
/// anything else, and leaves no trace.
///
/// # Errors
/// It does not, or may not.
pub(crate) fn admit(core: &Core, principal: &Principal) -> Result<(), Problem> {
    let table = &core.access;
    match principal.authority {
        Authority::Member if !table.closed => return Ok(()),
        Authority::Root => return Ok(()),
        Authority::Member => {}
        Authority::Token(number) => {
            let token = table.token(number).filter(|token| token.principal == principal.name);
            let token = token.ok_or_else(|| unauthenticated("the token was revoked, or has ended"))?;
            if token.ends_ms.is_some_and(|at| at <= core.meta.stamp_ms) {
                return Err(unauthenticated("the token has ended"));
            }
        }
    }
    if !table.closed || rights(core, &principal.name).next().is_some() {
        return Ok(());
    }
    Err(refusal(core, principal, &Act::Know))
}

impl Act<'_> {
    /// The object that it is about, if it is about one.
    const fn object(&self) -> Option<&ObjectName> {
        match self {
            Self::Method(object, _) | Self::See(object) | Self::Create(object) | Self::LookAfter(object) => {
                Some(object)
            }
            _ => None,
        }
    }
}

/// Whether a principal may do that, and do it here. One that is admitted, or it is a matter of this alone.
///
/// # Errors
/// It may not, or the object is another group's.
pub(crate) fn judge(core: &Core, principal: &Principal, act: &Act<'_>) -> Result<(), Problem> {
    may(core, principal, act)?;
    act.object().map_or(Ok(()), |object| placement::check(core, object))
}

fn may(core: &Core, principal: &Principal, act: &Act<'_>) -> Result<(), Problem> {
    if !core.access.closed || principal.authority == Authority::Root {
        return Ok(());
    }
    if rights(core, &principal.name).any(|rights| allows(core, rights, act)) {
        return Ok(());
    }
    Err(refusal(core, principal, act))
}

/// Whether a principal of that name may still call a method for which it waits. Nothing is known of the method if it began to
/// wait while nobody asked: then it takes the right to all of them.
pub(super) fn may_wait(core: &Core, principal: &str, object: &ObjectName, method: &str) -> bool {
    let act = match method {
        asked::CREATION => Act::Create(object),
        asked::CARE => Act::LookAfter(object),
        method => Act::Method(object, method),
    };
    rights(core, principal).any(|rights| allows(core, rights, &act))
}

/// Whether a principal administers everything.
pub(crate) fn is_admin(core: &Core, principal: &Principal) -> bool {
    judge(core, principal, &Act::Administer).is_ok()
}

/// Its own rights and those of its roles, those of the objects of its type if it is an object, and everybody's.
fn rights<'a>(core: &'a Core, principal: &str) -> impl Iterator<Item = &'a Compiled> + use<'a> {
    let of_type = principal
        .strip_prefix("object:")
        .and_then(|object| object.split_once('/'))
        .map(|(kind, _)| core.access.all_rights_of(&format!("object:{kind}/*")));
    let own = core.access.all_rights_of(principal);
    let all = (principal != ANONYMOUS).then(|| core.access.all_rights_of(ANONYMOUS));
    own.chain(of_type.into_iter().flatten()).chain(all.into_iter().flatten())
}

fn allows(core: &Core, rights: &Compiled, act: &Act<'_>) -> bool {
    match *act {
        Act::Method(object, method) => allows_method(core, rights, object, method),
        Act::See(object) => has(core, rights, object, Rights::QUERY),
        Act::List(kind, beginning) => rights.has_all(name_of(core, kind), beginning, Rights::QUERY),
        Act::ListAll(beginning) => rights.has_all_types(beginning, Rights::QUERY),
        Act::Create(object) => has(core, rights, object, Rights::CREATE),
        Act::LookAfter(object) => has(core, rights, object, Rights::ADMIN),
        Act::LookAfterType(name) => rights.has_all(name, "", Rights::ADMIN),
        Act::BringModule => rights.is_admin_of_a_type(),
        Act::Administer => rights.is_admin(),
        Act::Know => true,
    }
}

fn has(core: &Core, rights: &Compiled, object: &ObjectName, right: Rights) -> bool {
    rights.has(name_of(core, object.kind), &object.name, right)
}

/// A method is allowed by its name, or by its kind.
fn allows_method(core: &Core, rights: &Compiled, object: &ObjectName, method: &str) -> bool {
    let type_name = name_of(core, object.kind);
    let has = |right| rights.has(type_name, &object.name, right);
    if takes_from_others(object.kind, method) {
        return has(Rights::ADMIN);
    }
    let both = Rights::QUERY.and(Rights::CALL);
    if has(both) || rights.names(type_name, &object.name, method) {
        return true;
    }
    has(if is_query(core, object, method) { Rights::QUERY } else { Rights::CALL })
}

/// Whether a method takes away what another holds.
fn takes_from_others(kind: TypeId, method: &str) -> bool {
    method == "steal" && type_name(kind) == Some("lock")
}

/// A query that waits is one, too. What is not known is none.
fn is_query(core: &Core, object: &ObjectName, method: &str) -> bool {
    if !types::is_user(object.kind) {
        let found = methods(object.kind).iter().find(|known: &&Method| known.name == method);
        return found.is_some_and(|known| matches!(known.kind, MethodKind::Query | MethodKind::Either));
    }
    let kind = user::version_of(core, object)
        .and_then(|version| types::method(core, object.kind, version, method).ok());
    kind.is_some_and(|about| about.kind == MethodKind::Query)
}

/// The name of a type; nothing of one that there is not.
fn name_of(core: &Core, kind: TypeId) -> &str {
    let of_user = || Cursor::new(core.store.get(&key::user_type(kind))?).text().ok();
    type_name(kind).or_else(of_user).unwrap_or_default()
}

/// What a command wants to do, as a whole; the calls of a batch are judged one by one.
pub(crate) fn act_of(command: &Command) -> Option<Act<'_>> {
    Some(match command {
        Command::Call(call) => Act::Method(&call.object, &call.invocation.method),
        Command::Create { object, .. } => Act::Create(object),
        Command::Delete { object, .. }
        | Command::Migrate { object, .. }
        | Command::Quarantine { object, .. }
        | Command::Rollback { object, .. }
        | Command::Import { object, .. } => Act::LookAfter(object),
        Command::TypePut { name, .. }
        | Command::TypeDelete { name, .. }
        | Command::TypeRelease { name, .. } => Act::LookAfterType(name),
        Command::TypePiece { .. } => Act::BringModule,
        Command::Access { .. } => Act::Administer,
        _ => return None,
    })
}

pub(crate) fn unauthenticated(detail: &str) -> Problem {
    Problem::new(
        Slug::Unauthenticated,
        format!("{detail}: send `Authorization: Bearer TOKEN` with a valid one"),
    )
}

/// A client without credentials may send some; another one may not do it.
fn refusal(core: &Core, principal: &Principal, act: &Act<'_>) -> Problem {
    let words = words(core, act);
    if principal.is_anonymous() {
        return unauthenticated(&format!("without a token nobody may {words} here"));
    }
    let detail = format!("principal `{}` may not {words}: an administrator grants rights", principal.name);
    Problem::new(Slug::Forbidden, detail)
}
