//! Where a member keeps its data.

use std::path::PathBuf;

/// The directories of a member's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataConfig {
    /// Of everything, but for the log if that has a directory of its own.
    pub data_dir: PathBuf,
    /// Of the log, on a disk of its own.
    pub log_dir: Option<PathBuf>,
}
