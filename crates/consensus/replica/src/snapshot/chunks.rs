//! Reading a saved snapshot for members that ask for it, a few chunks at a time.

use bytes::Bytes;
use consensus_raft::LogIndex;
use storage_raft_log::{Disk, Journal, ReadError, SnapshotMeta, SnapshotReader};

use crate::journal::Chunks;
use crate::peer_message::SnapshotEnd;

/// See the module. Whoever asks for chunks in order is read to without going back.
pub(crate) struct ChunkReader<D: Disk> {
    open: Option<(u64, SnapshotReader<D::File>)>,
    at_once: usize,
}

impl<D: Disk> ChunkReader<D> {
    /// Reads so many chunks at once, at the most.
    pub(crate) const fn new(at_once: usize) -> Self {
        Self { open: None, at_once }
    }

    /// Chunks of the newest snapshot from number `first` on; nothing when it is not the one of `index`.
    ///
    /// # Errors
    /// The snapshot cannot be read.
    pub(crate) fn read(
        &mut self,
        journal: &mut Journal<D>,
        index: LogIndex,
        first: u64,
    ) -> Result<Option<Chunks>, ReadError> {
        let fits =
            |(next, reader): &(u64, SnapshotReader<D::File>)| *next == first && reader.meta().index == index;
        let (mut next, mut reader) = match self.open.take().filter(fits) {
            Some(open) => open,
            None => match journal.open_snapshot()?.filter(|reader| reader.meta().index == index) {
                Some(reader) => (0, reader),
                None => return Ok(None),
            },
        };
        while next < first {
            if journal.read_snapshot(&mut reader)?.is_none() {
                // There are not as many.
                return Ok(None);
            }
            next += 1;
        }
        let mut chunks = Vec::with_capacity(self.at_once);
        while chunks.len() < self.at_once {
            let Some(chunk) = journal.read_snapshot(&mut reader)? else {
                let SnapshotMeta { position, digest, created, .. } = *reader.meta();
                return Ok(Some((chunks, Some(SnapshotEnd { position, digest, created }))));
            };
            chunks.push(Bytes::from(chunk));
            next += 1;
        }
        self.open = Some((next, reader));
        Ok(Some((chunks, None)))
    }
}
