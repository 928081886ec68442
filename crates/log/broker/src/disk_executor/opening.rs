//! A start: from the directory to the partitions that it holds. No segment is read.

use log_partition::{Damage, Partition, PartitionConfig, Segment, StoredBatch, StoredEvent};
use log_storage::{Restored, RestoredEvent, Store, StoreConfig};
use storage_disk::Disk;
use storage_wal::OpenError;

use super::DiskExecutor;
use crate::disk_work::StoredPartition;

impl<D: Disk> DiskExecutor<D> {
    /// Opens the directory of a cluster, or initialises an empty one. Gives the partitions that it holds. They have the
    /// default settings until their topics are known.
    ///
    /// # Errors
    /// In every case nothing that may have been acknowledged was changed.
    pub fn open(
        disk: D,
        config: StoreConfig,
        (incarnation, cluster): ([u8; 16], &str),
    ) -> Result<(Self, Vec<StoredPartition>), OpenError> {
        let (mut store, restored) = Store::open(disk, config, incarnation, cluster)?;
        let stored = restored.into_iter().map(|restored| adopt(&mut store, &restored)).collect();
        store.remove_leftovers()?;
        Ok((Self::new(store), stored))
    }
}

fn adopt<D: Disk>(store: &mut Store<D>, restored: &Restored) -> StoredPartition {
    let (log, id) = (restored.log, restored.id);
    match restore(restored) {
        Ok(partition) => {
            let missing = store.adopt(log, partition.segments().map(Segment::id));
            let damage = missing.map(|segment| Damage::Missing(segment.base));
            StoredPartition { log, id, partition: Some(partition), damage }
        }
        Err(damage) => StoredPartition { log, id, partition: None, damage: Some(damage) },
    }
}

fn restore(restored: &Restored) -> Result<Partition, Damage> {
    let events = restored.events.iter().map(|event| match event {
        RestoredEvent::Batch(batch) => StoredEvent::Batch(StoredBatch {
            at: batch.at,
            now: batch.now,
            is_behind_state: batch.is_behind_state,
            is_written: batch.is_written,
            begun: &batch.begun,
            bytes: &batch.batch,
        }),
        RestoredEvent::Start(start, first_segment) => StoredEvent::Start(*start, *first_segment),
        RestoredEvent::Replaced(change) => StoredEvent::Replaced(change),
        RestoredEvent::Epoch(promised, begins) => StoredEvent::Epoch(*promised, *begins),
    });
    let state = restored.state.as_deref();
    let mut partition = Partition::restore(PartitionConfig::default(), restored.created, state, events)?;
    partition.restored_written(restored.flushed_end);
    Ok(partition)
}
