//! Why links do not start, or do not take a list of brokers.

use std::io;

use net_tls::TlsError;

/// Why links do not start.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Keys and certificates cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The system refused something.
    #[error("cannot {action} for the links between brokers: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// More brokers than [`LinkLimits::peers_max`](crate::LinkLimits::peers_max). Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{announced} other brokers are announced, and this broker links to {max} at most")]
pub struct TooManyPeers {
    /// How many there are.
    pub announced: usize,
    /// How many there may be.
    pub max: usize,
}
