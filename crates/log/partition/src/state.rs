//! What a partition keeps beside its log, and how it comes back: the last state that was kept, and what happened since.
//!
//! A start reads neither segments nor their indices: the state says how long each segment is and of when its records are, and
//! everything behind the state is given back by the write-ahead log.

use base::WallTime;
use bytes::Bytes;
use log_wire::Batch;

use crate::compaction::Replacement;
use crate::config::PartitionConfig;
use crate::partition::Partition;
use crate::pass_end::PassEnd;
use crate::sealed::{Damage, check, open, seal};
use crate::segments::Segments;
use crate::segments::Stale;
use crate::tables::Tables;
use crate::{LeaderEpoch, Offset, Place};

/// Format 1 had no segments.
const FORMAT: i16 = 2;

/// A batch that a start gives back.
#[derive(Clone, Copy, Debug)]
pub struct StoredBatch<'a> {
    /// Where it stands.
    pub at: Place,
    /// When it was appended.
    pub now: WallTime,
    /// Whether the state does not know it yet.
    pub is_behind_state: bool,
    /// Whether it is in its segment.
    pub is_written: bool,
    /// The batch.
    pub bytes: &'a Bytes,
}

/// What a start gives back, in the order in which it happened.
#[derive(Clone, Copy, Debug)]
pub enum StoredEvent<'a> {
    /// A batch was appended.
    Batch(StoredBatch<'a>),
    /// The log begins at that offset.
    Start(Offset),
    /// A step of compaction took place: a [`Replacement`] in bytes.
    Replaced(&'a [u8]),
}

impl Partition {
    /// What is to be kept of it, as of everything that was appended until now.
    #[must_use]
    pub fn state(&self) -> Vec<u8> {
        seal(FORMAT, |writer| {
            self.tables.write(writer);
            self.segments.write(writer);
            self.last_pass.write(writer);
        })
    }

    /// One that was there before: its last state, and what happened since; without a state, it began empty at `created`.
    /// Everything that is given is durable.
    ///
    /// # Errors
    /// The state is damaged, or the parts do not fit together.
    pub fn restore<'a>(
        config: PartitionConfig,
        created: Offset,
        state: Option<&[u8]>,
        events: impl Iterator<Item = StoredEvent<'a>>,
    ) -> Result<Self, Damage> {
        let mut restored = Self::new(config, created);
        if let Some(state) = state {
            (restored.tables, restored.segments, restored.last_pass) = open(state, FORMAT, |reader| {
                Ok((Tables::read(reader)?, Segments::read(reader)?, PassEnd::read(reader)?))
            })?;
        }
        for event in events {
            match event {
                StoredEvent::Batch(stored) => restored.take_back(&stored)?,
                StoredEvent::Start(start) if start <= restored.start() => {}
                StoredEvent::Start(start) => drop(restored.truncate_start(start)),
                StoredEvent::Replaced(bytes) => {
                    let replaced = restored.replaced(&Replacement::of_bytes(bytes)?);
                    replaced.map_err(|Stale| Damage::Content("compacted segments that replace others"))?;
                }
            }
        }
        let end = restored.segments.last().map_or(Offset::ZERO, crate::Segment::end);
        let fits = restored.tables.end == end;
        check(fits, "the segments end elsewhere than the tables say")?;
        restored.high_watermark = restored.tables.end;
        restored.tables.transactions.committed(restored.high_watermark);
        restored.restored_end = restored.segments.end_place();
        restored.epoch = restored.tables.epochs.newest().unwrap_or(LeaderEpoch(0));
        Ok(restored)
    }

    fn take_back(&mut self, stored: &StoredBatch<'_>) -> Result<(), Damage> {
        let batch = Batch::read(stored.bytes).map_err(|_| Damage::Content("a batch that is none"))?.0;
        if stored.is_behind_state {
            self.tables.append(&batch, stored.now)?;
            if self.segments.end_place().segment != stored.at.segment {
                self.segments.roll(stored.at.segment);
            }
            let follows = self.segments.end_place() == stored.at;
            check(follows, "a batch that stands elsewhere than behind the one before it")?;
            self.segments.push(&batch, stored.now);
        }
        if !stored.is_written {
            self.keep(&batch, stored.at, stored.bytes.clone());
        }
        Ok(())
    }
}
