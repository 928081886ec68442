//! Delegation tokens: this broker gives none. As by Kafka without `delegation.token.secret.key`, whoever asks is told so; a
//! client whose connection says nothing of who it is could not have one anyway.

use log_wire::messages::tokens::{
    CreateDelegationTokenRequest, CreateDelegationTokenResponse, DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse, ExpireDelegationTokenRequest, ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest, RenewDelegationTokenResponse,
};
use log_wire::{ApiKey, ErrorCode, Malformed};

use crate::call::{Call, Handled};

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[
    ApiKey::CreateDelegationToken,
    ApiKey::RenewDelegationToken,
    ApiKey::ExpireDelegationToken,
    ApiKey::DescribeDelegationToken,
];

/// The times of a token that is not there.
const NEVER: i64 = -1;

/// Handles a request.
///
/// # Errors
/// It is malformed.
pub(crate) fn dispatch(key: ApiKey, mut call: Call<'_>) -> Result<Handled, Malformed> {
    let form = call.form;
    let error_code = ErrorCode::DelegationTokenRequestNotAllowed.code();
    Ok(Handled::Done(match key {
        ApiKey::CreateDelegationToken => form.response(&not_made(call.body()?, error_code)),
        ApiKey::RenewDelegationToken => {
            let _: RenewDelegationTokenRequest = call.body()?;
            let expiry_timestamp_ms = NEVER;
            form.response(&RenewDelegationTokenResponse {
                error_code,
                expiry_timestamp_ms,
                ..Default::default()
            })
        }
        ApiKey::ExpireDelegationToken => {
            let _: ExpireDelegationTokenRequest = call.body()?;
            let expiry_timestamp_ms = NEVER;
            form.response(&ExpireDelegationTokenResponse {
                error_code,
                expiry_timestamp_ms,
                ..Default::default()
            })
        }
        _ => {
            let _: DescribeDelegationTokenRequest = call.body()?;
            form.response(&DescribeDelegationTokenResponse { error_code, ..Default::default() })
        }
    }))
}

fn not_made(request: CreateDelegationTokenRequest, error_code: i16) -> CreateDelegationTokenResponse {
    let own = || (String::from("User"), String::from("ANONYMOUS"));
    let owner = request.owner_principal_type.zip(request.owner_principal_name);
    let owner = owner.filter(|(_, name)| !name.is_empty());
    let ((principal_type, principal_name), requester) = (owner.unwrap_or_else(own), own());
    CreateDelegationTokenResponse {
        error_code,
        principal_type,
        principal_name,
        token_requester_principal_type: requester.0,
        token_requester_principal_name: requester.1,
        issue_timestamp_ms: NEVER,
        expiry_timestamp_ms: NEVER,
        max_timestamp_ms: NEVER,
        ..Default::default()
    }
}
