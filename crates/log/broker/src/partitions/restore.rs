//! A partition from what the disk gives back at a start.

use log_partition::{Damage, NewStart, Offset, Partition, PartitionConfig, StoredBatch, Tables};

use crate::disk_work::StoredPartition;

/// The partition, and where its log begins if segments before that were left behind.
///
/// # Errors
/// The parts do not fit together.
pub(crate) fn restore(
    config: PartitionConfig,
    stored: &StoredPartition,
) -> Result<(Partition, Option<NewStart>), Damage> {
    let tables = stored.state.as_deref().map(Tables::of_bytes).transpose()?;
    let tables = tables.unwrap_or_else(|| Tables::new(Offset::ZERO));
    let batches = stored.batches.iter().map(|batch| StoredBatch {
        at: batch.at,
        now: batch.now,
        is_behind_tables: batch.is_behind_state,
        is_written: batch.is_written,
        bytes: &batch.batch,
    });
    let mut partition = Partition::restore(config, tables, stored.segments.clone(), batches)?;
    let start = stored.start.unwrap_or(Offset::ZERO).max(partition.start());
    let new = partition.truncate_start(start);
    let leftovers = stored.segments.first().is_some_and(|first| first.base() < new.first_segment);
    Ok((partition, leftovers.then_some(new)))
}
