//! Why a server could not be had. `Missing` is a reason to skip a suite; everything else is a failure.

use std::fmt;
use std::path::PathBuf;

/// What went wrong with a peer.
#[derive(Debug)]
pub enum PeerError {
    /// This machine lacks something (Java, Maven, a binary): the text says what and how to get it.
    Missing(String),
    /// The server process ended, or did not answer in time. Carries the end of its log.
    NotServing {
        /// What was being started.
        name: String,
        /// What was observed.
        why: String,
        /// The last lines the server printed.
        log: String,
    },
    /// A file or process of this host failed.
    Io {
        /// The file or command.
        what: PathBuf,
        /// The host's error.
        source: std::io::Error,
    },
}

impl PeerError {
    /// Shorthand for `map_err` on I/O.
    pub(crate) fn io(what: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> PeerError {
        let what = what.into();
        move |source| PeerError::Io { what, source }
    }
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerError::Missing(what) => f.write_str(what),
            PeerError::NotServing { name, why, log } => write!(f, "{name} does not serve: {why}\n{log}"),
            PeerError::Io { what, source } => write!(f, "`{}`: {source}", what.display()),
        }
    }
}

impl std::error::Error for PeerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PeerError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
