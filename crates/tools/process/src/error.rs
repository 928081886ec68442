//! Why a process could not be started, or did not do what was asked.

use std::io;

/// What a function of this crate gives.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong with a process.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This host refused something.
    #[error("cannot {what} `{name}`: {source}")]
    Host {
        /// What was being done, as a verb.
        what: &'static str,
        /// The program or the file.
        name: String,
        /// The host's error.
        source: io::Error,
    },
    /// A service ended before it was ready, or was not ready in time.
    #[error("{name} does not serve: {why}\n{log}")]
    NotReady {
        /// Its name.
        name: String,
        /// What was observed.
        why: String,
        /// The last lines that it printed.
        log: String,
    },
    /// A process did not do in time what was asked.
    #[error("{name} {what}")]
    TooLate {
        /// Its name.
        name: String,
        /// What it does not do, for how long.
        what: String,
    },
}

impl Error {
    /// Shorthand for `map_err` on I/O.
    pub(crate) fn host(what: &'static str, name: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let name = name.into();
        move |source| Self::Host { what, name, source }
    }
}
