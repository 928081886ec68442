//! Why a server could not be started. `Missing` is a reason to skip a suite; everything else is a failure.

use std::path::PathBuf;

/// What went wrong with a peer.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// This machine lacks something (Java, Maven, a binary): the text says what and how to get it.
    #[error("{0}")]
    Missing(String),
    /// The server process ended, did not answer in time, or could not be started or signalled.
    #[error(transparent)]
    Process(#[from] tools_process::Error),
    /// A file or process of this host failed.
    #[error("`{}`: {source}", what.display())]
    Io {
        /// The file or command.
        what: PathBuf,
        /// The host's error.
        source: std::io::Error,
    },
}

impl PeerError {
    /// Shorthand for `map_err` on I/O.
    pub fn io(what: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> PeerError {
        let what = what.into();
        move |source| PeerError::Io { what, source }
    }
}
