//! SaslHandshake and SaslAuthenticate of clients that have authenticated, or need not: they are told so.

use log_wire::messages::security::{SaslAuthenticateResponse, SaslHandshakeResponse};
use log_wire::{ApiKey, ErrorCode};

use crate::call::{Call, Handled};

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[ApiKey::SaslHandshake, ApiKey::SaslAuthenticate];

/// Handles a request.
pub(crate) fn dispatch(key: ApiKey, call: &Call<'_>) -> Handled {
    let error_code = ErrorCode::IllegalSaslState.code();
    Handled::Done(match key {
        ApiKey::SaslHandshake => {
            call.form.response(&SaslHandshakeResponse { error_code, mechanisms: Vec::new() })
        }
        _ => call.form.response(&SaslAuthenticateResponse {
            error_code,
            error_message: Some(String::from("the client need not authenticate, or has done so already")),
            ..Default::default()
        }),
    })
}
