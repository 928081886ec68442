//! Which route a request takes.

use objects_state::{ObjectName, SessionId, Slug, TypeId, limits, type_named};

use crate::fields::{digits, hex16};
use crate::message::Fault;
use crate::target::Target;

/// See the module. The methods of HTTP are judged with the route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// A method, by POST.
    Call(ObjectName, String),
    /// A method, by GET.
    Query(ObjectName, String),
    Batch(ObjectName),
    Create(ObjectName),
    Describe(ObjectName),
    Delete(ObjectName),
    ObjectEvents(ObjectName),
    List,
    Collect(u64),
    Cancel(u64),
    OpenSession,
    ShowSession(SessionId),
    CloseSession(SessionId),
    RenewSession(SessionId),
    SessionEvents(SessionId),
    Types,
    Type(TypeId),
    OpenApi,
    Groups,
    Live,
    Ready,
}

impl Route {
    pub(crate) fn of(method: &str, target: &Target) -> Result<Self, Fault> {
        // A response to HEAD is one to GET without its body.
        let method = if method == "HEAD" { "GET" } else { method };
        let segments: Vec<&str> = target.segments.iter().map(String::as_str).collect();
        match segments.as_slice() {
            ["ns", ..] => Err(Fault::not_supported("namespaces are to come: use names with a prefix")),
            ["objects", rest @ ..] => of_objects(method, rest, target.operation.as_deref()),
            ["tickets", id] => {
                let ticket = digits(id).ok_or_else(|| Fault::argument("", "not a ticket's number"))?;
                match method {
                    "GET" => Ok(Self::Collect(ticket)),
                    "DELETE" => Ok(Self::Cancel(ticket)),
                    _ => Err(Fault::not_allowed("GET, HEAD, DELETE")),
                }
            }
            ["sessions", rest @ ..] => of_sessions(method, rest),
            ["types", rest @ ..] => of_types(method, rest),
            ["openapi.json"] => only_get(method, Self::OpenApi),
            ["groups"] => only_get(method, Self::Groups),
            ["live"] => only_get(method, Self::Live),
            ["ready"] => only_get(method, Self::Ready),
            _ => Err(Fault::no_such_route()),
        }
    }
}

fn only_get(method: &str, route: Route) -> Result<Route, Fault> {
    if method == "GET" { Ok(route) } else { Err(Fault::not_allowed("GET, HEAD")) }
}

fn only_post(method: &str, route: Route) -> Result<Route, Fault> {
    if method == "POST" { Ok(route) } else { Err(Fault::not_allowed("POST")) }
}

/// What only later releases do to an object.
const LATER: &[&str] = &["migrate", "rollback", "export", "import", "quarantine"];

fn of_objects(method: &str, segments: &[&str], operation: Option<&str>) -> Result<Route, Fault> {
    match segments {
        [] => only_get(method, Route::List),
        [kind, name] => match (method, operation) {
            ("POST", Some("batch")) => {
                let name = name.strip_suffix(":batch").unwrap_or(name);
                Ok(Route::Batch(object(kind, name)?))
            }
            ("POST", Some(later)) if LATER.contains(&later) => {
                Err(Fault::not_supported(format!("`:{later}` is to come")))
            }
            ("PUT", _) => Ok(Route::Create(object(kind, name)?)),
            ("GET", _) => Ok(Route::Describe(object(kind, name)?)),
            ("DELETE", _) => Ok(Route::Delete(object(kind, name)?)),
            ("POST", _) => {
                Err(Fault::not_allowed("GET, HEAD, PUT, DELETE; to call a method, add it to the path"))
            }
            _ => Err(Fault::not_allowed("GET, HEAD, PUT, DELETE")),
        },
        [kind, name, "events"] => only_get(method, Route::ObjectEvents(object(kind, name)?)),
        [kind, name, called] => match method {
            "POST" => Ok(Route::Call(object(kind, name)?, (*called).into())),
            "GET" => Ok(Route::Query(object(kind, name)?, (*called).into())),
            _ => Err(Fault::not_allowed("GET, HEAD, POST")),
        },
        _ => Err(Fault::no_such_route()),
    }
}

fn of_sessions(method: &str, segments: &[&str]) -> Result<Route, Fault> {
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

fn of_types(method: &str, segments: &[&str]) -> Result<Route, Fault> {
    match (method, segments) {
        ("GET", []) => Ok(Route::Types),
        ("GET", [name]) => Ok(Route::Type(kind(name)?)),
        ("GET", [_, _]) | (_, [_]) | (_, [_, _]) => {
            Err(Fault::not_supported("types of users are to come: there are the built-in ones only"))
        }
        (_, []) => Err(Fault::not_allowed("GET, HEAD")),
        _ => Err(Fault::no_such_route()),
    }
}

pub(crate) fn kind(name: &str) -> Result<TypeId, Fault> {
    type_named(name).ok_or_else(|| {
        Fault::new(Slug::NoSuchType, format!("there is no type `{name}`: types of users are to come"))
    })
}

fn object(type_name: &str, name: &str) -> Result<ObjectName, Fault> {
    let kind = kind(type_name)?;
    if !(1..=limits::NAME_BYTES_MAX).contains(&name.len()) || name.chars().any(char::is_control) {
        let detail = format!("a name has 1 to {} bytes and no control characters", limits::NAME_BYTES_MAX);
        return Err(Fault::argument("", detail));
    }
    Ok(ObjectName { kind, name: name.into() })
}
