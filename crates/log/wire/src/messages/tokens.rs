//! Delegation tokens. No broker of ours gives any: the messages are here so that requests are answered, and say so.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::{Blob, messages};

messages! {
    /// A principal.
    struct TokenPrincipal {
        [0..] principal_type: String,
        [0..] principal_name: String,
    }

    /// The request of CreateDelegationToken.
    struct CreateDelegationTokenRequest {
        [3..] owner_principal_type: Option<String>,
        [3..] owner_principal_name: Option<String>,
        [0..] renewers: Vec<TokenPrincipal>,
        [0..] max_lifetime_ms: i64,
    }

    /// The response of CreateDelegationToken.
    struct CreateDelegationTokenResponse {
        [0..] error_code: i16,
        [0..] principal_type: String,
        [0..] principal_name: String,
        [3..] token_requester_principal_type: String,
        [3..] token_requester_principal_name: String,
        [0..] issue_timestamp_ms: i64,
        [0..] expiry_timestamp_ms: i64,
        [0..] max_timestamp_ms: i64,
        [0..] token_id: String,
        [0..] hmac: Blob,
        [0..] throttle_time_ms: i32,
    }

    /// The request of RenewDelegationToken.
    struct RenewDelegationTokenRequest {
        [0..] hmac: Blob,
        [0..] renew_period_ms: i64,
    }

    /// The response of RenewDelegationToken.
    struct RenewDelegationTokenResponse {
        [0..] error_code: i16,
        [0..] expiry_timestamp_ms: i64,
        [0..] throttle_time_ms: i32,
    }

    /// The request of ExpireDelegationToken.
    struct ExpireDelegationTokenRequest {
        [0..] hmac: Blob,
        [0..] expiry_time_period_ms: i64,
    }

    /// The response of ExpireDelegationToken.
    struct ExpireDelegationTokenResponse {
        [0..] error_code: i16,
        [0..] expiry_timestamp_ms: i64,
        [0..] throttle_time_ms: i32,
    }

    /// The request of DescribeDelegationToken.
    struct DescribeDelegationTokenRequest {
        [0..] owners: Option<Vec<TokenPrincipal>>,
    }

    /// The response of DescribeDelegationToken.
    struct DescribeDelegationTokenResponse {
        [0..] error_code: i16,
        [0..] tokens: Vec<DescribedDelegationToken>,
        [0..] throttle_time_ms: i32,
    }

    /// See [`DescribeDelegationTokenResponse`].
    struct DescribedDelegationToken {
        [0..] principal_type: String,
        [0..] principal_name: String,
        [3..] token_requester_principal_type: String,
        [3..] token_requester_principal_name: String,
        [0..] issue_timestamp: i64,
        [0..] expiry_timestamp: i64,
        [0..] max_timestamp: i64,
        [0..] token_id: String,
        [0..] hmac: Blob,
        [0..] renewers: Vec<TokenPrincipal>,
    }
}
