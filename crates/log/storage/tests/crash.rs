//! Everything that a store may be asked, with a crash at any operation of its disk, against a model of what was
//! acknowledged. The model knows nothing of files: it keeps what was given and what was flushed.

use std::collections::BTreeMap;

use base::{Random, WallTime};
use bytes::Bytes;
use log_partition::{Offset, PartitionId, Place};
use log_storage::{Append, Restored, Store, StoreConfig, read_batches, segment_path};
use storage_disk::sim::{Loss, SimDisk};
use storage_wal::{LogId, WalConfig};

const SEGMENT_BYTES: u64 = 600;

fn config() -> StoreConfig {
    StoreConfig {
        wal: WalConfig {
            segment_bytes: 8 << 10,
            first_segment_bytes: 4 << 10,
            reserved_bytes: 512,
            prepare_step_bytes: 1 << 10,
            write_buffer_bytes: 1 << 10,
            recycled_segments_max: 1,
        },
        write_behind_bytes: 300,
        memory_bytes_max: 3_000,
        open_files_max: 2,
        sync_step_partitions: 2,
    }
}

/// A partition as its owner knows it.
#[derive(Clone, Default)]
struct Model {
    id: i32,
    /// The batches, by their ends: all that were given.
    batches: BTreeMap<i64, Vec<u8>>,
    end: i64,
    /// What is surely durable.
    flushed_end: i64,
    place: Place,
    start: i64,
    first_segment: i64,
    /// Whether it must be there, and whether it may be.
    created_durably: bool,
    dropped: bool,
}

struct World {
    random: Random,
    disk: SimDisk,
    partitions: BTreeMap<LogId, Model>,
    next_id: i32,
    recycled: u64,
}

fn batch(random: &mut Random, end: i64) -> Vec<u8> {
    let length = 20 + random.below(120);
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&(length as u32).to_be_bytes());
    bytes.extend_from_slice(&end.to_be_bytes());
    bytes.resize(12 + length as usize, random.below(256) as u8);
    bytes
}

/// A result, which only a crash makes an error.
fn well<T, E: std::fmt::Debug>(disk: &SimDisk, result: Result<T, E>) -> Option<T> {
    assert!(result.is_ok() || disk.crashed(), "failed on a good disk: {:?}", result.err());
    result.ok()
}

/// The state that the owner gives: how far it goes.
fn state(model: &Model) -> Vec<u8> {
    [model.end.to_be_bytes(), model.start.to_be_bytes()].concat()
}

impl World {
    fn id(&self, log: LogId) -> PartitionId {
        PartitionId { topic: [3; 16], index: self.partitions[&log].id }
    }

    fn any(&mut self) -> Option<LogId> {
        let live: Vec<LogId> =
            self.partitions.iter().filter(|(_, model)| !model.dropped).map(|(log, _)| *log).collect();
        (!live.is_empty()).then(|| live[self.random.below(live.len() as u64) as usize])
    }

    fn append(&mut self, store: &mut Store<SimDisk>) -> Option<()> {
        let mut appends = Vec::new();
        for _ in 0..1 + self.random.below(5) {
            let log = self.any()?;
            let end = self.partitions[&log].end + 1 + self.random.below(3) as i64;
            let bytes = batch(&mut self.random, end);
            let model = self.partitions.get_mut(&log)?;
            if model.place.position + bytes.len() as u64 > SEGMENT_BYTES {
                model.place = Place { segment: Offset(model.end), position: 0 };
            }
            let (at, now) = (model.place, WallTime::of_ms(end));
            appends.push(Append { log, at, end: Offset(end), now, batch: Bytes::from(bytes.clone()) });
            model.place = model.place.plus(bytes.len() as u64);
            model.end = end;
            model.batches.insert(end, bytes);
        }
        well(&self.disk, store.append(&appends)).map(|_| ())
    }

    fn flush(&mut self, store: &mut Store<SimDisk>) -> Option<()> {
        well(&self.disk, store.flush())?;
        self.flushed();
        Some(())
    }

    fn flushed(&mut self) {
        for model in self.partitions.values_mut() {
            (model.flushed_end, model.created_durably) = (model.end, true);
        }
    }

    fn drop_one(&mut self, store: &mut Store<SimDisk>) -> Option<()> {
        let Some(log) = self.any() else { return Some(()) };
        self.partitions.get_mut(&log)?.dropped = true;
        well(&self.disk, store.drop_log(log))?;
        self.partitions.remove(&log);
        self.flushed();
        Some(())
    }

    fn set_start(&mut self, store: &mut Store<SimDisk>) -> Option<()> {
        let Some(log) = self.any() else { return Some(()) };
        self.flush(store)?;
        let model = self.partitions.get_mut(&log)?;
        // All of it, or up to the segment that is written now.
        if self.random.below(4) == 0 {
            model.place = Place { segment: Offset(model.end), position: 0 };
        }
        model.start = model.start.max(model.place.segment.0);
        let start = Offset(model.start);
        well(&self.disk, store.set_start(log, start, start))?;
        self.partitions.get_mut(&log)?.first_segment = start.0;
        self.flushed();
        Some(())
    }

    /// One thing that an owner may do. Nothing, if the disk has failed.
    fn act(&mut self, store: &mut Store<SimDisk>) -> Option<()> {
        match self.random.below(20) {
            0 if self.partitions.len() < 6 => {
                let id = self.next_id;
                self.next_id += 1;
                let partition = PartitionId { topic: [3; 16], index: id };
                let log = well(&self.disk, store.create(partition, Offset(0)))?;
                self.partitions.insert(log, Model { id, ..Model::default() });
            }
            1 if self.random.below(4) == 0 => self.drop_one(store)?,
            2..=9 => self.append(store).or_else(|| self.partitions.is_empty().then_some(()))?,
            10..=13 => self.flush(store)?,
            14 => {
                self.flush(store)?;
                let all = self.random.below(3) == 0;
                well(&self.disk, store.write_behind(all))?;
            }
            15 | 16 => {
                self.flush(store)?;
                well(&self.disk, store.sync_step())?;
            }
            17 => {
                for log in store.take_states_asked() {
                    well(&self.disk, store.put_state(log, &state(&self.partitions[&log])))?;
                }
            }
            18 => self.set_start(store)?,
            _ => drop(well(&self.disk, store.prepare())?),
        }
        Some(())
    }

    /// What was given back must be what was flushed, with a beginning of what was not.
    fn check(&mut self, restored: &[Restored]) {
        let mut found = BTreeMap::new();
        for given in restored {
            if given.id.index + 1 == self.next_id && !self.partitions.contains_key(&given.log) {
                // The crash came while it was created.
                self.partitions.insert(given.log, Model { id: given.id.index, ..Model::default() });
            }
            let Some(model) = self.partitions.get(&given.log) else {
                panic!("{} was dropped and is back", given.log);
            };
            assert_eq!(given.id, self.id(given.log));
            assert!(
                given.end.0 >= model.flushed_end,
                "{}: flushed to {}, ends at {}",
                given.log,
                model.flushed_end,
                given.end
            );
            let mut model = model.clone();
            model.batches.retain(|end, _| *end <= given.end.0);
            model.start = self.check_state(&model, given);
            model.first_segment = model.first_segment.min(model.start);
            self.check_content(&mut model, given);
            (model.end, model.flushed_end) = (given.end.0, given.end.0);
            let last = given.batches.last().filter(|last| last.end == given.end);
            let last = last.filter(|last| !last.is_written);
            model.place = last.map_or(given.flushed_place, |last| last.at.plus(last.batch.len() as u64));
            (model.created_durably, model.dropped) = (true, false);
            found.insert(given.log, model);
        }
        for (log, model) in &self.partitions {
            assert!(found.contains_key(log) || !model.created_durably || model.dropped, "{log} is lost");
        }
        self.partitions = found;
    }

    /// Gives where the log begins.
    fn check_state(&self, model: &Model, given: &Restored) -> i64 {
        let number = |bytes: &[u8]| i64::from_be_bytes(bytes.try_into().expect("eight bytes"));
        let state_end = given.state.as_ref().map_or(0, |state| number(&state[..8]));
        let behind: Vec<i64> =
            given.batches.iter().filter(|batch| batch.is_behind_state).map(|batch| batch.end.0).collect();
        let expected: Vec<i64> = model.batches.range(state_end + 1..).map(|(end, _)| *end).collect();
        assert_eq!(behind, expected, "{}: the state goes to {state_end}", given.log);
        let state_start = given.state.as_ref().map_or(0, |state| number(&state[8..]));
        let start = given.start.map_or(state_start, |start| start.0.max(state_start));
        let first = model.first_segment;
        assert!(start >= first && start <= model.start.max(first), "{}: start", given.log);
        start
    }

    /// The batches that the segments hold, by their ends.
    fn content(&mut self, given: &Restored) -> BTreeMap<i64, Vec<u8>> {
        let mut content = BTreeMap::new();
        for (base, _) in &given.segments {
            let is_last = *base == given.flushed_place.segment;
            let most = if is_last { given.flushed_place.position } else { SEGMENT_BYTES } as usize;
            let (mut bytes, at) = (Vec::new(), Place { segment: *base, position: 0 });
            read_batches(&mut self.disk, given.id, at, most, &mut bytes).expect("it is listed");
            let mut rest = bytes.as_slice();
            while rest.len() > 12 {
                let length = 12 + u32::from_be_bytes(rest[..4].try_into().expect("four")) as usize;
                let end = i64::from_be_bytes(rest[4..12].try_into().expect("eight"));
                if length == 12 {
                    break;
                }
                content.insert(end, rest[..length].to_vec());
                rest = &rest[length..];
            }
        }
        content
    }

    fn check_content(&mut self, model: &mut Model, given: &Restored) {
        let content = self.content(given);
        let flushed = given.flushed_end.0;
        let start = model.start.max(model.first_segment);
        for (end, bytes) in model.batches.range(start + 1..).filter(|(end, _)| **end <= flushed) {
            let found = content.get(end);
            assert_eq!(found, Some(bytes), "{}: the batch that ends at {end} of {flushed}", given.log);
        }
        for given_batch in &given.batches {
            assert_eq!(
                model.batches.get(&given_batch.end.0).map(Vec::as_slice),
                Some(&given_batch.batch[..])
            );
            assert_eq!(given_batch.now, WallTime::of_ms(given_batch.end.0));
        }
        let unwritten = given.batches.iter().filter(|batch| !batch.is_written);
        let tail: Vec<i64> = unwritten.map(|batch| batch.end.0).collect();
        let expected: Vec<i64> = model.batches.range(flushed + 1..).map(|(end, _)| *end).collect();
        assert_eq!(tail, expected, "{}: behind what is flushed", given.log);
    }
}

fn play(seed: u64) -> u64 {
    let disk = SimDisk::new(seed);
    let random = Random::new(seed);
    let mut world =
        World { random, disk: disk.clone(), partitions: BTreeMap::new(), next_id: 0, recycled: 0 };
    for _ in 0..6 {
        let crash = world.random.below(3) > 0;
        if crash {
            let operation = disk.operations() + 1 + world.random.below(400);
            disk.crash_at(operation);
        }
        if let Ok((mut store, restored)) = Store::open(disk.clone(), config(), [seed as u8; 16], "ours") {
            world.check(&restored);
            for _ in 0..600 {
                if world.act(&mut store).is_none() {
                    break;
                }
            }
            world.recycled += store.stats().segments_recycled;
            if !disk.crashed() && world.random.below(2) == 0 && store.close().is_ok() {
                world.flushed();
            }
        }
        disk.crash([Loss::All, Loss::Some, Loss::Nothing][world.random.below(3) as usize]);
        disk.restart();
    }
    let (_, restored) = Store::open(disk.clone(), config(), [0; 16], "ours").expect("the disk is well");
    world.check(&restored);
    let ids: Vec<String> =
        restored.iter().map(|given| segment_path(given.id, Offset(0))[..39].into()).collect();
    let leaked: Vec<String> = disk.paths().into_iter().filter(|path| path.starts_with("data/")).collect();
    assert!(
        leaked.iter().all(|path| ids.iter().any(|id| path.starts_with(id))),
        "seed {seed}: {leaked:?} of {ids:?}"
    );
    world.recycled
}

#[test]
fn nothing_flushed_is_lost_wherever_a_crash_comes() {
    let recycled: u64 = (0..1_000).map(play).sum();
    assert!(recycled > 3_000, "segments of the write-ahead log were used again only {recycled} times");
}

#[test]
fn directory_of_another_owner_is_refused() {
    let disk = SimDisk::new(1);
    disk.put("something", vec![1]);
    assert!(Store::open(disk, config(), [0; 16], "ours").is_err());
}

#[test]
fn directory_of_another_cluster_is_refused_and_stays_as_it_is() {
    let disk = SimDisk::new(1);
    let (mut store, _) = Store::open(disk.clone(), config(), [1; 16], "ours").expect("it is empty");
    let id = PartitionId { topic: [3; 16], index: 0 };
    let log = store.create(id, Offset(0)).expect("there is room");
    store.close().expect("the disk is well");
    let refused = Store::open(disk.clone(), config(), [2; 16], "theirs").map(|_| ()).expect_err("it is ours");
    assert!(refused.to_string().contains("data of the cluster ours"), "{refused}");
    let (_, restored) = Store::open(disk, config(), [2; 16], "ours").expect("it is ours");
    assert_eq!(restored.iter().map(|given| given.log).collect::<Vec<_>>(), [log]);
}

#[test]
fn segment_of_a_partition_has_its_offset_in_its_name() {
    let id = PartitionId { topic: [0; 16], index: 7 };
    assert_eq!(segment_path(id, Offset(12)), format!("data/{:032x}-7-{:020}.log", 0, 12));
}
