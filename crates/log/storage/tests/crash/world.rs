//! What owners of partitions may do, at random, and what a start after a crash must give them back.

use std::collections::{BTreeMap, BTreeSet};

use base::{Random, WallTime};
use bytes::Bytes;
use log_partition::{Commit, Cut, IndexFrame, LeaderEpoch, Offset, PartitionId, Place, SegmentId};
use log_storage::{Append, Restored, Store, index_path, segment_path};
use storage_disk::DiskError;
use storage_disk::sim::{Loss, SimDisk};
use storage_wal::{AppendError, CreateError, Fault, LogId};

use crate::config;
use crate::model::Model;

const SEGMENT_BYTES: u64 = 600;

pub(crate) struct World {
    random: Random,
    disk: SimDisk,
    partitions: BTreeMap<LogId, Model>,
    next_id: i32,
    /// How many segments of the write-ahead log were used again.
    pub(crate) recycled: u64,
    /// How often the disk had no room for something.
    pub(crate) refused: u64,
}

/// What only a full disk may refuse.
trait Shortage: std::fmt::Debug {
    fn is_full(&self) -> bool;
}

impl Shortage for Fault {
    fn is_full(&self) -> bool {
        self.error == DiskError::Full
    }
}

impl Shortage for AppendError {
    fn is_full(&self) -> bool {
        *self == Self::Full
    }
}

impl Shortage for CreateError {
    fn is_full(&self) -> bool {
        *self == Self::Append(AppendError::Full)
    }
}

/// The disk has failed.
struct Crashed;

type Done<T = ()> = Result<T, Crashed>;

fn id_of(index: i32) -> PartitionId {
    PartitionId { topic: [3; 16], index }
}

fn frame(segment: Offset, is_last: bool) -> IndexFrame {
    let segment = SegmentId::appended(segment);
    IndexFrame { segment, position: 0, is_last, bytes: Bytes::from_static(b"a part of an index") }
}

impl World {
    /// What was done, unless a full disk refused it.
    fn well<T, E: Shortage>(&mut self, result: Result<T, E>) -> Done<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_full() => {
                self.refused += 1;
                Ok(None)
            }
            Err(error) => {
                assert!(self.disk.crashed(), "failed on a good disk: {error:?}");
                Err(Crashed)
            }
        }
    }

    fn any(&mut self) -> Option<LogId> {
        let live: Vec<LogId> =
            self.partitions.iter().filter(|(_, model)| !model.dropped).map(|(log, _)| *log).collect();
        (!live.is_empty()).then(|| live[self.random.below(live.len() as u64) as usize])
    }

    fn append(&mut self, store: &mut Store<SimDisk>) -> Done {
        let (mut appends, mut undo) = (Vec::new(), Vec::new());
        for _ in 0..1 + self.random.below(5) {
            let Some(log) = self.any() else { break };
            let length = 20 + self.random.below(120) as usize;
            let bytes = vec![self.random.below(256) as u8; length];
            let gap = 1 + self.random.below(3) as i64;
            let Some(model) = self.partitions.get_mut(&log) else { break };
            undo.push((log, model.end, model.place));
            let mut index = Vec::new();
            if model.place.position + length as u64 > SEGMENT_BYTES {
                index.push(frame(model.place.segment, true));
                model.place = Place { segment: Offset(model.end), position: 0 };
            } else if length > 120 {
                index.push(frame(model.place.segment, false));
            }
            model.end += gap;
            let (at, end, now) = (model.place, Offset(model.end), WallTime::of_ms(model.end));
            let (batch, commit) = (Bytes::from(bytes.clone()), Commit::Flushed);
            appends.push(Append { log, at, end, now, begun: Vec::new(), batch, commit, index });
            model.place = model.place.plus(length as u64);
            model.batches.insert(model.end, (at, bytes));
        }
        let appended = store.append(&appends);
        if self.well(appended)?.is_none() {
            for (log, end, place) in undo.into_iter().rev() {
                let Some(model) = self.partitions.get_mut(&log) else { continue };
                model.batches.remove(&model.end);
                (model.end, model.place) = (end, place);
            }
        }
        Ok(())
    }

    /// Whether it was flushed.
    fn flush(&mut self, store: &mut Store<SimDisk>) -> Done<bool> {
        let flushed = self.well(store.flush())?.is_some();
        if flushed {
            self.flushed();
        }
        Ok(flushed)
    }

    fn flushed(&mut self) {
        self.partitions.retain(|_, model| !model.dropped);
        for model in self.partitions.values_mut() {
            (model.flushed_end, model.least_start, model.created_durably) = (model.end, model.start, true);
            model.durable_epochs = model.epochs.len();
            model.before_cut = None;
        }
    }

    fn create(&mut self, store: &mut Store<SimDisk>) -> Done {
        let id = self.next_id;
        self.next_id += 1;
        if let Some(log) = self.well(store.create(id_of(id), Offset(0)))? {
            self.partitions.insert(log, Model { id, ..Model::default() });
        }
        Ok(())
    }

    fn drop_one(&mut self, store: &mut Store<SimDisk>) -> Done {
        let Some(log) = self.any() else { return Ok(()) };
        let dropped = store.drop_log(log);
        let may_be = dropped.as_ref().is_ok() || self.disk.crashed();
        if let Some(model) = self.partitions.get_mut(&log).filter(|_| may_be) {
            model.dropped = true;
        }
        self.well(dropped).map(drop)
    }

    fn set_start(&mut self, store: &mut Store<SimDisk>) -> Done {
        let Some(log) = self.any().filter(|_| self.random.below(2) == 0) else { return Ok(()) };
        // What is not committed is never taken away.
        if !self.flush(store)? {
            return Ok(());
        }
        let before = self.partitions[&log].clone();
        // All of it, or up to the segment that is written now.
        let all = self.random.below(4) == 0;
        let Some(model) = self.partitions.get_mut(&log) else { return Ok(()) };
        if all {
            model.place = Place { segment: Offset(model.end), position: 0 };
        }
        model.start = model.start.max(model.place.segment.0);
        model.committed = model.end;
        let start = Offset(model.start);
        if self.well(store.set_start(log, start, start))?.is_none() {
            self.partitions.insert(log, before);
        }
        Ok(())
    }

    /// More is committed.
    fn commit(&mut self, log: LogId) {
        let Some(model) = self.partitions.get_mut(&log) else { return };
        let ends: Vec<i64> = model
            .batches
            .range(model.committed + 1..)
            .take_while(|(end, _)| **end <= model.flushed_end)
            .map(|(end, _)| *end)
            .collect();
        if let Some(end) = ends.get(self.random.below(ends.len() as u64 + 1) as usize) {
            model.committed = *end;
        }
    }

    /// The end of a log is cut off, and an epoch begins there.
    fn cut(&mut self, store: &mut Store<SimDisk>) -> Done {
        let Some(log) = self.any() else { return Ok(()) };
        self.commit(log);
        let before = self.partitions[&log].clone();
        let ends = before.batches.range(before.committed.max(before.start)..).map(|(end, _)| *end);
        let ends: Vec<i64> = ends.collect();
        if ends.is_empty() || before.before_cut.is_some() {
            return Ok(());
        }
        let end = ends[self.random.below(ends.len() as u64) as usize];
        let cut = Cut { end: Offset(end), at: before.place_at(end), keeps_index: self.random.below(2) == 0 };
        let done = store.cut(log, &cut);
        // A crash in the middle leaves either.
        let may_be = done.is_ok() || self.disk.crashed();
        if let Some(model) = self.partitions.get_mut(&log).filter(|_| may_be) {
            model.batches.retain(|batch, _| *batch <= end);
            (model.end, model.place, model.flushed_end) = (end, cut.at, model.flushed_end.min(end));
            model.before_cut = Some(Box::new(before));
        }
        if self.well(done)?.is_none() {
            return Ok(());
        }
        let Some(model) = self.partitions.get_mut(&log) else { return Ok(()) };
        let epoch = (LeaderEpoch(model.epochs.len() as i32), Some(Offset(end)));
        model.epochs.push(epoch);
        if self.well(store.put_epoch(log, epoch.0, epoch.1))?.is_none()
            && let Some(model) = self.partitions.get_mut(&log)
        {
            model.epochs.pop();
        }
        self.flush(store).map(drop)
    }

    fn put_states(&mut self, store: &mut Store<SimDisk>) -> Done {
        for log in store.take_states_asked() {
            self.commit(log);
            // One that finds no room is given when there is room.
            let state = self.partitions[&log].state();
            while self.well(store.put_state(log, &state))?.is_none() {
                self.give_room(store)?;
            }
        }
        Ok(())
    }

    fn give_room(&mut self, store: &mut Store<SimDisk>) -> Done {
        self.disk.set_capacity(u64::MAX);
        self.well(store.try_preallocate()).map(drop)
    }

    /// One thing that an owner may do.
    fn act(&mut self, store: &mut Store<SimDisk>) -> Done {
        match self.random.below(24) {
            0 if self.partitions.len() < 6 => self.create(store)?,
            1 if self.random.below(4) == 0 => self.drop_one(store)?,
            2..=9 => self.append(store)?,
            10..=13 => drop(self.flush(store)?),
            14 => {
                let all = self.random.below(3) == 0;
                self.well(store.write_behind(all))?;
            }
            15 | 16 => drop(self.well(store.sync_step())?),
            17 => self.put_states(store)?,
            18 => self.set_start(store)?,
            19 if self.random.below(10) == 0 => {
                let room = self.random.below(3_000);
                self.disk.set_capacity(self.disk.used() + room);
            }
            20 => self.give_room(store)?,
            21 => drop(self.well(store.remove_step())?),
            22 => self.cut(store)?,
            _ => drop(self.well(store.prepare())?),
        }
        Ok(())
    }

    /// What a start gives back is what it must be, and the owners say which segments they need.
    fn start(&mut self, store: &mut Store<SimDisk>, restored: &[Restored]) -> Done {
        let mut found = BTreeMap::new();
        for given in restored {
            if given.id.index + 1 == self.next_id && !self.partitions.contains_key(&given.log) {
                // The crash came while it was created.
                self.partitions.insert(given.log, Model { id: given.id.index, ..Model::default() });
            }
            let model = self.partitions.get(&given.log);
            let model = model.unwrap_or_else(|| panic!("{} was dropped and is back", given.log));
            assert_eq!(given.id, id_of(model.id));
            let model = model.restored(given);
            assert_eq!(store.adopt(given.log, model.segments().into_keys()), None);
            self.check_content(&model, given);
            found.insert(given.log, model);
        }
        for (log, model) in &self.partitions {
            assert!(found.contains_key(log) || !model.created_durably || model.dropped, "{log} is lost");
        }
        self.partitions = found;
        self.well(store.remove_leftovers())?;
        self.check_files(restored);
        Ok(())
    }

    /// Everything up to the flushed place is in the segments.
    fn check_content(&self, model: &Model, given: &Restored) {
        let Place { segment: last, position } = given.flushed_place;
        for (segment, mut expected) in model.segments() {
            if segment.base == last {
                expected.truncate(position as usize);
            }
            let path = segment_path(given.id, segment);
            let content = self.disk.content(&path).unwrap_or_default();
            let flushed = segment.base <= last;
            assert!(!flushed || content.starts_with(&expected), "{path} up to {position} of {last}");
        }
    }

    /// No file is left that nothing needs.
    fn check_files(&self, restored: &[Restored]) {
        let mut needed = BTreeSet::new();
        for given in restored {
            for segment in self.partitions[&given.log].segments().into_keys() {
                needed.extend([segment_path(given.id, segment), index_path(given.id, segment)]);
            }
        }
        let is_leftover = |path: &String| path.starts_with("data/") && !needed.contains(path);
        let leftovers: Vec<String> = self.disk.paths().into_iter().filter(is_leftover).collect();
        assert_eq!(leftovers, Vec::<String>::new());
    }

    /// A process, until it ends or the disk fails.
    fn run(&mut self, seed: u64) -> Done {
        let opened = Store::open(self.disk.clone(), config(), [seed as u8; 16], "ours");
        let (mut store, restored) = opened.map_err(|error| {
            assert!(self.disk.crashed(), "failed on a good disk: {error:?}");
            Crashed
        })?;
        self.start(&mut store, &restored)?;
        for _ in 0..600 {
            let acted = self.act(&mut store);
            if acted.is_err() {
                self.recycled += store.stats().segments_recycled;
                return acted;
            }
        }
        self.recycled += store.stats().segments_recycled;
        self.give_room(&mut store)?;
        if self.random.below(2) == 0 {
            store.close().map_err(|_| Crashed)?;
            self.flushed();
        }
        Ok(())
    }
}

pub(crate) fn play(seed: u64) -> World {
    let disk = SimDisk::new(seed);
    let random = Random::new(seed);
    let mut world = World { random, disk, partitions: BTreeMap::new(), next_id: 0, recycled: 0, refused: 0 };
    for _ in 0..6 {
        if world.random.below(3) > 0 {
            let operation = world.disk.operations() + 1 + world.random.below(400);
            world.disk.crash_at(operation);
        }
        let _ = world.run(seed);
        world.disk.crash([Loss::All, Loss::Some, Loss::Nothing][world.random.below(3) as usize]);
        world.disk.restart();
        world.disk.repair();
    }
    let opened = Store::open(world.disk.clone(), config(), [0; 16], "ours");
    let (mut store, restored) = opened.expect("the disk is well");
    assert!(world.start(&mut store, &restored).is_ok());
    world
}
