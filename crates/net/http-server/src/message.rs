//! Requests and responses as a handler sees them.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri};
use net_event_loop::ConnId;

use crate::headers::Headers;

/// Which request of which connection an answer is for. It stays right when the connection is gone: the answer is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// The connection.
    pub conn: ConnId,
    /// The number of the request on it.
    pub number: u32,
}

/// A request whose body has come to its end.
#[derive(Debug)]
pub struct Request {
    /// What is to be done.
    pub method: Method,
    /// With what.
    pub uri: Uri,
    /// The header fields, without any check of their values.
    pub headers: HeaderMap,
    /// The body, without its transfer coding.
    pub body: Bytes,
    /// The holder of the certificate that the client has shown, in the words of Java's `X500Principal`: `CN=..,O=..`;
    /// nothing if it has shown none.
    pub certificate: Option<Arc<str>>,
}

/// What is answered.
#[derive(Debug)]
pub struct Response {
    /// How it went.
    pub status: StatusCode,
    /// Header fields, in this order. Length, date and connection are added.
    pub headers: Headers,
    /// The body.
    pub body: Body,
}

/// The body of a response.
#[derive(Debug)]
pub enum Body {
    /// All of it, also what others have too.
    Whole(Bytes),
    /// All of it, written for this response alone.
    Written(Vec<u8>),
    /// It is sent piece by piece as the handler [pushes](crate::Replies::push) them, until the handler finishes it.
    Stream {
        /// What takes the place of the first piece that finds no room, because the client reads too slowly. The stream
        /// ends behind it.
        overflow: Bytes,
    },
}

impl Body {
    /// All of it; nothing of one that is sent piece by piece.
    pub(crate) fn whole(&self) -> Option<&[u8]> {
        match self {
            Self::Whole(body) => Some(body),
            Self::Written(body) => Some(body),
            Self::Stream { .. } => None,
        }
    }
}

impl Response {
    /// A response with a body of this type.
    #[must_use]
    pub fn new(status: StatusCode, content_type: &'static str, body: Body) -> Self {
        Self { status, headers: Headers::default(), body }.with("content-type", content_type)
    }

    /// With another header field: see [`Headers::push`].
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push(name, value);
        self
    }
}

/// Why a request is refused before a handler sees it. The handler says in which words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its body is longer than this (`body_bytes_max`).
    BodyTooLong(usize),
    /// The bodies of all requests together would be longer than this (`bodies_bytes_max`).
    BodiesTooLong(usize),
    /// Its body is no body: a chunk is malformed.
    BodyMalformed,
    /// It is no request of HTTP, or its head is too long (`head_bytes_max`): the status that says so, 400, 414 or 431.
    NoRequest(u16),
    /// Its head did not come to its end in so many milliseconds (`head_ms_max`).
    HeadTooSlow(u64),
    /// Its body did not come to its end in so many milliseconds (`body_ms_max`).
    BodyTooSlow(u64),
}

impl Refusal {
    /// The status that says it.
    #[must_use]
    pub fn status(self) -> StatusCode {
        match self {
            Self::NoRequest(status) => StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST),
            Self::BodyTooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodiesTooLong(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::BodyMalformed => StatusCode::BAD_REQUEST,
            Self::HeadTooSlow(_) | Self::BodyTooSlow(_) => StatusCode::REQUEST_TIMEOUT,
        }
    }
}
