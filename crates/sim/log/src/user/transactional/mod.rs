//! A producer that writes in transactions, of either version: with an epoch for each (KIP-890), or as before. It has one
//! connection for its coordinator and others for its records, so that requests of the one overtake those of the other. Of several
//! brokers it has one connection for each partition, and one for the coordinator of its group.

mod end;
mod sending;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, FindCoordinatorRequest,
    InitProducerIdRequest, InitProducerIdResponse, OffsetFetchRequest, TransactionalId,
    TxnOffsetCommitRequest,
};
use kafka_protocol::protocol::StrBytes;

use super::offsets::{Committed, Offsets};
use super::operator::NAMES;
use super::{Answer, Around, Link, Target};
use crate::history::{Place, TransactionId, Value};

const FIND: i16 = 4;
const INIT: i16 = 4;
const ADD: i16 = 3;
const FETCH: i16 = 8;
/// Versions of Produce, EndTxn and TxnOffsetCommit: of those who begin each transaction under its own epoch, and of others.
const PRODUCE: (i16, i16) = (13, 11);
const END: (i16, i16) = (5, 4);
const COMMIT: (i16, i16) = (5, 3);
/// How long a client waits for an answer, milliseconds.
const PATIENCE_MS: u64 = 4_000;
const OUTSTANDING_MAX: usize = 5;
/// How late a request of a connection that was left may arrive, milliseconds.
const LATE_MS: u64 = 15_000;
const PLACES_MAX: u64 = 3;
/// The kinds of keys by which the coordinators of a group and of a transactional id are looked for.
const KEY_TYPES: [i8; 2] = [0, 1];
/// The coordinator is not there for now, or is busy with the transaction before.
const COORDINATOR_RETRIABLE: [i16; 5] = [3, 14, 15, 16, 51];
/// After these a batch is sent again.
const RETRIABLE: [i16; 15] = [2, 3, 5, 6, 7, 14, 15, 16, 19, 20, 51, 56, 74, 75, 100];
const OUT_OF_ORDER: i16 = 45;
const ABORTABLE: i16 = 120;
/// How long brokers may take to mean the same topic by a name again, milliseconds.
const MADE_ANEW_MS: u64 = 5_000;
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
    AddOffsets,
    Commit(Committed),
    Fetch(Committed),
    End(bool),
}

#[derive(Clone, Debug)]
struct Batch {
    place: Place,
    name: &'static str,
    values: Vec<Value>,
    sequence: i32,
    /// How many batches for its partition were made before it.
    number: usize,
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
    /// With the coordinator of its group, if there are several brokers.
    of_group: Link<Asked>,
    /// With the leader of each partition; with the only broker, if there is one.
    data: BTreeMap<Option<Place>, Link<(Place, i32)>>,
    who: Option<(i64, i16)>,
    /// The next InitProducerId says who it was.
    continues: bool,
    /// The coordinator may have raised the epoch of an older client: a transaction that it aborted had timed out, or late
    /// requests have begun another one.
    may_be_behind: bool,
    /// Until then a lost InitProducerId of its own may arrive, and fence it.
    fences_itself_until_ms: u64,
    is_found: bool,
    stage: Stage,
    timeout_ms: u64,
    transaction: Option<TransactionId>,
    /// When the transaction may have begun for its coordinator.
    began_ms: Option<u64>,
    places: Vec<(&'static str, Place)>,
    added: BTreeSet<Place>,
    batches: VecDeque<Batch>,
    /// For each partition, the next sequence number, and how many batches were made.
    sequences: BTreeMap<Place, (i32, usize)>,
    /// Where its last acknowledged batch there ends.
    ends: BTreeMap<Place, i64>,
    left: u64,
    offsets: Offsets,
    next_value: Value,
    rests_until_ms: u64,
}

impl TransactionalProducer {
    pub(crate) fn new(number: u32, around: &mut Around<'_>) -> Self {
        let id = TransactionalId(StrBytes::from_string(format!("transactional-{number}")));
        let offsets = Offsets::new(number);
        Self {
            number,
            has_own_epochs: around.random.chance(60),
            coordinator: Link::to(Target::Coordinator(KEY_TYPES[1], id.0.clone())),
            of_group: Link::to(Target::Coordinator(KEY_TYPES[0], offsets.group.0.clone())),
            data: BTreeMap::new(),
            id,
            who: None,
            continues: false,
            may_be_behind: false,
            fences_itself_until_ms: 0,
            is_found: false,
            stage: Stage::Fresh,
            timeout_ms: 1_500 + around.random.below(6_000),
            transaction: None,
            began_ms: None,
            places: Vec::new(),
            added: BTreeSet::new(),
            batches: VecDeque::new(),
            sequences: BTreeMap::new(),
            ends: BTreeMap::new(),
            left: 0,
            offsets,
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
            self.coordinated(around, answer);
        }
        while let Some(answer) = self.of_group.receive(around) {
            self.coordinated(around, answer);
        }
        self.receive_data(around);
        if self.coordinator.is_lost(around, PATIENCE_MS) {
            let lost = self.coordinator.leave(around);
            self.may_be_behind |= !lost.is_empty();
            if lost.iter().any(|asked| matches!(asked, Asked::Init)) {
                self.fences_itself_until_ms = around.now_ms + LATE_MS;
            }
        }
        if self.of_group.is_lost(around, PATIENCE_MS) {
            self.may_be_behind |= !self.of_group.leave(around).is_empty();
        }
        self.look_for_lost_data(around);
        if around.now_ms < self.rests_until_ms {
            return;
        }
        match self.stage {
            Stage::Fresh if around.is_busy => self.initialize(around),
            Stage::Ready if around.is_busy && around.random.chance(20) => self.begin(around),
            Stage::Ready if around.random.chance(20) => self.fetch(around),
            Stage::Fresh | Stage::Ready => {}
            Stage::Open => self.go_on(around),
            Stage::Ending(commit) => self.end(around, commit),
        }
    }

    /// The coordinator has answered.
    fn coordinated(&mut self, around: &mut Around<'_>, answer: Answer<Asked>) {
        match answer.of.clone() {
            Asked::Find => drop(answer.read::<FindCoordinatorRequest>()),
            Asked::Init => self.initialized(around, &answer.read::<InitProducerIdRequest>()),
            Asked::Add(places) => {
                let answer = answer.read::<AddPartitionsToTxnRequest>();
                self.answered_add(around, places, &answer);
            }
            Asked::AddOffsets => {
                let code = answer.read::<AddOffsetsToTxnRequest>().error_code;
                self.offsets.is_added = code == 0;
                self.offsets_refused(around, code);
            }
            Asked::Commit(committed) => {
                let answer = answer.read::<TxnOffsetCommitRequest>();
                let code = answer.topics.first().and_then(|topic| topic.partitions.first());
                let code = code.map_or(0, |partition| partition.error_code);
                if code == 0 {
                    self.offsets.taken(around, committed);
                }
                self.offsets_refused(around, code);
            }
            Asked::Fetch(expected) => {
                let answer = answer.read::<OffsetFetchRequest>();
                let code = answer.groups.first().map_or(0, |group| group.error_code);
                self.of_group.misled(around, code);
                self.offsets.judge(around, expected, &answer);
            }
            Asked::End(commit) => self.answered_end(around, commit, &answer.read::<EndTxnRequest>()),
        }
    }

    fn is_idle(&mut self, around: &mut Around<'_>) -> bool {
        self.of_group.outstanding() == 0
            && self.coordinator.outstanding() == 0
            && self.coordinator.connect(around)
    }

    /// The connection with the coordinator of its group, if nothing is outstanding.
    fn idle_with_group(&mut self, around: &mut Around<'_>) -> Option<&mut Link<Asked>> {
        if !self.is_idle(around) {
            return None;
        }
        if around.brokers.len() == 1 {
            return Some(&mut self.coordinator);
        }
        self.of_group.connect(around).then_some(&mut self.of_group)
    }

    fn initialize(&mut self, around: &mut Around<'_>) {
        if !self.is_idle(around) {
            return;
        }
        if !std::mem::replace(&mut self.is_found, true) {
            for (kind, key) in KEY_TYPES.into_iter().zip([&self.offsets.group.0, &self.id.0]) {
                let request = FindCoordinatorRequest::default()
                    .with_key_type(kind)
                    .with_coordinator_keys(vec![key.clone()]);
                self.coordinator.send(around, FIND, &request, Asked::Find);
            }
            return;
        }
        let (producer, epoch) = self.who.filter(|_| self.continues).unwrap_or((-1, -1));
        let request = InitProducerIdRequest::default()
            .with_transactional_id(Some(self.id.clone()))
            .with_transaction_timeout_ms(self.timeout_ms as i32)
            .with_producer_id(producer.into())
            .with_producer_epoch(epoch);
        self.coordinator.send(around, INIT, &request, Asked::Init);
    }

    fn initialized(&mut self, around: &mut Around<'_>, answer: &InitProducerIdResponse) {
        match answer.error_code {
            0 => {
                self.take_epoch(around, (answer.producer_id.0, answer.producer_epoch));
                (self.stage, self.may_be_behind) = (Stage::Ready, false);
                self.tell(around, "initialized");
            }
            error if COORDINATOR_RETRIABLE.contains(&error) => {
                self.coordinator.misled(around, error);
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
        self.ends.clear();
    }

    fn begin(&mut self, around: &mut Around<'_>) {
        self.places.clear();
        for _ in 0..=around.random.below(PLACES_MAX) {
            let name = NAMES[around.random.below(2) as usize];
            let partition = around.random.below(around.topics.partitions as u64) as i32;
            let Some(topic) = around.topics.ids.get(name).copied() else { continue };
            let place = (name, Place { topic, partition });
            if around.history.is_volatile(place.1) {
                continue;
            }
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
        self.offsets.begin(around.random.chance(40));
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
        self.commit_offsets(around);
        if self.left == 0 && self.batches.is_empty() && self.offsets.wanted(around).is_none() {
            self.stage = Stage::Ending(around.random.chance(75));
        }
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
