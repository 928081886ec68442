//! Why a member does not start, and why it stops.

use std::net::SocketAddr;

use node_group::DataFault;
pub use node_threads::ThreadFault as ServerFault;
use storage_dir_disk::DirectoryError;
use storage_raft_log::{DiskError, Fault, OpenError, ReadError};

/// Why a member did not start. Each message says what to do where there is something to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its clients' address cannot be listened at.
    #[error("cannot listen at {address} for clients of objects: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// Its data cannot be put aside.
    #[error(transparent)]
    Data(#[from] DataFault),
    /// Its data directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// What is in it cannot be used.
    #[error("{source}{}", room(source))]
    Journal {
        /// What.
        #[from]
        source: OpenError,
    },
    /// Its snapshot cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its snapshot holds something else than objects.
    #[error("the newest snapshot holds no sound objects\nhint: restore the data directory from a copy")]
    Snapshot,
    /// The data does not fit the configuration.
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

impl StartError {
    /// Whether bytes on the disk are not those that were written, which other members have.
    pub(crate) const fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Journal { source: OpenError::Corrupt(_) }
                | Self::Read(ReadError::Corrupt(_))
                | Self::Snapshot
        )
    }
}

pub(crate) fn system(action: &'static str) -> impl Fn(std::io::Error) -> StartError {
    move |source| StartError::System { action, source }
}

fn room(error: &OpenError) -> &'static str {
    match error {
        OpenError::Disk(Fault { error: DiskError::Full, .. }) => {
            "\nhint: make room, or name another directory for the objects with `objects.data-dir`"
        }
        _ => "",
    }
}
