//! Authentication and its users; quotas.

use alloc::string::String;
use alloc::vec::Vec;

use super::schema::{Blob, messages};

messages! {
    /// The request of SaslHandshake.
    struct SaslHandshakeRequest {
        [0..] mechanism: String,
    }

    /// The response of SaslHandshake.
    struct SaslHandshakeResponse {
        [0..] error_code: i16,
        [0..] mechanisms: Vec<String>,
    }

    /// The request of SaslAuthenticate.
    struct SaslAuthenticateRequest {
        [0..] auth_bytes: Blob,
    }

    /// The response of SaslAuthenticate.
    struct SaslAuthenticateResponse {
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] auth_bytes: Blob,
        [1..] session_lifetime_ms: i64,
    }

    /// The request of DescribeUserScramCredentials.
    struct DescribeUserScramCredentialsRequest {
        [0..] users: Option<Vec<UserName>>,
    }

    /// See [`DescribeUserScramCredentialsRequest`].
    struct UserName {
        [0..] name: String,
    }

    /// The response of DescribeUserScramCredentials.
    struct DescribeUserScramCredentialsResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] results: Vec<DescribeUserScramCredentialsResult>,
    }

    /// See [`DescribeUserScramCredentialsResponse`].
    struct CredentialInfo {
        [0..] mechanism: i8,
        [0..] iterations: i32,
    }

    /// See [`DescribeUserScramCredentialsResponse`].
    struct DescribeUserScramCredentialsResult {
        [0..] user: String,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] credential_infos: Vec<CredentialInfo>,
    }

    /// The request of AlterUserScramCredentials.
    struct AlterUserScramCredentialsRequest {
        [0..] deletions: Vec<ScramCredentialDeletion>,
        [0..] upsertions: Vec<ScramCredentialUpsertion>,
    }

    /// See [`AlterUserScramCredentialsRequest`].
    struct ScramCredentialDeletion {
        [0..] name: String,
        [0..] mechanism: i8,
    }

    /// See [`AlterUserScramCredentialsRequest`].
    struct ScramCredentialUpsertion {
        [0..] name: String,
        [0..] mechanism: i8,
        [0..] iterations: i32,
        [0..] salt: Blob,
        [0..] salted_password: Blob,
    }

    /// The response of AlterUserScramCredentials.
    struct AlterUserScramCredentialsResponse {
        [0..] throttle_time_ms: i32,
        [0..] results: Vec<AlterUserScramCredentialsResult>,
    }

    /// See [`AlterUserScramCredentialsResponse`].
    struct AlterUserScramCredentialsResult {
        [0..] user: String,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
    }

    /// The request of DescribeClientQuotas.
    struct DescribeClientQuotasRequest {
        [0..] components: Vec<ComponentData>,
        [0..] strict: bool,
    }

    /// See [`DescribeClientQuotasRequest`].
    struct ComponentData {
        [0..] entity_type: String,
        [0..] match_type: i8,
        [0..] match_value: Option<String>,
    }

    /// The response of DescribeClientQuotas.
    struct DescribeClientQuotasResponse {
        [0..] throttle_time_ms: i32,
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] entries: Option<Vec<DescribeClientQuotasEntryData>>,
    }

    /// See [`DescribeClientQuotasResponse`].
    struct DescribeClientQuotasEntityData {
        [0..] entity_type: String,
        [0..] entity_name: Option<String>,
    }

    /// See [`DescribeClientQuotasResponse`].
    struct DescribeClientQuotasEntryData {
        [0..] entity: Vec<DescribeClientQuotasEntityData>,
        [0..] values: Vec<ValueData>,
    }

    /// See [`DescribeClientQuotasResponse`].
    struct ValueData {
        [0..] key: String,
        [0..] value: f64,
    }

    /// The request of AlterClientQuotas.
    struct AlterClientQuotasRequest {
        [0..] entries: Vec<AlterClientQuotasRequestEntryData>,
        [0..] validate_only: bool,
    }

    /// See [`AlterClientQuotasRequest`].
    struct AlterClientQuotasEntityData {
        [0..] entity_type: String,
        [0..] entity_name: Option<String>,
    }

    /// See [`AlterClientQuotasRequest`].
    struct AlterClientQuotasRequestEntryData {
        [0..] entity: Vec<AlterClientQuotasEntityData>,
        [0..] ops: Vec<OpData>,
    }

    /// See [`AlterClientQuotasRequest`].
    struct OpData {
        [0..] key: String,
        [0..] value: f64,
        [0..] remove: bool,
    }

    /// The response of AlterClientQuotas.
    struct AlterClientQuotasResponse {
        [0..] throttle_time_ms: i32,
        [0..] entries: Vec<AlterClientQuotasResponseEntryData>,
    }

    /// See [`AlterClientQuotasResponse`].
    struct AlterClientQuotasResponseEntryData {
        [0..] error_code: i16,
        [0..] error_message: Option<String>,
        [0..] entity: Vec<AlterClientQuotasEntityData>,
    }
}
