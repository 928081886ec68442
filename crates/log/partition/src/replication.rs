//! A partition as one replica of several: what it leads with and follows by, and what of it goes to the disk.
//!
//! What counts is decided by its [`Replica`](replication_appointed::Replica); here the batches follow.

use std::ops::Range;

use base::WallTime;
use bytes::Bytes;
use log_wire::Batch;
use replication_appointed::{
    Answer, Append, Appended, BadAppend, Config, Diverged, Epoch, Fence, LeadError, PersistId, Position,
    Received, Refused, Replica, ReplicaId, Round, Stored, Voters,
};

use crate::partition::{Begun, NewBatch, Partition};
use crate::pass_end::PassEnd;
use crate::read::Source;
use crate::retention::NewStart;
use crate::segments::Segments;
use crate::state::State;
use crate::tables::{Tables, control_record_of};
use crate::trail::Trail;
use crate::{LeaderEpoch, Offset, Place};

/// An epoch that is to be made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewEpoch {
    /// Once it is, [`Partition::persisted`] is told this.
    pub persist: PersistId,
    /// It is promised: nothing of an older one is taken.
    pub promised: LeaderEpoch,
    /// Where it begins, if it does: at the end of the log.
    pub begins: Option<Offset>,
}

/// The end of a log was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Where it ends from now on.
    pub end: Offset,
    /// Where the next batch stands.
    pub at: Place,
    /// Whether the index beside that segment still tells nothing false.
    pub keeps_index: bool,
}

/// What the disk has to do for a replica that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The log is dropped, and begins empty at this offset. In the same step that epoch is promised: no crash may come between.
    Reset(Offset, LeaderEpoch),
    /// A state is to be kept.
    State(State),
    /// The end is cut off.
    Cut(Cut),
    /// A batch is appended.
    Batch(NewBatch),
    /// An epoch is promised, or begins.
    Epoch(NewEpoch),
    /// The log begins later, as the leader's does.
    Start(NewStart),
}

/// What becomes of what a leader sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// It is told this at once.
    pub answer: Option<Answer>,
    /// What the disk has to do, in this order.
    pub changes: Vec<Change>,
    /// Once all of that is durable, [`Partition::persisted`] is told this; then there may be [an
    /// answer](Partition::take_answer).
    pub persist: Option<PersistId>,
}

impl Partition {
    /// This replica, on that broker, is the only one, and leads.
    ///
    /// # Errors
    /// It cannot lead under that epoch; a higher one is needed.
    pub fn lead_alone(&mut self, broker: ReplicaId, epoch: LeaderEpoch) -> Result<NewEpoch, LeadError> {
        // Its own disk is the only one that counts: no other replica has to promise.
        if let Fence::Refused(Refused { promised }) = self.replica.fence(epoch.epoch()) {
            return Err(LeadError::Promised(promised));
        }
        self.lead(broker, Config::alone(broker, epoch.epoch()))
    }

    /// This replica, on that broker, leads.
    ///
    /// # Errors
    /// [`LeadError`].
    pub fn lead(&mut self, broker: ReplicaId, config: Config) -> Result<NewEpoch, LeadError> {
        let promised = LeaderEpoch::of(config.epoch);
        let persist = self.replica.lead(broker, config)?;
        Ok(NewEpoch { persist, promised, begins: Some(self.end()) })
    }

    /// A controller is about to appoint a leader for this epoch.
    ///
    /// # Errors
    /// A higher one is promised.
    pub fn fence(&mut self, epoch: LeaderEpoch) -> Result<NewEpoch, Refused> {
        match self.replica.fence(epoch.epoch()) {
            Fence::Refused(refused) => Err(refused),
            Fence::Persist(persist) => Ok(NewEpoch { persist, promised: epoch, begins: None }),
        }
    }

    /// What the controller is told once that is durable: how far the log has come. Nothing if another epoch was promised
    /// meanwhile.
    #[must_use]
    pub fn fenced(&self, epoch: LeaderEpoch) -> Option<Position> {
        self.replica.fenced(epoch.epoch())
    }

    /// Takes what a leader sent: batches one behind the other.
    ///
    /// # Errors
    /// The sender is at fault; nothing was changed.
    ///
    /// # Panics
    /// Records that are committed would have to be cut off.
    pub fn receive(
        &mut self,
        from: ReplicaId,
        append: &Append,
        batches: &Bytes,
        now: WallTime,
    ) -> Result<Taken, BadAppend> {
        let batches = read_batches(append, batches)?;
        let promised = self.replica.promised();
        let received = self.replica.receive_append(from, append)?;
        let mut taken = Taken::default();
        match received {
            Received::Answer(answer) => taken.answer = Some(answer),
            Received::Nothing => {}
            Received::Store(stored) => {
                taken.persist = Some(stored.id);
                self.store(&stored, batches, now, &mut taken.changes);
                taken.changes.extend(self.new_epoch(promised, append, stored.id).map(Change::Epoch));
            }
        }
        self.after_commit();
        if let Some(new) = self.take_start() {
            taken.persist = Some(new.persist);
            taken.changes.push(Change::Start(new));
        }
        Ok(taken)
    }

    /// What the leader is to be told, and who that is: its log is durable here, up to there.
    pub fn take_answer(&mut self) -> Option<(ReplicaId, Appended)> {
        self.replica.take_answer()
    }

    /// Asks the other replicas whether this one still leads. Nothing if it is known not to.
    pub fn confirm(&mut self) -> Option<Round> {
        self.replica.confirm()
    }

    /// The connection to the leader is new: what it was told may be lost.
    pub fn tell_again(&mut self) {
        self.replica.tell_again();
    }

    /// What decides what counts.
    #[must_use]
    pub const fn replica(&self) -> &Replica {
        &self.replica
    }

    /// Other voters are asked for: records commit only on enough of both.
    pub fn ask_for_voters(&mut self, voters: Voters) {
        self.replica.ask_for_voters(voters);
        self.after_commit();
    }

    /// The voters that are asked for are given up.
    pub fn give_up_voters(&mut self) {
        self.replica.give_up_voters();
        self.after_commit();
    }

    /// Who leads, as far as this replica knows, and under which epoch.
    #[must_use]
    pub fn leader(&self) -> Option<(ReplicaId, LeaderEpoch)> {
        self.replica.leader().map(|(leader, epoch)| (leader, LeaderEpoch::of(epoch)))
    }

    /// Up to where that replica has the log on its disk, if it has it from that offset on. Nothing if that is not known, or this
    /// replica does not lead.
    #[must_use]
    pub fn durable_from(&self, id: ReplicaId, from: Offset) -> Option<Offset> {
        let (start, end) = (self.replica.start_on(id)?, self.replica.durable_on(id)?);
        (start..=end).contains(&from.seq()).then(|| Offset::of(end))
    }

    /// What another replica is to be sent next, without batches yet.
    #[must_use]
    pub fn next_append(&self, to: ReplicaId) -> Option<Append> {
        self.replica.next_append(to)
    }

    /// The batches that may go with it, committed or not.
    #[must_use]
    pub fn batches_for(&self, append: &Append, bytes_max: usize) -> Source {
        let (from, end) = (Offset::of(append.after.end), self.end());
        if from < end { self.source(from, end, bytes_max) } else { Source::Nothing }
    }

    /// The same with these batches: from the first offset of the first to behind the last of the last. It goes to that replica
    /// now. Another leader's batches may have begun elsewhere: then the first begins before what was to be sent.
    pub fn sent(&mut self, to: ReplicaId, append: Append, batches: Range<Offset>) -> Append {
        let append = self.replica.with_entries(append, batches.start.seq()..batches.end.seq());
        self.replica.sent(to, &append);
        append
    }

    /// The connection to a replica is new: what it was sent may be lost.
    pub fn send_again(&mut self, to: ReplicaId) {
        self.replica.send_again(to);
    }

    /// A replica has the log up to there.
    pub fn receive_appended(&mut self, from: ReplicaId, answer: Appended) {
        self.replica.receive_appended(from, answer);
        self.after_commit();
    }

    /// A replica does not have what must be before the batches that it was sent.
    pub fn receive_diverged(&mut self, from: ReplicaId, answer: Diverged) {
        self.replica.receive_diverged(from, answer);
    }

    /// A replica has promised a higher epoch.
    pub fn receive_refused(&mut self, answer: Refused) {
        self.replica.receive_refused(answer);
    }

    /// Cuts off what is to be, and appends what is new.
    fn store(&mut self, stored: &Stored, batches: Vec<Bytes>, now: WallTime, changes: &mut Vec<Change>) {
        if let Some(base) = stored.reset {
            let base = Offset::of(base.end);
            self.begin_at(base);
            changes.extend([Change::Reset(base, self.epoch()), Change::State(self.empty_state(base))]);
        }
        if let Some(cut) = stored.cut {
            changes.push(Change::Cut(self.cut(Offset::of(cut))));
        }
        for bytes in batches {
            let Ok((batch, _)) = Batch::read(&bytes) else { continue };
            let end = Offset(batch.last_offset()).next();
            if end.seq() <= stored.entries.start {
                continue;
            }
            let commit = self.commit_of(u64::try_from(batch.count()).unwrap_or(0));
            let begun = self.begun_before(&batch);
            if let Ok((at, index)) = self.take(&batch, bytes.clone(), now) {
                changes.push(Change::Batch(NewBatch {
                    at,
                    end,
                    bytes,
                    begun,
                    commit,
                    persist: stored.id,
                    index,
                }));
            }
        }
    }

    /// What compaction has removed at the leader may have been all of an epoch, or its beginning: the batches that are left do not
    /// tell of it.
    pub(crate) fn begun_before(&self, batch: &Batch<'_>) -> Begun {
        let (end, base) = (self.segments.batches_end().unwrap_or(self.start()), Offset(batch.base_offset()));
        if end == base {
            return Begun::new();
        }
        let begun = self.replica.log().history().within(end.seq(), base.next().seq()).iter();
        begun.map(|known| (LeaderEpoch::of(known.epoch), Offset::of(known.start))).collect()
    }

    /// The epoch of what was received, if it has to be made durable by itself: batches of an epoch tell of it.
    fn new_epoch(&self, before: Epoch, append: &Append, persist: PersistId) -> Option<NewEpoch> {
        let (promised, end) = (self.replica.promised(), self.replica.log().end());
        let newest = self.replica.log().history().starts().last();
        let begins = newest.is_some_and(|newest| newest.epoch == append.epoch && newest.start == end);
        (promised > before || begins).then(|| NewEpoch {
            persist,
            promised: LeaderEpoch::of(promised),
            begins: begins.then(|| Offset::of(end)),
        })
    }

    /// Cuts off everything from that offset on.
    fn cut(&mut self, from: Offset) -> Cut {
        self.trail.take_back(from, &mut self.tables, &mut self.segments);
        while self.tail.pop_back_if(|batch| batch.end > from).is_some() {}
        self.cuts = self.cuts.wrapping_add(1);
        let at = self.segments.end_place();
        self.restored_end = self.restored_end.min(at);
        Cut { end: from, at, keeps_index: self.segments.has_index_file() }
    }

    /// Everything is gone; the log begins there.
    fn begin_at(&mut self, base: Offset) {
        (self.tables, self.segments, self.trail) = (Tables::default(), Segments::new(base), Trail::default());
        self.tail.clear();
        self.cuts = self.cuts.wrapping_add(1);
        self.restored_end = Place { segment: base, position: 0 };
        self.last_pass = PassEnd::NONE;
    }
}

/// Takes batches apart that came with an [`Append`], and sees whether they are what it says.
fn read_batches(append: &Append, bytes: &Bytes) -> Result<Vec<Bytes>, BadAppend> {
    let (mut rest, mut batches, mut end) = (bytes.clone(), Vec::new(), append.after.end);
    while !rest.is_empty() {
        let (batch, behind) = Batch::read(&rest).map_err(|_| BadAppend("batches that are none"))?;
        batch.verify().map_err(|_| BadAppend("a batch with a wrong checksum"))?;
        let (base, last) = (Offset(batch.base_offset()), Offset(batch.last_offset()));
        if base < Offset::of(end) || last < base || last.next().seq() > append.to {
            return Err(BadAppend("batches that do not follow each other"));
        }
        if LeaderEpoch(batch.leader_epoch()).epoch() != append.epoch_of(base.seq()) {
            return Err(BadAppend("a batch of another epoch"));
        }
        if batch.attributes().is_control() && control_record_of(&batch).is_err() {
            return Err(BadAppend("a control batch of no meaning"));
        }
        end = last.next().seq();
        let own = rest.len() - behind.len();
        batches.push(rest.split_to(own));
    }
    if end == append.to { Ok(batches) } else { Err(BadAppend("batches that end elsewhere")) }
}
