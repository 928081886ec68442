//! Which route a request takes.

use objects_replica::edge::UNKNOWN_TYPE;
use objects_state::guest::VersionHash;
use objects_state::{ObjectName, SessionId, Slug, TypeId, limits, type_named};

use crate::care::Care;
use crate::fields::{digits, hex16};
use crate::message::Fault;
use crate::namespace::Namespace;
use crate::target::Path;

/// See the module. The methods of HTTP are judged with the route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    /// A method, by POST.
    Call(ObjectName, &'a str),
    /// A method, by GET.
    Query(ObjectName, &'a str),
    Batch(ObjectName),
    Create(ObjectName),
    Describe(ObjectName),
    Delete(ObjectName),
    ObjectEvents(ObjectName),
    List,
    /// Who waits for whom.
    Waits,
    Collect(u64),
    Cancel(u64),
    OpenSession,
    ShowSession(SessionId),
    CloseSession(SessionId),
    RenewSession(SessionId),
    SessionEvents(SessionId),
    /// What those do who look after objects.
    Care(ObjectName, Care),
    Types,
    Type(TypeId),
    UserType(String),
    Upload(String),
    ShowVersion(String, VersionHash),
    DeleteVersion(String, VersionHash),
    /// Objects of it may be created again.
    ReleaseVersion(String, VersionHash),
    OpenApi,
    /// Who may do what.
    Access,
    ChangeAccess(ChangeAccess),
    Tokens,
    CreateToken,
    RevokeToken(u64),
    /// All tokens and rights of a principal.
    RevokePrincipal(String),
    Groups,
    /// A snapshot of the member, as a file.
    Backup,
    Live,
    Ready,
}

/// How access is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeAccess {
    Open,
    Close,
    Allow,
    Deny,
    Quota,
    Role,
}

/// A route, and the name of the type that it is about if that is none of the built-in ones: the core knows its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Routed<'a> {
    pub(crate) route: Route<'a>,
    pub(crate) user_type: Option<String>,
}

impl<'a> Routed<'a> {
    pub(crate) fn of(method: &str, path: &'a Path<'_>, namespace: Option<&Namespace>) -> Result<Self, Fault> {
        let mut route = Route::of(method, path)?;
        if let Some(namespace) = namespace {
            widen(namespace, &mut route)?;
        }
        let is_user = route.object_mut().is_some_and(|object| object.kind == UNKNOWN_TYPE);
        let user_type = path.segments.get(1).filter(|_| is_user).map(|name| String::from(&**name));
        Ok(Self { route, user_type })
    }
}

impl<'a> Route<'a> {
    /// Whether it is for those who administer, and so is noted when it is done.
    pub(crate) const fn administers(&self) -> bool {
        matches!(
            self,
            Self::Delete(_)
                | Self::Care(..)
                | Self::Upload(_)
                | Self::DeleteVersion(..)
                | Self::ReleaseVersion(..)
                | Self::ChangeAccess(_)
                | Self::CreateToken
                | Self::RevokeToken(_)
                | Self::RevokePrincipal(_)
                | Self::Backup
        )
    }

    /// The object that it is about, if it is about one.
    const fn object_mut(&mut self) -> Option<&mut ObjectName> {
        match self {
            Self::Call(object, _)
            | Self::Query(object, _)
            | Self::Batch(object)
            | Self::Create(object)
            | Self::Describe(object)
            | Self::Delete(object)
            | Self::ObjectEvents(object)
            | Self::Care(object, _) => Some(object),
            _ => None,
        }
    }

    fn of(method: &str, path: &'a Path<'_>) -> Result<Self, Fault> {
        // A response to HEAD is one to GET without its body.
        let method = if method == "HEAD" { "GET" } else { method };
        let (segments, operation) = (path.parts(), path.operation.as_deref());
        match segments.as_slice() {
            ["objects", rest @ ..] => of_objects(method, rest, operation),
            ["waits"] => only_get(method, Self::Waits),
            ["tickets", id] => {
                let ticket = digits(id).ok_or_else(|| Fault::argument("", "not a ticket's number"))?;
                match method {
                    "GET" => Ok(Self::Collect(ticket)),
                    "DELETE" => Ok(Self::Cancel(ticket)),
                    _ => Err(Fault::not_allowed("GET, HEAD, DELETE")),
                }
            }
            ["sessions", rest @ ..] => of_sessions(method, rest),
            ["types", rest @ ..] => of_types(method, rest, operation),
            ["access", rest @ ..] => of_access(method, rest),
            ["tokens", rest @ ..] => of_tokens(method, rest),
            ["principals", name] => match method {
                "DELETE" => Ok(Self::RevokePrincipal((*name).into())),
                _ => Err(Fault::not_allowed("DELETE")),
            },
            ["openapi.json"] => only_get(method, Self::OpenApi),
            ["backup"] => only_get(method, Self::Backup),
            ["groups"] => only_get(method, Self::Groups),
            ["live"] => only_get(method, Self::Live),
            ["ready"] => only_get(method, Self::Ready),
            _ => Err(Fault::no_such_route()),
        }
    }
}

/// The route to the same object, by its whole name.
fn widen(namespace: &Namespace, route: &mut Route<'_>) -> Result<(), Fault> {
    if let Some(object) = route.object_mut() {
        return namespace.widen(object);
    }
    match route {
        Route::Access
        | Route::ChangeAccess(_)
        | Route::Tokens
        | Route::CreateToken
        | Route::RevokeToken(_)
        | Route::RevokePrincipal(_)
        | Route::Backup
        | Route::Groups => {
            let detail = "a namespace has objects, types, tickets and sessions; this is of all of them: leave \
                          `/ns/NAMESPACE` out";
            Err(Fault::argument("", detail))
        }
        _ => Ok(()),
    }
}

fn only_get<'a>(method: &str, route: Route<'a>) -> Result<Route<'a>, Fault> {
    if method == "GET" { Ok(route) } else { Err(Fault::not_allowed("GET, HEAD")) }
}

fn only_post<'a>(method: &str, route: Route<'a>) -> Result<Route<'a>, Fault> {
    if method == "POST" { Ok(route) } else { Err(Fault::not_allowed("POST")) }
}

fn of_objects<'a>(method: &str, segments: &[&'a str], operation: Option<&str>) -> Result<Route<'a>, Fault> {
    match segments {
        [] => only_get(method, Route::List),
        [kind, name] => of_object(method, (kind, name), operation),
        [kind, name, "events"] => only_get(method, Route::ObjectEvents(object(kind, name)?)),
        [kind, name, called] => match method {
            "POST" => Ok(Route::Call(object(kind, name)?, called)),
            "GET" => Ok(Route::Query(object(kind, name)?, called)),
            _ => Err(Fault::not_allowed("GET, HEAD, POST")),
        },
        _ => Err(Fault::no_such_route()),
    }
}

fn of_object(
    method: &str,
    (kind, name): (&str, &str),
    operation: Option<&str>,
) -> Result<Route<'static>, Fault> {
    match (method, operation, operation.and_then(Care::named)) {
        ("POST", Some("batch"), _) => Ok(Route::Batch(object(kind, without(name, "batch"))?)),
        ("POST", Some(word), Some(care)) => Ok(Route::Care(object(kind, without(name, word))?, care)),
        ("PUT", ..) => Ok(Route::Create(object(kind, name)?)),
        ("GET", ..) => Ok(Route::Describe(object(kind, name)?)),
        ("DELETE", ..) => Ok(Route::Delete(object(kind, name)?)),
        ("POST", ..) => {
            Err(Fault::not_allowed("GET, HEAD, PUT, DELETE; to call a method, add it to the path"))
        }
        _ => Err(Fault::not_allowed("GET, HEAD, PUT, DELETE")),
    }
}

/// A name without the operation behind it.
fn without<'a>(name: &'a str, operation: &str) -> &'a str {
    name.strip_suffix(operation).and_then(|name| name.strip_suffix(':')).unwrap_or(name)
}

fn of_sessions(method: &str, segments: &[&str]) -> Result<Route<'static>, Fault> {
    let session = |id: &str| {
        let id = hex16(id).ok_or_else(|| Fault::argument("", "not a session's id: 32 hexadecimal digits"));
        id.map(SessionId)
    };
    match segments {
        [] => only_post(method, Route::OpenSession),
        [id] => match method {
            "GET" => Ok(Route::ShowSession(session(id)?)),
            "DELETE" => Ok(Route::CloseSession(session(id)?)),
            _ => Err(Fault::not_allowed("GET, HEAD, DELETE")),
        },
        [id, "renew"] => only_post(method, Route::RenewSession(session(id)?)),
        [id, "events"] => only_get(method, Route::SessionEvents(session(id)?)),
        _ => Err(Fault::no_such_route()),
    }
}

fn of_access(method: &str, segments: &[&str]) -> Result<Route<'static>, Fault> {
    let how = match segments {
        [] => return only_get(method, Route::Access),
        ["open"] => ChangeAccess::Open,
        ["close"] => ChangeAccess::Close,
        ["allow"] => ChangeAccess::Allow,
        ["deny"] => ChangeAccess::Deny,
        ["quota"] => ChangeAccess::Quota,
        ["role"] => ChangeAccess::Role,
        _ => return Err(Fault::no_such_route()),
    };
    only_post(method, Route::ChangeAccess(how))
}

fn of_tokens(method: &str, segments: &[&str]) -> Result<Route<'static>, Fault> {
    match (method, segments) {
        ("GET", []) => Ok(Route::Tokens),
        ("POST", []) => Ok(Route::CreateToken),
        (_, []) => Err(Fault::not_allowed("GET, HEAD, POST")),
        ("DELETE", [number]) => {
            let number = digits(number).ok_or_else(|| Fault::argument("", "not a token's number"))?;
            Ok(Route::RevokeToken(number))
        }
        (_, [_]) => Err(Fault::not_allowed("DELETE")),
        _ => Err(Fault::no_such_route()),
    }
}

/// What allows creations again, behind a version.
const RELEASE: &str = "release";

fn of_types(method: &str, segments: &[&str], operation: Option<&str>) -> Result<Route<'static>, Fault> {
    match (method, segments) {
        ("GET", []) => Ok(Route::Types),
        (_, []) => Err(Fault::not_allowed("GET, HEAD")),
        ("GET", [name]) => match kind(name)? {
            UNKNOWN_TYPE => Ok(Route::UserType((*name).into())),
            built_in => Ok(Route::Type(built_in)),
        },
        ("POST", [name]) => match kind(name)? {
            UNKNOWN_TYPE => Ok(Route::Upload((*name).into())),
            _ => Err(Fault::new(Slug::Exists, format!("`{name}` is a built-in type: choose another name"))),
        },
        (_, [_]) => Err(Fault::not_allowed("GET, HEAD, POST")),
        ("GET", [name, version]) => Ok(Route::ShowVersion(user_type(name)?, hash(version)?)),
        ("DELETE", [name, version]) => Ok(Route::DeleteVersion(user_type(name)?, hash(version)?)),
        ("POST", [name, version]) if operation == Some(RELEASE) => {
            Ok(Route::ReleaseVersion(user_type(name)?, hash(without(version, RELEASE))?))
        }
        (_, [_, _]) => Err(Fault::not_allowed("GET, HEAD, DELETE; POST with `:release` behind the version")),
        _ => Err(Fault::no_such_route()),
    }
}

fn user_type(name: &str) -> Result<String, Fault> {
    match kind(name)? {
        UNKNOWN_TYPE => Ok(name.into()),
        _ => Err(Fault::new(Slug::NoSuchType, format!("`{name}` is a built-in type: it has no versions"))),
    }
}

/// The name of a version, or of a module.
pub(crate) fn hash(text: &str) -> Result<VersionHash, Fault> {
    let wrong = || Fault::argument("", "not a version's name: 64 hexadecimal digits");
    let (first, rest) = text.split_at_checked(32).ok_or_else(wrong)?;
    let (first, rest) = hex16(first).zip(hex16(rest)).ok_or_else(wrong)?;
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&first);
    bytes[16..].copy_from_slice(&rest);
    Ok(VersionHash(bytes))
}

/// The number of a built-in type; of another one, of which the core knows whether it is there, [`UNKNOWN_TYPE`].
pub(crate) fn kind(name: &str) -> Result<TypeId, Fault> {
    if let Some(built_in) = type_named(name) {
        return Ok(built_in);
    }
    let is_word =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    let is_name = (1..=limits::TYPE_NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_word);
    match is_name {
        true => Ok(UNKNOWN_TYPE),
        false => Err(Fault::new(Slug::NoSuchType, format!("there is no type `{name}`"))),
    }
}

fn object(type_name: &str, name: &str) -> Result<ObjectName, Fault> {
    let kind = kind(type_name)?;
    if !(1..=limits::NAME_BYTES_MAX).contains(&name.len()) || name.chars().any(char::is_control) {
        let detail = format!("a name has 1 to {} bytes and no control characters", limits::NAME_BYTES_MAX);
        return Err(Fault::argument("", detail));
    }
    Ok(ObjectName { kind, name: name.into() })
}
