//! What a partition keeps beside its log, and how it comes back: the last state that was kept, and what happened since.
//!
//! A start reads neither segments nor their indices: the state says how long each segment is and of when its records are, and
//! everything behind the state is given back by the write-ahead log.

use base::WallTime;
use bytes::Bytes;
use log_wire::{Batch, Reader};
use replication_appointed::{Durable, LogShape, Replica};

use crate::compaction::Replacement;
use crate::config::PartitionConfig;
use crate::epochs::{read_shape, write_shape};
use crate::partition::Partition;
use crate::pass_end::PassEnd;
use crate::sealed::{Damage, check, open, seal};
use crate::segment::Segment;
use crate::segments::{Segments, Stale};
use crate::tables::Tables;
use crate::{LeaderEpoch, Offset, Place};

/// Format 1 had no segments, format 2 no epoch before the start. Format 3 knew no promise, and was of the end of the log,
/// and format 5 did not know up to where records are gone that other replicas may need.
const FORMAT: i16 = 6;

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
    /// As in [`NewBatch`](crate::NewBatch).
    pub begun: &'a [(LeaderEpoch, Offset)],
    /// The batch.
    pub bytes: &'a Bytes,
}

/// What a start gives back, in the order in which it happened.
#[derive(Clone, Copy, Debug)]
pub enum StoredEvent<'a> {
    /// A batch was appended.
    Batch(StoredBatch<'a>),
    /// The log begins at the first offset, and segments before the second are gone. Which ones are gone does not follow from what
    /// is given back: a segment stayed if a batch behind the start was in it, which may have been cut off since.
    Start(Offset, Offset),
    /// A step of compaction took place: a [`Replacement`] in bytes.
    Replaced(&'a [u8]),
    /// That epoch was promised. With an offset: it begins there, where the log ended.
    Epoch(LeaderEpoch, Option<Offset>),
}

/// What is to be kept of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Of which batches: those before this offset. Behind it, everything may still be cut off.
    pub end: Offset,
    /// For [`Partition::restore`].
    pub bytes: Vec<u8>,
}

/// What the replica was, as of a state: all that it tells of was committed.
fn read_durable(reader: &mut Reader<'_>) -> Result<Durable, Damage> {
    let promised = LeaderEpoch(reader.i32()?);
    check(promised >= LeaderEpoch(-1), "a promise of an epoch that is none")?;
    let log = read_shape(reader)?;
    Ok(Durable { promised: promised.epoch(), committed: log.end(), log })
}

impl Partition {
    /// What is to be kept of it, as of everything that is committed.
    #[must_use]
    pub fn state(&self) -> State {
        let Some(end) = self.trail.first() else {
            let end = self.end();
            return State { end, bytes: self.state_of(self.replica.log(), &self.tables, &self.segments) };
        };
        let (tables, segments) = self.trail.all_taken_back(&self.tables, &self.segments);
        State { end, bytes: self.state_of(&self.replica.log().up_to(end.seq()), &tables, &segments) }
    }

    /// What is to be kept of a log that begins anew there, as of before the batches that came with its beginning: they are known to
    /// the replica, and follow one after the other.
    pub(crate) fn empty_state(&self, base: Offset) -> State {
        let log = self.replica.log().up_to(base.seq());
        State { end: base, bytes: self.state_of(&log, &self.tables, &self.segments) }
    }

    fn state_of(&self, log: &LogShape, tables: &Tables, segments: &Segments) -> Vec<u8> {
        seal(FORMAT, |writer| {
            writer.i32(self.epoch().0);
            write_shape(log, writer);
            tables.write(writer);
            segments.write(writer);
            self.last_pass.write(writer);
            writer.i64(Offset::of(self.replica.thinned_to()).0);
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
            (restored.replica, restored.tables, restored.segments, restored.last_pass) =
                open(state, FORMAT, |reader| {
                    let (durable, tables) = (read_durable(reader)?, Tables::read(reader)?);
                    let (segments, last_pass) = (Segments::read(reader)?, PassEnd::read(reader)?);
                    let (mut replica, thinned_to) = (Replica::restore(durable), Offset(reader.i64()?));
                    check(thinned_to >= Offset::ZERO, "a log that is thinned to below its beginning")?;
                    replica.thin(thinned_to.seq());
                    Ok((replica, tables, segments, last_pass))
                })?;
        }
        for event in events {
            restored.take_event(event)?;
        }
        let fits = restored.end() == restored.segments.end();
        check(fits, "the segments end elsewhere than the tables say")?;
        restored.restored_end = restored.segments.end_place();
        Ok(restored)
    }

    fn take_event(&mut self, event: StoredEvent<'_>) -> Result<(), Damage> {
        match event {
            StoredEvent::Batch(stored) => self.take_back(&stored)?,
            StoredEvent::Start(start, _) if start <= self.start() => {}
            StoredEvent::Start(start, first_segment) => {
                self.found_committed(start);
                self.replica.found_start(start.seq());
                self.tables.truncate_start(self.start());
                self.segments.found_first(first_segment);
            }
            StoredEvent::Epoch(promised, begins) => {
                check(promised >= LeaderEpoch(0), "a promise of an epoch that is none")?;
                self.replica.found_epoch(promised.epoch(), begins.map(Offset::seq));
            }
            StoredEvent::Replaced(bytes) => {
                let by = Replacement::of_bytes(bytes)?;
                // Only what is committed is compacted.
                let of = |segment: &&Segment| by.removed.contains(&segment.id());
                let end = self.segments.iter().filter(of).map(Segment::end).max();
                end.into_iter().for_each(|end| self.found_committed(end));
                // The batches that stood behind them may have been cut off since.
                self.segments.roll_behind(&by.removed);
                let replaced = self.replaced(&by);
                replaced.map_err(|Stale| Damage::Content("compacted segments that replace others"))?;
            }
        }
        Ok(())
    }

    /// Something that is only done to what is committed was done to what is before that offset. A batch is committed as a whole.
    fn found_committed(&mut self, end: Offset) {
        self.replica.found_committed(self.trail.end_around(end).seq());
        self.after_commit();
    }

    fn take_back(&mut self, stored: &StoredBatch<'_>) -> Result<(), Damage> {
        let batch = Batch::read(stored.bytes).map_err(|_| Damage::Content("a batch that is none"))?.0;
        let mut after = self.tail.back().map_or(Offset(batch.base_offset()), |before| before.end);
        if stored.is_behind_state {
            // What was copied from a compacted log has holes.
            let follows = Offset(batch.base_offset()) >= self.end();
            check(follows, "a batch that begins before the end")?;
            check(batch.leader_epoch() >= 0, "a batch under no leader epoch")?;
            self.note_step(&batch, stored.now)?;
            for (epoch, start) in stored.begun {
                check(*epoch >= LeaderEpoch(0), "an epoch that is none begins")?;
                self.replica.found_beginning(epoch.epoch(), start.seq());
            }
            let end = Offset(batch.last_offset()).next();
            self.replica.found(LeaderEpoch(batch.leader_epoch()).epoch(), end.seq());
            if self.segments.end_place().segment != stored.at.segment {
                self.segments.roll(stored.at.segment);
            }
            let follows = self.segments.end_place() == stored.at;
            check(follows, "a batch that stands elsewhere than behind the one before it")?;
            after = self.segments.end();
            self.segments.push(&batch, stored.now);
        }
        if !stored.is_written {
            self.keep(&batch, (stored.at, after), stored.bytes.clone());
        }
        Ok(())
    }
}
