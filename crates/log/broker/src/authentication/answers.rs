//! What frames of authentication ask, and answers that need no exchange.

use log_wire::messages::security::{SaslAuthenticateResponse, SaslHandshakeResponse};
use log_wire::{Api, ApiKey, ApiVersionsRequest, ErrorCode, Malformed, Reader, RequestHeader};
use net_auth::sasl::Failure;

use super::exchange::Step;
use crate::call::{Call, Handled};
use crate::response::{Form, Head, Response};

/// What a frame asks.
pub(super) enum Asked<'f> {
    /// For the versions; with what is wrong with it.
    Versions(Head, ErrorCode),
    /// For something of a known API and version.
    Request(Head, RequestHeader<'f>, Reader<'f>),
}

/// What a client is told.
#[derive(Debug)]
pub(crate) enum Told {
    /// That.
    Response(Response),
    /// Which APIs are served, with an error if there is one.
    Versions(ErrorCode),
}

/// The API that a frame is of, if it is one.
pub(super) fn api_key(frame: &[u8]) -> Option<ApiKey> {
    let key = frame.first_chunk().map(|key| i16::from_be_bytes(*key))?;
    Api::find(key).map(|api| api.key)
}

/// Reads a frame.
///
/// # Errors
/// It is no request, or one of an API or version that is not known.
pub(super) fn read(frame: &[u8]) -> Result<Asked<'_>, Malformed> {
    let (header, api, mut body) = RequestHeader::read(frame)?;
    let api = api.ok_or(Malformed("an API that is not known"))?;
    let head = Head { api, version: header.version, correlation_id: header.correlation_id, throttle_ms: 0 };
    match (api.key, api.has(header.version)) {
        // The answer to an unknown version is one of version 0.
        (ApiKey::ApiVersions, false) => {
            Ok(Asked::Versions(Head { version: 0, ..head }, ErrorCode::UnsupportedVersion))
        }
        (ApiKey::ApiVersions, true) => {
            let request = ApiVersionsRequest::read(&mut body, header.version)?;
            let is_valid = request.has_valid_names(header.version);
            Ok(Asked::Versions(head, if is_valid { ErrorCode::None } else { ErrorCode::InvalidRequest }))
        }
        (_, true) => Ok(Asked::Request(head, header, body)),
        (_, false) => Err(Malformed("a version that is not known")),
    }
}

/// The head under which the answer to a bare token is kept.
pub(super) fn bare_head() -> Head {
    let api = Api::find(ApiKey::SaslAuthenticate as i16).unwrap_or(&Api::ALL[0]);
    Head { api, version: 0, correlation_id: 0, throttle_ms: 0 }
}

/// What a client is told whose token fails, and what the log tells. All that concerns users is told alike.
pub(super) fn told(step: &Step) -> (&'static str, &'static str) {
    const CREDENTIALS: &str = "Authentication failed: the user is unknown, or the password or token is wrong";
    match step {
        Step::Failed(Failure::Credentials) => {
            (CREDENTIALS, "the user is unknown, or the password or token is wrong")
        }
        Step::NotHeard => {
            (CREDENTIALS, "too much that was wrong came from its address: for a while nothing is looked at")
        }
        Step::Failed(Failure::Mismatch(_)) => {
            let what = "Authentication failed: the client asks to act as somebody else, or for something that is not served";
            (what, "it asks to act as somebody else, or for something that is not served")
        }
        _ => (
            "Authentication failed: a token is not one of the mechanism",
            "a token is not one of the mechanism",
        ),
    }
}

/// The answer to a request that came between tokens. One that has no answer to tell it by gets none.
pub(super) fn illegal_state(head: Head) -> Told {
    let form = Form { version: head.version, flexible: head.api.is_flexible(head.version) };
    let error_code = ErrorCode::IllegalSaslState.code();
    match head.api.key {
        ApiKey::SaslHandshake => {
            Told::Response(form.response(&SaslHandshakeResponse { error_code, mechanisms: Vec::new() }))
        }
        ApiKey::ApiVersions => Told::Versions(ErrorCode::IllegalSaslState),
        _ => Told::Response(Response::Close),
    }
}

/// Handles a request of a client that has authenticated, or need not.
///
/// # Errors
/// None.
pub(crate) fn dispatch(key: ApiKey, call: &Call<'_>) -> Result<Handled, Malformed> {
    let error_code = ErrorCode::IllegalSaslState.code();
    Ok(Handled::Done(match key {
        ApiKey::SaslHandshake => {
            call.form.response(&SaslHandshakeResponse { error_code, mechanisms: Vec::new() })
        }
        _ => call.form.response(&SaslAuthenticateResponse {
            error_code,
            error_message: Some(String::from("the client need not authenticate, or has done so already")),
            ..Default::default()
        }),
    }))
}
