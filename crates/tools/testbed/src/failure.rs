//! Why servers under test could not be started, or do not do what they must.

use std::fmt;
use std::io;

use crate::PeerError;

/// Why servers under test are of no use.
#[derive(Debug)]
pub enum Failure {
    /// This machine lacks something: the scenario is skipped.
    Missing(String),
    /// A server could not be started, or does not do what was asked.
    Peer(PeerError),
    /// What must hold does not: one line each.
    Broken(Vec<String>),
}

impl Failure {
    /// One thing that does not hold.
    #[must_use]
    pub fn broken(what: impl Into<String>) -> Self {
        Self::Broken(vec![what.into()])
    }

    /// Shorthand for `map_err`: a client could not do what every client can.
    pub fn client<E: fmt::Display>(what: &str) -> impl FnOnce(E) -> Self {
        move |error| Self::broken(format!("{what}: {error}"))
    }

    /// Shorthand for `map_err`: the machine does not do what every machine can.
    pub fn io(what: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Peer(PeerError::Io { what: what.into(), source })
    }
}

impl From<PeerError> for Failure {
    fn from(error: PeerError) -> Self {
        match error {
            PeerError::Missing(what) => Self::Missing(what),
            other => Self::Peer(other),
        }
    }
}

impl From<tools_process::Error> for Failure {
    fn from(error: tools_process::Error) -> Self {
        Self::Peer(error.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(what) => f.write_str(what),
            Self::Peer(error) => error.fmt(f),
            Self::Broken(lines) => f.write_str(&lines.join("\n")),
        }
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Peer(error) => Some(error),
            _ => None,
        }
    }
}
