//! Why a member's data cannot be put aside or taken back.

use storage_dir_disk::DirectoryError;

/// Why a member's data cannot be put aside or taken back. Each message says what to do where there is something to do.
#[derive(Debug, thiserror::Error)]
pub enum DataFault {
    /// The data directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// An operator has to decide.
    #[error("{0}")]
    Undecided(String),
    /// The system refused it.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
}
