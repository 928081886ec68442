//! One replica of one log: what it has promised, what it does, what is committed.

use crate::pending::{Pending, Point};
use crate::role::Role;
use crate::{Epoch, LogShape, PersistId, Position, Refused, Seq};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Replica {
    pub(crate) log: LogShape,
    pub(crate) promised: Epoch,
    pub(crate) committed: Seq,
    pub(crate) thinned_to: Seq,
    pub(crate) role: Role,
    pub(crate) pending: Pending,
}

/// What a disk keeps of a replica besides the entries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Durable {
    /// The highest epoch that was promised.
    pub promised: Epoch,
    /// The log.
    pub log: LogShape,
    /// Everything below was known to be committed; 0 if nothing is known.
    pub committed: Seq,
}

/// The answer to a controller that asks for a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// The promise is to be made durable; then [`Replica::fenced`] has the answer.
    Persist(PersistId),
    /// A higher epoch was promised.
    Refused(Refused),
}

/// Why a replica cannot lead an epoch that it was appointed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadError {
    /// Another replica was appointed.
    NotLeader,
    /// It has promised a higher epoch: a controller is choosing another leader.
    Promised(Epoch),
    /// It was chosen without having promised this epoch.
    NotFenced,
    /// The epoch, or the one that it continues, began before this process did: the replica may have sent entries that its disk
    /// has lost. A controller has to raise the epoch.
    Restarted,
}

impl Replica {
    /// The replica as its disk has it.
    #[must_use]
    pub fn restore(durable: Durable) -> Self {
        let Durable { promised, log, committed } = durable;
        let promised = promised.max(log.position().epoch);
        let pending = Pending::new(promised, log.position(), log.start());
        let committed = committed.clamp(log.start(), log.end());
        Self { log, promised, committed, thinned_to: Seq(0), role: Role::Idle, pending }
    }

    /// A replica of a log that is new, and whose first entry will have this number. A replica that joins a log begins by
    /// [`Replica::restore`], with the promise of the configuration that names it.
    #[must_use]
    pub fn new(start: Seq) -> Self {
        let log = LogShape::empty(Position { epoch: Epoch::NONE, end: start });
        Self::restore(Durable { promised: Epoch::NONE, log, committed: start })
    }

    /// A start that finds entries on the disk which it did not know of: entries of that epoch, up to `end`.
    ///
    /// # Panics
    /// The replica does something already.
    pub fn found(&mut self, epoch: Epoch, end: Seq) {
        assert!(matches!(self.role, Role::Idle), "entries are found before anything is done");
        self.log.append(epoch, end);
        self.promised = self.promised.max(epoch);
        self.pending = self.nothing_pending();
    }

    /// A start that finds that this epoch began there, before the next entries that are found: at the end of the log, or behind it
    /// where entries are missing.
    ///
    /// # Panics
    /// The replica does something already.
    pub fn found_beginning(&mut self, epoch: Epoch, start: Seq) {
        assert!(matches!(self.role, Role::Idle), "an epoch is found before anything is done");
        if start >= self.log.end() {
            self.log.begin(epoch, start);
        }
    }

    /// A start that finds that this epoch was promised; with a beginning, that it begins there, where the log ends.
    ///
    /// # Panics
    /// The replica does something already.
    pub fn found_epoch(&mut self, promised: Epoch, begins: Option<Seq>) {
        assert!(matches!(self.role, Role::Idle), "a promise is found before anything is done");
        if begins.is_some_and(|begins| begins == self.log.end()) {
            self.log.begin(promised, self.log.end());
        }
        self.promised = self.promised.max(promised);
        self.pending = self.nothing_pending();
    }

    /// A start that finds that the log was cut there, if so much is known to be committed.
    ///
    /// # Panics
    /// The replica does something already.
    pub fn found_start(&mut self, start: Seq) {
        assert!(matches!(self.role, Role::Idle), "a cut is found before anything is done");
        self.log.cut_start(start.min(self.committed));
        self.pending = self.nothing_pending();
    }

    /// A start that finds that everything below this entry was committed.
    pub fn found_committed(&mut self, end: Seq) {
        self.committed = self.committed.max(end.min(self.log.end()));
    }

    /// A controller wants to appoint a leader for this epoch: nothing of an older one is taken any more. A leader of an older
    /// one is none from now on.
    pub fn fence(&mut self, epoch: Epoch) -> Fence {
        if epoch < self.promised {
            return Fence::Refused(Refused { promised: self.promised });
        }
        if epoch > self.promised {
            self.promised = epoch;
            self.role = Role::Idle;
        }
        Fence::Persist(self.pending.add(self.point()))
    }

    /// The answer to [`Replica::fence`], once that is durable: how far the log has come. Nothing if another epoch was promised
    /// meanwhile.
    #[must_use]
    pub fn fenced(&self, epoch: Epoch) -> Option<Position> {
        let durable = self.pending.durable();
        (self.promised == epoch && durable.promised == epoch).then_some(durable.position)
    }

    /// Everything up to `id` is durable.
    pub fn persisted(&mut self, id: PersistId) {
        self.pending.done(id);
        self.count();
    }

    /// Nothing is expected for a while: gives back the memory that is kept for what comes next.
    pub fn rest(&mut self) {
        self.pending.rest();
    }

    /// Entries before `start`, which are committed, are gone from now on. The owner makes that durable, and tells
    /// [`Replica::persisted`].
    ///
    /// # Panics
    /// Some of them are not committed.
    pub fn cut_start(&mut self, start: Seq) -> PersistId {
        assert!(start <= self.committed, "{start} is above what is committed, {}", self.committed);
        self.log.cut_start(start);
        let id = self.pending.add(self.point());
        self.count();
        id
    }

    /// The start to which the owner has to [cut](Self::cut_start) the log: that of the leader, or, for a new leader, that of a replica
    /// which may have deleted entries under a leader before. Nothing if it starts so late.
    #[must_use]
    pub fn start_to_take(&self) -> Option<Seq> {
        let wanted = match &self.role {
            Role::Idle => return None,
            // The leader knows of more that is committed. With each append it tells this again.
            Role::Following(following) => following.start.min(self.committed),
            Role::Leading(leading) => leading.wanted_start.min(self.committed),
        };
        (wanted > self.log.start()).then_some(wanted)
    }

    /// The owner has removed content of entries before `to`, which are committed, without which earlier entries say something
    /// else: so it goes if the removal of a key is forgotten, and a log that lacks it still has the key.
    pub fn thin(&mut self, to: Seq) {
        self.thinned_to = self.thinned_to.max(to);
    }

    /// A log that ends before this entry may not be continued with the entries here: what it has may be what this log has
    /// forgotten. It starts anew.
    #[must_use]
    pub const fn thinned_to(&self) -> Seq {
        self.thinned_to
    }

    /// Its log.
    #[must_use]
    pub const fn log(&self) -> &LogShape {
        &self.log
    }

    /// Everything below is committed.
    #[must_use]
    pub const fn committed(&self) -> Seq {
        self.committed
    }

    /// The highest epoch that it has promised, durable or not.
    #[must_use]
    pub const fn promised(&self) -> Epoch {
        self.promised
    }

    /// The last thing that it has asked to be made durable.
    #[must_use]
    pub const fn last_persist(&self) -> PersistId {
        self.pending.last()
    }

    /// How far the log has come on the disk.
    #[must_use]
    pub const fn durable(&self) -> Position {
        self.pending.durable().position
    }

    fn nothing_pending(&self) -> Pending {
        Pending::new(self.promised, self.log.position(), self.log.start())
    }

    /// What holds once everything that was asked for is durable.
    pub(crate) fn point(&self) -> Point {
        let matched = match &self.role {
            Role::Idle => None,
            Role::Following(following) => following.matched,
            Role::Leading(_) => Some(self.log.end()),
        };
        Point { promised: self.promised, position: self.log.position(), matched, start: self.log.start() }
    }
}
