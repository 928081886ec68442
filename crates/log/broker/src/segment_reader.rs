//! What reads batches for answers: the driver, which has a disk.

use log_partition::{FoundTime, PartitionId, SegmentRead, Source, TimeLookup};
use log_storage::SegmentRange;
use log_wire::ErrorCode;

/// Why batches of a segment are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentFault {
    /// The segment was removed or replaced meanwhile: its partition knows where to read now.
    Gone,
    /// What stands there is not what was appended: it is not given to anybody.
    Damaged,
    /// The disk refused a call.
    Failed,
}

impl SegmentFault {
    /// What a client is told; nothing if it only has to ask again.
    pub(crate) const fn error(self) -> ErrorCode {
        match self {
            Self::Gone => ErrorCode::None,
            Self::Damaged => ErrorCode::CorruptMessage,
            Self::Failed => ErrorCode::KafkaStorageError,
        }
    }
}

/// Reads what lies in segments.
pub trait SegmentReader {
    /// A file of segments, of which parts are sent.
    type File;

    /// The part of a file that holds the batches of a read; nothing if none may be read. It stays what it is as long as the
    /// file is held.
    ///
    /// # Errors
    /// [`SegmentFault`].
    fn range(
        &mut self,
        id: PartitionId,
        read: &SegmentRead,
    ) -> Result<Option<SegmentRange<Self::File>>, SegmentFault>;

    /// Appends a part of a file to `out`.
    ///
    /// # Errors
    /// [`SegmentFault`]; nothing was appended.
    fn copy(&mut self, range: &SegmentRange<Self::File>, out: &mut Vec<u8>) -> Result<(), SegmentFault>;

    /// Looks for a record by its time.
    ///
    /// # Errors
    /// [`SegmentFault`].
    fn find_time(&mut self, id: PartitionId, lookup: &TimeLookup) -> Result<Option<FoundTime>, SegmentFault>;
}

/// Reads a source.
pub(crate) fn read_source(
    source: &Source,
    id: PartitionId,
    reader: &mut impl SegmentReader,
    out: &mut Vec<u8>,
) -> Result<(), SegmentFault> {
    match source {
        Source::Nothing => {}
        Source::Memory(batches) => batches.iter().for_each(|batch| out.extend_from_slice(batch)),
        Source::Segment(read) => {
            if let Some(range) = reader.range(id, read)? {
                reader.copy(&range, out)?;
            }
        }
    }
    Ok(())
}
