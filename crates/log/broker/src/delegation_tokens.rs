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

/// Handles a request.
///
/// # Errors
/// It is malformed.
pub(crate) fn dispatch(key: ApiKey, mut call: Call<'_>) -> Result<Handled, Malformed> {
    let form = call.form;
    let error_code = ErrorCode::DelegationTokenRequestNotAllowed.code();
    Ok(Handled::Done(match key {
        ApiKey::CreateDelegationToken => {
            let _: CreateDelegationTokenRequest = call.body()?;
            form.response(&CreateDelegationTokenResponse { error_code, ..Default::default() })
        }
        ApiKey::RenewDelegationToken => {
            let _: RenewDelegationTokenRequest = call.body()?;
            form.response(&RenewDelegationTokenResponse { error_code, ..Default::default() })
        }
        ApiKey::ExpireDelegationToken => {
            let _: ExpireDelegationTokenRequest = call.body()?;
            form.response(&ExpireDelegationTokenResponse { error_code, ..Default::default() })
        }
        _ => {
            let _: DescribeDelegationTokenRequest = call.body()?;
            form.response(&DescribeDelegationTokenResponse { error_code, ..Default::default() })
        }
    }))
}
