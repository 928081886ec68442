//! A coordinator reads its partition.

use log_partition::{Offset, PartitionId, Source};
use log_wire::{Batch, Compression, Records};

use super::Machine;
use crate::segment_reader::{SegmentFault, SegmentReader, read_source};

/// Which kind of coordinator reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadOf {
    /// Of groups.
    Groups,
    /// Of transactions.
    Transactions,
}

/// A partition of which its coordinator wants to read on.
#[derive(Clone, Debug)]
pub struct CoordinatorLoad {
    pub(crate) of: LoadOf,
    pub(crate) partition: i32,
    pub(super) id: PartitionId,
    /// How far it had read when this was asked for.
    pub(super) from: Offset,
    pub(super) source: Source,
}

impl CoordinatorLoad {
    /// Reads it.
    ///
    /// # Errors
    /// [`SegmentFault`].
    pub fn read(&self, reader: &mut impl SegmentReader) -> Result<Vec<u8>, SegmentFault> {
        let mut bytes = Vec::new();
        read_source(&self.source, self.id, reader, &mut bytes)?;
        Ok(bytes)
    }
}

/// Batches that are none of a coordinator.
pub(super) struct Unreadable;

/// Gives a coordinator the records of batches. Gives the offset behind them; nothing if there are none.
pub(super) fn load_batches(machine: &mut impl Machine, bytes: &[u8]) -> Result<Option<Offset>, Unreadable> {
    let (mut rest, mut end) = (bytes, None);
    while !rest.is_empty() {
        let (batch, behind) = Batch::read(rest).map_err(|_| Unreadable)?;
        batch.verify().map_err(|_| Unreadable)?;
        let attributes = batch.attributes();
        if attributes.compression() != Some(Compression::None) {
            return Err(Unreadable);
        }
        if !attributes.is_control() {
            for record in Records::new(batch.records(), batch.count()) {
                let record = record.map_err(|_| Unreadable)?;
                machine.load(record.key.unwrap_or_default(), record.value).map_err(|_| Unreadable)?;
            }
        }
        (rest, end) = (behind, Some(Offset(batch.last_offset()).next()));
    }
    Ok(end)
}
