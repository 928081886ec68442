//! A write-ahead log on a simulated disk, worked on by the owners of several logs, chance deciding what comes next.

use crate::model::{Change, Model};
use crate::owners::{Owner, Owners, Restoring, Summary};
use sim_council::disk::{Loss, SimDisk};
use sim_council::random::Random;
use storage_wal::meta::{self, Meta, Names};
use storage_wal::{
    AppendError, Class, CreateError, Fault, LogId, OpenError, Position, Replayed, Wal, WalConfig,
    record_bytes_max,
};

/// The disk failed as it was told to.
#[derive(Debug)]
pub(crate) struct Stopped;

impl From<Fault> for Stopped {
    fn from(_: Fault) -> Stopped {
        Stopped
    }
}

pub(crate) const INCARNATION: [u8; 16] = [9; 16];
/// Logs that there are at a time, at most.
const LOGS: usize = 6;

/// Segments so small that a few records fill them.
pub(crate) fn config() -> WalConfig {
    WalConfig {
        segment_bytes: 6 << 10,
        first_segment_bytes: 3 << 10,
        reserved_bytes: 512,
        prepare_step_bytes: 2 << 10,
        write_buffer_bytes: 1500,
        recycled_segments_max: 2,
    }
}

pub(crate) struct World {
    pub(crate) disk: SimDisk,
    pub(crate) model: Model,
    pub(crate) random: Random,
    pub(crate) wal: Option<Wal<SimDisk>>,
    pub(crate) owners: Owners,
    stamp: u64,
}

impl World {
    pub(crate) fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let disk = SimDisk::new(random.number());
        World { disk, model: Model::default(), random, wal: None, owners: Owners::default(), stamp: 0 }
    }

    /// One that is open and has so many logs, whose creation is durable.
    pub(crate) fn with_logs(seed: u64, logs: usize) -> (World, Vec<LogId>) {
        let mut world = World::new(seed);
        world.open().unwrap();
        let logs = (0..logs).map(|_| world.create().unwrap().expect("there is room")).collect();
        world.flush().unwrap();
        (world, logs)
    }

    /// Opens the log, or makes one, and compares what was recovered with the model.
    pub(crate) fn open(&mut self) -> Result<(), OpenError> {
        self.wal = None;
        let mut disk = self.disk.clone();
        if meta::open(&mut disk, Names { directories: &[], harmless: &[] })?.is_none() {
            self.owners = Owners::default();
            let mut wal = Wal::create(disk, config(), INCARNATION, 0, &self.owners)?;
            meta::write(wal.disk(), &Meta { incarnation: INCARNATION, owner: Vec::new() })?;
            self.wal = Some(wal);
            return Ok(());
        }
        let floors = self.model.floors.clone();
        let mut restoring = Restoring::new(&floors);
        let replayed = Replayed::read(disk, config(), INCARNATION, &mut restoring)?;
        let (mut wal, _) = replayed.resume()?;
        wal.mark_clean()?;
        self.model.check(&restoring, &mut wal).unwrap_or_else(|wrong| panic!("{wrong}"));
        let oldest = wal.first_sequence();
        self.model.check_order(&mut wal, oldest).unwrap_or_else(|wrong| panic!("{wrong}"));
        self.owners = restoring.owners();
        self.wal = Some(wal);
        Ok(())
    }

    /// The power fails; the log is opened again, if need be with further failures while it recovers.
    pub(crate) fn power_loss(&mut self, loss: Loss, crash_in_recovery: Option<u64>) {
        self.wal = None;
        self.disk.crash(loss);
        if let Some(after) = crash_in_recovery {
            self.disk.crash_at(self.disk.operations() + after);
            if self.open().is_ok() {
                // Recovery was through before the crash could strike.
                self.wal = None;
            }
            self.disk.crash(loss);
        }
        self.open().unwrap_or_else(|error| panic!("{error}"));
    }

    /// The process is killed and started again; the power stays.
    pub(crate) fn kill(&mut self) {
        self.wal = None;
        self.disk.restart();
        self.open().unwrap_or_else(|error| panic!("{error}"));
    }

    pub(crate) fn play(&mut self, steps: usize) -> Result<(), Stopped> {
        (0..steps).try_for_each(|_| self.step())
    }

    fn step(&mut self) -> Result<(), Stopped> {
        match self.random.below(100) {
            0..42 => self.append().map(|_| ()),
            42..60 => self.flush(),
            60..68 => self.create().map(|_| ()),
            68..72 => self.drop_one(),
            72..76 => Ok(self.wal().prepare().map(|_| ())?),
            76..80 => Ok(self.wal().keep_ahead()?),
            80..83 => self.mark_clean(),
            83..93 => self.release(),
            93..97 => self.read(),
            _ => self.reopen(),
        }
    }

    pub(crate) fn wal(&mut self) -> &mut Wal<SimDisk> {
        self.wal.as_mut().expect("the log is open")
    }

    /// One of the logs that there are.
    fn any_log(&mut self) -> Option<LogId> {
        let count = self.owners.0.len() as u64;
        self.owners.0.keys().nth(self.random.below(count) as usize).copied()
    }

    /// A group of records for several logs. Whether there was room for it.
    pub(crate) fn append(&mut self) -> Result<bool, Stopped> {
        let mut records = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let Some(log) = self.any_log() else { return Ok(true) };
            let long = self.random.chance(8);
            let length = if long { self.random.below(3000) } else { self.random.below(250) };
            records.push((log, length as usize));
        }
        self.append_these(&records, Class::Ordinary)
    }

    /// Records of these lengths, in one group. Whether there was room for it.
    pub(crate) fn append_these(&mut self, records: &[(LogId, usize)], class: Class) -> Result<bool, Stopped> {
        let payloads: Vec<_> = records.iter().map(|(log, length)| (*log, self.payload(*length))).collect();
        let bytes = payloads.iter().map(|(_, payload)| record_bytes_max(payload.len())).sum();
        let wal = self.wal.as_mut().expect("the log is open");
        let mut group = match wal.group(bytes, class, &self.owners) {
            Ok(group) => group,
            Err(AppendError::Full) => return Ok(false),
            Err(AppendError::Fault(_)) => return Err(Stopped),
            Err(other) => panic!("{other}"),
        };
        for (log, payload) in payloads {
            self.model.add(Change::Append(log, payload.clone()));
            let position =
                group.append(log, payload.len(), &self.owners, |out| out.extend_from_slice(&payload))?;
            self.owners.0.get_mut(&log).expect("a log that there is").append(&payload, position);
        }
        Ok(true)
    }

    fn payload(&mut self, length: usize) -> Vec<u8> {
        self.stamp += 1;
        let mut payload = vec![self.random.number() as u8; length];
        payload.extend_from_slice(&self.stamp.to_le_bytes());
        payload
    }

    pub(crate) fn flush(&mut self) -> Result<(), Stopped> {
        self.wal().flush()?;
        self.model.flush();
        Ok(())
    }

    pub(crate) fn mark_clean(&mut self) -> Result<(), Stopped> {
        self.wal().mark_clean()?;
        self.model.flush();
        Ok(())
    }

    /// Creates a log unless there are enough. Nothing if there are, or no room is left.
    pub(crate) fn create(&mut self) -> Result<Option<LogId>, Stopped> {
        if self.owners.0.len() >= LOGS {
            return Ok(None);
        }
        let label = self.random.below(10_000);
        let expected = self.model.next_log();
        self.model.add(Change::Create(expected, label));
        let summary = Summary::new(label);
        let wal = self.wal.as_mut().expect("the log is open");
        let created =
            wal.create_log(Class::Ordinary, &self.owners, summary.bytes(), |out| summary.encode(out));
        match created {
            Ok(log) => {
                assert_eq!(log, expected);
                let mut owner = Owner::new(label);
                owner.reach(wal.end().sequence);
                self.owners.0.insert(log, owner);
                Ok(Some(log))
            }
            Err(CreateError::Append(AppendError::Full)) => {
                self.model.take_back();
                Ok(None)
            }
            Err(CreateError::Append(AppendError::Fault(_))) => Err(Stopped),
            Err(other) => panic!("{other}"),
        }
    }

    fn drop_one(&mut self) -> Result<(), Stopped> {
        let Some(log) = self.any_log() else { return Ok(()) };
        self.drop_log(log).map(|_| ())
    }

    /// Whether there was room for that.
    pub(crate) fn drop_log(&mut self, log: LogId) -> Result<bool, Stopped> {
        self.model.add(Change::Drop(log));
        let wal = self.wal.as_mut().expect("the log is open");
        match wal.drop_log(log, &self.owners) {
            Ok(()) => {
                self.owners.0.remove(&log);
                Ok(true)
            }
            Err(AppendError::Full) => {
                self.model.take_back();
                Ok(false)
            }
            Err(AppendError::Fault(_)) => Err(Stopped),
            Err(other) => panic!("{other}"),
        }
    }

    /// An owner keeps some of its flushed records elsewhere; what no log needs is recycled.
    fn release(&mut self) -> Result<(), Stopped> {
        if let Some(log) = self.any_log() {
            let flushed = self.model.flushed_records(log);
            let kept = self.model.floors.get(&log).copied().unwrap_or(0);
            let floor = kept + self.random.below(flushed + 1 - kept);
            self.release_until(log, floor);
        }
        Ok(self.wal().recycle()?)
    }

    /// The first `floor` records of a log, all flushed, are no longer wanted.
    pub(crate) fn release_until(&mut self, log: LogId, floor: u64) {
        self.model.floors.insert(log, floor);
        let wal = self.wal.as_mut().expect("the log is open");
        let owner = self.owners.0.get_mut(&log).expect("a log that there is");
        owner.reach(wal.end().sequence);
        if let Some(sequence) = owner.needed_from(floor) {
            wal.retain_from(log, Position { sequence, offset: 0 });
        }
    }

    fn read(&mut self) -> Result<(), Stopped> {
        let Some(log) = self.any_log() else { return Ok(()) };
        let owner = &self.owners.0[&log];
        let (first, places) = (owner.places.0, &owner.places.1);
        let at = self.random.below(places.len() as u64);
        let Some(position) = places.get(at as usize).copied() else { return Ok(()) };
        if position.sequence < self.wal().first_sequence() {
            assert!(self.wal().read(log, position).is_err(), "a segment that is gone was read");
            return Ok(());
        }
        let read = self.wal().read(log, position);
        if self.disk.crashed() {
            return Err(Stopped);
        }
        assert_eq!(read.unwrap(), self.model.record(log, first + at), "record {at} of log {log}");
        Ok(())
    }

    /// Closed in order, or killed: without a loss of power the page cache keeps everything.
    fn reopen(&mut self) -> Result<(), Stopped> {
        if self.random.chance(50) {
            self.mark_clean()?;
        }
        match self.open() {
            Ok(()) => Ok(()),
            Err(OpenError::Disk(_)) => Err(Stopped),
            Err(error) => panic!("{error}"),
        }
    }
}
