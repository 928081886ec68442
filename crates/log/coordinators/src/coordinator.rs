//! The coordinator of one partition: passes requests to groups, keeps their timers, and orders their records and answers.

use std::collections::{BTreeMap, BTreeSet};

use base::{MonoTime, Now, Random, WallTime};
use log_wire::ErrorCode;

use crate::clock::Clock;
use crate::codec::{self, Key, Value};
use crate::group::{Group, Turn};
use crate::journal::Journal;
use crate::{
    Answer, Damaged, GroupDescription, GroupLimits, GroupListing, Join, MemberDescription, Record, Request,
    Seq, Text, Ticket,
};

/// What the caller has to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Append the records as one batch, whole or not at all, behind all earlier ones; then call
    /// [`GroupCoordinator::persisted`] or [`GroupCoordinator::refused`].
    Append {
        /// The number of the append.
        seq: Seq,
        /// The records.
        records: Vec<Record>,
    },
    /// Answer a request.
    Reply {
        /// The request.
        ticket: Ticket,
        /// The answer.
        answer: Answer,
    },
}

/// The group coordinator of one partition of the internal topic.
#[derive(Clone, Debug)]
pub struct GroupCoordinator {
    pub(crate) limits: GroupLimits,
    random: Random,
    clock: Clock,
    pub(crate) wall: WallTime,
    loaded: bool,
    pub(crate) journal: Journal<Key, Effect>,
    pub(crate) groups: BTreeMap<Text, Group>,
    timers: BTreeSet<(MonoTime, Text)>,
    retention_check: MonoTime,
    replies: Vec<(Ticket, Answer)>,
    effects: Vec<Effect>,
}

impl GroupCoordinator {
    /// A coordinator that has read nothing of its partition. No two of them may have the same `seed`: member ids come of it.
    #[must_use]
    pub fn new(limits: GroupLimits, seed: u64) -> Self {
        Self {
            clock: Clock::new(limits.pause_ms_max),
            limits,
            random: Random::new(seed),
            wall: WallTime::default(),
            loaded: false,
            journal: Journal::new(),
            groups: BTreeMap::new(),
            timers: BTreeSet::new(),
            retention_check: MonoTime::ZERO,
            replies: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// Takes over a record of the partition, in the partition's order.
    ///
    /// # Errors
    /// The record is damaged: this coordinator must not serve.
    pub fn load(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Damaged> {
        let (key, value) = codec::read(key, value)?;
        self.journal.load(key, value);
        Ok(())
    }

    /// The partition is read to its end. Every member gets its whole session timeout from now on.
    pub fn loaded(&mut self, now: Now) {
        self.clock.start(now.mono());
        (self.wall, self.loaded) = (now.wall, true);
        self.retention_check = self.clock.reading().plus_ms(self.limits.retention_check_ms);
        let groups = self.journal.table().keys().filter_map(|key| match key {
            Key::Group(name) => Some(name.clone()),
            _ => None,
        });
        for name in groups.collect::<Vec<_>>() {
            self.restore(&name);
        }
    }

    /// A request of a client. Its answer comes as an effect, now or later.
    pub fn handle(&mut self, request: Request, ticket: Ticket, now: Now) {
        if !self.loaded {
            let answer = match request {
                Request::Heartbeat(_) => Answer::Done,
                _ => Answer::Failed(ErrorCode::CoordinatorLoadInProgress),
            };
            return self.effects.push(Effect::Reply { ticket, answer });
        }
        self.advance(now);
        if self.journal.appends_in_flight() >= self.limits.appends_in_flight_max {
            self.replies.push((ticket, Answer::Failed(ErrorCode::CoordinatorNotAvailable)));
        } else if request.names() > self.limits.names_per_request_max {
            self.replies.push((ticket, Answer::Failed(ErrorCode::InvalidRequest)));
        } else if let Some(answer) = self.dispatch(request, ticket) {
            self.replies.push((ticket, answer));
        }
        self.finish();
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Now) {
        if self.loaded {
            self.advance(now);
        }
    }

    /// The append `seq`, and all before it, are durable.
    pub fn persisted(&mut self, seq: Seq, now: Now) {
        self.advance(now);
        self.journal.persisted(seq, &mut self.effects);
    }

    /// The append `seq` failed for certain, and so did all behind it: the caller must drop those too. If it is not known
    /// whether an append failed, the caller must [resign](Self::resign) and read the partition again.
    pub fn refused(&mut self, seq: Seq, now: Now) {
        if !self.journal.expects(seq) {
            return;
        }
        self.advance(now);
        // The advance may have appended: that is behind `seq` too.
        let (keys, failed) = self.journal.refused(seq);
        self.fail(failed, ErrorCode::CoordinatorNotAvailable);
        for key in keys {
            if let Key::Group(name) = key {
                self.restore(&name);
            }
        }
        self.effects.retain(|effect| !matches!(effect, Effect::Append { seq: at, .. } if *at >= seq));
        self.finish();
    }

    /// Another broker coordinates this partition from now on: every request that waits is answered with NOT_COORDINATOR.
    pub fn resign(mut self) -> Vec<Effect> {
        let withheld = self.journal.abandon();
        self.fail(withheld, ErrorCode::NotCoordinator);
        for group in self.groups.values() {
            for ticket in group.waiting() {
                self.effects
                    .push(Effect::Reply { ticket, answer: Answer::Failed(ErrorCode::NotCoordinator) });
            }
        }
        self.effects.retain(|effect| matches!(effect, Effect::Reply { .. }));
        self.effects
    }

    /// Takes what has to be done.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// When to call [`Self::tick`], if nothing happens before.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        self.loaded.then(|| self.clock.real(self.due()))
    }

    /// The records that a replay would need to arrive at the present table, durable or on its way.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Record> {
        use crate::journal::Key as _;
        let record = |(key, value): (&Key, &Value)| Record {
            key: key.encode(),
            value: Some(Key::encode_value(value)),
        };
        self.journal.table().iter().map(record).collect()
    }

    fn due(&self) -> MonoTime {
        self.timers.first().map_or(self.retention_check, |(at, _)| self.retention_check.min(*at))
    }

    fn fail(&mut self, effects: Vec<Effect>, code: ErrorCode) {
        for effect in effects {
            if let Effect::Reply { ticket, .. } = effect {
                self.effects.push(Effect::Reply { ticket, answer: Answer::Failed(code) });
            }
        }
    }

    /// Lets time pass, and does what is due.
    fn advance(&mut self, now: Now) {
        self.clock.advance(now.mono(), Some(self.due()), self.journal.stuck_since());
        self.wall = now.wall;
        let reading = self.clock.reading();
        while let Some((_, name)) = self.timers.pop_first_if_due(reading) {
            if let Some(group) = self.groups.get_mut(&name) {
                group.timer = None;
            }
            self.turn(&name, |_, _| ());
        }
        if self.retention_check <= reading {
            self.retention_check = reading.plus_ms(self.limits.retention_check_ms);
            self.expire_offsets();
            self.expire_producers();
        }
        self.finish();
    }

    /// Puts what was changed into an append, and lets the answers wait for it.
    fn finish(&mut self) {
        if let Some((seq, records)) = self.journal.seal(self.clock.heard()) {
            self.effects.push(Effect::Append { seq, records });
        }
        for (ticket, answer) in std::mem::take(&mut self.replies) {
            self.journal.emit(Effect::Reply { ticket, answer }, &mut self.effects);
        }
    }

    /// Lets a group act, then writes its record and sets its timer.
    pub(crate) fn turn<R>(
        &mut self,
        name: &Text,
        act: impl FnOnce(&mut Group, &mut Turn<'_>) -> R,
    ) -> Option<R> {
        let group = self.groups.get_mut(name)?;
        let mut turn = Turn {
            now: self.clock.reading(),
            wall: self.wall,
            limits: &self.limits,
            random: &mut self.random,
            replies: &mut self.replies,
        };
        let result = act(group, &mut turn);
        group.expire(&mut turn);
        if std::mem::take(&mut group.dirty) {
            self.journal.put(Key::Group(name.clone()), Some(Value::Group(group.stored())));
        }
        let wanted = group.next_deadline();
        if group.timer != wanted {
            if let Some(at) = group.timer.take() {
                self.timers.remove(&(at, name.clone()));
            }
            if let Some(at) = wanted {
                self.timers.insert((at, name.clone()));
            }
            group.timer = wanted;
        }
        if group.members.is_empty()
            && group.expected.is_empty()
            && !self.journal.table().contains_key(&Key::Group(name.clone()))
        {
            self.forget(name);
        }
        Some(result)
    }

    /// Forgets a group without members.
    pub(crate) fn forget(&mut self, name: &Text) {
        if let Some(at) = self.groups.remove(name).and_then(|group| group.timer) {
            self.timers.remove(&(at, name.clone()));
        }
    }

    /// Makes a group what its record says, as after a replay. What waited in it fails.
    fn restore(&mut self, name: &Text) {
        if let Some(group) = self.groups.get(name) {
            for ticket in group.waiting() {
                self.replies.push((ticket, Answer::Failed(ErrorCode::CoordinatorNotAvailable)));
            }
        }
        self.forget(name);
        if let Some(Value::Group(stored)) = self.journal.table().get(&Key::Group(name.clone())) {
            let group = Group::restored(stored, self.clock.reading());
            self.groups.insert(name.clone(), group);
            self.turn(name, |_, _| ());
        }
    }

    fn dispatch(&mut self, request: Request, ticket: Ticket) -> Option<Answer> {
        match request {
            Request::Join(join) => self.join(join, ticket),
            Request::Sync(sync) => {
                let name = sync.who.group.clone();
                let found = self.turn(&name, |group, turn| group.sync(sync, ticket, turn));
                found.is_none().then_some(Answer::Failed(ErrorCode::UnknownMemberId))
            }
            Request::Heartbeat(who) => {
                let answer = self.turn(&who.group, |group, turn| group.heartbeat(&who, turn.now));
                Some(answer.unwrap_or(Answer::Failed(ErrorCode::UnknownMemberId)))
            }
            Request::Leave(leave) => {
                let each = leave.members.iter().map(|(id, instance)| {
                    let code =
                        self.turn(&leave.group, |group, turn| group.leave(id, instance.as_ref(), turn));
                    code.unwrap_or(ErrorCode::UnknownMemberId)
                });
                Some(Answer::Each(each.collect()))
            }
            Request::Commit(commit) => Some(self.commit(commit)),
            Request::TxnCommit(commit) => Some(self.commit_pending(commit)),
            Request::EndTransaction(marker) => {
                Some(self.end_transaction(&marker).unwrap_or_else(Answer::Failed))
            }
            Request::Fetch(groups) => Some(self.fetch(groups)),
            Request::DeleteOffsets(group, partitions) => Some(self.delete_offsets(&group, &partitions)),
            Request::Describe(groups) => {
                Some(Answer::Described(groups.iter().map(|group| self.describe(group)).collect()))
            }
            Request::List(states) => Some(self.list(&states)),
            Request::DeleteGroups(groups) => {
                Some(Answer::Each(groups.iter().map(|group| self.delete_group(group)).collect()))
            }
            Request::TopicsDeleted(topics) => Some(self.topics_deleted(&topics)),
        }
    }

    fn join(&mut self, join: Join, ticket: Ticket) -> Option<Answer> {
        let (name, limits) = (join.who.group.clone(), &self.limits);
        let timeouts = limits.session_timeout_min_ms..=limits.session_timeout_max_ms;
        if name.is_empty() {
            return Some(Answer::Failed(ErrorCode::InvalidGroupId));
        }
        if !timeouts.contains(&join.session_timeout_ms) {
            return Some(Answer::Failed(ErrorCode::InvalidSessionTimeout));
        }
        if crate::group::member_bytes(&join) > limits.member_bytes_max {
            return Some(Answer::Failed(ErrorCode::InvalidRequest));
        }
        if !self.groups.contains_key(&name) {
            if !join.who.member.is_empty() {
                return Some(Answer::Failed(ErrorCode::UnknownMemberId));
            }
            if self.groups.len() >= limits.groups_max {
                return Some(Answer::Failed(ErrorCode::CoordinatorNotAvailable));
            }
            self.groups.insert(name.clone(), Group::new(self.wall));
        }
        self.turn(&name, |group, turn| group.join(join, ticket, turn));
        None
    }

    fn describe(&self, name: &Text) -> GroupDescription {
        let group = self.groups.get(name);
        let member = |group: &Group, member: &crate::codec::StoredMember| MemberDescription {
            member: member.id.clone(),
            instance: member.instance.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            metadata: group.metadata(member),
            assignment: member.assignment.clone(),
        };
        let known = group.is_some() || self.has_offsets(name);
        let (error, state) = match (group, known) {
            (Some(group), _) => (ErrorCode::None, group.state()),
            (None, true) => (ErrorCode::None, "Empty"),
            (None, false) => (ErrorCode::GroupIdNotFound, "Dead"),
        };
        GroupDescription {
            group: name.clone(),
            error,
            state,
            protocol_type: group.map_or_else(|| "".into(), |group| group.protocol_type.clone()),
            protocol: group.map_or_else(|| "".into(), |group| group.protocol.clone()),
            members: group.map_or_else(Vec::new, |group| {
                group.by_rank().map(|each| member(group, &each.stored)).collect()
            }),
        }
    }

    fn list(&self, states: &[Text]) -> Answer {
        let of_offsets = self.journal.table().keys().filter_map(|key| match key {
            Key::Offset(group, ..) | Key::Pending(group, _) => Some(group),
            _ => None,
        });
        let names: BTreeSet<&Text> = of_offsets.chain(self.groups.keys()).collect();
        let listing = |name: &Text| {
            let group = self.groups.get(name);
            let protocol_type = group.map_or_else(|| "".into(), |group| group.protocol_type.clone());
            GroupListing { group: name.clone(), protocol_type, state: group.map_or("Empty", Group::state) }
        };
        let wanted = |listing: &GroupListing| {
            states.is_empty() || states.iter().any(|state| state.eq_ignore_ascii_case(listing.state))
        };
        Answer::Listed(names.into_iter().map(listing).filter(wanted).collect())
    }
}

/// The first timer, if it is due.
trait PopDue {
    fn pop_first_if_due(&mut self, now: MonoTime) -> Option<(MonoTime, Text)>;
}

impl PopDue for BTreeSet<(MonoTime, Text)> {
    fn pop_first_if_due(&mut self, now: MonoTime) -> Option<(MonoTime, Text)> {
        if self.first()?.0 <= now { self.pop_first() } else { None }
    }
}
