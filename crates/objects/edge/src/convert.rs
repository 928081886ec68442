//! The server's messages as the edge's, and back.

use net_http_server::{
    Body, Bytes, HeaderMap, HeaderName, HeaderValue, Refusal, Response, StatusCode, header,
};
use objects_http::{EVENT_STREAM, EVENTS_LOST, Fault, Field, Fields, HttpResponse};

/// Header fields, as the edge looks at them.
pub(crate) struct Headers<'a>(pub(crate) &'a HeaderMap);

impl Fields for Headers<'_> {
    fn field(&self, name: &'static str) -> Field<'_> {
        // A request has few fields, so looking at each takes less than hashing the name.
        let mut values = self.0.iter().filter(|(own, _)| own.as_str().eq_ignore_ascii_case(name));
        match (values.next().map(|(_, value)| value), values.next()) {
            (None, _) => Field::Missing,
            (Some(value), None) => Field::Once(value.as_bytes()),
            (Some(_), Some(_)) => Field::Repeated,
        }
    }
}

pub(crate) fn response(from: HttpResponse) -> Response {
    let body = match from.is_stream {
        true if from.content_type == EVENT_STREAM => {
            Body::Stream { overflow: Bytes::from_static(EVENTS_LOST.as_bytes()) }
        }
        true => Body::Stream { overflow: Bytes::new() },
        false => Body::Whole(from.bytes.map_or_else(|| Bytes::from(from.body), Bytes::from)),
    };
    let mut headers = Vec::with_capacity(1 + from.fields.len());
    headers.push((header::CONTENT_TYPE, HeaderValue::from_static(from.content_type)));
    for (name, value) in from.fields {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.push((HeaderName::from_static(name), value));
        }
    }
    let status = StatusCode::from_u16(from.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Response { status, headers, body }
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
