//! Why something about topics is refused: an error code for programs, and a sentence for people.

use log_wire::ErrorCode;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Kafka gives no reason with it.
    pub(crate) const fn bare(code: ErrorCode) -> Self {
        Self { code, message: String::new() }
    }

    /// The message as a response has it.
    pub(crate) fn message(&self) -> Option<String> {
        Some(self.message.clone()).filter(|message| !message.is_empty())
    }

    /// A name is there more than once in a request.
    pub(super) fn named_twice() -> Self {
        Self::new(ErrorCode::InvalidRequest, "the topic is named more than once")
    }

    /// See [`PARTITIONS_PER_REQUEST_MAX`].
    pub(super) fn too_many_partitions() -> Self {
        let message = format!("one request makes at most {PARTITIONS_PER_REQUEST_MAX} partitions");
        Self::new(ErrorCode::PolicyViolation, message)
    }
}

/// So many partitions one request makes at most, those of all its topics together. Kafka has the same limit.
pub(super) const PARTITIONS_PER_REQUEST_MAX: i64 = 10_000;

impl From<log_config::Refusal> for Refusal {
    fn from(log_config::Refusal { code, message }: log_config::Refusal) -> Self {
        Self { code, message }
    }
}
