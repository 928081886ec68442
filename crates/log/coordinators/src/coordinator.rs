//! The coordinator of one partition: lets time pass, orders the records and answers of its groups, and takes back what was not
//! made durable.

use std::collections::{BTreeMap, BTreeSet};

use base::{MonoTime, Now, Random, WallTime};
use log_wire::ErrorCode;

use crate::clock::Clock;
use crate::codec::{self, Key, Value};
use crate::group::Group;
use crate::journal::Journal;
use crate::message::asks_again;
use crate::{
    Answer, Damaged, GroupConfig, GroupLimits, Record, Request, RetentionCheck, Seq, Text, Ticket, Topics,
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
    /// Before what follows is done, make sure that no other broker coordinates this partition by now: what is answered comes from
    /// memory alone, and may be old.
    Confirm,
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
    pub(crate) random: Random,
    pub(crate) clock: Clock,
    pub(crate) wall: WallTime,
    loaded: bool,
    pub(crate) journal: Journal<Key, Effect>,
    pub(crate) groups: BTreeMap<Text, Group>,
    /// The settings of groups that have their own.
    pub(crate) configs: BTreeMap<Text, GroupConfig>,
    /// Consumer groups that are to become classic groups with the next request.
    pub(crate) leavers: BTreeSet<Text>,
    pub(crate) timers: BTreeSet<(MonoTime, Text)>,
    pub(crate) retention: RetentionCheck,
    pub(crate) replies: Vec<(Ticket, Answer)>,
    /// A reply tells what is known here.
    tells: bool,
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
            configs: BTreeMap::new(),
            leavers: BTreeSet::new(),
            timers: BTreeSet::new(),
            retention: RetentionCheck::default(),
            replies: Vec::new(),
            tells: false,
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
        self.retention.due = self.clock.reading().plus_ms(self.limits.retention_check_ms);
        let groups = self.journal.table().keys().filter_map(|key| match key {
            Key::Group(name) | Key::ConsumerGroup(name) => Some(name.clone()),
            _ => None,
        });
        for name in groups.collect::<BTreeSet<_>>() {
            self.restore(&name);
        }
    }

    /// A group has these settings from now on: its own, or the defaults again. They are not in the partition: a new coordinator has
    /// to be told before [`Self::loaded`].
    pub fn configure(&mut self, group: Text, config: GroupConfig) {
        match config == GroupConfig::default() {
            true => drop(self.configs.remove(&group)),
            false => drop(self.configs.insert(group, config)),
        }
    }

    /// These limits hold from now on. What was allowed before stays.
    pub fn limit(&mut self, limits: GroupLimits) {
        self.limits = limits;
    }

    /// A request of a client, with the topics that it may see. Its answer comes as an effect, now or later.
    pub fn handle(&mut self, request: Request, ticket: Ticket, topics: &dyn Topics, now: Now) {
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
        } else {
            self.downgrade(topics);
            let beats = matches!(request, Request::Heartbeat(_) | Request::ConsumerHeartbeat(_));
            if let Some(answer) = self.dispatch(request, ticket, topics) {
                self.tells |= tells(&answer, beats);
                self.replies.push((ticket, answer));
            }
            self.downgrade(topics);
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
        for name in keys.iter().filter_map(Key::group).collect::<BTreeSet<_>>() {
            self.restore(name);
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

    /// What is committed, in the order of groups, topics and partitions: these, and the offset.
    pub fn committed_offsets(&self) -> impl Iterator<Item = (&str, &str, i32, i64)> {
        self.journal.table().iter().filter_map(|(key, value)| match (key, value) {
            (Key::Offset(group, topic, index), Value::Offset(stored)) => {
                Some((&**group, &**topic, *index, stored.offset.0))
            }
            _ => None,
        })
    }

    /// Whether there is a group of that name; nothing while the partition is being read.
    #[must_use]
    pub fn has(&self, group: &str) -> Option<bool> {
        self.loaded.then(|| self.groups.contains_key(group))
    }

    /// How many groups there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.groups.len()
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
        let first = self.timers.first().map(|(at, _)| self.clock.before_a_pause(*at));
        first.map_or(self.retention.due, |at| self.retention.due.min(at))
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
                group.deadlines().timer = None;
            }
            self.turn(&name, |_, _| ());
            // Each turn has an append of its own, so that none is too large.
            self.finish();
        }
        if self.retention.due <= reading {
            self.check_retention();
        }
        self.finish();
    }

    /// Puts what was changed into an append, and lets the answers wait for it. That it is committed shows that this still is the
    /// coordinator.
    fn finish(&mut self) {
        let tells = std::mem::take(&mut self.tells);
        if let Some((seq, records)) = self.journal.seal(self.clock.heard()) {
            self.effects.push(Effect::Append { seq, records });
        } else if tells {
            self.effects.push(Effect::Confirm);
        }
        for (ticket, answer) in std::mem::take(&mut self.replies) {
            self.journal.emit(Effect::Reply { ticket, answer }, &mut self.effects);
        }
    }
}

/// Whether an answer tells what is known here, rather than to come again. A heartbeat that changes nothing promises nothing: who
/// has been expelled elsewhere hears it there.
fn tells(answer: &Answer, beats: bool) -> bool {
    match answer {
        Answer::Failed(error) => !asks_again(*error),
        Answer::MemberIdRequired(_) => false,
        _ => !beats,
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
