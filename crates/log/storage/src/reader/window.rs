//! The part of a segment that was read last, while batches are looked for.

use log_partition::SegmentBytes;
use storage_disk::{Disk, DiskError};

/// How much is read at first: the header of one batch is all that is needed mostly; and how much then.
const FIRST_BYTES: usize = 256;
const NEXT_BYTES: usize = 16 << 10;

/// See the module.
pub(super) struct Window<'a, D: Disk> {
    disk: &'a mut D,
    file: &'a D::File,
    buffer: &'a mut Vec<u8>,
    /// Where in the file the buffer begins.
    start: u64,
    read_bytes: usize,
}

impl<'a, D: Disk> Window<'a, D> {
    pub(super) fn new(disk: &'a mut D, file: &'a D::File, buffer: &'a mut Vec<u8>) -> Self {
        buffer.clear();
        Self { disk, file, buffer, start: 0, read_bytes: FIRST_BYTES }
    }

    fn held(&self, position: u64, length: usize) -> Option<&[u8]> {
        let begin = usize::try_from(position.checked_sub(self.start)?).ok()?;
        self.buffer.get(begin..).filter(|held| held.len() >= length)
    }
}

impl<D: Disk> SegmentBytes for Window<'_, D> {
    type Error = DiskError;

    fn bytes(&mut self, position: u64, length: usize) -> Result<&[u8], DiskError> {
        if self.held(position, length).is_none() {
            self.buffer.clear();
            self.buffer.resize(length.max(self.read_bytes), 0);
            self.read_bytes = NEXT_BYTES;
            let read = self.disk.read_at(self.file, position, self.buffer)?;
            self.buffer.truncate(read);
            self.start = position;
        }
        Ok(self.held(position, 0).unwrap_or_default())
    }
}
