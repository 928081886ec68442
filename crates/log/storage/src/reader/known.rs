//! What a reader knows of an open segment: places in it, and where its last reads ended.

use log_partition::{Hint, Offset, SegmentId, SegmentIndex, SegmentRead};
use storage_disk::Disk;

use super::verified::Verified;

/// How many ends of reads are remembered: so many consumers read on in one segment without looking for their place.
const ENDS_MAX: usize = 16;
/// The file of an index is looked at again when the segment has so many bytes more, about what one more part of it covers.
const INDEX_STALE_BYTES: u64 = 4 << 20;
/// Below that no segment has an index.
const INDEXED_BYTES: u64 = 16 << 10;
/// How much of the file of an index is read at once, and at most.
const INDEX_PIECE_BYTES: usize = 64 << 10;
const INDEX_BYTES_MAX: usize = 16 << 20;

/// See the module.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) index: SegmentIndex,
    /// How much of the file of the index was taken over.
    index_bytes: u64,
    /// How long the segment was then.
    looked_at: Option<u64>,
    /// The oldest first.
    ends: Vec<Hint>,
    pub(super) verified: Verified,
    /// Which copy of the partition it is of, and how often batches had been cut off.
    pub(super) version: (u64, u32),
}

impl Known {
    pub(super) fn new(segment: SegmentId, version: (u64, u32)) -> Self {
        let (index, verified) = (SegmentIndex::new(segment), Verified::default());
        Self { index, index_bytes: 0, looked_at: None, ends: Vec::new(), verified, version }
    }

    /// The end of an earlier read, if one ended there.
    pub(super) fn hint(&self, from: Offset) -> Option<Hint> {
        self.ends.iter().find(|end| end.at.offset == from).copied()
    }

    pub(super) fn remember(&mut self, end: Hint) {
        self.ends.retain(|known| known.at != end.at);
        if self.ends.len() == ENDS_MAX {
            self.ends.remove(0);
        }
        self.ends.push(end);
    }

    /// Takes over more of the index, if it may help to find the beginning of a read. What is damaged is left out: batches are
    /// then looked for from the last place before it, and what is met is learned.
    pub(super) fn load_index<D: Disk>(
        &mut self,
        disk: &mut D,
        read: &SegmentRead,
        path: impl FnOnce() -> String,
    ) {
        let length = read.limit.position;
        let is_fresh = self.looked_at.is_some_and(|then| length < then + INDEX_STALE_BYTES);
        let is_exact = read.nearest(self.hint(read.from), &self.index).at.offset == read.from;
        if length < INDEXED_BYTES || is_fresh || (is_exact && read.range().is_some()) {
            return;
        }
        self.looked_at = Some(length);
        let Ok(file) = disk.open(&path()) else { return };
        let mut bytes = Vec::new();
        while bytes.len() < INDEX_BYTES_MAX {
            let begin = bytes.len();
            bytes.resize(begin + INDEX_PIECE_BYTES, 0);
            let piece = bytes.get_mut(begin..).unwrap_or_default();
            let read = disk.read_at(&file, self.index_bytes + begin as u64, piece).unwrap_or(0);
            bytes.truncate(begin + read);
            if read < INDEX_PIECE_BYTES {
                break;
            }
        }
        self.index_bytes += self.index.extend(&bytes) as u64;
    }
}
