//! A group coordinator as a broker has it: its machine, what it has appended, and how far it has read its partition.

use std::collections::VecDeque;

use log_coordinators::{GroupCoordinator, Seq};
use log_partition::{Offset, PartitionId, Source};
use log_wire::{Batch, Compression, Records};

use crate::segment_reader::{SegmentReader, read_source};

/// A coordinator, and its records that are not committed.
#[derive(Debug)]
pub(crate) struct Coordination {
    pub(crate) machine: GroupCoordinator,
    /// Where the partition is hosted.
    pub(crate) at: usize,
    pub(crate) appends: VecDeque<(Seq, Offset)>,
    /// How far it has read its partition, while it reads.
    pub(crate) loading: Option<Offset>,
}

/// A partition of which its coordinator wants to read on.
#[derive(Clone, Debug)]
pub struct GroupLoad {
    pub(crate) coordinator: i32,
    pub(crate) id: PartitionId,
    pub(crate) source: Source,
}

impl GroupLoad {
    /// Reads it.
    pub fn read(&self, reader: &mut impl SegmentReader) -> Vec<u8> {
        let mut bytes = Vec::new();
        read_source(&self.source, self.id, reader, &mut bytes);
        bytes
    }
}

/// Batches that are none of a coordinator.
pub(crate) struct Unreadable;

/// Gives a coordinator the records of batches. Gives the offset behind them; nothing if there are none.
pub(crate) fn load_batches(
    machine: &mut GroupCoordinator,
    bytes: &[u8],
) -> Result<Option<Offset>, Unreadable> {
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
