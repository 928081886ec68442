//! A coordinator reads its partition.

use log_partition::{Offset, PartitionId, Source, TimeLookup};
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
    /// Of the state of share groups.
    ShareStates,
    /// None: it is read for a share group. With the number of the read.
    Share(u64),
}

/// A partition of which its coordinator wants to read on.
#[derive(Clone, Debug)]
pub struct CoordinatorLoad {
    pub(crate) of: LoadOf,
    pub(crate) partition: i32,
    pub(super) id: PartitionId,
    /// How far it had read when this was asked for.
    pub(super) from: Offset,
    pub(super) what: Wanted,
}

/// What is wanted.
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    /// Batches.
    Batches(Source),
    /// The offset of a record, as eight bytes; nothing if there is none.
    Time(TimeLookup),
}

impl CoordinatorLoad {
    /// A read of batches for a share group.
    pub(crate) const fn of_share(number: u64, id: PartitionId, source: Source) -> Self {
        Self { of: LoadOf::Share(number), partition: 0, id, from: Offset(0), what: Wanted::Batches(source) }
    }

    /// A record is looked for by its time, for a share group.
    pub(crate) const fn look_for_time(number: u64, id: PartitionId, lookup: TimeLookup) -> Self {
        Self { of: LoadOf::Share(number), partition: 0, id, from: Offset(0), what: Wanted::Time(lookup) }
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`SegmentFault`].
    pub fn read(&self, reader: &mut impl SegmentReader) -> Result<Vec<u8>, SegmentFault> {
        let mut bytes = Vec::new();
        match &self.what {
            Wanted::Batches(source) => read_source(source, self.id, reader, &mut bytes)?,
            Wanted::Time(lookup) => {
                let found =
                    lookup.find_in_memory().map(Ok).or_else(|| reader.find_time(self.id, lookup).transpose());
                if let Some(found) = found.transpose()? {
                    bytes.extend_from_slice(&found.offset.0.to_be_bytes());
                }
            }
        }
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
