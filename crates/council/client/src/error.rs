//! Why a client could not be made.

use std::io;

/// Why a client could not be made. Whether its server can be reached shows later.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The connect string is not one.
    #[error("`{text}` is not a connect string: {why}")]
    Address {
        /// What was given.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// This host has no thread or descriptor left.
    #[error("cannot start the client: {0}")]
    Host(#[from] io::Error),
}
