//! What reads batches for answers: the driver, which has a disk.

use log_partition::{PartitionId, SegmentRead, Source};

/// Reads what lies in segments.
pub trait SegmentReader {
    /// Appends the batches of a read to `out`. Fewer, or none, if the segment is gone by now.
    fn read(&mut self, id: PartitionId, read: &SegmentRead, out: &mut Vec<u8>);
}

/// Reads a source.
pub(crate) fn read_source(
    source: &Source,
    id: PartitionId,
    reader: &mut impl SegmentReader,
    out: &mut Vec<u8>,
) {
    match source {
        Source::Nothing => {}
        Source::Memory(batches) => batches.iter().for_each(|batch| out.extend_from_slice(batch)),
        Source::Segment(read) => reader.read(id, read, out),
    }
}
