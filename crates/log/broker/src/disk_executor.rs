//! What the thread of the disk does: which calls of the store, and in which order.
//!
//! A turn takes the commands that came, appends all batches of them together, flushes once, tells what is durable, and only
//! then writes batches to their segments. What can wait (flushing segments, making the next segment of the write-ahead
//! log) is done in steps between turns.
//!
//! Invariant: an event says that a command is durable only after a flush that began behind it (L2).

use std::collections::VecDeque;

use base::MonoTime;
use log_partition::{Offset, Place, Segment};
use log_storage::{Append, Restored, Store, StoreConfig, read_batches};
use storage_disk::{Disk, DiskError};
use storage_wal::{AppendError, CreateError, Fault, OpenError, Progress, Space};

use crate::disk_work::{DiskCommand, DiskEvent, StoredPartition};

/// How many bytes of a segment are read at once to index it.
const SCAN_BYTES: usize = 1 << 20;
/// How old a batch in memory becomes, milliseconds.
const MEMORY_MS: u64 = 1_000;
/// How often room is looked for on a full disk, milliseconds.
const RETRY_MS: u64 = 100;

/// When the next turn is due, if no command comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At once: there is more to do.
    Now,
    /// After so many milliseconds.
    InMs(u64),
}

/// See the module.
pub struct DiskExecutor<D: Disk> {
    store: Store<D>,
    commands: VecDeque<DiskCommand>,
    /// How many commands were carried out.
    done: u64,
    /// What is told once it is durable.
    unflushed: Vec<DiskEvent>,
    told_durable: u64,
    told_room: Option<u64>,
    written_all: MonoTime,
}

impl<D: Disk> DiskExecutor<D> {
    /// Opens the directory of a cluster, or initialises an empty one. Gives the partitions that it holds.
    ///
    /// # Errors
    /// In every case nothing that may have been acknowledged was changed.
    pub fn open(
        disk: D,
        reader: &mut impl Disk,
        config: StoreConfig,
        (incarnation, cluster): ([u8; 16], &str),
    ) -> Result<(Self, Vec<StoredPartition>), OpenError> {
        let (store, restored) = Store::open(disk, config, incarnation, cluster)?;
        let stored = restored.into_iter().map(|restored| scan(reader, restored)).collect::<Result<_, _>>()?;
        let executor = Self {
            store,
            commands: VecDeque::new(),
            done: 0,
            unflushed: Vec::new(),
            told_durable: 0,
            told_room: None,
            written_all: MonoTime::ZERO,
        };
        Ok((executor, stored))
    }

    /// One turn. Takes the commands, and appends what is to be told to `events`.
    ///
    /// # Errors
    /// The disk failed: nothing more may be acknowledged.
    pub fn turn(
        &mut self,
        commands: &mut Vec<DiskCommand>,
        events: &mut Vec<DiskEvent>,
        now: MonoTime,
    ) -> Result<Next, Fault> {
        self.commands.extend(commands.drain(..));
        if self.store.space() == Space::Full {
            self.store.try_preallocate()?;
        }
        while let Some(command) = self.commands.pop_front() {
            if !self.carry_out(command)? {
                break;
            }
        }
        let flushed = self.flush(events)?;
        let all = now >= self.written_all.plus_ms(MEMORY_MS);
        if flushed {
            self.written_all = if all { now } else { self.written_all };
            self.store.write_behind(all)?;
        }
        self.store.keep_ahead()?;
        let more = self.step(flushed)?;
        self.tell(events);
        Ok(match (flushed && self.commands.is_empty(), more) {
            (false, _) => Next::InMs(RETRY_MS),
            (true, true) => Next::Now,
            (true, false) => Next::InMs(MEMORY_MS),
        })
    }

    /// A turn that appends and flushes, and leaves what can wait to later ones: for a thread that has other things to do.
    ///
    /// # Errors
    /// The disk failed: nothing more may be acknowledged.
    pub fn short_turn(
        &mut self,
        commands: &mut Vec<DiskCommand>,
        events: &mut Vec<DiskEvent>,
    ) -> Result<(), Fault> {
        self.commands.extend(commands.drain(..));
        while let Some(command) = self.commands.pop_front() {
            if !self.carry_out(command)? {
                break;
            }
        }
        self.flush(events)?;
        self.tell(events);
        Ok(())
    }

    /// The id of the directory.
    #[must_use]
    pub const fn directory_id(&self) -> [u8; 16] {
        self.store.incarnation()
    }

    /// Whether commands wait that found no room.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Ends, with everything durable that was told to be.
    ///
    /// # Errors
    /// The disk failed.
    pub fn close(self) -> Result<D, Fault> {
        self.store.close()
    }

    /// Whether there was room for it; if not, it waits.
    fn carry_out(&mut self, command: DiskCommand) -> Result<bool, Fault> {
        let waiting = command.clone();
        let mut count = 1;
        let result = match command {
            DiskCommand::Append(first) => {
                let batches = self.gather(first);
                count = batches.len() as u64;
                let result = self.store.append(&batches).map(|_| ());
                if result.is_err() {
                    batches
                        .into_iter()
                        .rev()
                        .for_each(|batch| self.commands.push_front(DiskCommand::Append(batch)));
                    return full(result).map(|()| false);
                }
                result
            }
            DiskCommand::Create(id, start) => match self.store.create(id, start) {
                Ok(log) => {
                    self.unflushed.push(DiskEvent::Created(id, log));
                    Ok(())
                }
                Err(CreateError::Append(error)) => Err(error),
                Err(CreateError::TooManyLogs) => Err(AppendError::Full),
            },
            DiskCommand::Drop(log) => self.store.drop_log(log),
            DiskCommand::State(log, state) => self.store.put_state(log, &state),
            DiskCommand::Start(log, start, first) => self.store.set_start(log, start, first),
        };
        if result.is_err() {
            self.commands.push_front(waiting);
            return full(result).map(|()| false);
        }
        self.done += count;
        Ok(true)
    }

    /// This batch and those that follow at once.
    fn gather(&mut self, first: Append) -> Vec<Append> {
        let mut batches = vec![first];
        while let Some(DiskCommand::Append(next)) =
            self.commands.pop_front_if(|next| matches!(next, DiskCommand::Append(_)))
        {
            batches.push(next);
        }
        batches
    }

    /// Whether everything that was carried out is durable now.
    fn flush(&mut self, events: &mut Vec<DiskEvent>) -> Result<bool, Fault> {
        match self.store.flush() {
            Err(fault) if fault.error == DiskError::Full => return Ok(false),
            other => other?,
        }
        events.append(&mut self.unflushed);
        if self.told_durable != self.done {
            self.told_durable = self.done;
            events.push(DiskEvent::Durable(self.done));
        }
        Ok(true)
    }

    /// A step of what can wait.
    fn step(&mut self, flushed: bool) -> Result<bool, Fault> {
        let synced = if flushed { self.store.sync_step()? } else { Progress::Idle };
        let prepared = self.store.prepare()?;
        Ok(synced == Progress::More || prepared == Progress::More)
    }

    fn tell(&mut self, events: &mut Vec<DiskEvent>) {
        events.extend(
            self.store.take_written().into_iter().map(|written| DiskEvent::Written(written.log, written.end)),
        );
        let asked = self.store.take_states_asked();
        if !asked.is_empty() {
            events.push(DiskEvent::StatesAsked(asked));
        }
        let room = self.store.room_bytes();
        if self.told_room != Some(room) {
            self.told_room = Some(room);
            events.push(DiskEvent::Room(room));
        }
    }
}

/// A full disk is waited for.
fn full(result: Result<(), AppendError>) -> Result<(), Fault> {
    match result {
        Ok(()) | Err(AppendError::Full) => Ok(()),
        Err(AppendError::Fault(fault)) => Err(fault),
        Err(AppendError::TooLarge { bytes }) => Err(Fault::new(
            "log",
            "append",
            DiskError::Other(format!("a batch of {bytes} bytes is too large")),
        )),
    }
}

/// Indexes the segments of a partition.
fn scan<D: Disk>(disk: &mut D, restored: Restored) -> Result<StoredPartition, Fault> {
    let mut segments = Vec::with_capacity(restored.segments.len());
    for (base, length) in &restored.segments {
        let is_last = *base == restored.flushed_place.segment;
        let bytes = if is_last { restored.flushed_place.position } else { *length };
        segments.push(scan_segment(disk, &restored, *base, bytes)?);
    }
    let Restored { log, id, start, state, batches, .. } = restored;
    Ok(StoredPartition { log, id, start, state, segments, batches })
}

fn scan_segment<D: Disk>(disk: &mut D, of: &Restored, base: Offset, bytes: u64) -> Result<Segment, Fault> {
    let mut segment = Segment::new(base);
    let (mut buffer, mut piece) = (Vec::new(), SCAN_BYTES);
    while segment.bytes() < bytes {
        let at = Place { segment: base, position: segment.bytes() };
        let left = usize::try_from(bytes - segment.bytes()).unwrap_or(usize::MAX);
        buffer.clear();
        let path = || log_storage::segment_path(of.id, base);
        let read = read_batches(disk, of.id, at, piece.min(left), &mut buffer);
        read.map_err(|error| Fault::new(&path(), "read", error))?;
        let taken = segment.scan(&buffer);
        match taken {
            Ok(0) if buffer.len() < left && buffer.len() == piece => piece *= 2,
            Ok(taken) if taken > 0 => {}
            // What is behind the end of an older segment counts for nothing; what is missing is noticed by its partition.
            Ok(_) | Err(_) => break,
        }
    }
    Ok(segment)
}
