//! Why a server does not start, and why it stops.

use std::net::SocketAddr;

use node_group::DataFault;
pub use node_threads::ThreadFault as ServerFault;
use storage_raft_log::{DiskError, Fault, OpenError};

use crate::disk::DirectoryError;
use net_tls::TlsError;

/// Why a server did not start. Each message says what to do where there is something to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address cannot be listened at.
    #[error("cannot listen at {address} for {purpose}: {source}{}", hint(source))]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What for.
        purpose: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The data directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The data in it cannot be used.
    #[error("{source}{}", room(source))]
    Journal {
        /// What.
        #[from]
        source: OpenError,
    },
    /// Its snapshot cannot be read.
    #[error(transparent)]
    Read(#[from] storage_raft_log::ReadError),
    /// Its snapshot holds something else than a tree.
    #[error("the newest snapshot holds no sound tree: {0}\nhint: restore the data directory from a copy")]
    Snapshot(council_wire::Malformed),
    /// Encryption cannot be offered.
    #[error("{source}{}", trust(source))]
    Tls {
        /// Why.
        #[from]
        source: TlsError,
    },
    /// Something is asked for that this server does not do.
    #[error("{0}")]
    Unsupported(String),
    /// The system refused a thread, a poll or randomness.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A fault during the start.
    #[error(transparent)]
    Fault(#[from] ServerFault),
}

impl From<DataFault> for StartError {
    fn from(fault: DataFault) -> Self {
        match fault {
            DataFault::Directory(error) => Self::Directory(error),
            DataFault::Undecided(what) => Self::Unsupported(what),
            DataFault::System { action, source } => Self::System { action, source },
        }
    }
}

fn hint(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::AddrInUse => {
            "\nhint: another server listens there; stop it, or choose another port"
        }
        std::io::ErrorKind::PermissionDenied => "\nhint: ports below 1024 need a privilege",
        std::io::ErrorKind::AddrNotAvailable => "\nhint: this machine has no such address",
        _ => "",
    }
}

fn trust(error: &TlsError) -> &'static str {
    match error {
        TlsError::NoTrustStore => "\nhint: set `ssl.trustStore.location`, or `ssl.clientAuth=none`",
        _ => "",
    }
}

fn room(error: &OpenError) -> &'static str {
    match error {
        OpenError::Disk(Fault { error: DiskError::Full, .. }) => {
            "\nhint: make room, or name another directory; a log begins with 8 MiB and grows by 64 MiB at a time \
             (`council.storage.segment-bytes`)"
        }
        _ => "",
    }
}
