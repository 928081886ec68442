//! Reads batches from segments, for the thread that answers fetches.

use std::path::Path;

use log_broker::SegmentReader;
use log_partition::{Cut, PartitionId, SegmentRead};
use log_storage::read_batches;
use storage_dir_disk::ReadingDisk;

/// See the module.
pub(crate) struct Segments {
    disk: ReadingDisk,
    buffer: Vec<u8>,
}

/// How much of the buffer is kept between reads.
const KEPT_BYTES: usize = 2 << 20;

impl Segments {
    pub(crate) fn new(directory: &Path) -> Self {
        Self { disk: ReadingDisk::new(directory, None), buffer: Vec::new() }
    }
}

impl SegmentReader for Segments {
    fn read(&mut self, id: PartitionId, read: &SegmentRead, out: &mut Vec<u8>) {
        let mut wanted = read.first_bytes();
        loop {
            self.buffer.clear();
            // A segment that is gone was removed meanwhile: the next fetch is told where the log begins.
            if read_batches(&mut self.disk, id, read.at, wanted, &mut self.buffer).is_err() {
                break;
            }
            match read.cut(&self.buffer) {
                Cut::Range { begin, end } => {
                    out.extend_from_slice(self.buffer.get(begin..end).unwrap_or_default());
                    break;
                }
                Cut::More(more) if self.buffer.len() == wanted && more > wanted => wanted = more,
                Cut::More(_) => break,
            }
        }
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BYTES);
    }
}
