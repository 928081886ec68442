//! A producer that writes in transactions, of either version: with an epoch for each (KIP-890), or as before. It has one
//! connection for its coordinator and another for its records, so that requests of the one overtake those of the other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, EndTxnRequest, EndTxnResponse,
    FindCoordinatorRequest, InitProducerIdRequest, ProduceRequest, ProduceResponse, TransactionalId,
};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::batch::encode;
use super::operator::{NAMES, topic_name};
use super::{Around, Link};
use crate::history::{Place, TransactionId, Value};

const FIND: i16 = 4;
const INIT: i16 = 4;
const ADD: i16 = 3;
/// Versions of Produce and EndTxn: of those who begin each transaction under its own epoch, and of others.
const PRODUCE: (i16, i16) = (13, 11);
const END: (i16, i16) = (5, 4);
/// How long a client waits for an answer, milliseconds.
const PATIENCE_MS: u64 = 4_000;
const OUTSTANDING_MAX: usize = 5;
const PLACES_MAX: u64 = 3;
/// The kind of key by which the coordinator of a transactional id is looked for.
const KEY_TYPE: i8 = 1;
/// The coordinator is not there for now, or is busy with the transaction before.
const COORDINATOR_RETRIABLE: [i16; 5] = [3, 14, 15, 16, 51];
/// After these a batch is sent again.
const RETRIABLE: [i16; 12] = [2, 3, 5, 6, 7, 14, 15, 16, 19, 51, 56, 100];
const OUT_OF_ORDER: i16 = 45;
/// The coordinator has ended the transaction after its timeout, or somebody else has followed.
const ENDED: [i16; 6] = [47, 48, 49, 59, 90, 120];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It needs an epoch.
    Fresh,
    /// No transaction is open.
    Ready,
    Open,
    /// It has asked for a commit, or not for one.
    Ending(bool),
}

#[derive(Clone, Debug)]
enum Asked {
    Find,
    Init,
    Add(Vec<Place>),
    End(bool),
}

#[derive(Clone, Debug)]
struct Batch {
    place: Place,
    name: &'static str,
    values: Vec<Value>,
    sequence: i32,
    bytes: Bytes,
    is_sent: bool,
    was_sent: bool,
}

/// See the module.
pub(crate) struct TransactionalProducer {
    number: u32,
    id: TransactionalId,
    has_own_epochs: bool,
    coordinator: Link<Asked>,
    data: Link<(Place, i32)>,
    who: Option<(i64, i16)>,
    /// The next InitProducerId says who it was.
    continues: bool,
    /// The coordinator may have raised the epoch of an older client: a transaction that it aborted had timed out, or late
    /// requests have begun another one.
    may_be_behind: bool,
    is_found: bool,
    stage: Stage,
    timeout_ms: u64,
    transaction: Option<TransactionId>,
    /// When the transaction may have begun for its coordinator.
    began_ms: Option<u64>,
    places: Vec<(&'static str, Place)>,
    added: BTreeSet<Place>,
    batches: VecDeque<Batch>,
    sequences: BTreeMap<Place, i32>,
    left: u64,
    next_value: Value,
    rests_until_ms: u64,
}

impl TransactionalProducer {
    pub(crate) fn new(number: u32, around: &mut Around<'_>) -> Self {
        Self {
            number,
            id: TransactionalId(StrBytes::from_string(format!("transactional-{number}"))),
            has_own_epochs: around.random.chance(60),
            coordinator: Link::new(),
            data: Link::new(),
            who: None,
            continues: false,
            may_be_behind: false,
            is_found: false,
            stage: Stage::Fresh,
            timeout_ms: 1_500 + around.random.below(6_000),
            transaction: None,
            began_ms: None,
            places: Vec::new(),
            added: BTreeSet::new(),
            batches: VecDeque::new(),
            sequences: BTreeMap::new(),
            left: 0,
            next_value: u64::from(number) << 32,
            rests_until_ms: 0,
        }
    }

    /// Whether nothing of it is under way.
    pub(crate) fn is_done(&self) -> bool {
        self.transaction.is_none()
    }

    pub(crate) fn step(&mut self, around: &mut Around<'_>) {
        while let Some(answer) = self.coordinator.receive(around) {
            match answer.of.clone() {
                Asked::Find => drop(answer.read::<FindCoordinatorRequest>()),
                Asked::Init => self.initialized(around, &answer.read::<InitProducerIdRequest>()),
                Asked::Add(places) => {
                    let answer = answer.read::<AddPartitionsToTxnRequest>();
                    self.answered_add(around, places, &answer);
                }
                Asked::End(commit) => self.answered_end(around, commit, &answer.read::<EndTxnRequest>()),
            }
        }
        while let Some(answer) = self.data.receive(around) {
            self.answered(around, answer.of, &answer.read::<ProduceRequest>());
        }
        if self.coordinator.is_lost(around, PATIENCE_MS) {
            self.may_be_behind |= self.coordinator.outstanding() > 0;
            self.coordinator.leave(around);
        }
        if self.data.is_lost(around, PATIENCE_MS) {
            self.data.leave(around);
            self.batches.iter_mut().for_each(|batch| batch.is_sent = false);
        }
        if around.now_ms < self.rests_until_ms {
            return;
        }
        match self.stage {
            Stage::Fresh if around.is_busy => self.initialize(around),
            Stage::Ready if around.is_busy && around.random.chance(20) => self.begin(around),
            Stage::Fresh | Stage::Ready => {}
            Stage::Open => self.go_on(around),
            Stage::Ending(commit) => self.end(around, commit),
        }
    }

    fn is_idle(&mut self, around: &mut Around<'_>) -> bool {
        self.coordinator.outstanding() == 0 && self.coordinator.connect(around)
    }

    fn initialize(&mut self, around: &mut Around<'_>) {
        if !self.is_idle(around) {
            return;
        }
        if !std::mem::replace(&mut self.is_found, true) {
            let request = FindCoordinatorRequest::default()
                .with_key_type(KEY_TYPE)
                .with_coordinator_keys(vec![self.id.0.clone()]);
            return self.coordinator.send(around, FIND, &request, Asked::Find);
        }
        let (producer, epoch) = self.who.filter(|_| self.continues).unwrap_or((-1, -1));
        let request = InitProducerIdRequest::default()
            .with_transactional_id(Some(self.id.clone()))
            .with_transaction_timeout_ms(self.timeout_ms as i32)
            .with_producer_id(producer.into())
            .with_producer_epoch(epoch);
        self.coordinator.send(around, INIT, &request, Asked::Init);
    }

    fn initialized(
        &mut self,
        around: &mut Around<'_>,
        answer: &kafka_protocol::messages::InitProducerIdResponse,
    ) {
        match answer.error_code {
            0 => {
                self.take_epoch(around, (answer.producer_id.0, answer.producer_epoch));
                (self.stage, self.may_be_behind) = (Stage::Ready, false);
                self.tell(around, "initialized");
            }
            error if COORDINATOR_RETRIABLE.contains(&error) => {
                self.is_found = false;
                self.rest(around);
            }
            error if ENDED.contains(&error) && self.continues => self.continues = false,
            error => around.history.wrong(42, format!("InitProducerId was answered with {error}")),
        }
    }

    /// It has an epoch that nobody has had.
    fn take_epoch(&mut self, around: &mut Around<'_>, who: (i64, i16)) {
        around.history.new_producer_id(who);
        if self.who.is_some_and(|before| before.0 != who.0) {
            around.sim.count("producer id exhausted", 1);
        }
        self.who = Some(who);
        self.sequences.clear();
    }

    fn begin(&mut self, around: &mut Around<'_>) {
        self.places.clear();
        for _ in 0..=around.random.below(PLACES_MAX) {
            let name = NAMES[around.random.below(2) as usize];
            let partition = around.random.below(around.topics.partitions as u64) as i32;
            let Some(topic) = around.topics.ids.get(name).copied() else { continue };
            let place = (name, Place { topic, partition });
            if !self.places.contains(&place) {
                self.places.push(place);
            }
        }
        if self.places.is_empty() {
            return;
        }
        self.transaction = Some(around.history.begin_transaction(self.has_own_epochs));
        (self.began_ms, self.left) = (None, 1 + around.random.below(6));
        self.added.clear();
        self.stage = Stage::Open;
        self.tell(around, "begins");
    }

    fn go_on(&mut self, around: &mut Around<'_>) {
        let is_there =
            |(name, place): &(&'static str, Place)| around.topics.ids.get(name) == Some(&place.topic);
        if !self.places.iter().all(is_there) {
            return self.give_up(around);
        }
        match around.random.below(400) {
            0 => {
                around.sim.count("transactional client replaced", 1);
                self.coordinator.leave(around);
                return self.give_up(around);
            }
            1 => {
                around.sim.count("transaction left alone", 1);
                self.rests_until_ms = around.now_ms + self.timeout_ms * 2;
                return;
            }
            2 if self.began_ms.is_some() && (self.has_own_epochs || !self.added.is_empty()) => {
                self.stage = Stage::Ending(false);
                return;
            }
            _ => {}
        }
        if self.left > 0 && self.batches.len() < OUTSTANDING_MAX && around.random.chance(40) {
            self.make_batch(around);
        }
        self.add(around);
        self.send(around);
        if self.left == 0 && self.batches.is_empty() {
            self.stage = Stage::Ending(around.random.chance(75));
        }
    }

    fn make_batch(&mut self, around: &mut Around<'_>) {
        let (Some(who), Some(transaction)) = (self.who, self.transaction) else { return };
        let at = around.random.below(self.places.len() as u64) as usize;
        let (name, place) = self.places[at];
        let count = 1 + around.random.below(4);
        let values: Vec<Value> = (0..count).map(|index| self.next_value + index).collect();
        self.next_value += count;
        for value in &values {
            let kind = (true, self.has_own_epochs);
            around.history.sent(*value, place, self.number, kind, Some(transaction));
        }
        let next = self.sequences.entry(place).or_default();
        let sequence = *next;
        *next += count as i32;
        let bytes = encode(&values, Some((who, sequence)), true, around.random.below(80) as usize);
        let (is_sent, was_sent) = (false, false);
        self.batches.push_back(Batch { place, name, values, sequence, bytes, is_sent, was_sent });
        self.left -= 1;
    }

    /// Older clients tell the coordinator of each partition first.
    fn add(&mut self, around: &mut Around<'_>) {
        if self.has_own_epochs {
            return;
        }
        let missing = |batch: &&Batch| !self.added.contains(&batch.place);
        let new: BTreeMap<Place, &'static str> =
            self.batches.iter().filter(missing).map(|batch| (batch.place, batch.name)).collect();
        let (Some((producer, epoch)), false) = (self.who, new.is_empty()) else { return };
        if !self.is_idle(around) {
            return;
        }
        let topics = new.iter().map(|(place, name)| {
            AddPartitionsToTxnTopic::default()
                .with_name(topic_name(name))
                .with_partitions(vec![place.partition])
        });
        let request = AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(self.id.clone())
            .with_v3_and_below_producer_id(producer.into())
            .with_v3_and_below_producer_epoch(epoch)
            .with_v3_and_below_topics(topics.collect());
        self.began_ms.get_or_insert(around.now_ms);
        self.coordinator.send(around, ADD, &request, Asked::Add(new.into_keys().collect()));
    }

    fn answered_add(
        &mut self,
        around: &mut Around<'_>,
        places: Vec<Place>,
        answer: &AddPartitionsToTxnResponse,
    ) {
        let of_topics = answer.results_by_topic_v3_and_below.iter();
        let codes = of_topics.flat_map(|topic| &topic.results_by_partition);
        let worst = codes.map(|partition| partition.partition_error_code).find(|code| *code != 0);
        match worst {
            None => self.added.extend(places),
            Some(error) if COORDINATOR_RETRIABLE.contains(&error) || error == 55 => self.rest(around),
            Some(error) => self.was_ended(around, error),
        }
    }

    fn send(&mut self, around: &mut Around<'_>) {
        if self.data.outstanding() >= OUTSTANDING_MAX || !self.data.connect(around) {
            return;
        }
        let (is_own, added) = (self.has_own_epochs, &self.added);
        let may = |batch: &Batch| is_own || added.contains(&batch.place);
        let Some(at) = self.batches.iter().position(|batch| !batch.is_sent && may(batch)) else { return };
        let batch = &mut self.batches[at];
        if std::mem::replace(&mut batch.was_sent, true) {
            batch.values.iter().for_each(|value| around.history.sent_again(*value));
            around.sim.count("batch sent again", 1);
        }
        batch.is_sent = true;
        let data = PartitionProduceData::default()
            .with_index(batch.place.partition)
            .with_records(Some(batch.bytes.clone()));
        let of_topic = TopicProduceData::default().with_partition_data(vec![data]);
        let of_topic = match is_own {
            true => of_topic.with_topic_id(Uuid::from_bytes(batch.place.topic)),
            false => of_topic.with_name(topic_name(batch.name)),
        };
        let request = ProduceRequest::default()
            .with_transactional_id(Some(self.id.clone()))
            .with_acks(-1)
            .with_timeout_ms(1_500)
            .with_topic_data(vec![of_topic]);
        let of = (batch.place, batch.sequence);
        self.began_ms.get_or_insert(around.now_ms);
        self.data.send(around, version(is_own, PRODUCE), &request, of);
    }

    fn answered(&mut self, around: &mut Around<'_>, of: (Place, i32), answer: &ProduceResponse) {
        let partition = answer.responses.first().and_then(|topic| topic.partition_responses.first());
        let Some(partition) = partition else {
            return around.history.wrong(79, String::from("an answer to Produce without its partition"));
        };
        let is_it = |batch: &Batch| (batch.place, batch.sequence) == of;
        let Some(at) = self.batches.iter().position(is_it) else { return };
        let is_first = !self.batches.iter().take(at).any(|batch| batch.place == of.0);
        match partition.error_code {
            0 => {
                let Some(batch) = self.batches.remove(at) else { return };
                around.sim.count("batch of a transaction acknowledged", 1);
                // By its name the batch may have gone to a topic that was made anew.
                if self.has_own_epochs || around.topics.ids.get(batch.name) == Some(&batch.place.topic) {
                    around.history.acked(&batch.values, partition.base_offset);
                }
            }
            // The end has overtaken it.
            _ if self.stage != Stage::Open => {}
            OUT_OF_ORDER if !is_first => self.again(around, at),
            error if RETRIABLE.contains(&error) => self.again(around, at),
            error if ENDED.contains(&error) => self.was_ended(around, error),
            error => {
                let who = self.who;
                around.history.wrong(18, format!("batch {of:?} of {who:?} was answered with {error}"));
            }
        }
    }

    fn again(&mut self, around: &Around<'_>, at: usize) {
        if let Some(batch) = self.batches.get_mut(at) {
            batch.is_sent = false;
        }
        self.rest(around);
    }

    fn end(&mut self, around: &mut Around<'_>, commit: bool) {
        let (Some((producer, epoch)), Some(transaction)) = (self.who, self.transaction) else { return };
        if !self.is_idle(around) {
            return;
        }
        if commit {
            around.history.commit_asked(transaction);
        }
        let request = EndTxnRequest::default()
            .with_transactional_id(self.id.clone())
            .with_producer_id(producer.into())
            .with_producer_epoch(epoch)
            .with_committed(commit);
        self.coordinator.send(around, version(self.has_own_epochs, END), &request, Asked::End(commit));
    }

    fn answered_end(&mut self, around: &mut Around<'_>, commit: bool, answer: &EndTxnResponse) {
        let Some(transaction) = self.transaction.filter(|_| self.stage == Stage::Ending(commit)) else {
            return;
        };
        match answer.error_code {
            0 => {
                let what = if commit { "transaction committed" } else { "transaction aborted" };
                around.sim.count(what, 1);
                self.tell(around, what);
                around.history.ended(transaction, commit);
                let is_clean = self.batches.is_empty();
                self.may_be_behind |= !commit && self.open_ms(around) >= self.timeout_ms / 2;
                self.close(around);
                if self.has_own_epochs {
                    self.take_epoch(around, (answer.producer_id.0, answer.producer_epoch));
                    self.stage = Stage::Ready;
                } else {
                    // What is on its way still must not join the next transaction.
                    self.stage = if is_clean { Stage::Ready } else { Stage::Fresh };
                    self.continues = around.random.chance(50);
                }
            }
            error if COORDINATOR_RETRIABLE.contains(&error) => self.rest(around),
            error => self.was_ended(around, error),
        }
    }

    /// For how long the transaction may have been open.
    fn open_ms(&self, around: &Around<'_>) -> u64 {
        self.began_ms.map_or(0, |began_ms| around.now_ms - began_ms)
    }

    /// The coordinator has ended the transaction, which it does not before its timeout (L41).
    fn was_ended(&mut self, around: &mut Around<'_>, error: i16) {
        around.sim.count("transaction timed out", 1);
        let open_ms = self.open_ms(around);
        let may_be = self.may_be_behind && !self.has_own_epochs;
        if (open_ms < self.timeout_ms / 2 && !may_be) || !ENDED.contains(&error) {
            let (id, timeout_ms) = (self.transaction, self.timeout_ms);
            around.history.wrong(
                41,
                format!(
                    "{id:?} was answered with {error} after {open_ms} of {timeout_ms} ms ({:?})",
                    self.stage
                ),
            );
        }
        self.give_up(around);
    }

    /// The transaction is not committed, and its client begins anew.
    fn give_up(&mut self, around: &mut Around<'_>) {
        if let Some(transaction) = self.transaction {
            around.history.ended(transaction, false);
        }
        self.tell(around, "gives up");
        self.close(around);
        (self.stage, self.continues) = (Stage::Fresh, false);
    }

    fn close(&mut self, around: &mut Around<'_>) {
        self.transaction = None;
        if self.data.outstanding() > 0 {
            self.data.leave(around);
        }
        self.batches.clear();
        self.added.clear();
    }

    fn tell(&self, around: &mut Around<'_>, what: &str) {
        let Self { number, transaction, who, .. } = self;
        around
            .sim
            .tell("transactional client", format_args!("client {number}, {transaction:?}, {who:?}: {what}"));
    }

    const fn rest(&mut self, around: &Around<'_>) {
        self.rests_until_ms = around.now_ms + 20;
    }
}

const fn version(has_own_epochs: bool, (own, other): (i16, i16)) -> i16 {
    if has_own_epochs { own } else { other }
}
