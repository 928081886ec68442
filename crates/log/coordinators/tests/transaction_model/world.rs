//! The brokers of the model and the network between them and the clients: messages are late, lost and doubled, appends are
//! refused, coordinators restart from what is durable.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::{Now, Random};
use log_coordinators::{
    Answer, Effect, Generation, GroupCoordinator, GroupLimits, MarkerOutcome, MarkersId, MemberRef,
    NewOffset, Offset, OffsetFetch, Participant, Producer, Record, Request, Seq, Text, Ticket, Topic,
    TransactionAnswer, TransactionCoordinator, TransactionEffect, TransactionGuard, TransactionLimits,
    TransactionRef, TransactionRequest, TxnOffsetCommit, VerifyPartitions, WriteMarkers,
};
use log_partition::{CoordinatorEpoch, TransactionVersion};
use log_wire::ErrorCode;

use crate::client::{Client, Op, PARTITIONS, name, participant};
use crate::oracle::{Oracle, Seen, attempt_of};
use crate::partition::Partition;

pub(crate) const IDS: usize = 2;
/// The partition of the group that all transactions of an id commit to; each has one of its own besides.
const SHARED: i32 = 1_000_000;

type Log = BTreeMap<Vec<u8>, Vec<u8>>;

/// What a client asked with one ticket.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) client: usize,
    pub(crate) incarnation: u64,
    pub(crate) op: Op,
    pub(crate) attempt: Option<u64>,
}

/// A request to the leader of a partition.
#[derive(Clone)]
struct Data {
    ticket: u64,
    who: TransactionRef,
    raises: bool,
    op: Op,
    attempt: u64,
}

/// What a leader knew before it asked the transaction's coordinator.
#[derive(Clone, Copy, Default)]
struct Guard {
    partition: u64,
    group: TransactionGuard,
}

#[derive(Clone)]
enum Message {
    Request(u64, TransactionRequest),
    Data(Data),
    Verified(Data, Guard, TransactionAnswer),
    Marker(WriteMarkers, Participant, bool),
    Marked(CoordinatorEpoch, Text, MarkersId, Participant, MarkerOutcome),
    Answer(u64, u64, TransactionAnswer),
}

/// What a coordinator works on.
enum Work {
    Client { ticket: u64, delivery: u64, attempts: u64 },
    Verify(Data, Guard),
    Commit(u64),
    Marker(WriteMarkers, bool),
    Read { id: usize, floor: i64 },
}

pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) now: Now,
    pub(crate) step: u64,
    pub(crate) healed: bool,
    limits: TransactionLimits,
    /// How often, in percent, an append on its way becomes durable in a turn.
    durable_percent: u64,
    epoch: i32,
    transactions: TransactionCoordinator,
    transactions_log: Log,
    transactions_in_flight: VecDeque<(Seq, Vec<Record>)>,
    groups: GroupCoordinator,
    groups_log: Log,
    groups_in_flight: VecDeque<(Seq, Vec<Record>)>,
    pub(crate) partitions: Vec<Partition>,
    network: BTreeMap<(u64, u64), Message>,
    /// The step at which each client's last message arrives.
    last_arrival: Vec<u64>,
    pub(crate) asked: BTreeMap<u64, Asked>,
    /// Answers that have come to the clients: ticket, delivery, answer.
    pub(crate) answers: VecDeque<(u64, u64, TransactionAnswer)>,
    work: BTreeMap<u64, Work>,
    pub(crate) next: u64,
    /// Counts the requests that have reached the coordinator.
    deliveries: u64,
    /// The newest delivery of an InitProducerId without a producer, by id.
    pub(crate) last_init: [u64; IDS],
    pub(crate) attempts: u64,
    next_producer_id: i64,
    pub(crate) oracle: Oracle,
    pub(crate) counts: BTreeSet<&'static str>,
}

fn topic() -> Topic {
    Topic { name: "t".into(), id: [1; 16] }
}

fn keep(log: &mut Log, records: Vec<Record>) {
    for record in records {
        match record.value {
            Some(value) => log.insert(record.key, value),
            None => log.remove(&record.key),
        };
    }
}

fn replayed_transactions(limits: &TransactionLimits, epoch: i32, log: &Log) -> TransactionCoordinator {
    let mut replayed = TransactionCoordinator::new(limits.clone(), CoordinatorEpoch(epoch));
    for (key, value) in log {
        replayed.load(key, Some(value)).expect("its own record");
    }
    replayed
}

fn replayed_groups(seed: u64, log: &Log) -> GroupCoordinator {
    let mut replayed = GroupCoordinator::new(GroupLimits::default(), seed);
    for (key, value) in log {
        replayed.load(key, Some(value)).expect("its own record");
    }
    replayed
}

impl World {
    pub(crate) fn new(seed: u64, clients: usize) -> Self {
        let mut random = Random::new(seed);
        // In every second run producer ids are used up within a few transactions.
        let producer_epoch_max = if random.chance(50) { 4 } else { i16::MAX };
        let limits =
            TransactionLimits { producer_epoch_max, producer_ids_low: 2, ..TransactionLimits::default() };
        let durable_percent = 15 + random.below(80);
        let now = Now::of_ms(1_000, 1_000_000);
        let mut transactions = TransactionCoordinator::new(limits.clone(), CoordinatorEpoch(0));
        let mut groups = GroupCoordinator::new(GroupLimits::default(), 1);
        transactions.loaded(now);
        groups.loaded(now);
        Self {
            random,
            now,
            step: 0,
            healed: false,
            limits,
            durable_percent,
            epoch: 0,
            transactions,
            transactions_log: Log::new(),
            transactions_in_flight: VecDeque::new(),
            groups,
            groups_log: Log::new(),
            groups_in_flight: VecDeque::new(),
            partitions: (0..PARTITIONS).map(|_| Partition::default()).collect(),
            network: BTreeMap::new(),
            last_arrival: vec![0; clients],
            asked: BTreeMap::new(),
            answers: VecDeque::new(),
            work: BTreeMap::new(),
            next: 0,
            deliveries: 0,
            last_init: [0; IDS],
            attempts: 0,
            next_producer_id: 0,
            oracle: Oracle::default(),
            counts: BTreeSet::new(),
        }
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn delay(&mut self) -> u64 {
        // Most messages are quick, some arrive when everybody has gone on.
        let late = !self.healed && self.random.chance(8);
        self.step + self.random.below(if late { 120 } else { 4 })
    }

    fn post(&mut self, message: Message) {
        let at = self.delay();
        let number = self.number();
        self.network.insert((at, number), message);
    }

    /// Sends a client's request. Under version 1 nothing can tell a late copy from the next transaction's own request, so
    /// there the network keeps the order, as one connection does.
    pub(crate) fn send(&mut self, number: usize, client: &Client, op: Op) -> u64 {
        let ticket = self.number();
        let asked = Asked { client: number, incarnation: client.incarnation, op, attempt: client.attempt };
        self.asked.insert(ticket, asked);
        if let (Op::End(true), Some(attempt)) = (op, client.attempt) {
            let attempt = self.oracle.attempts.get_mut(&attempt).expect("it began");
            attempt.commit_sent |= attempt.committed.is_none();
        }
        let message = match op {
            Op::Produce(..) | Op::Commit => Message::Data(Data {
                ticket,
                who: client.who(),
                raises: client.raises(),
                op,
                attempt: client.attempt.expect("it is in a transaction"),
            }),
            op => Message::Request(ticket, client.request(op)),
        };
        if !client.raises() {
            let at = self.delay().max(self.last_arrival[number]);
            self.last_arrival[number] = at;
            let number = self.number();
            self.network.insert((at, number), message);
        } else {
            if !self.healed && self.random.chance(10) {
                self.post(message.clone());
            }
            self.post(message);
        }
        ticket
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.transactions_in_flight.is_empty() && self.groups_in_flight.is_empty()
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.network.is_empty() && self.is_settled() && self.answers.is_empty()
    }

    pub(crate) fn deliver_due(&mut self) {
        while let Some(entry) = self.network.first_entry() {
            if entry.key().0 > self.step {
                return;
            }
            let message = entry.remove();
            self.deliver(message);
        }
    }

    fn deliver(&mut self, message: Message) {
        match message {
            Message::Request(ticket, request) => {
                self.deliveries += 1;
                if let TransactionRequest::Init(init) = &request
                    && init.producer.is_none()
                {
                    self.last_init[self.asked[&ticket].client / 2] = self.deliveries;
                }
                let (delivery, attempts) = (self.deliveries, self.attempts);
                self.ask_transactions(Work::Client { ticket, delivery, attempts }, request);
            }
            Message::Data(data) => self.data(data),
            Message::Verified(data, guard, answer) => self.verified(data, guard, answer),
            Message::Marker(markers, participant, answer) => self.marker(markers, participant, answer),
            Message::Marked(epoch, name, id, participant, outcome) => {
                if epoch == CoordinatorEpoch(self.epoch) {
                    self.transactions.markers_written(&name, id, &participant, outcome, self.now);
                    self.take_transactions();
                }
            }
            Message::Answer(ticket, delivery, answer) => self.answers.push_back((ticket, delivery, answer)),
        }
    }

    fn ask_transactions(&mut self, work: Work, request: TransactionRequest) {
        let ticket = self.number();
        self.work.insert(ticket, work);
        self.transactions.handle(request, Ticket(ticket), self.now);
        self.take_transactions();
    }

    fn ask_groups(&mut self, work: Work, request: Request) {
        let ticket = self.number();
        self.work.insert(ticket, work);
        self.groups.handle(request, Ticket(ticket), &(), self.now);
        self.take_groups();
    }

    fn answer(&mut self, ticket: u64, delivery: u64, answer: TransactionAnswer) {
        if self.healed || !self.random.chance(6) {
            self.post(Message::Answer(ticket, delivery, answer));
        }
    }

    /// A record or an offset has come to the leader of its partition.
    fn data(&mut self, data: Data) {
        let producer = data.who.producer;
        let mut guard = Guard::default();
        let at = match data.op {
            Op::Produce(at, value) => {
                let partition = &mut self.partitions[at];
                if partition.is_fenced(producer) {
                    let code = ErrorCode::InvalidProducerEpoch;
                    return self.answer(data.ticket, 0, TransactionAnswer::Failed(code));
                }
                if partition.is_open(producer) {
                    partition.append(producer, value);
                    return self.acknowledge(&data);
                }
                guard.partition = partition.guard(producer.id);
                at
            }
            _ => {
                guard.group = self.groups.transaction_guard(producer.id);
                PARTITIONS
            }
        };
        let verify =
            VerifyPartitions { who: data.who.clone(), partitions: vec![participant(at)], add: data.raises };
        self.ask_transactions(Work::Verify(data, guard), TransactionRequest::Verify(verify));
    }

    fn verified(&mut self, data: Data, guard: Guard, answer: TransactionAnswer) {
        if answer != TransactionAnswer::Each(vec![ErrorCode::None]) {
            // Produce and TxnOffsetCommit know no other code for it.
            let fenced = answer == TransactionAnswer::Failed(ErrorCode::ProducerFenced);
            let code = TransactionAnswer::Failed(ErrorCode::InvalidProducerEpoch);
            return self.answer(data.ticket, 0, if fenced { code } else { answer });
        }
        let producer = data.who.producer;
        let Op::Produce(at, value) = data.op else { return self.commit_offset(&data, guard) };
        let partition = &mut self.partitions[at];
        if partition.is_fenced(producer) || partition.guard(producer.id) != guard.partition {
            let code = ErrorCode::ConcurrentTransactions;
            return self.answer(data.ticket, 0, TransactionAnswer::Failed(code));
        }
        partition.append(producer, value);
        self.acknowledge(&data);
    }

    fn acknowledge(&mut self, data: &Data) {
        let attempt = self.oracle.attempts.get_mut(&data.attempt).expect("it began");
        match data.op {
            Op::Produce(at, value) => attempt.acked.push((at, value)),
            _ => attempt.offset_acked = true,
        }
        self.answer(data.ticket, 0, TransactionAnswer::Each(vec![ErrorCode::None]));
    }

    fn commit_offset(&mut self, data: &Data, guard: Guard) {
        let id = self.oracle.attempts[&data.attempt].id as i32;
        let new = |partition| NewOffset {
            topic: topic(),
            partition,
            offset: Offset(data.attempt as i64),
            leader_epoch: 0,
            metadata: "".into(),
        };
        let who =
            MemberRef { group: "g".into(), member: "".into(), instance: None, generation: Generation(-1) };
        let commit = TxnOffsetCommit {
            who,
            producer: data.who.producer,
            guard: guard.group,
            offsets: vec![new(data.attempt as i32), new(SHARED + id)],
        };
        self.ask_groups(Work::Commit(data.ticket), Request::TxnCommit(commit));
    }

    fn marker(&mut self, markers: WriteMarkers, participant: Participant, answer: bool) {
        match &participant {
            Participant::Partition(_, at) => {
                let outcome = self.partitions[*at as usize].mark(&markers.marker);
                if answer {
                    self.marked(&markers, participant, outcome);
                }
            }
            Participant::Offsets(_) => {
                let request = Request::EndTransaction(markers.marker);
                self.ask_groups(Work::Marker(markers, answer), request);
            }
        }
    }

    fn marked(&mut self, markers: &WriteMarkers, participant: Participant, outcome: MarkerOutcome) {
        let epoch = markers.marker.coordinator_epoch;
        let name = markers.transactional_id.clone();
        self.post(Message::Marked(epoch, name, markers.id, participant, outcome));
    }

    fn take_transactions(&mut self) {
        loop {
            let effects = self.transactions.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                self.transactions_effect(effect);
            }
        }
    }

    fn transactions_effect(&mut self, effect: TransactionEffect) {
        match effect {
            TransactionEffect::Append { seq, records } => {
                self.transactions_in_flight.push_back((seq, records));
            }
            TransactionEffect::Reply { ticket, answer } => {
                match self.work.remove(&ticket.0).expect("one answer for each request") {
                    Work::Client { ticket, delivery, attempts } => {
                        self.observe(ticket, attempts, &answer);
                        self.answer(ticket, delivery, answer);
                    }
                    Work::Verify(data, guard) => self.post(Message::Verified(data, guard, answer)),
                    _ => panic!("it is the group coordinator's"),
                }
            }
            TransactionEffect::WriteMarkers(markers) => self.write_markers(&markers),
            TransactionEffect::Confirm => {}
            TransactionEffect::AllocateProducerIds => {
                let first = self.next_producer_id;
                let failed = !self.healed && self.random.chance(20);
                self.next_producer_id += 3;
                self.transactions.producer_ids((!failed).then_some(first..first + 3));
            }
        }
    }

    /// The coordinator has answered a client, whether the client will hear it or not.
    fn observe(&mut self, ticket: u64, attempts: u64, answer: &TransactionAnswer) {
        let Asked { client, incarnation, op, attempt } = self.asked[&ticket];
        match (op, answer) {
            (Op::Init, TransactionAnswer::Initialized(producer)) => {
                self.given(*producer, incarnation);
                let offsets = self.visible_offsets();
                let see = |number| see(&self.partitions, &offsets, number);
                self.oracle.freeze(client / 2, attempts + 1, see);
                self.counts.insert("initialized");
                if producer.epoch.0 == 0 && attempts > 20 {
                    self.counts.insert("new producer id");
                }
            }
            (Op::End(commit), TransactionAnswer::Ended(next)) => {
                let attempt = attempt.expect("it ended one");
                if Self::id_of(client).1 >= 5 {
                    self.given(*next, incarnation);
                }
                self.oracle.end_answered(attempt, commit, *next);
                self.counts.insert(if commit { "committed" } else { "aborted" });
            }
            _ => {}
        }
    }

    fn given(&mut self, producer: Producer, incarnation: u64) {
        let usable = producer.epoch.0 < self.limits.producer_epoch_max;
        assert!(usable, "the last epoch was given to a client, which nobody can fence (L47)");
        self.oracle.given(producer, incarnation);
    }

    fn write_markers(&mut self, markers: &WriteMarkers) {
        // L40: whoever takes over now must find the same decision.
        let mut next = replayed_transactions(&self.limits, self.epoch + 1, &self.transactions_log);
        // Before all records, so that nothing times out first.
        let now = Now::of_ms(1, 1);
        next.loaded(now);
        let describe = TransactionRequest::Describe(vec![markers.transactional_id.clone()]);
        next.handle(describe, Ticket(0), now);
        let state = next.take_effects().into_iter().find_map(|effect| match effect {
            TransactionEffect::Reply { answer: TransactionAnswer::Described(described), .. } => {
                described[0].as_ref().ok().map(|described| described.state)
            }
            _ => None,
        });
        let decided = if markers.marker.commit { "PrepareCommit" } else { "PrepareAbort" };
        assert_eq!(state, Some(decided), "a marker goes out before its decision is durable (L40)");
        let raised = markers.marker.version == TransactionVersion::EpochPerTransaction;
        for participant in &markers.participants {
            let fails = !self.healed && self.random.chance(20);
            if fails {
                self.marked(markers, participant.clone(), MarkerOutcome::NotWritten);
                self.counts.insert("marker again");
            }
            // It may arrive though its sender gave it up. Under version 1 that cannot be told from the next marker.
            if !fails || (raised && self.random.chance(50)) {
                self.post(Message::Marker(markers.clone(), participant.clone(), !fails));
            }
        }
    }

    fn take_groups(&mut self) {
        for effect in self.groups.take_effects() {
            match effect {
                Effect::Append { seq, records } => self.groups_in_flight.push_back((seq, records)),
                Effect::Confirm => {}
                Effect::Reply { ticket, answer } => self.groups_reply(ticket, &answer),
            }
        }
    }

    fn groups_reply(&mut self, ticket: Ticket, answer: &Answer) {
        let code = match answer {
            Answer::Failed(code) => *code,
            Answer::Each(codes) => codes[0],
            _ => ErrorCode::None,
        };
        match self.work.remove(&ticket.0).expect("one answer for each request") {
            Work::Commit(ticket) if code == ErrorCode::None => {
                let attempt = self.asked[&ticket].attempt.expect("it is in a transaction");
                self.oracle.attempts.get_mut(&attempt).expect("it began").offset_acked = true;
                self.answer(ticket, 0, TransactionAnswer::Each(vec![code]));
            }
            Work::Commit(ticket) => self.answer(ticket, 0, TransactionAnswer::Failed(code)),
            Work::Marker(markers, wanted) => {
                let outcome = match code {
                    ErrorCode::None => MarkerOutcome::Written,
                    ErrorCode::InvalidProducerEpoch => MarkerOutcome::Unneeded,
                    ErrorCode::TransactionCoordinatorFenced => MarkerOutcome::Fenced,
                    _ => MarkerOutcome::NotWritten,
                };
                if wanted {
                    self.marked(&markers, participant(PARTITIONS), outcome);
                }
            }
            Work::Read { id, floor } => {
                if let Answer::Offsets(groups) = answer {
                    let read = &groups[0].offsets[0];
                    if read.error == ErrorCode::None {
                        self.oracle.offset_read(id, read.offset.0, floor);
                    } else {
                        self.counts.insert("unstable");
                    }
                }
            }
            Work::Client { .. } | Work::Verify(..) => panic!("it is the transaction coordinator's"),
        }
    }

    pub(crate) fn becomes_durable(&mut self) -> bool {
        self.random.chance(self.durable_percent)
    }

    pub(crate) fn read_offset(&mut self, id: usize) {
        let require_stable = self.random.chance(60);
        let floor = if require_stable { self.oracle.floor(id) } else { -1 };
        let partitions = Some(vec![(topic(), SHARED + id as i32)]);
        let fetch = OffsetFetch { group: "g".into(), partitions, require_stable, member: None };
        self.ask_groups(Work::Read { id, floor }, Request::Fetch(vec![fetch]));
    }

    /// The attempts whose offsets a reader would see if the group coordinator restarted now.
    pub(crate) fn visible_offsets(&self) -> BTreeSet<u64> {
        let mut replayed = replayed_groups(9, &self.groups_log);
        replayed.loaded(self.now);
        let fetch = OffsetFetch { group: "g".into(), partitions: None, require_stable: false, member: None };
        replayed.handle(Request::Fetch(vec![fetch]), Ticket(0), &(), self.now);
        let mut seen = BTreeSet::new();
        for effect in replayed.take_effects() {
            if let Effect::Reply { answer: Answer::Offsets(groups), .. } = effect {
                let own = groups[0].offsets.iter().filter(|one| one.partition < SHARED);
                seen.extend(own.map(|one| one.partition as u64));
            }
        }
        seen
    }

    pub(crate) fn settle_transactions(&mut self, refuse: bool) {
        let Some((seq, records)) = self.transactions_in_flight.pop_front() else { return };
        if refuse {
            self.transactions_in_flight.clear();
            self.transactions.refused(seq, self.now);
            self.counts.insert("refused");
        } else {
            keep(&mut self.transactions_log, records);
            self.transactions.persisted(seq, self.now);
        }
        self.take_transactions();
        if self.transactions_in_flight.is_empty() {
            let replayed = replayed_transactions(&self.limits, 0, &self.transactions_log);
            assert_eq!(self.transactions.snapshot(), replayed.snapshot(), "the table is not a replay");
        }
    }

    pub(crate) fn settle_groups(&mut self, refuse: bool) {
        let Some((seq, records)) = self.groups_in_flight.pop_front() else { return };
        if refuse {
            self.groups_in_flight.clear();
            self.groups.refused(seq, self.now);
        } else {
            keep(&mut self.groups_log, records);
            self.groups.persisted(seq, self.now);
        }
        self.take_groups();
    }

    pub(crate) fn restart_transactions(&mut self) {
        for _ in 0..self.random.below(self.transactions_in_flight.len() as u64 + 1) {
            let (_, records) = self.transactions_in_flight.pop_front().expect("so many are there");
            keep(&mut self.transactions_log, records);
        }
        self.transactions_in_flight.clear();
        self.epoch += 1;
        let next = replayed_transactions(&self.limits, self.epoch, &self.transactions_log);
        for effect in std::mem::replace(&mut self.transactions, next).resign() {
            self.transactions_effect(effect);
        }
        self.transactions.loaded(self.now);
        self.take_transactions();
        self.counts.insert("restarted");
    }

    pub(crate) fn restart_groups(&mut self) {
        for _ in 0..self.random.below(self.groups_in_flight.len() as u64 + 1) {
            let (_, records) = self.groups_in_flight.pop_front().expect("so many are there");
            keep(&mut self.groups_log, records);
        }
        self.groups_in_flight.clear();
        let seed = self.random.number();
        let next = replayed_groups(seed, &self.groups_log);
        for effect in std::mem::replace(&mut self.groups, next).resign() {
            if let Effect::Reply { ticket, answer } = effect {
                self.groups_reply(ticket, &answer);
            }
        }
        self.groups.loaded(self.now);
        self.take_groups();
    }

    pub(crate) fn pass(&mut self, ms: u64) {
        self.now.advance_ms(ms);
        self.now.wall = self.now.wall.plus_ms(ms as i64);
        self.transactions.tick(self.now);
        self.take_transactions();
        self.groups.tick(self.now);
        self.take_groups();
    }

    /// Everything has ended.
    pub(crate) fn check(&self) {
        for partition in &self.partitions {
            partition.assert_nothing_open();
        }
        let mut groups = self.groups.clone();
        let fetch = OffsetFetch { group: "g".into(), partitions: None, require_stable: true, member: None };
        groups.handle(Request::Fetch(vec![fetch]), Ticket(u64::MAX), &(), self.now);
        for effect in groups.take_effects() {
            if let Effect::Reply { answer: Answer::Offsets(groups), .. } = effect {
                let stable = groups[0].offsets.iter().all(|one| one.error == ErrorCode::None);
                assert!(stable, "an offset stays pending (L44)");
            }
        }
        let offsets = self.visible_offsets();
        self.oracle.check(&self.partitions, |number| see(&self.partitions, &offsets, number));
    }

    pub(crate) fn id_of(client: usize) -> (usize, i16) {
        let id = client / 2;
        assert_eq!(name(id), format!("id-{id}").into());
        (id, if id == 0 { 5 } else { 4 })
    }
}

fn see(partitions: &[Partition], offsets: &BTreeSet<u64>, number: u64) -> Seen {
    let mut values = BTreeSet::new();
    for (at, partition) in partitions.iter().enumerate() {
        let first = number as i64 * 10;
        let own = partition.visible.range(first..first + 10);
        values.extend(own.filter(|value| attempt_of(**value) == number).map(|value| (at, *value)));
    }
    (values, offsets.contains(&number))
}
