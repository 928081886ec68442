//! What a partition keeps beside its log, and how it comes back: the last state that was kept, and what happened since.
//!
//! A start reads neither segments nor their indices: the state says how long each segment is and of when its records are, and
//! everything behind the state is given back by the write-ahead log.

use base::WallTime;
use bytes::Bytes;
use log_wire::Batch;
use replication_appointed::{Durable, Epoch, Replica};

use crate::compaction::Replacement;
use crate::config::PartitionConfig;
use crate::epochs::{read_shape, write_shape};
use crate::partition::Partition;
use crate::pass_end::PassEnd;
use crate::sealed::{Damage, check, open, seal};
use crate::segments::Segments;
use crate::segments::Stale;
use crate::tables::Tables;
use crate::{LeaderEpoch, Offset, Place};

/// Format 1 had no segments, format 2 no epoch before the start.
const FORMAT: i16 = 3;

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
            write_shape(self.replica.log(), writer);
            self.tables.write(writer);
            self.segments.write(writer);
            self.last_pass.write(writer);
        })
    }

    /// One that was there before: its last state, and what happened since; without a state, it began empty at `created`.
    /// Everything that is given is durable; what of it is committed is known once it leads or follows.
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
            let log;
            (log, restored.tables, restored.segments, restored.last_pass) = open(state, FORMAT, |reader| {
                let (log, tables) = (read_shape(reader)?, Tables::read(reader)?);
                Ok((log, tables, Segments::read(reader)?, PassEnd::read(reader)?))
            })?;
            restored.replica =
                Replica::restore(Durable { promised: Epoch::NONE, committed: log.start(), log });
        }
        for event in events {
            match event {
                StoredEvent::Batch(stored) => restored.take_back(&stored)?,
                StoredEvent::Start(start) if start <= restored.start() => {}
                StoredEvent::Start(start) => {
                    restored.replica.found_committed(start.seq());
                    restored.truncate_start(restored.high_watermark().min(start));
                }
                StoredEvent::Replaced(bytes) => {
                    let replaced = restored.replaced(&Replacement::of_bytes(bytes)?);
                    replaced.map_err(|Stale| Damage::Content("compacted segments that replace others"))?;
                }
            }
        }
        let end = restored.segments.last().map_or(Offset::ZERO, crate::Segment::end);
        let fits = restored.end() == end;
        check(fits, "the segments end elsewhere than the tables say")?;
        restored.restored_end = restored.segments.end_place();
        Ok(restored)
    }

    fn take_back(&mut self, stored: &StoredBatch<'_>) -> Result<(), Damage> {
        let batch = Batch::read(stored.bytes).map_err(|_| Damage::Content("a batch that is none"))?.0;
        if stored.is_behind_state {
            let follows = Offset(batch.base_offset()) == self.end();
            check(follows, "a batch that does not stand at the end")?;
            check(batch.leader_epoch() >= 0, "a batch under no leader epoch")?;
            self.tables.append(&batch, stored.now)?;
            let end = Offset(batch.last_offset()).next();
            self.replica.found(LeaderEpoch(batch.leader_epoch()).epoch(), end.seq());
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
