//! A replica that follows: what it takes from a leader, and what it answers.

use core::ops::Range;

use crate::replica::Replica;
use crate::role::{Following, Role, Told};
use crate::{
    Append, Appended, BadAppend, Diverged, Epoch, PersistId, Position, Refused, ReplicaId, Reset, Round, Seq,
};

/// What becomes of an [`Append`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// It is answered at once.
    Answer(Answer),
    /// This is to be done in its order, and told by [`Replica::persisted`]. The answer comes later, by
    /// [`Replica::take_answer`].
    Store(Stored),
    /// There is nothing to do. The answer may come later.
    Nothing,
}

/// An answer at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The leader has to send from an earlier entry on.
    Diverged(Diverged),
    /// The leader leads no more.
    Refused(Refused),
}

/// What an owner does with its disk, from the top down. All of it is in [`Replica::log`] already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// When all of it is durable, this is told to [`Replica::persisted`].
    pub id: PersistId,
    /// All entries are dropped; the log starts there.
    pub reset: Option<Position>,
    /// Entries from this one on are cut off: no leader has committed them.
    pub cut: Option<Seq>,
    /// Of the entries that were sent, these are new.
    pub entries: Range<Seq>,
}

impl Replica {
    /// Takes what a leader sent.
    ///
    /// # Errors
    /// The sender is at fault: no leader sends that.
    ///
    /// # Panics
    /// Entries that are committed would have to be cut off: two leaders have committed different entries. It is better to stop
    /// than to go on.
    pub fn receive_append(&mut self, from: ReplicaId, append: &Append) -> Result<Received, BadAppend> {
        append.check()?;
        let Append { epoch, after, to, .. } = *append;
        if epoch < self.promised {
            return Ok(Received::Answer(Answer::Refused(Refused { promised: self.promised })));
        }
        let ends_early = self.ends_early(append);
        let has = self.log.has(after) && !ends_early;
        // A log that starts later than the entries has all that it lacks behind its start.
        if !has && !ends_early && (append.resets.is_none() || after.end < self.log.start()) {
            // The replica does not follow this leader yet, and has promised nothing.
            let common = self.log.common_with(after);
            return Ok(Received::Answer(Answer::Diverged(Diverged { epoch, common })));
        }
        let is_new = self.follow(from, epoch)?;
        let reset = (!has).then_some(after);
        if let Some(base) = reset {
            self.reset(base, append.resets, ends_early);
        }
        let cut = self.conflict(append);
        if let Some(cut) = cut {
            assert!(cut >= self.committed, "entry {cut} is committed and another leader has another one");
            self.log.cut_end(cut);
        }
        let entries = self.log.end()..to.max(self.log.end());
        if !entries.is_empty() {
            self.extend_with(append, &entries);
        }
        // A log that starts anew within the epoch cannot say that it begins before the start.
        let begins = append.epoch_start.max(self.log.start());
        let began = to >= begins && self.log.begin(epoch, begins);
        let matched = self.matched(to, append.probes);
        self.committed = self.committed.max(append.committed.min(matched));
        if let Role::Following(following) = &mut self.role {
            following.start = following.start.max(append.start);
            following.round = following.round.max(append.round);
        }
        if is_new || began || reset.is_some() || cut.is_some() || !entries.is_empty() {
            let id = self.pending.add(self.point());
            return Ok(Received::Store(Stored { id, reset, cut, entries }));
        }
        self.pending.note(self.point());
        Ok(Received::Nothing)
    }

    /// What the leader is to be told, and who it is: its entries up to there are durable here, and from where on the log has them.
    pub fn take_answer(&mut self) -> Option<(ReplicaId, Appended)> {
        let durable = self.pending.durable();
        let Role::Following(following) = &mut self.role else { return None };
        let matched = durable.matched.filter(|_| durable.promised == self.promised)?;
        let (start, round) = (durable.start, following.round);
        let is_told = |told: Told| told.durable >= matched && told.start >= start && told.round >= round;
        if following.told.is_some_and(is_told) {
            return None;
        }
        following.told = Some(Told { durable: matched, start, round });
        Some((following.leader, Appended { epoch: self.promised, durable: matched, start, round }))
    }

    /// The connection to the leader is new: what it was told may be lost.
    pub fn tell_again(&mut self) {
        if let Role::Following(following) = &mut self.role {
            following.told = None;
        }
    }

    /// Whether the leader has removed content of entries that are not known to be here as the leader had them.
    fn ends_early(&self, append: &Append) -> bool {
        let matched = match &self.role {
            Role::Following(following) if append.epoch == self.promised => following.matched,
            _ => None,
        };
        let resets = append.resets.filter(|resets| resets.always);
        resets.is_some_and(|resets| matched.is_none_or(|matched| matched < resets.thinned_to))
    }

    /// The log starts anew. What is committed may be dropped only where enough others have it.
    fn reset(&mut self, base: Position, resets: Option<Reset>, ends_early: bool) {
        let is_kept = base.end >= self.committed || ends_early;
        assert!(is_kept, "a log is reset to {} below what is committed", base.end);
        self.log = crate::LogShape::empty(base);
        self.committed = base.end;
        self.thinned_to = resets.map_or(Seq(0), |resets| resets.thinned_to);
        if let Role::Following(following) = &mut self.role {
            (following.matched, following.told) = (None, None);
        }
    }

    /// Whom it follows.
    #[must_use]
    pub fn leader(&self) -> Option<(ReplicaId, Epoch)> {
        match &self.role {
            Role::Following(following) => Some((following.leader, self.promised)),
            Role::Leading(leading) => Some((leading.own_id, self.promised)),
            Role::Idle => None,
        }
    }

    /// Of the entries that were sent, these stand behind the end.
    fn extend_with(&mut self, append: &Append, entries: &Range<Seq>) {
        self.log.continue_with(append.epoch_of(entries.start), entries.start);
        for known in append.starts.iter().filter(|known| known.start > entries.start) {
            self.log.begin(known.epoch, known.start);
        }
        self.log.extend(entries.end);
    }

    /// Follows this leader; whether its epoch is new.
    fn follow(&mut self, from: ReplicaId, epoch: Epoch) -> Result<bool, BadAppend> {
        let is_new = epoch > self.promised;
        match &self.role {
            Role::Leading(_) if !is_new => return Err(BadAppend("two leaders of one epoch")),
            Role::Following(following) if !is_new && following.leader != from => {
                return Err(BadAppend("two leaders of one epoch"));
            }
            Role::Following(_) if !is_new => {}
            _ => {
                self.promised = epoch;
                let (start, round) = (Seq(0), Round(0));
                self.role =
                    Role::Following(Following { leader: from, start, matched: None, told: None, round });
            }
        }
        Ok(is_new)
    }

    /// The first entry here that is not the leader's.
    fn conflict(&self, append: &Append) -> Option<Seq> {
        let Append { epoch, epoch_start, after, to, .. } = *append;
        let common = to.min(self.log.end());
        let mut places = self.log.history().within(after.end, common).iter().map(|known| known.start);
        let sent = append.starts.iter().map(|known| known.start).filter(|start| *start < common);
        // Epochs change only where one begins, here or there.
        let mut all: Vec<Seq> = places.by_ref().chain(sent).chain([after.end]).collect();
        all.sort_unstable();
        let differs = |at: &Seq| *at < common && self.log.epoch_of(*at) != append.epoch_of(*at);
        if let Some(first) = all.into_iter().find(differs) {
            return Some(first);
        }
        // Behind what was sent, everything from the beginning of the leader's epoch on is its own, or wrong.
        let is_behind = to >= epoch_start && self.log.end() > epoch_start.max(self.log.start());
        (is_behind && self.log.epoch_of(epoch_start.max(self.log.start())) != epoch).then_some(epoch_start)
    }

    /// The log is the leader's up to `to`, or further if that is known.
    fn matched(&mut self, to: Seq, tells_again: bool) -> Seq {
        let Role::Following(following) = &mut self.role else { return to };
        if tells_again {
            following.told = None;
        }
        let matched = following.matched.map_or(to, |known| known.max(to));
        following.matched = Some(matched);
        matched
    }
}
