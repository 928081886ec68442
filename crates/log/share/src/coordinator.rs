//! The holder of the durable state of share partitions: the share coordinator of one partition of `__share_group_state`.
//!
//! Share partitions reach it by [`StateRequest`], and are answered by [`StateAnswer`] when what the answer tells is durable.
//! It appends one record for each change: an update, or after some updates a snapshot. A refused append takes back that
//! change and all behind it, and fails their requests.
//!
//! Invariants: an answer never shows a change that can still be lost; a write with an older state epoch or leader epoch than
//! the last one is refused, so a former leader of a partition changes nothing.

use std::collections::{BTreeMap, VecDeque};

use base::{MonoTime, Now};
use log_coordinators::{Damaged, Record, Seq, Text, Ticket};
use log_wire::ErrorCode;

use crate::codec::{RecordKey, RecordValue};
use crate::state::{ShareKey, ShareState, StateSummary, StateUpdate};

/// More appends are not under way at a time.
const APPENDS_MAX: usize = 10_000;

/// What a share partition, or an administrator, wants of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateRequest {
    /// Its leader begins to serve a share partition: the state. Writes of earlier leaders are refused from then on.
    Read {
        /// The share partition.
        key: ShareKey,
        /// The leader epoch of the topic's partition.
        leader_epoch: i32,
    },
    /// A share partition has changed.
    Write {
        /// The share partition.
        key: ShareKey,
        /// The state epoch that it read.
        state_epoch: i32,
        /// The leader epoch of the topic's partition.
        leader_epoch: i32,
        /// What has changed.
        update: StateUpdate,
    },
    /// A share partition begins anew at this offset, with nothing delivered.
    Initialize {
        /// The share partition.
        key: ShareKey,
        /// The first offset that is not finished.
        start: i64,
    },
    /// A share partition is forgotten.
    Delete(ShareKey),
    /// What there is of a group.
    Describe(Text),
}

impl StateRequest {
    /// The group that it is about.
    #[must_use]
    pub const fn group(&self) -> &Text {
        match self {
            Self::Read { key, .. }
            | Self::Write { key, .. }
            | Self::Initialize { key, .. }
            | Self::Delete(key) => &key.group,
            Self::Describe(group) => group,
        }
    }
}

/// What a share coordinator answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateAnswer {
    /// To a read.
    State(ShareState),
    /// It is durable.
    Done,
    /// To a description: all share partitions of the group.
    Summaries(Vec<StateSummary>),
    /// It is not done.
    Failed(ErrorCode),
}

/// What the caller has to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateEffect {
    /// Append the records as one batch behind all earlier ones; then call [`ShareCoordinator::persisted`] or
    /// [`ShareCoordinator::refused`].
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
        answer: StateAnswer,
    },
}

/// A state, and the records that it has in the log.
#[derive(Clone, Debug)]
struct Stored {
    state: ShareState,
    snapshot: i64,
    /// How many updates there are behind the snapshot.
    updates: i32,
    /// How many updates there ever were behind one snapshot: so many keys may be in the log.
    updates_max: i32,
}

/// An append on its way.
#[derive(Debug)]
struct InFlight {
    seq: Seq,
    key: ShareKey,
    before: Option<Stored>,
    replies: Vec<(Ticket, StateAnswer)>,
}

/// See the module.
#[derive(Debug)]
pub struct ShareCoordinator {
    table: BTreeMap<ShareKey, Stored>,
    in_flight: VecDeque<InFlight>,
    last: Seq,
    loaded: bool,
    updates_per_snapshot: i32,
    effects: Vec<StateEffect>,
}

impl ShareCoordinator {
    /// One that has read nothing. `updates_per_snapshot` is `share.coordinator.snapshot.update.records.per.snapshot`.
    #[must_use]
    pub fn new(updates_per_snapshot: i32) -> Self {
        Self {
            table: BTreeMap::new(),
            in_flight: VecDeque::new(),
            last: Seq(0),
            loaded: false,
            updates_per_snapshot,
            effects: Vec::new(),
        }
    }

    /// Takes over a record of the partition, in the partition's order.
    ///
    /// # Errors
    /// The record is damaged: this coordinator must not serve.
    pub fn load(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Damaged> {
        let value = value.map(RecordValue::decode).transpose()?;
        match (RecordKey::decode(key)?, value) {
            (RecordKey::Snapshot(key), Some(value)) => {
                let mut state = ShareState::new(value.state_epoch, value.update.start);
                state.leader_epoch = value.leader_epoch;
                state.apply(&value.update);
                let updates_max = self.table.get(&key).map_or(0, |stored| stored.updates_max);
                let stored = Stored { state, snapshot: value.snapshot, updates: 0, updates_max };
                self.table.insert(key, stored);
            }
            (RecordKey::Snapshot(key), None) => drop(self.table.remove(&key)),
            (RecordKey::Update(key, number), Some(value)) => {
                if let Some(stored) = self.table.get_mut(&key).filter(|of| of.snapshot == value.snapshot) {
                    stored.state.leader_epoch = value.leader_epoch;
                    stored.state.apply(&value.update);
                    stored.updates = number.saturating_add(1);
                    stored.updates_max = stored.updates_max.max(stored.updates);
                }
            }
            (RecordKey::Update(..), None) => {}
        }
        Ok(())
    }

    /// The partition is read to its end.
    pub const fn loaded(&mut self, _: Now) {
        self.loaded = true;
    }

    /// A request. Its answer comes as an effect, now or later.
    pub fn handle(&mut self, request: StateRequest, ticket: Ticket) {
        if let StateRequest::Describe(group) = &request {
            let answer = match self.loaded {
                true => StateAnswer::Summaries(self.summaries(group)),
                false => StateAnswer::Failed(ErrorCode::CoordinatorLoadInProgress),
            };
            if self.loaded {
                self.effects.push(StateEffect::Confirm);
            }
            return self.reply_in_order((ticket, answer));
        }
        let done = self.judge(request);
        let (key, stored, answer) = match done {
            Ok(change) => change,
            Err(error) => {
                if matches!(error, ErrorCode::FencedStateEpoch | ErrorCode::FencedLeaderEpoch) {
                    self.effects.push(StateEffect::Confirm);
                }
                return self.effects.push(StateEffect::Reply { ticket, answer: StateAnswer::Failed(error) });
            }
        };
        self.append(key, stored, (ticket, answer));
    }

    /// The append `seq`, and all before it, are durable.
    pub fn persisted(&mut self, seq: Seq, _: Now) {
        while let Some(done) = self.in_flight.pop_front_if(|append| append.seq <= seq) {
            for (ticket, answer) in done.replies {
                self.effects.push(StateEffect::Reply { ticket, answer });
            }
        }
    }

    /// The append `seq` failed for certain, and so did all behind it.
    pub fn refused(&mut self, seq: Seq, _: Now) {
        self.effects.retain(|effect| !matches!(effect, StateEffect::Append { seq: at, .. } if *at >= seq));
        while let Some(failed) = self.in_flight.pop_back_if(|append| append.seq >= seq) {
            match failed.before {
                Some(before) => drop(self.table.insert(failed.key, before)),
                None => drop(self.table.remove(&failed.key)),
            }
            for (ticket, _) in failed.replies {
                let answer = StateAnswer::Failed(ErrorCode::CoordinatorNotAvailable);
                self.effects.push(StateEffect::Reply { ticket, answer });
            }
        }
    }

    /// Another broker coordinates this partition from now on: requests that wait are answered with NOT_COORDINATOR.
    #[must_use]
    pub fn resign(self) -> Vec<StateEffect> {
        let replies = self.in_flight.into_iter().flat_map(|append| append.replies);
        let failed = replies.map(|(ticket, _)| StateEffect::Reply {
            ticket,
            answer: StateAnswer::Failed(ErrorCode::NotCoordinator),
        });
        failed.collect()
    }

    /// Takes what has to be done.
    pub fn take_effects(&mut self) -> Vec<StateEffect> {
        std::mem::take(&mut self.effects)
    }

    /// Nothing waits for a time here.
    #[must_use]
    pub const fn next_deadline(&self) -> Option<MonoTime> {
        None
    }

    /// Time has passed.
    pub const fn tick(&mut self, _: Now) {}

    /// Whether the partition is read to its end.
    #[must_use]
    pub const fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// All share partitions, or those of one group.
    pub fn states<'s>(
        &'s self,
        group: Option<&'s str>,
    ) -> impl Iterator<Item = (&'s ShareKey, &'s ShareState)> {
        let all = match group {
            None => self.table.range::<ShareKey, _>(..),
            Some(group) => {
                let first = ShareKey { group: group.into(), topic: [0; 16], partition: i32::MIN };
                self.table.range(first..)
            }
        };
        let is_wanted = move |key: &ShareKey| group.is_none_or(|group| *key.group == *group);
        all.take_while(move |(key, _)| is_wanted(key)).map(|(key, stored)| (key, &stored.state))
    }

    fn summaries(&self, group: &str) -> Vec<StateSummary> {
        let summary = |(key, state): (&ShareKey, &ShareState)| StateSummary {
            topic: key.topic,
            partition: key.partition,
            leader_epoch: state.leader_epoch,
            start: state.start,
            finished: state.finished(),
        };
        self.states(Some(group)).map(summary).collect()
    }

    /// What a request does to the table, and its answer once that is durable.
    fn judge(
        &self,
        request: StateRequest,
    ) -> Result<(ShareKey, Option<ChangedState>, StateAnswer), ErrorCode> {
        if !self.loaded {
            return Err(ErrorCode::CoordinatorLoadInProgress);
        }
        if self.in_flight.len() >= APPENDS_MAX {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        let find = |key: &ShareKey| self.table.get(key).map(|stored| stored.state.clone());
        match request {
            StateRequest::Read { key, leader_epoch } => {
                let known = find(&key);
                let mut state = known.unwrap_or_else(|| ShareState::new(0, ShareState::NO_START));
                if leader_epoch < state.leader_epoch {
                    return Err(ErrorCode::FencedLeaderEpoch);
                }
                state.leader_epoch = leader_epoch;
                let update = StateUpdate { start: state.start, batches: Vec::new() };
                let answer = StateAnswer::State(state.clone());
                Ok((key, Some(ChangedState { state, update: Some(update) }), answer))
            }
            StateRequest::Write { key, state_epoch, leader_epoch, update } => {
                let mut state = find(&key).ok_or(ErrorCode::FencedStateEpoch)?;
                if state_epoch != state.state_epoch {
                    return Err(ErrorCode::FencedStateEpoch);
                }
                if leader_epoch < state.leader_epoch {
                    return Err(ErrorCode::FencedLeaderEpoch);
                }
                state.leader_epoch = leader_epoch;
                state.apply(&update);
                Ok((key, Some(ChangedState { state, update: Some(update) }), StateAnswer::Done))
            }
            StateRequest::Initialize { key, start } => {
                let state = initialized(find(&key), start);
                Ok((key, Some(ChangedState { state, update: None }), StateAnswer::Done))
            }
            StateRequest::Delete(key) => Ok((key, None, StateAnswer::Done)),
            // It changes nothing, and is answered before.
            StateRequest::Describe(_) => Err(ErrorCode::InvalidRequest),
        }
    }

    fn append(&mut self, key: ShareKey, changed: Option<ChangedState>, reply: (Ticket, StateAnswer)) {
        let before = self.table.get(&key).cloned();
        let records = match changed {
            Some(ChangedState { state, update }) => {
                let (stored, record) = self.stored(&key, before.as_ref(), state, update);
                self.table.insert(key.clone(), stored);
                vec![record]
            }
            None => {
                self.table.remove(&key);
                let Some(before) = &before else {
                    // What is not there any more may still be on its way out: the answer follows it.
                    self.effects.push(StateEffect::Confirm);
                    return self.reply_in_order(reply);
                };
                tombstones(&key, before.updates_max)
            }
        };
        self.last = Seq(self.last.0 + 1);
        self.in_flight.push_back(InFlight { seq: self.last, key, before, replies: vec![reply] });
        self.effects.push(StateEffect::Append { seq: self.last, records });
    }

    /// How a state is stored from now on, and the record of that.
    fn stored(
        &self,
        key: &ShareKey,
        before: Option<&Stored>,
        state: ShareState,
        update: Option<StateUpdate>,
    ) -> (Stored, Record) {
        let (state_epoch, leader_epoch) = (state.state_epoch, state.leader_epoch);
        if let (Some(update), Some(before)) = (update, before)
            && before.updates < self.updates_per_snapshot
        {
            let value = RecordValue { snapshot: before.snapshot, state_epoch, leader_epoch, update };
            let record = record(&RecordKey::Update(key.clone(), before.updates), &value);
            let updates = before.updates + 1;
            let updates_max = before.updates_max.max(updates);
            return (Stored { state, snapshot: before.snapshot, updates, updates_max }, record);
        }
        let snapshot = before.map_or(0, |before| before.snapshot + 1);
        let updates_max = before.map_or(0, |before| before.updates_max);
        let record = record(&RecordKey::Snapshot(key.clone()), &RecordValue::of(&state, snapshot));
        (Stored { state, snapshot, updates: 0, updates_max }, record)
    }

    fn reply_in_order(&mut self, (ticket, answer): (Ticket, StateAnswer)) {
        match self.in_flight.back_mut() {
            Some(last) => last.replies.push((ticket, answer)),
            None => self.effects.push(StateEffect::Reply { ticket, answer }),
        }
    }
}

/// What a share partition becomes.
struct ChangedState {
    state: ShareState,
    /// What changed; nothing if everything did.
    update: Option<StateUpdate>,
}

/// A share partition that begins anew at an offset.
fn initialized(before: Option<ShareState>, start: i64) -> ShareState {
    let state_epoch = before.as_ref().map_or(0, |state| state.state_epoch.saturating_add(1));
    let mut state = ShareState::new(state_epoch, start);
    state.leader_epoch = before.map_or(0, |state| state.leader_epoch);
    state
}

fn record(key: &RecordKey, value: &RecordValue) -> Record {
    Record { key: key.encode(), value: Some(value.encode()) }
}

/// Takes all records of a share partition out of the log.
fn tombstones(key: &ShareKey, updates: i32) -> Vec<Record> {
    let updates = (0..updates).map(|number| RecordKey::Update(key.clone(), number));
    let keys = std::iter::once(RecordKey::Snapshot(key.clone())).chain(updates);
    keys.map(|key| Record { key: key.encode(), value: None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{DeliveryState, StateBatch};

    fn key() -> ShareKey {
        ShareKey { group: "g".into(), topic: [1; 16], partition: 0 }
    }

    fn now() -> Now {
        Now::of_ms(1, 1)
    }

    fn served() -> ShareCoordinator {
        let mut coordinator = ShareCoordinator::new(2);
        coordinator.loaded(now());
        coordinator
    }

    fn write(start: i64, leader_epoch: i32) -> StateRequest {
        let batch = StateBatch {
            first: start + 1,
            last: start + 1,
            state: DeliveryState::Acknowledged,
            delivery_count: 1,
        };
        let update = StateUpdate { start, batches: vec![batch] };
        StateRequest::Write { key: key(), state_epoch: 0, leader_epoch, update }
    }

    fn answers(coordinator: &mut ShareCoordinator) -> Vec<StateAnswer> {
        let effects = coordinator.take_effects().into_iter();
        let answers = effects.filter_map(|effect| match effect {
            StateEffect::Reply { answer, .. } => Some(answer),
            StateEffect::Append { .. } | StateEffect::Confirm => None,
        });
        answers.collect()
    }

    #[test]
    fn a_write_is_answered_when_it_is_durable() {
        let mut coordinator = served();
        coordinator.handle(StateRequest::Read { key: key(), leader_epoch: 1 }, Ticket(1));
        coordinator.handle(write(5, 1), Ticket(2));
        assert_eq!(answers(&mut coordinator), []);
        coordinator.persisted(Seq(1), now());
        assert!(matches!(answers(&mut coordinator)[..], [StateAnswer::State(_)]));
        coordinator.persisted(Seq(2), now());
        assert_eq!(answers(&mut coordinator), [StateAnswer::Done]);
    }

    #[test]
    fn a_former_leader_writes_nothing() {
        let mut coordinator = served();
        coordinator.handle(StateRequest::Read { key: key(), leader_epoch: 3 }, Ticket(1));
        coordinator.handle(write(5, 2), Ticket(2));
        assert_eq!(answers(&mut coordinator), [StateAnswer::Failed(ErrorCode::FencedLeaderEpoch)]);
    }

    #[test]
    fn a_refused_append_takes_back_what_stands_behind_it() {
        let mut coordinator = served();
        coordinator.handle(StateRequest::Initialize { key: key(), start: 3 }, Ticket(1));
        coordinator.persisted(Seq(1), now());
        coordinator.handle(write(5, 1), Ticket(2));
        coordinator.handle(StateRequest::Delete(key()), Ticket(3));
        answers(&mut coordinator);
        coordinator.refused(Seq(2), now());
        assert_eq!(answers(&mut coordinator).len(), 2);
        assert_eq!(coordinator.states(None).map(|(_, state)| state.start).collect::<Vec<_>>(), [3]);
    }

    /// Whatever compaction keeps of earlier snapshots, the state is the same: only the last record of each key is certain.
    #[test]
    fn compacted_records_give_the_same_state() {
        let mut coordinator = served();
        let mut log: Vec<Record> = Vec::new();
        coordinator.handle(StateRequest::Initialize { key: key(), start: 0 }, Ticket(0));
        for start in 1..20 {
            coordinator.handle(write(start, 1), Ticket(0));
            for effect in coordinator.take_effects() {
                if let StateEffect::Append { records, .. } = effect {
                    log.extend(records);
                }
            }
            let compacted: Vec<&Record> = log
                .iter()
                .enumerate()
                .filter(|(at, record)| log[at + 1..].iter().all(|later| later.key != record.key))
                .map(|(_, record)| record)
                .collect();
            for records in [compacted, log.iter().collect()] {
                let mut again = ShareCoordinator::new(2);
                for record in records {
                    again.load(&record.key, record.value.as_deref()).expect("it was written here");
                }
                let states = |of: &ShareCoordinator| {
                    of.states(None).map(|(_, state)| state.clone()).collect::<Vec<_>>()
                };
                assert_eq!(states(&again), states(&coordinator), "at {start}");
            }
        }
    }
}
