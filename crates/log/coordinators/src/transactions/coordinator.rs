//! The machine around the transactions of one partition: it passes requests to them, keeps their timers, and orders records,
//! answers and markers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use base::{MonoTime, Now, WallTime};
use log_partition::{CoordinatorEpoch, ProducerId};
use log_wire::ErrorCode;

use super::codec::{self, Key};
use super::markers::Sending;
use super::producer_ids::ProducerIds;
use super::transaction::{FollowedBy, State, Transaction};
use super::{
    MarkersId, Producer, TransactionAnswer, TransactionDescription, TransactionEffect, TransactionFilter,
    TransactionLimits, TransactionListing, TransactionRequest,
};
use crate::clock::Clock;
use crate::journal::{Journal, Key as _};
use crate::message::asks_again;
use crate::{Damaged, Record, Seq, Text, Ticket};

/// What is not durable of a transaction that is open or whose markers are on their way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live {
    /// When it times out, or when markers are sent again. The table of timers has the same.
    pub(crate) timer: Option<MonoTime>,
    /// The markers, once it is decided.
    pub(crate) sending: Option<Sending>,
}

/// The transaction coordinator of one partition of the internal topic.
#[derive(Clone, Debug)]
pub struct TransactionCoordinator {
    pub(crate) limits: TransactionLimits,
    pub(crate) epoch: CoordinatorEpoch,
    pub(crate) clock: Clock,
    pub(crate) wall: WallTime,
    loaded: bool,
    pub(crate) journal: Journal<Key, TransactionEffect>,
    pub(crate) live: BTreeMap<Text, Live>,
    timers: BTreeSet<(MonoTime, Text)>,
    pub(crate) producer_ids: ProducerIds,
    pub(crate) last_markers: MarkersId,
    expiration_check: MonoTime,
    /// Answers and markers of this call: they follow its append.
    pub(crate) outbox: Vec<TransactionEffect>,
    /// One of the answers tells what is known here.
    tells: bool,
    pub(crate) effects: Vec<TransactionEffect>,
}

impl TransactionCoordinator {
    /// A coordinator that has read nothing of its partition. Each coordinator of the partition has a higher `epoch` than
    /// those before it: partitions refuse the markers of lower ones.
    #[must_use]
    pub fn new(limits: TransactionLimits, epoch: CoordinatorEpoch) -> Self {
        Self {
            clock: Clock::new(limits.pause_ms_max),
            limits,
            epoch,
            wall: WallTime::default(),
            loaded: false,
            journal: Journal::new(),
            live: BTreeMap::new(),
            timers: BTreeSet::new(),
            producer_ids: ProducerIds::default(),
            last_markers: MarkersId(0),
            expiration_check: MonoTime::ZERO,
            outbox: Vec::new(),
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

    /// The partition is read to its end. Timeouts run on, and the markers of what was decided are sent again.
    pub fn loaded(&mut self, now: Now) {
        self.clock.start(now.mono());
        (self.wall, self.loaded) = (now.wall, true);
        self.expiration_check = self.clock.reading().plus_ms(self.limits.expiration_check_ms);
        let live = self.journal.table().iter().filter(|(_, transaction)| !transaction.is_idle());
        for Key(id) in live.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.restore(&id, Self::send_markers);
        }
        self.finish();
    }

    /// A request. Its answer comes as an effect, now or later.
    pub fn handle(&mut self, request: TransactionRequest, ticket: Ticket, now: Now) {
        if !self.loaded {
            let answer = TransactionAnswer::Failed(ErrorCode::CoordinatorLoadInProgress);
            return self.effects.push(TransactionEffect::Reply { ticket, answer });
        }
        self.advance(now);
        let answer = self.admit(&request).and_then(|()| self.dispatch(request));
        let answer = answer.unwrap_or_else(TransactionAnswer::Failed);
        self.tells = !matches!(&answer, TransactionAnswer::Failed(error) if asks_again(*error));
        self.outbox.push(TransactionEffect::Reply { ticket, answer });
        self.finish();
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Now) {
        if self.loaded {
            self.advance(now);
        }
    }

    /// A block of producer ids that was given to nobody else, or nothing if it could not be had.
    pub fn producer_ids(&mut self, block: Option<Range<i64>>) {
        self.producer_ids.answered(block);
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
        self.effects
            .retain(|effect| !matches!(effect, TransactionEffect::Append { seq: at, .. } if *at >= seq));
        for Key(id) in keys {
            self.restore(&id, Self::send_markers_later);
        }
        for effect in failed {
            match effect {
                TransactionEffect::Reply { ticket, .. } => {
                    self.effects.push(failed_reply(ticket, ErrorCode::CoordinatorNotAvailable));
                }
                // The decision was durable before, and its markers only waited behind an append of others.
                TransactionEffect::WriteMarkers(markers) if self.is_sending(&markers) => {
                    self.outbox.push(TransactionEffect::WriteMarkers(markers));
                }
                _ => {}
            }
        }
        self.finish();
    }

    /// Another broker coordinates this partition from now on: every request that waits is answered with NOT_COORDINATOR, and
    /// markers that have not gone out never will.
    pub fn resign(mut self) -> Vec<TransactionEffect> {
        let withheld = self.journal.abandon();
        for effect in withheld {
            if let TransactionEffect::Reply { ticket, .. } = effect {
                self.effects.push(failed_reply(ticket, ErrorCode::NotCoordinator));
            }
        }
        self.effects.retain(|effect| matches!(effect, TransactionEffect::Reply { .. }));
        self.effects
    }

    /// Takes what has to be done.
    pub fn take_effects(&mut self) -> Vec<TransactionEffect> {
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
        let record = |(key, value): (&Key, &Transaction)| Record {
            key: key.encode(),
            value: Some(Key::encode_value(value)),
        };
        self.journal.table().iter().map(record).collect()
    }

    /// When something is to be done next. While too many appends are on their way no transaction is timed out, so nothing is
    /// due for one.
    fn due(&self) -> MonoTime {
        let first = self.timers.first().filter(|_| !self.is_full());
        first.map_or(self.expiration_check, |(at, _)| self.expiration_check.min(*at))
    }

    fn is_full(&self) -> bool {
        self.journal.appends_in_flight() >= self.limits.appends_in_flight_max
    }

    /// Lets time pass, and does what is due.
    pub(crate) fn advance(&mut self, now: Now) {
        self.clock.advance(now.mono(), Some(self.due()), self.journal.stuck_since());
        self.wall = now.wall;
        let reading = self.clock.reading();
        while !self.is_full() && self.timers.first().is_some_and(|(at, _)| *at <= reading) {
            let Some((_, id)) = self.timers.pop_first() else { break };
            if let Some(live) = self.live.get_mut(&id) {
                live.timer = None;
            }
            self.timer_fired(&id);
            // Each decision has an append of its own, so that none is too large.
            self.finish();
        }
        if self.expiration_check <= reading && !self.is_full() {
            self.expire();
        }
        self.finish();
    }

    fn timer_fired(&mut self, id: &Text) {
        let Some(transaction) = self.transaction(id) else { return };
        match transaction.state {
            State::Ongoing => {
                let mut timed_out = transaction.clone();
                timed_out.decide_raised(false, Some(FollowedBy::Timeout), None);
                self.put(id, timed_out);
            }
            State::Ending { .. } => self.send_again(id),
            State::Empty | State::Complete { .. } => {}
        }
    }

    /// Forgets ids that were idle for `transactional.id.expiration.ms`.
    fn expire(&mut self) {
        let (wall, limits) = (self.wall, &self.limits);
        let over = |transaction: &Transaction| {
            transaction.is_idle()
                && wall.since(transaction.updated_at) >= limits.transactional_id_expiration_ms
        };
        let ids = self.journal.table().iter().filter(|(_, transaction)| over(transaction));
        let ids: Vec<_> = ids.map(|(key, _)| key.clone()).take(limits.expired_per_append_max).collect();
        // If there may be more, they follow as soon as the caller ticks.
        let pause_ms = if ids.len() < limits.expired_per_append_max { limits.expiration_check_ms } else { 1 };
        self.expiration_check = self.clock.reading().plus_ms(pause_ms);
        for key in ids {
            self.journal.put(key, None);
        }
    }

    /// Puts what was changed into an append, and lets answers and markers wait for it. That it is committed shows that this still is
    /// the coordinator.
    pub(crate) fn finish(&mut self) {
        let tells = std::mem::take(&mut self.tells);
        if let Some((seq, records)) = self.journal.seal(self.clock.heard()) {
            self.effects.push(TransactionEffect::Append { seq, records });
        } else if tells {
            self.effects.push(TransactionEffect::Confirm);
        }
        for effect in std::mem::take(&mut self.outbox) {
            self.journal.emit(effect, &mut self.effects);
        }
        if self.loaded && self.producer_ids.ask(self.limits.producer_ids_low) {
            self.effects.push(TransactionEffect::AllocateProducerIds);
        }
    }

    pub(crate) fn transaction(&self, id: &Text) -> Option<&Transaction> {
        self.journal.table().get(&Key(id.clone()))
    }

    /// Writes the record of a transaction, and sets what follows from it: its timer, or its markers.
    pub(crate) fn put(&mut self, id: &Text, mut transaction: Transaction) {
        transaction.updated_at = self.wall;
        let before = self.transaction(id).map(|before| before.state);
        let (state, timeout_ms) = (transaction.state, transaction.timeout_ms);
        self.journal.put(Key(id.clone()), Some(transaction));
        match state {
            _ if before == Some(state) => {}
            State::Ongoing => self.set_timer(id, u64::from(timeout_ms)),
            State::Ending { .. } => self.send_markers(id),
            State::Empty | State::Complete { .. } => self.forget(id),
        }
    }

    /// Lets a transaction go on from what its record says: after a replay, and after a refused append. The clocks of two
    /// brokers may differ, so what is left of a timeout lies between nothing and the whole.
    fn restore(&mut self, id: &Text, send_markers: fn(&mut Self, &Text)) {
        self.forget(id);
        let Some(transaction) = self.transaction(id) else { return };
        match transaction.state {
            State::Ongoing => {
                let passed = u64::try_from(self.wall.since(transaction.started_at)).unwrap_or(0);
                let left = u64::from(transaction.timeout_ms).saturating_sub(passed);
                self.set_timer(id, left);
            }
            State::Ending { .. } => send_markers(self, id),
            State::Empty | State::Complete { .. } => {}
        }
    }

    fn forget(&mut self, id: &Text) {
        if let Some(at) = self.live.remove(id).and_then(|live| live.timer) {
            self.timers.remove(&(at, id.clone()));
        }
    }

    pub(crate) fn set_timer(&mut self, id: &Text, after_ms: u64) {
        let at = self.clock.reading().plus_ms(after_ms);
        let live = self.live.entry(id.clone()).or_default();
        if let Some(before) = live.timer.replace(at) {
            self.timers.remove(&(before, id.clone()));
        }
        self.timers.insert((at, id.clone()));
    }

    pub(crate) fn clear_timer(&mut self, id: &Text) {
        if let Some(at) = self.live.get_mut(id).and_then(|live| live.timer.take()) {
            self.timers.remove(&(at, id.clone()));
        }
    }

    /// A producer id that nobody has had.
    ///
    /// # Errors
    /// COORDINATOR_LOAD_IN_PROGRESS until the next block is there: clients try again.
    pub(crate) fn new_producer_id(&mut self) -> Result<ProducerId, ErrorCode> {
        self.producer_ids.take().ok_or(ErrorCode::CoordinatorLoadInProgress)
    }

    /// Whether a client may have this producer. If not, a new id has to follow (L47).
    pub(crate) const fn is_usable(&self, producer: Producer) -> bool {
        producer.epoch.0 < self.limits.producer_epoch_max
    }

    fn admit(&self, request: &TransactionRequest) -> Result<(), ErrorCode> {
        let id_bytes = request.transactional_id().map(|id| id.len());
        if self.is_full() {
            Err(ErrorCode::CoordinatorNotAvailable)
        } else if request.names() > self.limits.names_per_request_max
            || id_bytes.is_some_and(|bytes| bytes == 0 || bytes > self.limits.transactional_id_bytes_max)
        {
            Err(ErrorCode::InvalidRequest)
        } else {
            Ok(())
        }
    }

    fn dispatch(&mut self, request: TransactionRequest) -> Result<TransactionAnswer, ErrorCode> {
        match request {
            TransactionRequest::Init(init) => self.init(&init),
            TransactionRequest::Add(add) => self.add_partitions(add),
            TransactionRequest::AddOffsets(who, partition) => self.add_offsets(&who, partition),
            TransactionRequest::Verify(verify) => self.verify(verify),
            TransactionRequest::End(end) => self.end(&end),
            TransactionRequest::Describe(ids) => {
                Ok(TransactionAnswer::Described(ids.iter().map(|id| self.describe(id)).collect()))
            }
            TransactionRequest::List(filter) => Ok(self.list(&filter)),
        }
    }

    fn describe(&self, id: &Text) -> Result<TransactionDescription, ErrorCode> {
        if id.is_empty() {
            return Err(ErrorCode::InvalidRequest);
        }
        let transaction = self.transaction(id).ok_or(ErrorCode::TransactionalIdNotFound)?;
        Ok(TransactionDescription {
            producer: transaction.acting(),
            state: transaction.state_name(),
            timeout_ms: transaction.timeout_ms,
            started_at: (transaction.state != State::Empty).then_some(transaction.started_at),
            participants: transaction.participants.iter().cloned().collect(),
        })
    }

    fn list(&self, filter: &TransactionFilter) -> TransactionAnswer {
        let wanted = |id: &Text, transaction: &Transaction| {
            let began_longer_ago = |least: i64| {
                transaction.state == State::Empty || self.wall.since(transaction.started_at) > least
            };
            (filter.states.is_empty()
                || filter.states.iter().any(|state| **state == *transaction.state_name()))
                && (filter.producer_ids.is_empty() || filter.producer_ids.contains(&transaction.acting().id))
                && filter.duration_ms.is_none_or(began_longer_ago)
                && filter.pattern.as_ref().is_none_or(|pattern| pattern.matches(id))
        };
        let listed = self.journal.table().iter().filter(|(Key(id), transaction)| wanted(id, transaction));
        let listing = |(Key(id), transaction): (&Key, &Transaction)| TransactionListing {
            transactional_id: id.clone(),
            producer_id: transaction.acting().id,
            state: transaction.state_name(),
        };
        TransactionAnswer::Listed(listed.map(listing).collect())
    }
}

const fn failed_reply(ticket: Ticket, code: ErrorCode) -> TransactionEffect {
    TransactionEffect::Reply { ticket, answer: TransactionAnswer::Failed(code) }
}
