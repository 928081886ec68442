//! Outcomes as responses.

use objects_state::{Outcome, Reply, SessionId, Slug};

use super::EdgeConfig;
use super::open::{Open, Purpose};
use crate::fields::Credential;
use crate::message::{EVENT_STREAM, Fault, HttpResponse};
use crate::openapi;
use crate::route::Route;
use crate::target::Query;

/// The response to what needs no core.
pub(super) fn at_once(route: &Route<'_>, query: &Query<'_>) -> Result<Option<HttpResponse>, Fault> {
    let body = match route {
        Route::Live => String::from("{\"live\":true}"),
        Route::Type(object) => openapi::one_type(*object),
        _ => return Ok(None),
    };
    query.end()?;
    Ok(Some(HttpResponse::json(200, body)))
}

/// The beginning of a stream.
pub(super) fn stream() -> HttpResponse {
    let response = HttpResponse::json(200, String::new()).with("cache-control", "no-store");
    HttpResponse { content_type: EVENT_STREAM, is_stream: true, ..response }
}

/// A call that still waits. Its client must know the session that it has opened, or it could not keep it.
pub(super) fn ticket<K>(open: &Open<K>) -> HttpResponse {
    let ticket = open.ticket.unwrap_or_default();
    let body = Reply::new().number("ticket", ticket).finish();
    let response = HttpResponse::json(202, body).with("location", format!("/v1/tickets/{ticket}"));
    match &open.purpose {
        Purpose::Opening { credential, .. } if open.keeps == Some(credential.session) => {
            response.with("diwan-session", credential.text())
        }
        _ => response,
    }
}

pub(super) fn of(purpose: &Purpose, outcome: Outcome, config: &EdgeConfig) -> HttpResponse {
    let result = match outcome {
        Outcome::Refused(problem) => return HttpResponse::problem(&problem),
        Outcome::Done(result) => result,
    };
    match purpose {
        Purpose::Command | Purpose::Reading | Purpose::Stream(..) => HttpResponse::result(200, result),
        Purpose::ReadingIn(namespace) => HttpResponse::json(200, namespace.shown(&result)),
        Purpose::Token(token) => HttpResponse::json(201, more(&result, &format!("\"token\":\"{token}\"")))
            .with("cache-control", "no-store"),
        Purpose::Creation => {
            let is_new = result.contains("\"created\":true") || result.contains("\"imported\":true");
            HttpResponse::json(if is_new { 201 } else { 200 }, result)
        }
        Purpose::Opening { credential, in_body } if names(&result, credential.session) => {
            let body = if *in_body { with_secret(&result, credential) } else { result };
            HttpResponse::json(200, body).with("diwan-session", credential.text())
        }
        // It got nothing, so there is no session; or the result is that of an earlier request of the same key.
        Purpose::Opening { .. } => HttpResponse::json(200, result),
        Purpose::Session(credential) => HttpResponse::json(201, with_secret(&result, credential))
            .with("diwan-session", credential.text())
            .with("location", format!("/v1/sessions/{}", credential.session)),
        Purpose::Groups => {
            let group = more(&result, &format!("\"member\":{}", config.member));
            HttpResponse::json(200, format!("{{\"groups\":[{group}]}}"))
        }
        Purpose::Types => HttpResponse::json(200, openapi::types(&openapi::user_types(&result))),
        Purpose::OpenApi(only) => match openapi::document(only.as_deref(), &openapi::user_types(&result)) {
            Some(document) => HttpResponse::json(200, document),
            None => {
                let name = only.as_deref().unwrap_or_default();
                Fault::new(Slug::NoSuchType, format!("there is no type `{name}`")).response()
            }
        },
        // They go on elsewhere.
        Purpose::Upload(_) | Purpose::Backup { .. } => HttpResponse::json(200, result),
        Purpose::Ready => HttpResponse::json(200, more(&result, "\"ready\":true")),
    }
}

/// Whether a result tells of this session.
fn names(result: &str, session: SessionId) -> bool {
    result.contains(&format!("\"session\":\"{session}\""))
}

fn with_secret(result: &str, credential: &Credential) -> String {
    more(result, &format!("\"secret\":\"{}\"", credential.secret_text()))
}

/// A JSON object with more fields behind its own.
fn more(object: &str, fields: &str) -> String {
    match object.strip_suffix('}') {
        Some("{") => format!("{{{fields}}}"),
        Some(first) => format!("{first},{fields}}}"),
        None => object.into(),
    }
}
