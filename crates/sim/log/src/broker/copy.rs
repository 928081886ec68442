//! What a broker has of a partition, in words: for whoever reads how a run has failed. No rule looks at it.

use std::fmt::Write as _;

use log_partition::{Isolation, Offset, Partition, PartitionId, Source};
use log_storage::{ReaderConfig, SegmentReader};
use log_wire::{Batch, Records};

use super::shard::Shared;

/// The copy of a partition, in words; nothing if there is none.
pub(super) fn copy_in_words(shared: &Shared, id: PartitionId) -> Option<String> {
    let broker = shared.broker.borrow();
    let partition = broker.copy_of(id)?;
    let reader = SegmentReader::new(shared.disk.borrow().reader.clone(), ReaderConfig::default());
    let mut words = head(partition);
    records(partition, id, reader, &mut words);
    Some(words)
}

fn head(partition: &Partition) -> String {
    let (start, end) = (partition.start().0, partition.end().0);
    let (stable, committed) = (partition.last_stable().0, partition.high_watermark().0);
    let role = if partition.replica().is_leading() { "leads" } else { "follows" };
    let epoch = partition.epoch().0;
    format!("{role} in epoch {epoch}, {start}..{end}, committed to {committed}, stable to {stable}:")
}

fn records(
    partition: &Partition,
    id: PartitionId,
    mut reader: SegmentReader<sim_kit::disk::SimDisk>,
    words: &mut String,
) {
    let mut from = partition.start();
    while let Ok(read) = partition.read(from, Isolation::ReadUncommitted, 4 << 10) {
        let mut bytes = Vec::new();
        match read.source {
            Source::Nothing => return,
            Source::Memory(batches) => bytes = batches.concat(),
            Source::Segment(of) => {
                if reader.read(id, &of, &mut bytes).is_err() {
                    words.push_str(" unreadable");
                    return;
                }
            }
        }
        let mut rest = bytes.as_slice();
        let before = from;
        while let Ok((batch, behind)) = Batch::read(rest) {
            batch_in_words(&batch, words);
            (from, rest) = (Offset(batch.last_offset()).next(), behind);
        }
        if from == before {
            return;
        }
    }
}

fn batch_in_words(batch: &Batch<'_>, words: &mut String) {
    let (base, last) = (batch.base_offset(), batch.last_offset());
    let (producer, epoch) = (batch.producer_id(), batch.producer_epoch());
    let _ = write!(words, " [{base}-{last} of {}", batch.leader_epoch());
    if producer >= 0 {
        let _ = write!(words, " by {producer}/{epoch}#{}", batch.base_sequence());
    }
    for (is_so, what) in [
        (batch.attributes().is_transactional(), " transactional"),
        (batch.attributes().is_control(), " control"),
        (batch.attributes().has_delete_horizon(), " horizon"),
    ] {
        words.push_str(if is_so { what } else { "" });
    }
    for record in Records::new(batch.records(), batch.count()).flatten() {
        let key = String::from_utf8_lossy(record.key.unwrap_or_default()).into_owned();
        let key = key.replace(|letter: char| letter.is_control(), ".");
        let value = record.value.map(|value| value.len());
        let _ = write!(words, " {}:{key}={value:?}", base + i64::from(record.offset_delta));
    }
    words.push(']');
}
