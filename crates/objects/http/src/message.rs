//! Requests and responses, as plain data: the driver reads and writes HTTP.

use std::sync::Arc;

use objects_state::{Problem, Retry, SideEffect, Slug, bytes_of};

use crate::header::Fields;

/// A request whose body is whole.
#[derive(Clone, Copy)]
pub struct HttpRequest<'a> {
    /// `GET`, `POST` and so on.
    pub method: &'a str,
    /// Path and query, as they came.
    pub target: &'a str,
    /// Header fields.
    pub fields: &'a Fields<'a>,
    /// The body.
    pub body: &'a [u8],
    /// The holder of the certificate that the connection has shown, if one was asked for and shown.
    pub certificate: Option<&'a str>,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// The type of the body.
    pub content_type: &'static str,
    /// Header fields besides.
    pub fields: Vec<(&'static str, String)>,
    /// The position of the state that it is made on, for `diwan-position` behind those.
    pub position: Option<u64>,
    /// Where clients of the leader connect, for `diwan-leader` behind that.
    pub leader: Option<Arc<str>>,
    /// The body, if it is text; of a stream what it begins with.
    pub body: String,
    /// The body, if it is bytes.
    pub bytes: Option<Vec<u8>>,
    /// Whether more follows, piece by piece.
    pub is_stream: bool,
}

/// The type of results.
pub const JSON: &str = "application/json";
/// The type of results that are bytes.
pub(crate) const BYTES: &str = "application/octet-stream";
/// The type of refusals.
pub const PROBLEM: &str = "application/problem+json";
/// The type of streams of events.
pub const EVENT_STREAM: &str = "text/event-stream";
/// The type of files.
pub const OCTETS: &str = "application/octet-stream";

impl HttpResponse {
    pub(crate) fn json(status: u16, body: String) -> Self {
        Self {
            status,
            content_type: JSON,
            fields: Vec::new(),
            position: None,
            leader: None,
            body,
            bytes: None,
            is_stream: false,
        }
    }

    /// A result of the core's: JSON, or bytes.
    pub(crate) fn result(status: u16, result: String) -> Self {
        match bytes_of(&result) {
            Some(bytes) => {
                Self { content_type: BYTES, bytes: Some(bytes), ..Self::json(status, String::new()) }
            }
            None => Self::json(status, result),
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// A refusal of the core's.
    pub(crate) fn problem(problem: &Problem) -> Self {
        let response = Self { content_type: PROBLEM, ..Self::json(problem.slug.status(), problem.to_json()) };
        let response = challenged(response);
        match problem.retry_after_ms {
            Some(ms) => response.with("retry-after", ms.div_ceil(1_000).max(1).to_string()),
            None if problem.slug.status() == 429 => response.with("retry-after", "1"),
            None => response,
        }
    }
}

/// What those are told who look after the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A client was not let in.
    Refused {
        /// The name of the refusal.
        slug: &'static str,
        /// What it wanted, as it was told.
        detail: String,
    },
    /// Something was done that takes the right to administer.
    Administered {
        /// Who did what.
        what: Box<str>,
    },
}

/// A refusal of this edge: the request went nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    status: u16,
    slug: &'static str,
    detail: String,
    pointer: Option<String>,
    retry: Retry,
    allow: Option<&'static str>,
}

impl Fault {
    pub(crate) fn new(slug: Slug, detail: impl Into<String>) -> Self {
        Self::of(slug.status(), slug.name(), slug.retry(), detail)
    }

    fn of(status: u16, slug: &'static str, retry: Retry, detail: impl Into<String>) -> Self {
        Self { status, slug, detail: detail.into(), pointer: None, retry, allow: None }
    }

    /// A wrong argument, query parameter or header field of this name.
    pub(crate) fn argument(name: &str, detail: impl Into<String>) -> Self {
        let pointer = Some(if name.is_empty() { String::new() } else { format!("/{}", pointed(name)) });
        Self { pointer, ..Self::new(Slug::BadArgument, detail) }
    }

    /// Nothing is at this path.
    pub(crate) fn no_such_route() -> Self {
        Self::of(404, "no-such-route", Retry::No, "there is nothing at this path: see /v1/openapi.json")
    }

    /// The path allows other methods of HTTP only.
    pub(crate) fn not_allowed(allow: &'static str) -> Self {
        let detail = format!("the path allows {allow}");
        Self { allow: Some(allow), ..Self::of(405, "method-not-allowed", Retry::No, detail) }
    }

    /// GET was used for a command.
    pub(crate) fn not_a_query() -> Self {
        Self { allow: Some("POST"), ..Self::new(Slug::NotAQuery, "the method changes the object: use POST") }
    }

    /// The body is in a form that is not read.
    pub(crate) fn bad_codec(detail: impl Into<String>) -> Self {
        Self::of(415, "bad-codec", Retry::No, detail)
    }

    /// The body is longer than the server reads.
    #[must_use]
    pub fn too_large(most: usize) -> Self {
        Self::new(Slug::TooLarge, format!("the body has more than {most} bytes"))
    }

    /// The server holds as many bytes of bodies as it may, or has as many requests under way.
    #[must_use]
    pub fn overloaded(detail: &str) -> Self {
        Self::new(Slug::Rate, detail)
    }

    /// The request came too slowly.
    #[must_use]
    pub fn too_slow(part: &str, ms: u64) -> Self {
        let detail = format!("the {part} of the request did not come to its end within {ms} ms");
        Self::of(408, "too-slow", Retry::Now, detail)
    }

    /// What came is no request of HTTP, or its head is too long: the status says which.
    #[must_use]
    pub fn no_request(status: u16) -> Self {
        match status {
            414 | 431 => {
                Self::of(status, Slug::TooLarge.name(), Retry::No, "the head of the request is too long")
            }
            _ => Self::of(400, Slug::BadArgument.name(), Retry::No, "what came is no request of HTTP/1.1"),
        }
    }

    /// The body breaks the rules of HTTP.
    #[must_use]
    pub fn malformed_body() -> Self {
        Self::argument("", "the body breaks the rules of its transfer coding")
    }

    /// What is noted of it, if the client was not let in.
    pub(crate) fn note(&self) -> Option<Note> {
        matches!(self.status, 401 | 403)
            .then(|| Note::Refused { slug: self.slug, detail: self.detail.clone() })
    }

    /// The response that says it. Nothing had an effect.
    #[must_use]
    pub fn response(&self) -> HttpResponse {
        let retry = match self.retry {
            Retry::Now => "now",
            Retry::Later => "later",
            Retry::SameKey => "same-key",
            Retry::No => "no",
        };
        let mut body = objects_state::Reply::new()
            .text("type", &format!("urn:diwan:problem:{}", self.slug))
            .number("status", u64::from(self.status))
            .text("detail", &self.detail)
            .text("effect", "none")
            .text("retry", retry);
        if let Some(pointer) = &self.pointer {
            body = body.text("pointer", pointer);
        }
        let response =
            HttpResponse { content_type: PROBLEM, ..HttpResponse::json(self.status, body.finish()) };
        let response = match self.allow {
            Some(allow) => response.with("allow", allow),
            None => response,
        };
        let response = challenged(response);
        if self.status == 429 { response.with("retry-after", "1") } else { response }
    }
}

/// Whoever is not known is told how to be: HTTP wants that of a 401.
fn challenged(response: HttpResponse) -> HttpResponse {
    match response.status {
        401 => response.with("www-authenticate", "Bearer realm=\"diwan objects\""),
        _ => response,
    }
}

/// A name in a JSON pointer.
fn pointed(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A refusal of the core's, made here: the core was asked and has not answered.
pub(crate) fn unanswered(slug: Slug, detail: &str, effect: SideEffect) -> HttpResponse {
    HttpResponse::problem(&Problem { effect, ..Problem::new(slug, detail) })
}
