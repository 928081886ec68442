//! The rules of the transaction coordinator, one by one. Numbers in brackets are rules of the specification.

use std::collections::BTreeMap;

use base::Now;
use log_coordinators::{
    AddPartitions, EndTransaction, InitProducerId, MarkerOutcome, Participant, Pattern, Producer, Record,
    Seq, Text, Ticket, Topic, TransactionAnswer, TransactionCoordinator, TransactionEffect,
    TransactionFilter, TransactionLimits, TransactionRef, TransactionRequest, VerifyPartitions, WriteMarkers,
};
use log_partition::{CoordinatorEpoch, ProducerEpoch, ProducerId, TransactionVersion};
use log_wire::ErrorCode;

const OK: ErrorCode = ErrorCode::None;
const TIMEOUT_MS: u64 = 60_000;
const RETRY_MS: u64 = 500;

struct Bench {
    coordinator: TransactionCoordinator,
    now: Now,
    log: Vec<Record>,
    ticket: u64,
    epoch: i32,
    next_id: i64,
    limits: TransactionLimits,
    /// Markers that nobody has answered.
    markers: Vec<WriteMarkers>,
    /// Producer ids are not to be had.
    no_ids: bool,
}

impl Bench {
    fn new() -> Self {
        Self::with(TransactionLimits::default())
    }

    fn with(limits: TransactionLimits) -> Self {
        // The next block is asked for when none is left.
        let limits = TransactionLimits { producer_ids_low: 1, ..limits };
        let coordinator = TransactionCoordinator::new(limits.clone(), CoordinatorEpoch(0));
        let now = Now::of_ms(5_000, 1_000_000);
        let mut bench = Self {
            coordinator,
            now,
            log: Vec::new(),
            ticket: 0,
            epoch: 0,
            next_id: 1_000,
            limits,
            markers: Vec::new(),
            no_ids: false,
        };
        bench.coordinator.loaded(now);
        bench.settle();
        bench
    }

    /// Does what the coordinator asks for, but for the answers to markers.
    fn settle(&mut self) -> Vec<(u64, TransactionAnswer)> {
        let mut answers = Vec::new();
        loop {
            let effects = self.coordinator.take_effects();
            if effects.is_empty() {
                return answers;
            }
            for effect in effects {
                match effect {
                    TransactionEffect::Append { seq, records } => {
                        self.log.extend(records);
                        self.coordinator.persisted(seq, self.now);
                    }
                    TransactionEffect::Reply { ticket, answer } => answers.push((ticket.0, answer)),
                    TransactionEffect::WriteMarkers(markers) => self.markers.push(markers),
                    TransactionEffect::Confirm => {}
                    TransactionEffect::AllocateProducerIds => {
                        let block = (!self.no_ids).then(|| self.next_id..self.next_id + 3);
                        self.next_id += 1_000;
                        self.coordinator.producer_ids(block);
                    }
                }
            }
        }
    }

    fn send(&mut self, request: TransactionRequest) {
        self.ticket += 1;
        self.coordinator.handle(request, Ticket(self.ticket), self.now);
    }

    fn ask(&mut self, request: TransactionRequest) -> TransactionAnswer {
        self.send(request);
        let mut answers = self.settle();
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.remove(0).1
    }

    fn fails(&mut self, request: TransactionRequest, code: ErrorCode) {
        assert_eq!(self.ask(request), TransactionAnswer::Failed(code));
    }

    fn init(&mut self, producer: Option<Producer>) -> Producer {
        let TransactionAnswer::Initialized(producer) = self.ask(init(producer)) else {
            panic!("no producer")
        };
        producer
    }

    fn end(&mut self, producer: Producer, commit: bool, version: i16) -> Producer {
        let answer = self.ask(end(producer, commit, version));
        let TransactionAnswer::Ended(next) = answer else { panic!("{answer:?}") };
        next
    }

    /// A transaction with one partition.
    fn begin(&mut self, producer: Producer) {
        assert_eq!(self.ask(add(producer, 0)), TransactionAnswer::Each(vec![OK]));
    }

    fn answer_markers(&mut self, outcome: MarkerOutcome) -> usize {
        let markers = std::mem::take(&mut self.markers);
        for each in &markers {
            for participant in &each.participants {
                let (id, name) = (each.id, &each.transactional_id);
                self.coordinator.markers_written(name, id, participant, outcome, self.now);
            }
        }
        assert_eq!(self.settle(), []);
        markers.len()
    }

    fn complete(&mut self) {
        assert_eq!(self.answer_markers(MarkerOutcome::Written), 1);
    }

    fn pass(&mut self, ms: u64) {
        self.now.advance_ms(ms);
        self.now.wall = self.now.wall.plus_ms(ms as i64);
        self.coordinator.tick(self.now);
        self.settle();
    }

    fn restart(&mut self) {
        self.epoch += 1;
        let mut next = TransactionCoordinator::new(self.limits.clone(), CoordinatorEpoch(self.epoch));
        for record in &self.log {
            next.load(&record.key, record.value.as_deref()).expect("its own record");
        }
        self.markers.clear();
        next.loaded(self.now);
        self.coordinator = next;
        self.settle();
    }

    fn state(&mut self) -> &'static str {
        let TransactionAnswer::Described(mut described) =
            self.ask(TransactionRequest::Describe(vec!["id".into()]))
        else {
            panic!("not described")
        };
        described.remove(0).map_or("none", |described| described.state)
    }
}

fn init(producer: Option<Producer>) -> TransactionRequest {
    let timeout_ms = TIMEOUT_MS as i32;
    TransactionRequest::Init(InitProducerId { transactional_id: "id".into(), timeout_ms, producer })
}

fn who(producer: Producer) -> TransactionRef {
    TransactionRef { transactional_id: "id".into(), producer }
}

fn partition(number: i32) -> Participant {
    Participant::Partition(Topic { name: "t".into(), id: [1; 16] }, number)
}

fn add(producer: Producer, number: i32) -> TransactionRequest {
    let partitions = vec![(partition(number), OK)];
    TransactionRequest::Add(AddPartitions { who: who(producer), partitions })
}

fn verify(producer: Producer, number: i32, add: bool) -> TransactionRequest {
    let partitions = vec![partition(number)];
    TransactionRequest::Verify(VerifyPartitions { who: who(producer), partitions, add })
}

fn end(producer: Producer, commit: bool, version: i16) -> TransactionRequest {
    TransactionRequest::End(EndTransaction { who: who(producer), commit, version })
}

fn producer(id: i64, epoch: i16) -> Producer {
    Producer { id: ProducerId(id), epoch: ProducerEpoch(epoch) }
}

#[test]
fn init_gives_the_next_epoch_and_fences_the_producer_before() {
    let mut bench = Bench::new();
    let old = bench.init(None);
    assert_eq!(old.epoch, ProducerEpoch(0));
    let new = bench.init(None);
    assert_eq!(new, producer(old.id.0, 1));
    for request in
        [add(old, 0), verify(old, 0, true), verify(old, 0, false), end(old, true, 5), end(old, true, 3)]
    {
        bench.fails(request, ErrorCode::ProducerFenced);
    }
    bench.fails(init(Some(old)), ErrorCode::ProducerFenced);
    bench.fails(end(producer(7, 1), true, 5), ErrorCode::InvalidProducerIdMapping);
}

#[test]
fn init_refuses_what_is_outside_of_the_limits() {
    let limits = TransactionLimits { transactional_ids_max: 1, ..TransactionLimits::default() };
    let mut bench = Bench::with(limits);
    let init = |id: &str, timeout_ms| {
        TransactionRequest::Init(InitProducerId { transactional_id: id.into(), timeout_ms, producer: None })
    };
    bench.fails(init("id", 0), ErrorCode::InvalidTransactionTimeout);
    bench.fails(init("id", -1), ErrorCode::InvalidTransactionTimeout);
    bench.fails(init("id", 900_001), ErrorCode::InvalidTransactionTimeout);
    bench.fails(init("", 1), ErrorCode::InvalidRequest);
    bench.fails(init(&"x".repeat(4_097), 1), ErrorCode::InvalidRequest);
    assert!(matches!(bench.ask(init("id", 900_000)), TransactionAnswer::Initialized(_)));
    bench.fails(init("other", 1), ErrorCode::ThrottlingQuotaExceeded);
}

#[test]
fn init_with_the_present_producer_goes_on_and_its_retry_gets_the_same_after_a_restart() {
    let mut bench = Bench::new();
    let first = bench.init(None);
    let second = bench.init(Some(first));
    assert_eq!(second, producer(first.id.0, 1));
    bench.restart();
    assert_eq!(bench.init(Some(first)), second, "a retry (L47)");
    let third = bench.init(Some(second));
    assert_eq!(third, producer(first.id.0, 2));
    bench.fails(init(Some(first)), ErrorCode::ProducerFenced);
    bench.init(None);
    bench.fails(init(Some(second)), ErrorCode::ProducerFenced);
}

#[test]
fn init_while_a_transaction_is_open_aborts_it_first() {
    let mut bench = Bench::new();
    let old = bench.init(None);
    bench.begin(old);
    bench.fails(init(None), ErrorCode::ConcurrentTransactions);
    bench.fails(init(None), ErrorCode::ConcurrentTransactions);
    let marker = bench.markers[0].marker;
    assert_eq!((marker.commit, marker.epoch), (false, ProducerEpoch(1)), "above the records' epoch");
    bench.fails(end(old, true, 5), ErrorCode::ProducerFenced);
    bench.complete();
    assert_eq!(bench.init(None), producer(old.id.0, 2));
}

#[test]
fn init_of_a_producer_with_its_own_transaction_open_aborts_it_and_goes_on() {
    let mut bench = Bench::new();
    let old = bench.init(None);
    bench.begin(old);
    bench.fails(init(Some(old)), ErrorCode::ConcurrentTransactions);
    bench.complete();
    assert_eq!(bench.init(Some(old)), producer(old.id.0, 1));
}

#[test]
fn partitions_are_added_all_or_none() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    let partitions = vec![(partition(0), OK), (partition(1), ErrorCode::UnknownTopicOrPartition)];
    let request = TransactionRequest::Add(AddPartitions { who: who(me), partitions });
    let codes = vec![ErrorCode::OperationNotAttempted, ErrorCode::UnknownTopicOrPartition];
    assert_eq!(bench.ask(request), TransactionAnswer::Each(codes));
    assert_eq!(bench.state(), "Empty");
    bench.begin(me);
    let logged = bench.log.len();
    bench.begin(me);
    assert_eq!(bench.log.len(), logged, "it is there, so nothing is written");
}

#[test]
fn partition_is_durable_before_its_addition_is_answered() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.send(add(me, 0));
    let effects = bench.coordinator.take_effects();
    let [TransactionEffect::Append { seq, .. }] = effects[..] else { panic!("{effects:?}") };
    bench.send(verify(me, 0, false));
    assert_eq!(bench.coordinator.take_effects(), [TransactionEffect::Confirm], "the answer waits");
    bench.coordinator.refused(seq, bench.now);
    let failed = TransactionAnswer::Failed(ErrorCode::CoordinatorNotAvailable);
    assert_eq!(bench.settle(), [(bench.ticket - 1, failed.clone()), (bench.ticket, failed)]);
    assert_eq!(bench.state(), "Empty");
}

#[test]
fn what_is_told_from_memory_is_confirmed_first_and_a_request_to_come_again_is_not() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    bench.send(TransactionRequest::Describe(vec!["t".into()]));
    let effects = bench.coordinator.take_effects();
    assert!(
        matches!(effects[..], [TransactionEffect::Confirm, TransactionEffect::Reply { .. }]),
        "{effects:?}"
    );
    bench.send(end(me, true, 5));
    let effects = bench.coordinator.take_effects();
    let [TransactionEffect::Append { seq, .. }] = effects[..] else { panic!("{effects:?}") };
    bench.coordinator.persisted(seq, bench.now);
    bench.coordinator.take_effects();
    // Its markers are on their way.
    bench.send(init(None));
    let effects = bench.coordinator.take_effects();
    assert!(matches!(effects[..], [TransactionEffect::Reply { .. }]), "{effects:?}");
}

#[test]
fn verification_admits_only_partitions_of_the_open_transaction() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    let lost = TransactionAnswer::Each(vec![ErrorCode::TransactionAbortable]);
    assert_eq!(bench.ask(verify(me, 0, false)), lost);
    bench.begin(me);
    assert_eq!(bench.ask(verify(me, 0, false)), TransactionAnswer::Each(vec![OK]));
    assert_eq!(bench.ask(verify(me, 1, false)), lost);
    assert_eq!(bench.ask(verify(me, 1, true)), TransactionAnswer::Each(vec![OK]));
    assert_eq!(bench.ask(verify(me, 1, false)), TransactionAnswer::Each(vec![OK]));
    bench.end(me, true, 3);
    bench.fails(verify(me, 0, false), ErrorCode::ConcurrentTransactions);
    bench.complete();
    assert_eq!(bench.ask(verify(me, 0, false)), lost, "a record that is late (L43)");
}

#[test]
fn partitions_of_one_transaction_are_bounded() {
    let limits = TransactionLimits { partitions_per_transaction_max: 1, ..TransactionLimits::default() };
    let mut bench = Bench::with(limits);
    let me = bench.init(None);
    bench.begin(me);
    bench.fails(add(me, 1), ErrorCode::PolicyViolation);
    bench.fails(TransactionRequest::AddOffsets(who(me), 1), ErrorCode::PolicyViolation);
}

#[test]
fn decision_is_durable_before_its_answer_and_before_any_marker() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    bench.send(end(me, true, 5));
    let effects = bench.coordinator.take_effects();
    let [TransactionEffect::Append { seq, .. }] = effects[..] else { panic!("{effects:?}") };
    bench.coordinator.persisted(seq, bench.now);
    let effects = bench.coordinator.take_effects();
    assert!(
        matches!(effects[..], [TransactionEffect::WriteMarkers(_), TransactionEffect::Reply { .. }]),
        "{effects:?}"
    );
}

#[test]
fn refused_decision_sends_no_marker_and_leaves_the_transaction_open_under_its_epoch() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    bench.send(end(me, true, 5));
    bench.coordinator.take_effects();
    bench.coordinator.refused(Seq(3), bench.now);
    let failed = TransactionAnswer::Failed(ErrorCode::CoordinatorNotAvailable);
    assert_eq!(bench.settle(), [(bench.ticket, failed)]);
    assert!(bench.markers.is_empty());
    assert_eq!(bench.state(), "Ongoing");
    assert_eq!(bench.end(me, false, 5), producer(me.id.0, 1));
}

#[test]
fn refused_decision_leaves_the_timeout_running() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    bench.send(end(me, true, 5));
    bench.coordinator.take_effects();
    bench.coordinator.refused(Seq(3), bench.now);
    bench.settle();
    bench.pass(TIMEOUT_MS);
    assert_eq!(bench.state(), "PrepareAbort");
}

#[test]
fn markers_go_to_every_participant_until_each_is_written() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    assert_eq!(bench.ask(TransactionRequest::AddOffsets(who(me), 4)), TransactionAnswer::Done);
    bench.end(me, true, 5);
    let sent = bench.markers.remove(0);
    assert_eq!(sent.participants, [partition(0), Participant::Offsets(4)]);
    let (id, name): (_, Text) = (sent.id, "id".into());
    let now = bench.now;
    bench.coordinator.markers_written(&name, id, &partition(0), MarkerOutcome::NotWritten, now);
    bench.coordinator.markers_written(&name, id, &Participant::Offsets(4), MarkerOutcome::Unneeded, now);
    // A second answer counts for nothing.
    bench.coordinator.markers_written(&name, id, &partition(0), MarkerOutcome::Written, now);
    assert_eq!(bench.state(), "PrepareCommit");
    bench.pass(499);
    assert!(bench.markers.is_empty());
    bench.pass(1);
    assert_eq!(bench.markers[0].participants, [partition(0)]);
    bench.complete();
    assert_eq!(bench.state(), "CompleteCommit");
}

#[test]
fn markers_are_sent_again_after_a_restart_under_the_new_coordinator_epoch() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    let next = bench.end(me, true, 5);
    let before = bench.markers[0].clone();
    bench.restart();
    let after = bench.markers[0].clone();
    assert_eq!(after.marker.coordinator_epoch, CoordinatorEpoch(1));
    assert_eq!((after.marker.commit, after.marker.epoch), (before.marker.commit, before.marker.epoch));
    assert_eq!(after.participants, before.participants);
    bench.fails(add(next, 0), ErrorCode::ConcurrentTransactions);
    bench.complete();
    bench.begin(next);
}

#[test]
fn markers_wait_only_for_their_own_decision_when_a_later_append_is_refused() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    bench.end(me, true, 5);
    // Another id has an append on its way, and the completion is refused behind it.
    let other = InitProducerId { transactional_id: "other".into(), timeout_ms: 1, producer: None };
    bench.send(TransactionRequest::Init(other));
    bench.coordinator.take_effects();
    let sent = bench.markers.remove(0);
    let now = bench.now;
    bench.coordinator.markers_written(
        &sent.transactional_id,
        sent.id,
        &partition(0),
        MarkerOutcome::Written,
        now,
    );
    bench.coordinator.take_effects();
    bench.coordinator.refused(Seq(5), now);
    // They are sent again while the append of the other is still on its way, and wait behind it.
    bench.now.advance_ms(RETRY_MS);
    bench.coordinator.tick(bench.now);
    assert_eq!(bench.coordinator.take_effects(), []);
    bench.coordinator.refused(Seq(4), bench.now);
    bench.settle();
    assert_eq!(bench.state(), "PrepareCommit");
    bench.complete();
    assert_eq!(bench.state(), "CompleteCommit");
}

#[test]
fn completion_that_is_refused_is_tried_again_after_a_pause() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    bench.end(me, true, 5);
    for seq in 4..7 {
        let sent = bench.markers.remove(0);
        let (id, name) = (sent.id, &sent.transactional_id);
        bench.coordinator.markers_written(name, id, &partition(0), MarkerOutcome::Written, bench.now);
        bench.coordinator.take_effects();
        bench.coordinator.refused(Seq(seq), bench.now);
        bench.settle();
        assert!(bench.markers.is_empty(), "the next one would be refused at once");
        bench.pass(RETRY_MS);
    }
    bench.complete();
    assert_eq!(bench.state(), "CompleteCommit");
}

#[test]
fn fenced_coordinator_sends_no_more_and_does_not_complete() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    bench.end(me, true, 5);
    bench.answer_markers(MarkerOutcome::Fenced);
    bench.pass(100_000);
    assert!(bench.markers.is_empty());
    assert_eq!(bench.state(), "PrepareCommit");
}

#[test]
fn end_is_answered_again_as_before_and_its_opposite_is_refused() {
    for version in [3, 5] {
        for commit in [true, false] {
            let mut bench = Bench::new();
            let me = bench.init(None);
            bench.begin(me);
            let next = bench.end(me, commit, version);
            for restart in [false, true, true] {
                assert_eq!(bench.end(me, commit, version), next, "version {version}");
                bench.fails(end(me, !commit, version), ErrorCode::InvalidTxnState);
                if restart {
                    bench.restart();
                }
            }
            bench.complete();
            assert_eq!(bench.end(me, commit, version), next);
            bench.fails(end(me, !commit, version), ErrorCode::InvalidTxnState);
            bench.restart();
            assert_eq!(bench.end(me, commit, version), next);
        }
    }
}

#[test]
fn end_of_one_transaction_never_ends_the_next() {
    let mut bench = Bench::new();
    let first = bench.init(None);
    bench.begin(first);
    let second = bench.end(first, true, 5);
    bench.complete();
    bench.begin(second);
    assert_eq!(bench.end(first, true, 5), second, "a late copy gets its own answer");
    bench.fails(end(first, false, 5), ErrorCode::InvalidTxnState);
    assert_eq!(bench.state(), "Ongoing");
    let third = bench.end(second, false, 5);
    bench.fails(end(first, true, 5), ErrorCode::ProducerFenced);
    assert_eq!(third.epoch, ProducerEpoch(2));
}

#[test]
fn end_raises_the_epoch_only_under_transaction_version_2() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    assert_eq!(bench.end(me, true, 4), me);
    let marker = bench.markers[0].marker;
    assert_eq!((marker.epoch, marker.version), (ProducerEpoch(0), TransactionVersion::Classic));
    bench.complete();
    bench.begin(me);
    assert_eq!(bench.end(me, true, 5), producer(me.id.0, 1));
    let marker = bench.markers[0].marker;
    assert_eq!((marker.epoch, marker.version), (ProducerEpoch(1), TransactionVersion::EpochPerTransaction));
}

#[test]
fn end_of_a_transaction_that_never_began_aborts_only_under_version_2() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.fails(end(me, true, 3), ErrorCode::InvalidTxnState);
    bench.fails(end(me, false, 3), ErrorCode::InvalidTxnState);
    bench.fails(end(me, true, 5), ErrorCode::InvalidTxnState);
    let next = bench.end(me, false, 5);
    assert_eq!(next, producer(me.id.0, 1));
    assert!(bench.markers.is_empty());
    assert_eq!(bench.end(me, false, 5), next, "a retry");
    bench.fails(end(me, true, 5), ErrorCode::InvalidTxnState);
    assert_eq!(bench.end(next, false, 5), producer(me.id.0, 2));
}

#[test]
fn open_transaction_times_out_and_its_late_commit_is_recoverable() {
    for (version, recoverable) in [(3, ErrorCode::UnknownProducerId), (5, ErrorCode::TransactionAbortable)] {
        let mut bench = Bench::new();
        let me = bench.init(None);
        bench.begin(me);
        bench.pass(TIMEOUT_MS - 1);
        assert_eq!(bench.state(), "Ongoing");
        bench.pass(1);
        let marker = bench.markers[0].marker;
        assert_eq!((marker.commit, marker.epoch), (false, ProducerEpoch(1)));
        for _ in 0..2 {
            bench.fails(end(me, true, version), recoverable);
            bench.restart();
        }
        bench.complete();
        bench.fails(end(me, true, version), recoverable);
        for added in [false, true] {
            // Whoever has records of it can tell this from a partition that was not added.
            bench.fails(verify(me, 0, added), ErrorCode::UnknownProducerId);
        }
        let next = bench.end(me, false, version);
        assert_eq!(next, producer(me.id.0, 1), "it aborts, and may go on");
        assert_eq!(bench.init(Some(me)), next);
        bench.begin(next);
    }
}

#[test]
fn timeout_counts_from_the_first_participant() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.pass(TIMEOUT_MS);
    bench.begin(me);
    bench.pass(TIMEOUT_MS - 1_000);
    assert_eq!(bench.ask(add(me, 1)), TransactionAnswer::Each(vec![OK]));
    bench.pass(1_000);
    assert_eq!(bench.state(), "PrepareAbort");
}

#[test]
fn timeout_runs_on_over_a_restart() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    bench.pass(TIMEOUT_MS - 1_000);
    bench.restart();
    bench.pass(999);
    assert_eq!(bench.state(), "Ongoing");
    bench.pass(1);
    assert_eq!(bench.state(), "PrepareAbort");
}

#[test]
fn timeout_waits_for_requests_behind_a_pause_of_the_coordinator() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    bench.now.advance_ms(3_600_000);
    assert_eq!(bench.end(me, true, 5), producer(me.id.0, 1));
}

#[test]
fn last_epoch_is_given_to_nobody_and_a_new_id_follows_it() {
    let limits = TransactionLimits { producer_epoch_max: 2, ..TransactionLimits::default() };
    for version in [3, 5] {
        let mut bench = Bench::with(limits.clone());
        let first = bench.init(None);
        let last = bench.init(Some(first));
        assert_eq!(last, producer(first.id.0, 1));
        bench.begin(last);
        let next = bench.end(last, true, version);
        let marker_epoch = bench.markers[0].marker.epoch;
        bench.restart();
        bench.complete();
        assert_eq!(bench.end(last, true, version), next, "a retry around the change (L47)");
        if version == 5 {
            assert_eq!((next.epoch, marker_epoch), (ProducerEpoch(0), ProducerEpoch(2)));
            assert_ne!(next.id, last.id);
        } else {
            let next = bench.init(Some(last));
            assert_eq!(next.epoch, ProducerEpoch(0));
            assert_ne!(next.id, last.id);
            bench.restart();
            assert_eq!(bench.init(Some(last)), next, "a retry around the change (L47)");
        }
    }
}

#[test]
fn last_transaction_of_a_producer_id_can_be_fenced_and_timed_out() {
    let limits = TransactionLimits { producer_epoch_max: 1, ..TransactionLimits::default() };
    let mut bench = Bench::with(limits);
    let last = bench.init(None);
    bench.begin(last);
    bench.pass(TIMEOUT_MS);
    assert_eq!(bench.markers[0].marker.epoch, ProducerEpoch(1));
    let next = bench.end(last, false, 5);
    assert!(next.id != last.id && next.epoch == ProducerEpoch(0));
    bench.complete();
    assert_eq!(bench.end(last, false, 5), next);
    assert_eq!(bench.init(Some(last)), next);
    bench.begin(next);
    bench.fails(init(None), ErrorCode::ConcurrentTransactions);
    bench.complete();
    let after = bench.init(None);
    assert!(after.id != next.id && after.epoch == ProducerEpoch(0));
}

#[test]
fn producer_id_is_never_given_twice_though_its_append_is_refused() {
    let mut bench = Bench::new();
    bench.send(init(None));
    let effects = bench.coordinator.take_effects();
    let seq = effects.iter().find_map(|effect| match effect {
        TransactionEffect::Append { seq, .. } => Some(*seq),
        _ => None,
    });
    bench.coordinator.refused(seq.expect("an append"), bench.now);
    bench.settle();
    assert_eq!(bench.init(None), producer(1_001, 0));
}

#[test]
fn init_without_a_block_of_producer_ids_is_told_to_come_back() {
    let mut bench = Bench::new();
    bench.no_ids = true;
    bench.restart();
    // An allocation that fails is asked for again at the next call.
    bench.ticket += 1;
    bench.coordinator.handle(init(None), Ticket(bench.ticket), bench.now);
    let effects = bench.coordinator.take_effects();
    let code = ErrorCode::CoordinatorLoadInProgress;
    let reply =
        TransactionEffect::Reply { ticket: Ticket(bench.ticket), answer: TransactionAnswer::Failed(code) };
    assert!(effects.contains(&reply), "{effects:?}");
    bench.coordinator.producer_ids(Some(50..60));
    bench.no_ids = false;
    assert_eq!(bench.init(None), producer(50, 0));
}

#[test]
fn idle_id_is_forgotten_after_its_retention_and_an_open_one_is_not() {
    let limits =
        TransactionLimits { transactional_id_expiration_ms: 3_600_000, ..TransactionLimits::default() };
    let mut bench = Bench::with(limits);
    let me = bench.init(None);
    bench.begin(me);
    bench.end(me, true, 5);
    for _ in 0..130 {
        bench.pass(60_000);
    }
    assert_eq!(bench.state(), "PrepareCommit", "its markers are not written");
    bench.complete();
    for _ in 0..59 {
        bench.pass(60_000);
    }
    assert_eq!(bench.state(), "CompleteCommit");
    for _ in 0..61 {
        bench.pass(60_000);
    }
    assert_eq!(bench.state(), "none");
    bench.restart();
    bench.fails(end(me, true, 5), ErrorCode::InvalidProducerIdMapping);
    let next = bench.init(Some(me));
    assert!(next.id != me.id && next.epoch == ProducerEpoch(0));
    assert_eq!(bench.init(Some(me)), next, "a retry");
}

#[test]
fn describe_and_list_show_what_is_open() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    bench.pass(5_000);
    let request = TransactionRequest::Describe(vec!["id".into(), "none".into(), "".into()]);
    let TransactionAnswer::Described(described) = bench.ask(request) else { panic!("not described") };
    let first = described[0].as_ref().expect("it is known");
    assert_eq!((first.producer, first.state, first.timeout_ms), (me, "Ongoing", 60_000));
    assert_eq!(
        (first.started_at.map(|at| at.ms()), &first.participants[..]),
        (Some(1_000_000), &[partition(0)][..])
    );
    assert_eq!(described[1], Err(ErrorCode::TransactionalIdNotFound));
    assert_eq!(described[2], Err(ErrorCode::InvalidRequest));
    let mut count = |filter: TransactionFilter| {
        let unknown = filter.unknown_states().count();
        match bench.ask(TransactionRequest::List(filter)) {
            TransactionAnswer::Listed(transactions) => (transactions.len(), unknown),
            other => panic!("{other:?}"),
        }
    };
    let all = TransactionFilter::default();
    assert_eq!(count(all.clone()), (1, 0));
    assert_eq!(
        count(TransactionFilter { states: vec!["Empty".into(), "Odd".into()], ..all.clone() }),
        (0, 1)
    );
    assert_eq!(count(TransactionFilter { producer_ids: vec![me.id], ..all.clone() }), (1, 0));
    assert_eq!(count(TransactionFilter { duration_ms: Some(4_999), ..all.clone() }), (1, 0));
    assert_eq!(count(TransactionFilter { duration_ms: Some(5_000), ..all.clone() }), (0, 0));
    let pattern = |text| Some(Pattern::new(text, 1 << 20).expect("a regular expression"));
    assert_eq!(count(TransactionFilter { pattern: pattern("i."), ..all.clone() }), (1, 0));
    assert_eq!(count(TransactionFilter { pattern: pattern("i"), ..all }), (0, 0), "the whole id matches");
}

#[test]
fn id_that_has_not_begun_is_listed_for_every_duration() {
    let mut bench = Bench::new();
    bench.init(None);
    let filter = TransactionFilter { duration_ms: Some(i64::MAX), ..TransactionFilter::default() };
    let TransactionAnswer::Listed(listed) = bench.ask(TransactionRequest::List(filter)) else {
        panic!("not listed")
    };
    assert_eq!(listed.iter().map(|one| one.state).collect::<Vec<_>>(), ["Empty"]);
}

#[test]
fn transaction_without_participants_begins_and_ends_without_markers() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.fails(end(me, true, 4), ErrorCode::InvalidTxnState);
    let nothing = || TransactionRequest::Add(AddPartitions { who: who(me), partitions: Vec::new() });
    assert_eq!(bench.ask(nothing()), TransactionAnswer::Each(Vec::new()));
    assert_eq!(bench.end(me, true, 4), me);
    assert!(bench.markers.is_empty());
    bench.fails(end(me, false, 4), ErrorCode::InvalidTxnState);
    // It is over, so that the next one begins and a timeout finds nothing.
    assert_eq!(bench.ask(nothing()), TransactionAnswer::Each(Vec::new()));
    bench.pass(TIMEOUT_MS);
    assert!(bench.markers.is_empty());
    bench.fails(end(me, true, 4), ErrorCode::UnknownProducerId);
}

#[test]
fn request_before_the_partition_is_read_or_with_too_much_in_it_or_on_its_way_is_refused() {
    let limits = TransactionLimits {
        names_per_request_max: 1,
        appends_in_flight_max: 1,
        ..TransactionLimits::default()
    };
    let mut fresh = TransactionCoordinator::new(limits.clone(), CoordinatorEpoch(0));
    fresh.handle(init(None), Ticket(1), Now::of_ms(1, 1));
    let answer = TransactionAnswer::Failed(ErrorCode::CoordinatorLoadInProgress);
    assert_eq!(fresh.take_effects(), [TransactionEffect::Reply { ticket: Ticket(1), answer }]);
    let mut bench = Bench::with(limits);
    bench.fails(TransactionRequest::Describe(vec!["a".into(), "b".into()]), ErrorCode::InvalidRequest);
    bench.send(init(None));
    bench.send(init(None));
    let answers: BTreeMap<_, _> = bench.settle().into_iter().collect();
    assert!(matches!(answers[&2], TransactionAnswer::Initialized(_)));
    assert_eq!(answers[&3], TransactionAnswer::Failed(ErrorCode::CoordinatorNotAvailable));
}

#[test]
fn resigning_coordinator_answers_what_waits_and_sends_no_marker() {
    let mut bench = Bench::new();
    let me = bench.init(None);
    bench.begin(me);
    bench.send(end(me, true, 5));
    let effects = bench.coordinator.resign();
    let answer = TransactionAnswer::Failed(ErrorCode::NotCoordinator);
    assert_eq!(effects, [TransactionEffect::Reply { ticket: Ticket(bench.ticket), answer }]);
}
