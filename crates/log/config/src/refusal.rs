//! Why a request about configurations is refused: an error code for programs, and a sentence for people.

use log_wire::ErrorCode;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// As Kafka gives it for the same mistake.
    pub code: ErrorCode,
    /// What is wrong.
    pub message: String,
}

impl Refusal {
    /// `INVALID_CONFIG`.
    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self { code: ErrorCode::InvalidConfig, message: message.into() }
    }

    /// `INVALID_REQUEST`.
    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self { code: ErrorCode::InvalidRequest, message: message.into() }
    }

    /// The topic is not there. Kafka says so only of changes that would have been right.
    #[must_use]
    pub fn unknown_topic(name: &str) -> Self {
        Self { code: ErrorCode::UnknownTopicOrPartition, message: format!("there is no topic `{name}`") }
    }
}
