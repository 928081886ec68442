//! The server's messages as the edge's, and back.

use net_http_server::{Body, Bytes, HeaderMap, Refusal, Response, StatusCode};
use objects_http::{EVENT_STREAM, EVENTS_LOST, Fault, Fields, HttpResponse};

/// Header fields, as the edge looks at them. The server writes all names in lower case.
pub(crate) fn fields(headers: &HeaderMap) -> Fields<'_> {
    Fields::of(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
}

pub(crate) fn response(from: HttpResponse) -> Response {
    let body = match from.is_stream {
        true if from.content_type == EVENT_STREAM => {
            Body::Stream { overflow: Bytes::from_static(EVENTS_LOST.as_bytes()) }
        }
        true => Body::Stream { overflow: Bytes::new() },
        false => Body::Written(from.bytes.unwrap_or_else(|| from.body.into_bytes())),
    };
    let status = StatusCode::from_u16(from.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = Response::new(status, from.content_type, body);
    for (name, value) in from.fields {
        response.headers.push(name, &value);
    }
    if let Some(position) = from.position {
        response.headers.push_number("diwan-position", position);
    }
    if let Some(leader) = from.leader {
        response.headers.push("diwan-leader", &leader);
    }
    response
}

/// A refusal of the server in the edge's words.
pub(crate) fn refusal(refusal: Refusal) -> Response {
    let fault = match refusal {
        Refusal::BodyTooLong(most) => Fault::too_large(most),
        Refusal::BodiesTooLong(_) => Fault::overloaded("too many bytes of bodies are under way here"),
        Refusal::BodyMalformed => Fault::malformed_body(),
        Refusal::NoRequest(status) => Fault::no_request(status),
        Refusal::HeadTooSlow(ms) => Fault::too_slow("head", ms),
        Refusal::BodyTooSlow(ms) => Fault::too_slow("body", ms),
    };
    response(fault.response())
}
