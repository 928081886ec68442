//! Why an operation did not succeed.

use council_wire::{ErrorCode, Malformed};

/// Why an operation did not succeed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server answered with an error code.
    #[error("{} for `{path}`", code.name())]
    Refused {
        /// Its code.
        code: ErrorCode,
        /// The path of the request, empty if it has none.
        path: String,
    },
    /// The server answered with a number that is no error code.
    #[error("error {0}, which the protocol does not know")]
    UnknownCode(i32),
    /// One operation of a multi was refused, so none took effect.
    #[error("{} for operation {index} of the transaction", code.name())]
    Transaction {
        /// Which one, from 0.
        index: usize,
        /// Its code.
        code: ErrorCode,
    },
    /// The connection broke, or there was none for too long. What was under way may or may not have taken effect.
    #[error("the connection was lost")]
    ConnectionLost,
    /// The session has expired: its ephemeral nodes are gone.
    #[error("the session has expired")]
    SessionExpired,
    /// The server did not accept an identity, or demands one.
    #[error("authentication failed")]
    AuthFailed,
    /// The client was closed.
    #[error("the client is closed")]
    Closed,
    /// The client has as many requests waiting or under way as its limits allow. This one was not sent.
    #[error("too many requests wait for a reply")]
    TooManyRequests,
    /// A subtree is larger than its cache may be.
    #[error("the subtree is larger than the limits of its cache")]
    TooLarge,
    /// The path is not one.
    #[error("`{path}` is not a path: {why}")]
    InvalidPath {
        /// What was given.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The server sent nonsense.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

impl Error {
    /// The code of an error that a server answered with, or the protocol's code for what the client found itself.
    #[must_use]
    pub const fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused { code, .. } | Self::Transaction { code, .. } => Some(*code),
            Self::ConnectionLost => Some(ErrorCode::ConnectionLoss),
            Self::SessionExpired => Some(ErrorCode::SessionExpired),
            Self::AuthFailed => Some(ErrorCode::AuthFailed),
            Self::Malformed(_) => Some(ErrorCode::MarshallingError),
            Self::InvalidPath { .. } => Some(ErrorCode::BadArguments),
            Self::Closed | Self::TooManyRequests | Self::TooLarge | Self::UnknownCode(_) => None,
        }
    }

    /// Whether the server refused with this code.
    #[must_use]
    pub fn is(&self, code: ErrorCode) -> bool {
        self.code() == Some(code)
    }
}

/// The error of a reply whose code is not 0.
pub(crate) fn refusal(err: i32, path: &str) -> Error {
    match ErrorCode::from_code(err) {
        Some(ErrorCode::SessionExpired) => Error::SessionExpired,
        Some(code) => Error::Refused { code, path: String::from(path) },
        None => Error::UnknownCode(err),
    }
}
