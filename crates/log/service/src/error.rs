//! Why a broker does not start, or stops.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use node_threads::ThreadFault;

/// Why a broker does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The port cannot be had.
    #[error("{address} cannot be listened at for Kafka's clients: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The data directory cannot be used.
    #[error("the data directory `{}` of the log cannot be used: {reason}", directory.display())]
    Data {
        /// The directory.
        directory: PathBuf,
        /// Why.
        reason: String,
    },
    /// The system refused something.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// The council cannot be used.
    #[error("the council cannot be used: {0}\nhint: `--council` names its servers, as `HOST:PORT,HOST:PORT`")]
    Council(String),
    /// A thread failed.
    #[error(transparent)]
    Fault(#[from] ThreadFault),
}

/// Why a broker stopped by itself.
pub type LogFault = ThreadFault;
