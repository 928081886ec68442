//! What is told to be committed, and what of it outlives a crash: by the executor of the disk, over a disk that loses what was
//! not flushed.

use std::collections::BTreeMap;

use base::{MonoTime, Random, WallTime};
use bytes::Bytes;
use log_broker::{DiskCommand, DiskEvent, DiskExecutor, Next};
use log_partition::{Commit, Cut, LeaderEpoch, Offset, PartitionId, Place};
use log_storage::{Append, StoreConfig};
use log_wire::{Attributes, Batch, BatchBuilder, Producer};
use storage_disk::sim::{Loss, SimDisk};
use storage_wal::{LogId, WalConfig};

const RELAXED: Commit = Commit::Written { flush_ms: u64::MAX };

fn config() -> StoreConfig {
    let wal = WalConfig {
        segment_bytes: 32 << 10,
        first_segment_bytes: 16 << 10,
        reserved_bytes: 2 << 10,
        prepare_step_bytes: 4 << 10,
        write_buffer_bytes: 4 << 10,
        recycled_segments_max: 1,
    };
    StoreConfig { wal, write_behind_bytes: 500, memory_bytes_max: 4_000, ..StoreConfig::default() }
}

/// An executor with partitions that are told apart by their numbers, and what was told of their batches.
struct World {
    disk: SimDisk,
    executor: DiskExecutor<SimDisk>,
    now: MonoTime,
    events: Vec<DiskEvent>,
    logs: BTreeMap<LogId, Log>,
    /// How many commands were given, and the batch of each.
    given: u64,
    batches: BTreeMap<u64, (LogId, i64, Commit)>,
}

#[derive(Default)]
struct Log {
    index: i32,
    end: i64,
    position: u64,
    /// Up to where batches were told to be committed, and what of that must outlive a loss of power.
    committed: i64,
    flushed: i64,
}

impl World {
    fn new(disk: SimDisk, partitions: i32) -> Self {
        let (executor, stored) =
            DiskExecutor::open(disk.clone(), config(), ([1; 16], "c")).expect("it opens");
        assert!(stored.is_empty());
        let (logs, batches) = (BTreeMap::new(), BTreeMap::new());
        let mut world =
            Self { disk, executor, now: MonoTime::ZERO, events: Vec::new(), logs, given: 0, batches };
        let ids = (0..partitions).map(|index| PartitionId { topic: [1; 16], index });
        let creates: Vec<DiskCommand> = ids.map(|id| DiskCommand::Create(id, Offset(0))).collect();
        world.turn(creates).expect("the disk is well");
        for event in std::mem::take(&mut world.events) {
            if let DiskEvent::Created(id, log) = event {
                world.logs.insert(log, Log { index: id.index, ..Log::default() });
            }
        }
        world
    }

    fn log(&self, number: u64) -> LogId {
        LogId(number + 1)
    }

    fn append(&mut self, log: LogId, commit: Commit) -> DiskCommand {
        let of = self.logs.get_mut(&log).expect("it was created");
        let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
        builder.push(5, None, Some(&[7; 80]), &[]);
        let mut batch = builder.finish();
        Batch::assign(&mut batch, of.end, 0);
        let at = Place { segment: Offset(0), position: of.position };
        of.end += 1;
        of.position += batch.len() as u64;
        let (end, batch, index) = (Offset(of.end), Bytes::from(batch), Vec::new());
        DiskCommand::Append(Append {
            log,
            at,
            end,
            now: WallTime::of_ms(1),
            begun: Vec::new(),
            batch,
            commit,
            index,
        })
    }

    fn turn(&mut self, commands: Vec<DiskCommand>) -> Option<Next> {
        let mut commands = commands;
        for command in &commands {
            self.given += 1;
            if let DiskCommand::Append(append) = command {
                self.batches.insert(self.given, (append.log, append.end.0, append.commit));
            }
        }
        let from = self.events.len();
        let turned = self.executor.turn(&mut commands, &mut self.events, self.now);
        let next = turned.and_then(|()| self.executor.work(&mut self.events));
        for event in &self.events[from..] {
            match event {
                DiskEvent::Early(numbers) => {
                    for number in numbers {
                        let (log, end, _) = self.batches[number];
                        let log = self.logs.get_mut(&log).expect("it was created");
                        log.committed = log.committed.max(end);
                    }
                }
                DiskEvent::Durable(count) => {
                    for (log, end, _) in self.batches.range(..=count).map(|(_, batch)| batch) {
                        let log = self.logs.get_mut(log).expect("it was created");
                        (log.committed, log.flushed) = (log.committed.max(*end), log.flushed.max(*end));
                    }
                    self.batches = self.batches.split_off(&(count + 1));
                }
                _ => {}
            }
        }
        assert!(next.is_ok() || self.disk.crashed(), "failed on a good disk: {next:?}");
        next.ok()
    }

    /// Which numbers were told to count early, and up to which one commands are durable.
    fn told(&mut self) -> (Vec<u64>, u64) {
        let (mut early, mut durable) = (Vec::new(), 0);
        for event in self.events.drain(..) {
            match event {
                DiskEvent::Early(numbers) => early.extend(numbers),
                DiskEvent::Durable(count) => durable = count,
                _ => {}
            }
        }
        (early, durable)
    }

    /// Where each partition ends after a start.
    fn ends(&self) -> BTreeMap<i32, i64> {
        let opened = DiskExecutor::open(self.disk.clone(), config(), ([1; 16], "c"));
        let (_, stored) = opened.expect("nothing is damaged");
        stored
            .into_iter()
            .map(|stored| {
                assert_eq!(stored.damage, None);
                (stored.id.index, stored.partition.expect("it is whole").end().0)
            })
            .collect()
    }
}

#[test]
fn relaxed_batches_count_once_they_are_written_and_are_not_flushed_before_their_time() {
    let mut world = World::new(SimDisk::new(1), 1);
    let (log, flushes) = (world.log(0), world.disk.flushes());
    world.told();
    for number in 2..12 {
        let append = world.append(log, RELAXED);
        let next = world.turn(vec![append]).expect("the disk is well");
        assert_eq!(world.told(), (vec![number], 0));
        assert!(matches!(next, Next::Now | Next::InMs(..=1_000)));
    }
    // Making the next segment of the write-ahead log flushes too, but not the batches.
    world.now = MonoTime::of_ms(999);
    world.turn(Vec::new());
    assert_eq!(world.told(), (Vec::new(), 0));
    world.now = MonoTime::of_ms(1_000);
    world.turn(Vec::new());
    assert_eq!(world.told(), (Vec::new(), 11), "they are flushed by then");
    assert!(world.disk.flushes() > flushes);
}

#[test]
fn flush_ms_bounds_how_long_a_batch_is_not_flushed() {
    let mut world = World::new(SimDisk::new(1), 1);
    world.told();
    let append = world.append(world.log(0), Commit::Written { flush_ms: 20 });
    let next = world.turn(vec![append]).expect("the disk is well");
    assert_eq!((world.told(), next), ((vec![2], 0), Next::InMs(20)));
    world.now = MonoTime::of_ms(20);
    world.turn(Vec::new());
    assert_eq!(world.told(), (Vec::new(), 2));
}

#[test]
fn turn_with_both_kinds_tells_of_relaxed_batches_before_it_flushes() {
    let mut world = World::new(SimDisk::new(1), 2);
    world.told();
    let (strict, relaxed) = (world.log(0), world.log(1));
    let commands = vec![world.append(strict, Commit::Flushed), world.append(relaxed, RELAXED)];
    assert_eq!(world.turn(commands), Some(Next::Now));
    assert_eq!(world.told(), (vec![4], 0));
    // Those that come meanwhile are flushed with them.
    let commands = vec![world.append(relaxed, RELAXED)];
    world.turn(commands);
    assert_eq!(world.told(), (Vec::new(), 5));
}

#[test]
fn relaxed_batch_behind_one_that_waits_for_a_flush_waits_with_it() {
    let mut world = World::new(SimDisk::new(1), 2);
    world.told();
    let (log, other) = (world.log(0), world.log(1));
    let commands =
        vec![world.append(log, Commit::Flushed), world.append(log, RELAXED), world.append(other, RELAXED)];
    world.turn(commands);
    assert_eq!(world.told(), (vec![5], 0));
    world.turn(Vec::new());
    assert_eq!(world.told(), (Vec::new(), 5));
}

/// What was told of room last.
fn room(world: &mut World) -> Option<u64> {
    let mut rooms = world.events.drain(..).filter_map(|event| match event {
        DiskEvent::Room(bytes) => Some(bytes),
        _ => None,
    });
    rooms.next_back()
}

#[test]
fn burst_of_more_than_a_segment_of_the_write_ahead_log_is_no_shortage() {
    let mut world = World::new(SimDisk::new(1), 1);
    assert_eq!(room(&mut world), None, "World::new has taken it");
    let commands = (0..1_000).map(|_| world.append(world.log(0), Commit::Flushed)).collect();
    world.turn(commands).expect("the disk is well");
    assert!(world.events.contains(&DiskEvent::Durable(1_001)));
    assert!(matches!(room(&mut world), None | Some(u64::MAX)), "the disk is not full");
}

#[test]
fn full_disk_is_told_and_what_came_before_waits_for_room() {
    let mut world = World::new(SimDisk::new(1), 1);
    world.disk.set_capacity(world.disk.used());
    room(&mut world);
    let commands = (0..1_000).map(|_| world.append(world.log(0), Commit::Flushed)).collect();
    world.turn(commands).expect("a full disk is not broken");
    assert!(!world.events.contains(&DiskEvent::Durable(1_001)));
    assert!(room(&mut world).is_some_and(|bytes| bytes < 100_000), "it is full");
    world.disk.set_capacity(u64::MAX);
    world.turn(Vec::new()).expect("the disk is well");
    assert!(world.events.contains(&DiskEvent::Durable(1_001)));
    assert_eq!(room(&mut world), Some(u64::MAX));
}

#[test]
fn full_disk_is_freed_by_what_comes_behind_batches_that_wait() {
    for frees_by_start in [false, true] {
        let mut world = World::new(SimDisk::new(1), 3);
        let (log, other) = (world.log(0), world.log(1));
        let commands = (0..2_000).map(|_| world.append(other, Commit::Flushed)).collect();
        world.turn(commands);
        world.now = MonoTime::of_ms(2_000);
        world.turn(Vec::new());
        world.disk.set_capacity(world.disk.used());
        let commands = (0..1_000).map(|_| world.append(log, Commit::Flushed)).collect();
        world.turn(commands).expect("a full disk is not broken");
        let is_durable = |world: &World| world.events.contains(&DiskEvent::Durable(world.given));
        assert!(!is_durable(&world));
        let free = match frees_by_start {
            true => DiskCommand::Start(other, Offset(2_000), Offset(2_000)),
            false => DiskCommand::Drop(other),
        };
        let behind = world.append(world.log(2), Commit::Flushed);
        world.turn(vec![behind, free]);
        for _ in 0..20 {
            world.turn(Vec::new());
        }
        assert!(is_durable(&world), "room was made, and was used");
        let ends = world.ends();
        assert_eq!((ends[&0], ends[&2]), (1_000, 1));
        assert_eq!(ends.get(&1).copied(), frees_by_start.then_some(2_000));
    }
}

/// A leader deletes what its followers have committed, also if a disk here has no room for it yet.
#[test]
fn start_behind_what_waits_for_room_waits_with_it() {
    for waiting in ["batches", "a reset", "a cut"] {
        let mut world = World::new(SimDisk::new(1), 2);
        let log = world.log(0);
        let appends = (0..20).map(|_| world.append(log, Commit::Flushed)).collect();
        world.turn(appends).expect("the disk is well");
        world.disk.set_capacity(world.disk.used());
        let mut commands: Vec<_> = (0..1_000).map(|_| world.append(world.log(1), Commit::Flushed)).collect();
        let start = match waiting {
            "batches" => {
                commands.extend((0..10).map(|_| world.append(log, Commit::Flushed)));
                30
            }
            "a reset" => {
                commands.push(DiskCommand::Reset(log, Offset(7), LeaderEpoch(3)));
                7
            }
            _ => {
                let at = Place { segment: Offset(0), position: world.logs[&log].position / 20 * 8 };
                commands.push(DiskCommand::Cut(log, Cut { end: Offset(8), at, keeps_index: false }));
                8
            }
        };
        commands.push(DiskCommand::Start(log, Offset(start), Offset(start)));
        world.turn(commands).expect("a full disk is not broken");
        assert_eq!(world.ends()[&0], 20, "{waiting}: nothing of it was carried out");
        world.disk.set_capacity(u64::MAX);
        world.turn(Vec::new()).expect("the disk is well");
        assert_eq!(world.ends()[&0], start, "{waiting}");
    }
}

#[test]
fn files_of_a_dropped_log_are_removed_a_step_at_a_time() {
    let mut world = World::new(SimDisk::new(1), 100);
    let appends = (0..100).map(|number| world.append(world.log(number), Commit::Flushed)).collect();
    world.turn(appends);
    world.now = MonoTime::of_ms(2_000);
    // A step of writing begins the files of a few.
    while world.turn(Vec::new()) == Some(Next::Now) {}
    let files = |world: &World| world.disk.paths().iter().filter(|path| path.ends_with(".log")).count();
    assert_eq!(files(&world), 100, "{:?}", world.disk.paths());
    let drops = (0..100).map(|number| DiskCommand::Drop(world.log(number))).collect();
    assert_eq!(world.turn(drops), Some(Next::Now), "more are to be removed");
    assert!((1..100).contains(&files(&world)), "a few at a time");
    for _ in 0..10 {
        world.turn(Vec::new());
    }
    assert_eq!(files(&world), 0);
}

/// A loss of power takes relaxed batches from the end only; the end of the process takes nothing.
#[test]
fn committed_batches_outlive_what_they_have_to() {
    let mut lost = 0;
    for seed in 0..600 {
        let disk = SimDisk::new(seed);
        let mut random = Random::new(seed);
        let mut world = World::new(disk.clone(), 4);
        disk.crash_at(disk.operations() + 20 + random.below(300));
        for _ in 0..200 {
            let commands = (0..random.below(5)).map(|_| {
                let number = random.below(4);
                let log = world.log(number);
                let mostly = if number.is_multiple_of(2) { RELAXED } else { Commit::Flushed };
                world.append(log, if random.chance(90) { mostly } else { RELAXED })
            });
            let commands = commands.collect();
            world.now = world.now.plus_ms(random.below(40));
            if world.turn(commands).is_none() {
                break;
            }
            world.told();
        }
        let power = random.chance(70);
        if power {
            disk.crash([Loss::All, Loss::Some, Loss::Nothing][random.below(3) as usize]);
        }
        disk.restart();
        let ends = world.ends();
        for log in world.logs.values() {
            let least = if power { log.flushed } else { log.committed };
            let end = ends[&log.index];
            assert!((least..=log.end).contains(&end), "seed {seed}: {least} is committed, the end is {end}");
            lost += (log.committed - end).max(0);
        }
    }
    assert!(lost > 100, "a loss of power takes what was only written: {lost}");
}
