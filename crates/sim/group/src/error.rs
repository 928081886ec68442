//! Why a member does not start, or stops.

use storage_raft_log::{DiskError, OpenError, ReadError};

/// See the module.
#[derive(Debug)]
pub enum NodeError {
    /// The journal could not be opened.
    Open(OpenError),
    /// The journal's snapshot or log could not be read.
    Read(ReadError),
    /// The newest snapshot holds no state.
    Snapshot(String),
    /// The disk failed under way, or the core found itself broken.
    Fault(String),
}

impl NodeError {
    /// Of a disk that failed.
    #[must_use]
    pub fn of_disk(error: DiskError) -> Self {
        Self::Fault(error.to_string())
    }

    /// Whether what the disk holds is not what was written, as a server tells that from other failures.
    #[must_use]
    pub const fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Open(OpenError::Corrupt(_)) | Self::Read(ReadError::Corrupt(_)) | Self::Snapshot(_)
        )
    }

    /// Why, in one line.
    #[must_use]
    pub fn words(&self) -> String {
        let words = match self {
            Self::Open(error) => error.to_string(),
            Self::Read(error) => error.to_string(),
            Self::Snapshot(words) | Self::Fault(words) => words.clone(),
        };
        words.lines().next().unwrap_or_default().to_owned()
    }
}
