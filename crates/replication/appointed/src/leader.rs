//! A replica that leads: what it sends, what it counts, and the change of its voters.

use core::ops::Range;
use std::collections::BTreeMap;

use crate::replica::{LeadError, Replica};
use crate::role::{Leading, Peer, Resets, Role};
use crate::{
    Append, Appended, Config, Diverged, Epoch, EpochStart, PersistId, Position, Refused, ReplicaId, Reset,
    Round, Seq, Voters,
};

impl Replica {
    /// The configuration service has appointed this replica, whose number is `own_id`. The epoch begins at the end of the log;
    /// the owner makes that durable. A replica that leads already goes on under the new epoch, with other voters.
    ///
    /// # Errors
    /// [`LeadError`].
    pub fn lead(&mut self, own_id: ReplicaId, config: Config) -> Result<PersistId, LeadError> {
        self.check_appointment(own_id, &config)?;
        let epoch = config.epoch;
        let start = self.log.start();
        let (known, wanted_start, deleted_to, shown_start) = match &self.role {
            Role::Leading(before) => {
                (before.peers.clone(), before.wanted_start, before.deleted_to, before.shown_start)
            }
            _ => (BTreeMap::new(), start, Seq(0), start),
        };
        let (round, asked) = match &self.role {
            Role::Leading(before) => (before.round, before.asked),
            _ => (Round(0), Round(0)),
        };
        self.promised = epoch;
        let epoch_start = self.log.end();
        let before = self.log.position_at(epoch_start);
        self.log.begin(epoch, epoch_start);
        // What replicas have said counts for the epoch before: they say it again.
        let next = |id: &ReplicaId| known.get(id).and_then(|peer| peer.durable).unwrap_or(epoch_start);
        let peers = config.others(own_id).into_iter().map(|id| (id, Peer::new(next(&id)))).collect();
        self.role = Role::Leading(Box::new(Leading {
            own_id,
            config,
            before,
            has_begun: false,
            is_established: false,
            peers,
            next_voters: None,
            own: None,
            own_start: self.pending.durable().start,
            wanted_start,
            deleted_to,
            shown_start,
            round,
            asked,
        }));
        Ok(self.pending.add(self.point()))
    }

    /// Whether this replica may lead under that configuration.
    fn check_appointment(&self, own_id: ReplicaId, config: &Config) -> Result<(), LeadError> {
        let epoch = config.epoch;
        if config.leader != own_id || epoch == Epoch::NONE {
            return Err(LeadError::NotLeader);
        }
        if epoch < self.promised {
            return Err(LeadError::Promised(self.promised));
        }
        if epoch <= self.log.position().epoch || (!config.chosen && !self.is_leading()) {
            return Err(LeadError::Restarted);
        }
        if config.chosen && epoch != self.promised {
            return Err(LeadError::NotFenced);
        }
        Ok(())
    }

    /// The owner has appended entries: the log ends there. They are to be made durable.
    ///
    /// # Panics
    /// This replica does not lead.
    pub fn appended(&mut self, end: Seq) -> PersistId {
        assert!(self.is_leading(), "only a leader appends");
        self.log.extend(end);
        self.pending.add(self.point())
    }

    /// Entries before `start`, which are committed, are deleted for good: whoever leads later does not have them. That holds once
    /// [`Replica::deleted_to`] has come so far. Gives what the owner makes durable, if the log started earlier.
    ///
    /// # Panics
    /// This replica does not lead, or some of the entries are not committed.
    pub fn delete_before(&mut self, start: Seq) -> Option<PersistId> {
        let Role::Leading(leading) = &mut self.role else { panic!("only a leader deletes") };
        leading.wanted_start = leading.wanted_start.max(start);
        if start > self.log.start() {
            return Some(self.cut_start(start));
        }
        self.count();
        None
    }

    /// What is to be sent to this replica next, without entries: the owner adds as many as it wants, and says so by
    /// [`Replica::sent`]. Nothing if there is nothing to send, or an answer has to come first.
    #[must_use]
    pub fn next_append(&self, to: ReplicaId) -> Option<Append> {
        let Role::Leading(leading) = &self.role else { return None };
        let peer = leading.peers.get(&to)?;
        let start = self.log.start();
        let has_news = peer.next < self.log.end()
            || peer.told < self.committed.min(peer.next)
            || peer.told_start < start.min(peer.next)
            || peer.asked < leading.round;
        if !leading.has_begun || peer.waits || (peer.streams && !has_news) {
            return None;
        }
        let resets = peer.resets != Resets::No || peer.next < start;
        let always = peer.resets == Resets::Always;
        let resets = resets.then_some(Reset { always, thinned_to: self.thinned_to });
        let next = peer.next.max(start);
        Some(Append {
            epoch: self.promised,
            epoch_start: leading.before.end,
            after: self.log.position_at(next),
            to: next,
            starts: Vec::new(),
            committed: self.committed,
            start,
            resets,
            probes: !peer.streams,
            round: leading.round,
        })
    }

    /// The same with these entries, or as many of them as there are. They may begin before what is to be sent: where several
    /// entries are one thing to the owner, another leader's things may have begun elsewhere, and the log may begin within one.
    #[must_use]
    pub fn with_entries(&self, append: Append, entries: Range<Seq>) -> Append {
        let is_earlier = entries.start < append.after.end;
        let after = if is_earlier { self.before(entries.start) } else { append.after };
        let to = entries.end.clamp(after.end, self.log.end());
        let starts = self.log.history().within(after.end, to).iter().copied();
        // A log whose start was cut off within an epoch says that it begins there.
        let starts = starts.filter(|known| known.epoch > after.epoch).map(|known| match known.epoch {
            own if own == append.epoch => EpochStart { start: append.epoch_start, ..known },
            _ => known,
        });
        Append { after, to, starts: starts.collect(), ..append }
    }

    /// What a follower must have before the entry `at`. Where the own epoch begins that is known also if the log begins behind it.
    fn before(&self, at: Seq) -> Position {
        match &self.role {
            Role::Leading(leading) if leading.before.end == at => leading.before,
            _ => self.log.position_at(at),
        }
    }

    /// That was sent.
    pub fn sent(&mut self, to: ReplicaId, append: &Append) {
        let Role::Leading(leading) = &mut self.role else { return };
        if let Some(peer) = leading.peers.get_mut(&to) {
            peer.next = append.to;
            peer.waits = !peer.streams;
            peer.told = peer.told.max(append.committed.min(append.to));
            peer.told_start = peer.told_start.max(append.start.min(append.to));
            peer.asked = peer.asked.max(append.round);
            leading.asked = leading.asked.max(append.round);
        }
    }

    /// A follower has made entries durable.
    pub fn receive_appended(&mut self, from: ReplicaId, answer: Appended) {
        let (epoch, start, end) = (self.promised, self.log.start(), self.log.end());
        let thinned_to = self.thinned_to;
        let Role::Leading(leading) = &mut self.role else { return };
        let Some(peer) = leading.peers.get_mut(&from) else { return };
        if answer.epoch != epoch || answer.durable > end || answer.start > end {
            return;
        }
        if answer.durable < thinned_to && peer.durable.is_none() && peer.resets == Resets::No {
            // What it lacks was there when it was asked, and is gone by now.
            *peer = Peer { resets: Resets::Always, ..Peer::new(start) };
            return;
        }
        peer.durable = peer.durable.max(Some(answer.durable));
        peer.start = peer.start.max(Some(answer.start));
        peer.confirmed = peer.confirmed.max(answer.round.min(peer.asked));
        if !peer.streams {
            (peer.streams, peer.waits, peer.resets) = (true, false, Resets::No);
            peer.next = answer.durable;
        }
        self.count();
    }

    /// A follower does not have what was before the entries.
    pub fn receive_diverged(&mut self, from: ReplicaId, answer: Diverged) {
        let (common, base) = (self.log.common_with(answer.common), self.log.base());
        let thinned_to = self.thinned_to;
        let Role::Leading(leading) = &mut self.role else { return };
        let Some(peer) = leading.peers.get_mut(&from) else { return };
        if answer.epoch != self.promised {
            return;
        }
        if common.end < thinned_to && peer.durable.is_none_or(|durable| durable < thinned_to) {
            // Others have all of that on their disks: nothing that is committed depends on its copy.
            *peer = Peer { resets: Resets::Always, ..Peer::new(base.end) };
            return;
        }
        peer.next = common.end.max(peer.durable.unwrap_or_default());
        (peer.streams, peer.waits) = (false, false);
        // With the entries it has not taken what is committed.
        (peer.told, peer.told_start) = (Seq(0), Seq(0));
        let lacks = answer.common.end <= base.end && answer.common != base && peer.durable.is_none();
        peer.resets = if lacks { Resets::IfItLacks } else { Resets::No };
    }

    /// Another replica has promised a higher epoch: this replica stops leading. The next leader decides whether entries that are
    /// appended and not committed are kept.
    pub fn receive_refused(&mut self, answer: Refused) {
        if self.is_leading() && answer.promised > self.promised {
            self.role = Role::Idle;
        }
    }

    /// The connection to that replica is new: what was sent may be lost.
    pub fn send_again(&mut self, to: ReplicaId) {
        let end = self.log.end();
        let Role::Leading(leading) = &mut self.role else { return };
        if let Some(peer) = leading.peers.get_mut(&to) {
            let (durable, start, confirmed) = (peer.durable, peer.start, peer.confirmed);
            *peer = Peer { durable, start, confirmed, ..Peer::new(durable.unwrap_or(end)) };
        }
    }

    /// Other voters are asked for: from now on entries commit only on enough of both. They are sent everything.
    pub fn ask_for_voters(&mut self, voters: Voters) {
        let end = self.log.end();
        let Role::Leading(leading) = &mut self.role else { return };
        let own_id = leading.own_id;
        for id in voters.replicas().iter().filter(|id| **id != own_id) {
            leading.peers.entry(*id).or_insert_with(|| Peer::new(end));
        }
        leading.next_voters = Some(voters);
    }

    /// Whether the voters that are asked for may be written into the configuration: enough of them have everything that is
    /// committed, and what commits from now on, and lacks what is deleted.
    #[must_use]
    pub fn are_voters_ready(&self) -> bool {
        let Role::Leading(leading) = &self.role else { return false };
        let Some(next) = &leading.next_voters else { return false };
        let end = next.durable_to(|id| leading.durable_of(id));
        let start = next.durable_to(|id| leading.start_of(id));
        self.is_established() && end >= Some(self.committed) && start >= Some(leading.wanted_start)
    }

    /// The voters that are asked for, and that are known not to be in the configuration, are given up.
    pub fn give_up_voters(&mut self) {
        if let Role::Leading(leading) = &mut self.role {
            leading.next_voters = None;
        }
        self.count();
    }

    /// Asks the voters whether this replica still leads. Whoever waits for that waits until the round is
    /// [confirmed](Replica::is_confirmed). Nothing if it is known not to lead.
    pub fn confirm(&mut self) -> Option<Round> {
        let Role::Leading(leading) = &mut self.role else { return None };
        // A question that was sent to no other replica is as good as a new one. What was sent before a connection broke counts: it may
        // have been answered.
        if leading.asked == leading.round {
            leading.round = Round(leading.round.0 + 1);
        }
        Some(leading.round)
    }

    /// The newest round of which it is known that this replica still led when it began.
    #[must_use]
    pub fn confirmed(&self) -> Option<Round> {
        match &self.role {
            Role::Leading(leading) => Some(leading.confirmed()),
            _ => None,
        }
    }

    /// Whether this replica still led when that round began.
    #[must_use]
    pub fn is_confirmed(&self, round: Round) -> bool {
        self.confirmed() >= Some(round)
    }

    /// Up to where this replica's disk is known to have this leader's log. Nothing if that is not known, or this is no leader.
    #[must_use]
    pub fn durable_on(&self, id: ReplicaId) -> Option<Seq> {
        let Role::Leading(leading) = &self.role else { return None };
        leading.durable_of(id)
    }

    /// From where on this replica's disk is known to have this leader's log. Nothing if that is not known, or this is no leader.
    #[must_use]
    pub fn start_on(&self, id: ReplicaId) -> Option<Seq> {
        let Role::Leading(leading) = &self.role else { return None };
        leading.start_of(id)
    }

    /// Up to where all replicas have the log that have answered this leader: before that, content may be [removed](Self::thin)
    /// while they are sent the entries behind. Nothing if there is none.
    #[must_use]
    pub fn durable_on_all(&self) -> Option<Seq> {
        let Role::Leading(leading) = &self.role else { return None };
        leading.peers.values().filter_map(|peer| peer.durable).min()
    }

    /// Under which configuration it leads. Nothing if it does not.
    #[must_use]
    pub fn leading_config(&self) -> Option<&Config> {
        match &self.role {
            Role::Leading(leading) => Some(&leading.config),
            _ => None,
        }
    }

    /// Whether it leads.
    #[must_use]
    pub const fn is_leading(&self) -> bool {
        matches!(self.role, Role::Leading(_))
    }

    /// Entries before this one are deleted for good: on the disks of so many voters that every later leader learns of it. Nothing if
    /// this is no leader.
    #[must_use]
    pub const fn deleted_to(&self) -> Option<Seq> {
        let Role::Leading(leading) = &self.role else { return None };
        Some(leading.deleted_to)
    }

    /// Where the log starts for those who read: entries that are being deleted count until they are deleted for good.
    #[must_use]
    pub const fn shown_start(&self) -> Seq {
        match &self.role {
            Role::Leading(leading) => leading.shown_start,
            _ => self.log.start(),
        }
    }

    /// Whether it leads, and the beginning of its epoch is committed: everything that any leader before has committed is here,
    /// and known to be, and nothing that was deleted for good.
    #[must_use]
    pub fn is_established(&self) -> bool {
        matches!(&self.role, Role::Leading(leading) if leading.is_established)
    }

    /// Counts on how many disks entries are.
    pub(crate) fn count(&mut self) {
        let durable = self.pending.durable();
        let epoch = self.promised;
        let Role::Leading(leading) = &mut self.role else { return };
        if durable.position.epoch == epoch {
            leading.own = durable.matched;
            leading.has_begun = true;
        }
        leading.own_start = durable.start;
        let committed = leading.durable_to().filter(|end| *end >= leading.before.end);
        if let Some(end) = committed {
            self.committed = self.committed.max(end);
        }
        self.count_starts(committed.is_some());
    }

    /// Counts on how many disks the log starts as late as is wanted. A leader that was chosen takes the latest start of the voters that
    /// have answered: what was deleted for good is known to one of them. It serves nothing before that start is on enough disks,
    /// for a later leader may be chosen by others.
    fn count_starts(&mut self, has_begun: bool) {
        let start = self.log.start();
        let Role::Leading(leading) = &mut self.role else { return };
        let told = if leading.is_established { None } else { leading.told_start() };
        if !leading.is_established && leading.config.chosen {
            leading.wanted_start = leading.wanted_start.max(told.unwrap_or_default());
        }
        // Of voters that come later no more is asked than what is wanted: beyond that it does not last.
        let on_enough = leading.start_on_enough().unwrap_or_default().min(leading.wanted_start);
        leading.deleted_to = leading.deleted_to.max(on_enough);
        let deleted = leading.deleted_to;
        if !leading.is_established {
            let has_heard = told.is_some() || !leading.config.chosen;
            let is_on_enough = start.min(deleted) >= leading.wanted_start;
            leading.is_established = has_begun && has_heard && is_on_enough;
        }
        if leading.is_established {
            let shown = if deleted >= leading.wanted_start { start } else { deleted.min(start) };
            leading.shown_start = leading.shown_start.max(shown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, Durable, LogShape, Received};

    const LEADER: ReplicaId = ReplicaId(1);
    const FOLLOWER: ReplicaId = ReplicaId(2);

    fn leader() -> Replica {
        leader_of(1)
    }

    fn leader_of(durable_on: usize) -> Replica {
        let mut replica = Replica::new(Seq(0));
        let _ = replica.fence(Epoch(1));
        let voters = Voters::new([LEADER, FOLLOWER], durable_on).expect("voters");
        let config = Config { voters, ..Config::alone(LEADER, Epoch(1)) };
        let id = replica.lead(LEADER, config).expect("it was fenced");
        replica.persisted(id);
        replica
    }

    fn next(replica: &mut Replica) -> Append {
        let append = replica.next_append(FOLLOWER).expect("something to send");
        let entries = append.after.end..replica.log().end();
        let append = replica.with_entries(append, entries);
        replica.sent(FOLLOWER, &append);
        append
    }

    #[test]
    fn leader_tells_again_what_is_committed_after_messages_came_in_another_order() {
        let mut replica = leader();
        next(&mut replica);
        replica.receive_appended(
            FOLLOWER,
            Appended { epoch: Epoch(1), durable: Seq(0), start: Seq(0), round: Round(0) },
        );
        let id = replica.appended(Seq(1));
        assert_eq!((next(&mut replica).to, replica.committed()), (Seq(1), Seq(0)));
        replica.persisted(id);
        assert_eq!(next(&mut replica).committed, Seq(1));
        // The second message came first: the follower lacks the entry, and gets it with the message that says less.
        let common = Position { epoch: Epoch(1), end: Seq(0) };
        replica.receive_diverged(FOLLOWER, Diverged { epoch: Epoch(1), common });
        replica.receive_appended(
            FOLLOWER,
            Appended { epoch: Epoch(1), durable: Seq(1), start: Seq(0), round: Round(0) },
        );
        assert_eq!(next(&mut replica).committed, Seq(1));
    }

    #[test]
    fn leader_knows_on_which_disks_its_log_is() {
        let mut replica = leader();
        assert_eq!((replica.durable_on(LEADER), replica.durable_on(FOLLOWER)), (Some(Seq(0)), None));
        next(&mut replica);
        replica.receive_appended(
            FOLLOWER,
            Appended { epoch: Epoch(1), durable: Seq(0), start: Seq(0), round: Round(0) },
        );
        assert_eq!(replica.durable_on(FOLLOWER), Some(Seq(0)));
        let _ = replica.fence(Epoch(2));
        assert_eq!(replica.durable_on(LEADER), None);
    }

    #[test]
    fn leader_knows_that_it_led_when_a_voter_has_answered_what_it_asked_then() {
        let mut replica = leader_of(2);
        let append = next(&mut replica);
        let answer = |round| Appended { epoch: Epoch(1), durable: Seq(0), start: Seq(0), round };
        replica.receive_appended(FOLLOWER, answer(append.round));
        let round = replica.confirm().expect("it leads");
        assert_eq!(replica.confirm(), Some(round), "no other replica was asked yet");
        // What was sent before says nothing of now.
        replica.receive_appended(FOLLOWER, answer(append.round));
        assert!(!replica.is_confirmed(round));
        assert_eq!(next(&mut replica).round, round);
        assert_eq!(replica.next_append(FOLLOWER), None);
        let later = replica.confirm().expect("it leads");
        assert!(later > round);
        replica.receive_appended(FOLLOWER, answer(round));
        assert!(replica.is_confirmed(round) && !replica.is_confirmed(later));
        // An answer to what was not asked counts for nothing.
        replica.receive_appended(FOLLOWER, answer(later));
        assert!(!replica.is_confirmed(later));
        // Nor does a late answer to what was asked before.
        assert_eq!(next(&mut replica).round, later);
        replica.receive_appended(FOLLOWER, answer(round));
        assert!(!replica.is_confirmed(later));
        replica.receive_appended(FOLLOWER, answer(later));
        assert!(replica.is_confirmed(later));
        let _ = replica.fence(Epoch(2));
        assert!(!replica.is_confirmed(round) && replica.confirm().is_none());
    }

    #[test]
    fn question_of_before_a_connection_broke_is_not_asked_again_as_a_new_one() {
        let mut replica = leader_of(2);
        let answer = |round| Appended { epoch: Epoch(1), durable: Seq(0), start: Seq(0), round };
        let append = next(&mut replica);
        replica.receive_appended(FOLLOWER, answer(append.round));
        let before = replica.confirm().expect("it leads");
        next(&mut replica);
        replica.receive_appended(FOLLOWER, answer(before));
        assert!(replica.is_confirmed(before));
        // It may have been followed by now.
        replica.send_again(FOLLOWER);
        let after = replica.confirm().expect("it leads");
        assert!(after > before && !replica.is_confirmed(after));
    }

    #[test]
    fn leader_without_whose_promise_nobody_leads_waits_for_nobody() {
        let mut alone = Replica::new(Seq(0));
        let _ = alone.fence(Epoch(1));
        alone.lead(LEADER, Config::alone(LEADER, Epoch(1))).expect("it was fenced");
        for mut replica in [alone, leader_of(1)] {
            let round = replica.confirm().expect("it leads");
            assert!(replica.is_confirmed(round));
        }
    }

    #[test]
    fn replica_that_joins_is_counted_by_no_leader_before_its_configuration() {
        let append = next(&mut leader());
        // Without a promise it would help a leader that was followed long ago.
        assert!(matches!(Replica::new(Seq(0)).receive_append(LEADER, &append), Ok(Received::Store(_))));
        let log = LogShape::empty(Position::default());
        let mut joins = Replica::restore(Durable { promised: Epoch(3), log, committed: Seq(0) });
        let refused = Received::Answer(Answer::Refused(Refused { promised: Epoch(3) }));
        assert_eq!(joins.receive_append(LEADER, &append), Ok(refused));
    }
}
