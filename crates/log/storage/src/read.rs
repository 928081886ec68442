//! Reading batches from segments.

use log_partition::{PartitionId, Place};
use storage_disk::{Disk, DiskError};

use crate::files::segment_path;

/// Reads from a place in a segment on, at most so many bytes, appended to `out`. Gives how many there were.
///
/// # Errors
/// The segment is gone, or the disk refused a call.
pub fn read_batches<D: Disk>(
    disk: &mut D,
    id: PartitionId,
    at: Place,
    bytes_max: usize,
    out: &mut Vec<u8>,
) -> Result<usize, DiskError> {
    let file = disk.open(&segment_path(id, at.segment))?;
    let begin = out.len();
    out.resize(begin + bytes_max, 0);
    let read = disk.read_at(&file, at.position, out.get_mut(begin..).unwrap_or_default());
    out.truncate(begin + read.as_ref().map_or(0, |read| *read));
    read
}
