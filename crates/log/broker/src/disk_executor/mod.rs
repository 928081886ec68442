//! What the thread of the disk does: which calls of the store, and in which order.
//!
//! A turn takes the commands that came, appends all batches of them together, and commits them. Once that is told, it writes
//! batches to their segments, flushes segments, removes those that are gone and makes the next segment of the write-ahead log: a
//! step of each between two turns.
//!
//! # What commits a batch
//! A batch of a partition with `durability=flushed` counts once a flush that began behind it has succeeded. A batch of one
//! with `durability=replicated` counts once its turn has handed it to the operating system: it then survives the end of this
//! process in any way. A loss of power takes the end of the write-ahead log that was not flushed, in which only such batches
//! can be: at most those of the last [`RELAXED_MS`], or of `flush.ms` if that is less, and those that `flush.messages`
//! permits. What was read of them meanwhile is lost, too, and their offsets are given to other records afterwards. Nothing
//! else is lost with them.
//!
//! A turn that has both kinds first tells of the second kind, and flushes when it is called again, at once.
//!
//! Invariant: an event says that a command is durable only after a flush that began behind it (L2). A batch that counts early
//! does so only if no batch before it in its partition waits for a flush.

mod opening;
mod queue;

use std::collections::BTreeSet;

use base::MonoTime;
use log_partition::Commit;
use log_storage::{Append, Store};
use storage_disk::{Disk, DiskError};
use storage_wal::{AppendError, CreateError, Fault, LogId, Progress, Space};

use crate::disk_work::{DiskCommand, DiskEvent};
use queue::{Queue, Queued};

/// How old a batch in memory becomes, milliseconds.
const MEMORY_MS: u64 = 1_000;
/// How often room is looked for on a full disk, milliseconds.
const RETRY_MS: u64 = 100;
/// How long a batch is only with the operating system, at most, milliseconds.
const RELAXED_MS: u64 = 1_000;

/// How often flushing it begins before it is due, milliseconds: a turn that comes during the flush that is waited for waits as well,
/// so that one is to be short.
const FLUSH_AHEAD_MS: u64 = 100;

/// How many segments the write-ahead log has while flushing keeps up with it.
const WAL_SEGMENTS: u64 = 2;

/// How many steps of flushing come after the first, at most: the next turn waits for them.
const SYNC_STEPS_MAX: u64 = 8;

/// When the next turn is due, if no command comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At once: there is more to do.
    Now,
    /// After so many milliseconds.
    InMs(u64),
}

/// How far a turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Committed {
    /// Everything that was carried out is committed.
    All,
    /// Batches that count early are; the others wait for a flush in the next turn.
    Early,
    /// The disk is full.
    Nothing,
}

/// See the module.
pub struct DiskExecutor<D: Disk> {
    store: Store<D>,
    commands: Queue,
    /// How many commands were carried out.
    done: u64,
    /// What is told once it is durable.
    unflushed: Vec<DiskEvent>,
    /// Commands that count once they are written.
    early: Vec<u64>,
    /// Partitions that have batches which wait for a flush.
    strict: BTreeSet<LogId>,
    /// Whether anything waits for a flush.
    needs_flush: bool,
    /// Whether it has waited for a turn.
    has_waited: bool,
    /// When what was only written is to be flushed.
    flush_due: Option<MonoTime>,
    /// When flushing it begins the next time before that.
    ahead_due: MonoTime,
    told_durable: u64,
    told_room: Option<u64>,
    written_all: MonoTime,
    /// When the last turn began, and how far it came.
    now: MonoTime,
    committed: Committed,
}

impl<D: Disk> DiskExecutor<D> {
    fn new(store: Store<D>) -> Self {
        Self {
            store,
            commands: Queue::default(),
            done: 0,
            unflushed: Vec::new(),
            early: Vec::new(),
            strict: BTreeSet::new(),
            needs_flush: false,
            has_waited: false,
            flush_due: None,
            ahead_due: MonoTime::ZERO,
            told_durable: 0,
            told_room: None,
            written_all: MonoTime::ZERO,
            now: MonoTime::ZERO,
            committed: Committed::All,
        }
    }

    /// One turn: carries out the commands and commits them. Appends what is to be told to `events`; once that is told,
    /// [`Self::work`] is to be called.
    ///
    /// # Errors
    /// The disk failed: nothing more may be acknowledged.
    pub fn turn(
        &mut self,
        commands: &mut Vec<DiskCommand>,
        events: &mut Vec<DiskEvent>,
        now: MonoTime,
    ) -> Result<(), Fault> {
        self.now = now;
        if self.store.space() == Space::Full {
            self.store.try_preallocate()?;
        }
        self.carry_out_all(commands)?;
        self.committed = self.commit(events)?;
        Ok(())
    }

    /// What could wait until the turn was told: a step of it. Says when the next turn is due.
    ///
    /// # Errors
    /// The disk failed: nothing more may be acknowledged.
    pub fn work(&mut self, events: &mut Vec<DiskEvent>) -> Result<Next, Fault> {
        if self.committed == Committed::Early {
            return Ok(Next::Now);
        }
        let is_committed = self.committed == Committed::All;
        let all = is_committed && self.now >= self.written_all.plus_ms(MEMORY_MS);
        self.written_all = if all { self.now } else { self.written_all };
        let written = if is_committed { self.store.write_behind(all)? } else { Progress::Idle };
        self.flush_ahead();
        self.store.keep_ahead()?;
        let synced = if is_committed { self.sync()? } else { Progress::Idle };
        // On a full disk too: it makes room.
        let removed = self.store.remove_step()?;
        let has_more = [written, synced, removed, self.store.prepare()?].contains(&Progress::More);
        self.tell(events);
        let is_full = !is_committed || self.is_behind() || self.store.space() == Space::Full;
        Ok(match (is_full, has_more) {
            (true, _) if removed == Progress::More => Next::Now,
            (true, _) => Next::InMs(RETRY_MS),
            (false, true) => Next::Now,
            (false, false) => Next::InMs(self.idle_ms()),
        })
    }

    /// Begins to flush batches that are only written, every now and then.
    fn flush_ahead(&mut self) {
        if self.flush_due.is_none() {
            self.ahead_due = self.now.plus_ms(FLUSH_AHEAD_MS);
        } else if self.ahead_due <= self.now {
            self.ahead_due = self.now.plus_ms(FLUSH_AHEAD_MS);
            self.store.start_flush();
        }
    }

    /// Flushes a few partitions, and more of them the longer the write-ahead log is: a start has to read all of it.
    fn sync(&mut self) -> Result<Progress, Fault> {
        let more = self.store.wal_segments().saturating_sub(WAL_SEGMENTS).min(SYNC_STEPS_MAX);
        let mut progress = self.store.sync_step()?;
        for _ in 0..more {
            if progress == Progress::More {
                progress = self.store.sync_step()?;
            }
        }
        Ok(progress)
    }

    /// The same for a thread that has other things to do: what can wait is left to the disk's own thread.
    ///
    /// # Errors
    /// The disk failed: nothing more may be acknowledged.
    pub fn short_turn(
        &mut self,
        commands: &mut Vec<DiskCommand>,
        events: &mut Vec<DiskEvent>,
    ) -> Result<(), Fault> {
        self.carry_out_all(commands)?;
        while self.commit(events)? == Committed::Early {}
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

    fn carry_out_all(&mut self, commands: &mut Vec<DiskCommand>) -> Result<(), Fault> {
        self.commands.extend(commands);
        while let Some(next) = self.commands.pop() {
            match next {
                Queued::CarriedOut => self.done += 1,
                Queued::Waits(command) => {
                    if !self.carry_out(command)? {
                        return self.make_room();
                    }
                }
            }
        }
        Ok(())
    }

    /// What makes room does not wait behind what needs it.
    fn make_room(&mut self) -> Result<(), Fault> {
        while let Some((at, command)) = self.commands.next_that_makes_room(|log| self.store.end(log)) {
            let result = match command {
                DiskCommand::Start(log, start, first) => {
                    self.strict.insert(log);
                    self.store.set_start(log, start, first)
                }
                DiskCommand::Drop(log) => self.store.drop_log(log),
                _ => return Ok(()),
            };
            if result.is_err() {
                return full(result);
            }
            self.commands.carried_out(at);
            self.needs_flush = true;
        }
        Ok(())
    }

    /// Whether there was room for it; if not, it waits.
    fn carry_out(&mut self, command: DiskCommand) -> Result<bool, Fault> {
        let waiting = command.clone();
        // What a replica relies on is flushed before anything behind it counts.
        if let DiskCommand::Epoch(log, ..) | DiskCommand::Start(log, ..) | DiskCommand::Reset(log, ..) =
            command
        {
            self.strict.insert(log);
        }
        let result = match command {
            DiskCommand::Append(first) => return self.append(first),
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
            DiskCommand::Epoch(log, promised, begins) => self.store.put_epoch(log, promised, begins),
            DiskCommand::Cut(log, cut) => self.store.cut(log, &cut),
            DiskCommand::Reset(log, start, promised) => self.store.reset(log, start, promised),
            DiskCommand::Start(log, start, first) => self.store.set_start(log, start, first),
            DiskCommand::Replace { log, change, removed, added } => {
                self.store.replace(log, &change, &removed, added)
            }
        };
        if result.is_err() {
            self.commands.put_back(waiting);
            return full(result).map(|()| false);
        }
        self.done += 1;
        self.needs_flush = true;
        Ok(true)
    }

    /// Appends this batch and those that follow at once.
    fn append(&mut self, first: Append) -> Result<bool, Fault> {
        let mut batches = vec![first];
        batches.extend(std::iter::from_fn(|| self.commands.pop_append()));
        let result = self.store.append(&batches).map(|_| ());
        if result.is_err() {
            let waiting = batches.into_iter().rev().map(DiskCommand::Append);
            waiting.for_each(|batch| self.commands.put_back(batch));
            return full(result).map(|()| false);
        }
        for batch in &batches {
            self.appended(batch);
        }
        Ok(true)
    }

    /// A batch was appended: it is found out what commits it.
    fn appended(&mut self, batch: &Append) {
        self.done += 1;
        match batch.commit {
            Commit::Written { flush_ms } => {
                let due = self.now.plus_ms(flush_ms.min(RELAXED_MS));
                self.flush_due = Some(self.flush_due.map_or(due, |before| before.min(due)));
                if !self.strict.contains(&batch.log) {
                    self.early.push(self.done);
                }
            }
            Commit::Flushed => {
                self.needs_flush = true;
                self.strict.insert(batch.log);
            }
        }
    }

    fn commit(&mut self, events: &mut Vec<DiskEvent>) -> Result<Committed, Fault> {
        let is_late = self.needs_flush && self.has_waited;
        if !self.early.is_empty() && !is_late {
            match self.store.write() {
                Err(fault) if fault.error == DiskError::Full => return Ok(Committed::Nothing),
                other => other?,
            }
            events.push(DiskEvent::Early(std::mem::take(&mut self.early)));
            if self.needs_flush {
                self.has_waited = true;
                return Ok(Committed::Early);
            }
        }
        let is_due = self.flush_due.is_some_and(|due| due <= self.now);
        if self.needs_flush || is_due { self.flush(events) } else { Ok(Committed::All) }
    }

    fn flush(&mut self, events: &mut Vec<DiskEvent>) -> Result<Committed, Fault> {
        match self.store.flush() {
            Err(fault) if fault.error == DiskError::Full => return Ok(Committed::Nothing),
            other => other?,
        }
        (self.needs_flush, self.has_waited, self.flush_due) = (false, false, None);
        self.early.clear();
        self.strict.clear();
        events.append(&mut self.unflushed);
        if self.told_durable != self.done {
            self.told_durable = self.done;
            events.push(DiskEvent::Durable(self.done));
        }
        Ok(Committed::All)
    }

    fn idle_ms(&self) -> u64 {
        self.flush_due.map_or(MEMORY_MS, |due| due.since(self.now).clamp(1, MEMORY_MS))
    }

    fn tell(&mut self, events: &mut Vec<DiskEvent>) {
        let written = self.store.take_written().into_iter();
        events.extend(written.map(|written| DiskEvent::Written(written.log, written.end, written.cuts)));
        let asked = self.store.take_states_asked();
        if !asked.is_empty() {
            events.push(DiskEvent::StatesAsked(asked));
        }
        // While the disk is not full, the next segment of the write-ahead log is made when it is needed.
        let room = match self.store.space() {
            Space::Plenty => u64::MAX,
            Space::Full => self.store.room_bytes(),
        };
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
