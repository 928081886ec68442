//! Reads batches from segments, for the thread that answers fetches.

use std::path::Path;

use log_broker::{SegmentFault, SegmentReader};
use log_partition::{FoundTime, PartitionId, SegmentRead, TimeLookup};
use log_storage::{ReadError, ReaderConfig, SegmentRange};
use net_reactor::SentFile;
use storage_dir_disk::{ReadingDisk, ReadingFile};

/// See the module.
pub(crate) struct Segments(log_storage::SegmentReader<ReadingDisk>);

impl Segments {
    pub(crate) fn new(directory: &Path) -> Self {
        let disk = ReadingDisk::new(directory, None);
        Self(log_storage::SegmentReader::new(disk, ReaderConfig::default()))
    }

    /// Closes what was not read lately.
    pub(crate) fn close_unused(&mut self) {
        self.0.close_unused();
    }
}

impl SegmentReader for Segments {
    type File = SentFile;

    fn range(
        &mut self,
        id: PartitionId,
        read: &SegmentRead,
    ) -> Result<Option<SegmentRange<SentFile>>, SegmentFault> {
        let range = self.0.range(id, read).map_err(fault)?;
        Ok(range.and_then(|range| {
            let SegmentRange { file, position, length } = range;
            file.into_file().map(|file| SegmentRange { file, position, length })
        }))
    }

    fn copy(&mut self, range: &SegmentRange<SentFile>, out: &mut Vec<u8>) -> Result<(), SegmentFault> {
        let SegmentRange { file, position, length } = range;
        let range =
            SegmentRange { file: ReadingFile::from(file.clone()), position: *position, length: *length };
        self.0.copy(&range, out).map_err(fault)
    }

    fn find_time(&mut self, id: PartitionId, lookup: &TimeLookup) -> Result<Option<FoundTime>, SegmentFault> {
        self.0.find_time(id, lookup).map_err(fault)
    }
}

fn fault(error: ReadError) -> SegmentFault {
    match error {
        ReadError::Gone => SegmentFault::Gone,
        ReadError::Damaged { file, position } => {
            tracing::error!(
                file,
                position,
                "a segment is damaged: its batches are not given to anybody; restore the data directory from a backup, or delete the topic"
            );
            SegmentFault::Damaged
        }
        ReadError::Disk(error) => {
            tracing::error!(%error, "a segment cannot be read");
            SegmentFault::Failed
        }
    }
}
