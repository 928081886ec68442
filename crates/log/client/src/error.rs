//! Why something was not done.

use std::io;

use log_wire::ErrorCode;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No broker could be reached.
    #[error("no broker could be reached: {0}")]
    Unreachable(String),
    /// A connection failed.
    #[error("the connection with {address} failed: {source}")]
    Connection {
        /// The broker.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// A broker has answered with something that is no answer.
    #[error("{address} has answered with something that is no answer: {what}")]
    Malformed {
        /// The broker.
        address: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A broker has refused.
    #[error("{what}: {}{}", name(*.code), detail.as_ref().map_or_else(String::new, |detail| format!(" ({detail})")))]
    Refused {
        /// What was asked.
        what: String,
        /// Kafka's error code.
        code: i16,
        /// What the broker says besides.
        detail: Option<String>,
    },
    /// A batch cannot be read.
    #[error("a batch at offset {offset} cannot be read: {what}")]
    Batch {
        /// Where it begins.
        offset: i64,
        /// What is wrong.
        what: String,
    },
    /// The time is over.
    #[error("{0} was not done in time")]
    TooLate(String),
}

impl Error {
    /// A broker has refused, without more words.
    pub(crate) fn refused(what: impl Into<String>, code: i16) -> Self {
        Self::Refused { what: what.into(), code, detail: None }
    }

    /// Whether it may go well if it is tried again soon.
    #[must_use]
    pub fn is_retriable(&self) -> bool {
        match self {
            Self::Refused { code, .. } => is_retriable(*code),
            // Brokers that start together may not be known to each other yet.
            Self::Connection { .. } | Self::Unreachable(_) => true,
            _ => false,
        }
    }

    /// Whether there was no answer in time.
    pub(crate) fn is_silence(&self) -> bool {
        matches!(self, Self::Connection { source, .. } if source.kind() == io::ErrorKind::TimedOut)
    }

    /// Whether a broker has refused with this code.
    #[must_use]
    pub fn is(&self, of: ErrorCode) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == of.code())
    }
}

/// Whether a request that was refused with this code may be tried again.
#[must_use]
pub fn is_retriable(code: i16) -> bool {
    const RETRIABLE: &[ErrorCode] = &[
        ErrorCode::CorruptMessage,
        ErrorCode::UnknownTopicOrPartition,
        ErrorCode::LeaderNotAvailable,
        ErrorCode::NotLeaderOrFollower,
        ErrorCode::RequestTimedOut,
        ErrorCode::CoordinatorLoadInProgress,
        ErrorCode::CoordinatorNotAvailable,
        ErrorCode::NotCoordinator,
        ErrorCode::NotEnoughReplicas,
        ErrorCode::KafkaStorageError,
        ErrorCode::ThrottlingQuotaExceeded,
    ];
    RETRIABLE.iter().any(|retriable| retriable.code() == code)
}

/// Kafka's name of a code, as its documentation writes it.
pub(crate) fn name(code: i16) -> String {
    match ErrorCode::of(code) {
        Some(known) => known.name(),
        None => format!("error code {code}"),
    }
}

/// The result of something that a broker is asked for.
pub type Result<T> = std::result::Result<T, Error>;
