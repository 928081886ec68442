//! Which records of a batch are kept, and the batch without the others.

use log_wire::{Batch, Compression, Record, RecordsHead, TimestampType, write_record};

use crate::plain_records::{Unreadable, each_record};

/// See the module.
pub(super) struct KeptRecords {
    /// For each record of the batch.
    is_kept: Vec<bool>,
    pub(super) count: i32,
    /// Whether one of them has no value.
    pub(super) has_tombstones: bool,
    /// The timestamp of the first, and the highest, milliseconds.
    first_ms: i64,
    highest_ms: i64,
}

impl KeptRecords {
    /// Those for which `keeps` holds.
    pub(super) fn choose(
        batch: &Batch<'_>,
        plain: &[u8],
        mut keeps: impl FnMut(&Record<'_>) -> bool,
    ) -> Result<Self, Unreadable> {
        let mut kept =
            Self { is_kept: Vec::new(), count: 0, has_tombstones: false, first_ms: -1, highest_ms: i64::MIN };
        each_record(batch, plain, |record| {
            let is_kept = keeps(record);
            kept.is_kept.push(is_kept);
            if is_kept {
                let time_ms = time_of(batch, record);
                kept.first_ms = if kept.count == 0 { time_ms } else { kept.first_ms };
                kept.highest_ms = kept.highest_ms.max(time_ms);
                kept.count += 1;
                kept.has_tombstones |= record.value.is_none();
            }
            Ok(())
        })?;
        Ok(kept)
    }

    /// All of a batch that is not compressed, if it can be read.
    pub(super) fn all(batch: &Batch<'_>) -> Option<Self> {
        Self::choose(batch, batch.records(), |_| true).ok()
    }

    /// The batch with these records alone, and with that delete horizon, milliseconds. Its codec stays.
    pub(super) fn write(&self, batch: &Batch<'_>, plain: &[u8], horizon_ms: Option<i64>) -> Option<Vec<u8>> {
        let base_timestamp = horizon_ms.unwrap_or(self.first_ms);
        let mut records = Vec::with_capacity(plain.len());
        let mut is_kept = self.is_kept.iter();
        let written = each_record(batch, plain, |record| {
            if is_kept.next().is_some_and(|is_kept| *is_kept) {
                write_record(record, time_of(batch, record).wrapping_sub(base_timestamp), &mut records);
            }
            Ok(())
        });
        written.ok()?;
        let compression = batch.attributes().compression().unwrap_or(Compression::None);
        let mut compressed = Vec::new();
        log_compression::compress(compression, None, &records, &mut compressed);
        let head = RecordsHead {
            attributes: batch.attributes().with_delete_horizon(horizon_ms.is_some()),
            base_timestamp,
            max_timestamp: self.highest_ms,
            count: self.count,
        };
        Some(batch.with_records(head, &compressed))
    }
}

fn time_of(batch: &Batch<'_>, record: &Record<'_>) -> i64 {
    match batch.attributes().timestamp_type() {
        TimestampType::LogAppendTime => batch.max_timestamp(),
        TimestampType::CreateTime => batch.base_timestamp().saturating_add(record.timestamp_delta),
    }
}
