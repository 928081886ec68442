//! A journal on a simulated disk, worked on as a member would, chance deciding what comes next.

use crate::model::Model;
use base::{LogIndex, MemberId, Term};
use sim_council::disk::{Loss, SimDisk};
use sim_council::random::Random;
use storage_raft_log::{
    Batch, Entry, EntryKind, Fault, HardState, Identity, Journal, JournalConfig, KeepPolicy, Membership,
    OpenError, SnapshotError, SnapshotMeta,
};

/// The disk failed as it was told to.
#[derive(Debug)]
pub(crate) struct Stopped;

impl From<Fault> for Stopped {
    fn from(_: Fault) -> Stopped {
        Stopped
    }
}

impl From<SnapshotError> for Stopped {
    fn from(error: SnapshotError) -> Stopped {
        assert!(matches!(error, SnapshotError::Fault(_)), "{error}");
        Stopped
    }
}

/// Segments so small that a few batches fill them.
pub(crate) fn config() -> JournalConfig {
    JournalConfig {
        identity: Identity { cluster: [1; 16], incarnation: [9; 16], member: MemberId(1) },
        segment_bytes: 6 << 10,
        first_segment_bytes: 3 << 10,
        reserve_bytes: 512,
        prepare_step_bytes: 2 << 10,
        write_buffer_bytes: 1500,
        snapshot_writeback_bytes: 1000,
        record_bytes_max: 1 << 20,
        spare_segments_max: 2,
        harmless_names: &[],
    }
}

pub(crate) struct World {
    pub(crate) disk: SimDisk,
    pub(crate) model: Model,
    pub(crate) random: Random,
    pub(crate) journal: Option<Journal<SimDisk>>,
    /// What was written of the snapshot under way.
    chunks: Option<Vec<Vec<u8>>>,
    stamp: u64,
    /// All records of batches have the same size, so that what a torn flush left lies exactly where the next record
    /// after a recovery would be.
    uniform: bool,
}

impl World {
    pub(crate) fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let disk = SimDisk::new(random.number());
        World {
            disk,
            model: Model::new(),
            random,
            journal: None,
            chunks: None,
            stamp: 0,
            uniform: seed % 4 == 3,
        }
    }

    /// Opens the journal and compares what it recovered with the model.
    pub(crate) fn open(&mut self) -> Result<(), OpenError> {
        self.journal = None;
        self.chunks = None;
        let (mut journal, recovered) = Journal::open(self.disk.clone(), config())?;
        self.model.check(&recovered, &mut journal).unwrap_or_else(|wrong| panic!("{wrong}"));
        self.journal = Some(journal);
        Ok(())
    }

    /// The power fails; the journal is opened again, if need be with further failures while it recovers.
    pub(crate) fn power_loss(&mut self, loss: Loss, crash_in_recovery: Option<u64>) {
        self.journal = None;
        self.disk.crash(loss);
        if let Some(after) = crash_in_recovery {
            self.disk.crash_at(self.disk.operations() + after);
            if self.open().is_ok() {
                // Recovery was through before the crash could strike.
                self.journal = None;
            }
            self.disk.crash(loss);
        }
        self.open().unwrap_or_else(|error| panic!("{error}"));
    }

    /// The process is killed and started again; the power stays.
    pub(crate) fn kill(&mut self) {
        self.journal = None;
        self.disk.restart();
        self.open().unwrap_or_else(|error| panic!("{error}"));
    }

    pub(crate) fn play(&mut self, steps: usize) -> Result<(), Stopped> {
        (0..steps).try_for_each(|_| self.step())
    }

    /// Appends and flushes only.
    pub(crate) fn play_without_snapshots(&mut self, steps: usize) -> Result<(), Stopped> {
        (0..steps).try_for_each(|_| self.append().and_then(|()| self.flush()))
    }

    fn step(&mut self) -> Result<(), Stopped> {
        match self.random.below(100) {
            0..44 => self.append(),
            44..64 => self.flush(),
            64..70 => Ok(self.journal().prepare().map(|_| ())?),
            70..76 => Ok(self.journal().keep_ahead()?),
            76..79 => self.settle(),
            79..90 => self.snapshot(),
            90..92 => self.install(),
            92..96 => self.compact(),
            96..98 => self.read(),
            _ => self.reopen(),
        }
    }

    pub(crate) fn journal(&mut self) -> &mut Journal<SimDisk> {
        self.journal.as_mut().expect("the journal is open")
    }

    fn append(&mut self) -> Result<(), Stopped> {
        let batch = self.batch();
        self.model.append(&batch);
        match self.journal().append(&batch) {
            Ok(()) => Ok(()),
            Err(storage_raft_log::AppendError::Fault(_)) => Err(Stopped),
            Err(other) => panic!("{other}"),
        }
    }

    pub(crate) fn flush(&mut self) -> Result<(), Stopped> {
        self.journal().flush()?;
        self.model.flush();
        Ok(())
    }

    pub(crate) fn settle(&mut self) -> Result<(), Stopped> {
        self.journal().settle()?;
        self.model.flush();
        Ok(())
    }

    pub(crate) fn uniform_batch(&mut self) -> Batch {
        self.stamp += 1;
        let (index, term) = (self.model.present().last_index().next(), self.model.present().hard_state.term);
        let mut data = vec![self.random.number() as u8; 360];
        data.extend_from_slice(&self.stamp.to_le_bytes());
        let entry = Entry { index, term, kind: EntryKind::Normal, data: data.into() };
        Batch { entries: vec![entry], ..Batch::default() }
    }

    /// A batch such as a member makes: entries of the present term, now and then over a suffix never committed.
    pub(crate) fn batch(&mut self) -> Batch {
        if self.uniform && self.random.chance(80) {
            return self.uniform_batch();
        }
        let state = self.model.present().clone();
        let random = &mut self.random;
        let mut hard_state = state.hard_state;
        let last = state.last_index();
        let overwrites = last > hard_state.commit && random.chance(20);
        if overwrites || hard_state.term == Term::ZERO || random.chance(10) {
            hard_state = HardState {
                term: hard_state.term.next(),
                vote: MemberId(random.below(4)).known(),
                ..hard_state
            };
        }
        let first = if overwrites {
            hard_state.commit.next().plus(random.below(last.since(hard_state.commit)))
        } else {
            last.next()
        };
        let count = random.below(4) + u64::from(overwrites);
        let entries = first.onward().take(count as usize).map(|index| {
            self.stamp += 1;
            let kind = if random.chance(5) { EntryKind::Membership } else { EntryKind::Normal };
            let length = if random.chance(10) { random.below(3000) } else { random.below(300) };
            let mut data = vec![random.number() as u8; length as usize];
            data.extend_from_slice(&self.stamp.to_le_bytes());
            Entry { index, term: hard_state.term, kind, data: data.into() }
        });
        let entries: Vec<Entry> = entries.collect();
        let last = entries.last().map_or(last, |entry| entry.index);
        hard_state.commit = hard_state.commit.plus(random.below(last.since(hard_state.commit) + 1));
        let membership = random.chance(5).then(|| self.membership());
        let hard_state = (hard_state != state.hard_state).then_some(hard_state);
        Batch { hard_state, membership, entries }
    }

    fn membership(&mut self) -> Membership {
        let voters = (0..self.random.below(5)).map(MemberId).collect();
        Membership { voters, learners: vec![MemberId(self.random.number())], ..Membership::default() }
    }

    /// A step of a snapshot of the member's own: begun, continued, completed or given up.
    fn snapshot(&mut self) -> Result<(), Stopped> {
        let Some(chunks) = &mut self.chunks else {
            self.chunks = Some(Vec::new());
            return Ok(self.journal().snapshot_begin()?);
        };
        if chunks.len() < 2 || self.random.chance(50) {
            let chunk = vec![self.random.number() as u8; 1 + self.random.below(900) as usize];
            chunks.push(chunk.clone());
            return Ok(self.journal().snapshot_chunk(&chunk)?);
        }
        if self.random.chance(10) {
            self.chunks = None;
            return Ok(self.journal().snapshot_abandon()?);
        }
        self.own_snapshot().map(|_| ())
    }

    /// Completes a snapshot of what is committed and flushed, if that is more than the newest one holds.
    pub(crate) fn own_snapshot(&mut self) -> Result<bool, Stopped> {
        let chunks = match self.chunks.take() {
            Some(chunks) => chunks,
            None => {
                self.journal().snapshot_begin()?;
                Vec::new()
            }
        };
        let applied = self.model.flushed().hard_state.commit.min(self.model.flushed().last_index());
        if applied <= self.model.snapshot_index {
            self.journal().snapshot_abandon()?;
            return Ok(false);
        }
        let before = self.model.snapshot_index;
        let index = before.next().plus(self.random.below(applied.since(before)));
        let term = self.model.present().term(index).expect("committed entries are held");
        self.finish(index, term, chunks).map(|()| true)
    }

    /// A snapshot from elsewhere, ahead of the own log or against it.
    fn install(&mut self) -> Result<(), Stopped> {
        let state = self.model.present();
        let (last, term) = (state.last_index(), state.hard_state.term);
        let behind_commit = last.since(state.hard_state.commit);
        let ahead = behind_commit == 0 || self.random.chance(50);
        let (index, term) = if ahead {
            {
                let index = last.next().plus(self.random.below(5));
                (index, if self.random.below(2) == 0 { term } else { term.next() })
            }
        } else {
            (state.hard_state.commit.next().plus(self.random.below(behind_commit)), term.next())
        };
        self.chunks = None;
        self.journal().snapshot_begin()?;
        let chunk = vec![self.random.number() as u8; 300];
        self.journal().snapshot_chunk(&chunk)?;
        self.finish(index, term, vec![chunk])
    }

    fn finish(&mut self, index: LogIndex, term: Term, chunks: Vec<Vec<u8>>) -> Result<(), Stopped> {
        let (membership, digest) = (self.membership(), self.random.number());
        let meta =
            SnapshotMeta { index, term, membership, position: -1, digest, created: base::WallTime::of_ms(7) };
        self.model.snapshot_begun((meta.clone(), chunks));
        self.journal().snapshot_finish(meta.clone())?;
        self.model.snapshot_done(&meta);
        Ok(())
    }

    fn compact(&mut self) -> Result<(), Stopped> {
        let (snapshots, entries) = (1 + self.random.below(3) as usize, self.random.below(6));
        Ok(self.journal().compact(KeepPolicy { snapshots, entries })?)
    }

    fn read(&mut self) -> Result<(), Stopped> {
        let journal = self.journal.as_mut().expect("the journal is open");
        let read = self.model.check_reading(journal);
        if self.disk.crashed() {
            return Err(Stopped);
        }
        read.unwrap_or_else(|wrong| panic!("{wrong}"));
        Ok(())
    }

    /// Closed in order, or killed: without a loss of power the page cache keeps everything.
    fn reopen(&mut self) -> Result<(), Stopped> {
        if self.random.chance(50) {
            self.settle()?;
        }
        match self.open() {
            Ok(()) => Ok(()),
            Err(OpenError::Disk(_)) => Err(Stopped),
            Err(error) => panic!("{error}"),
        }
    }
}
