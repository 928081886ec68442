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
    /// The port for other brokers cannot be had.
    #[error(
        "{host}:{port} cannot be listened at for other brokers: {source}\nhint: `diwan.peer.listener=HOST:PORT` names another place"
    )]
    PeerPort {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// Why.
        source: io::Error,
    },
    /// Other brokers cannot be connected to.
    #[error("other brokers cannot be connected to: {0}")]
    Links(#[source] log_links::LinkError),
    /// A listener cannot be set up.
    #[error("the listener `{name}` cannot be used: {reason}")]
    Listener {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
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
    /// The number of the broker is that of another data directory.
    #[error(
        "broker {broker} has another data directory in this cluster\nhint: `--data-dir` names the directory of broker {broker}; a new broker needs another `--node-id`"
    )]
    OtherDirectory {
        /// The number.
        broker: i32,
    },
    /// Another process is announced under the number of the broker.
    #[error(
        "broker {broker} runs already in another process\nhint: stop that one, or give this one another `--node-id`"
    )]
    NumberTaken {
        /// The number.
        broker: i32,
    },
    /// A thread failed.
    #[error(transparent)]
    Fault(#[from] ThreadFault),
}

/// Why a broker stopped by itself.
pub type LogFault = ThreadFault;
