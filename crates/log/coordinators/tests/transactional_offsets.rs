//! The rules of offsets that are committed in a transaction, one by one. Numbers in brackets are rules of the specification.

use base::Now;
use log_coordinators::{
    Answer, CommittedOffset, Effect, Generation, GroupCoordinator, GroupLimits, Join, MemberRef, NewOffset,
    Offset, OffsetCommit, OffsetFetch, Producer, Record, Request, Ticket, Topic, TransactionGuard,
    TxnOffsetCommit,
};
use log_partition::{CoordinatorEpoch, Marker, ProducerEpoch, ProducerId, TransactionVersion};
use log_wire::ErrorCode;

const OK: ErrorCode = ErrorCode::None;
const UNSTABLE: ErrorCode = ErrorCode::UnstableOffsetCommit;

struct Bench {
    coordinator: GroupCoordinator,
    limits: GroupLimits,
    now: Now,
    log: Vec<Record>,
    ticket: u64,
}

impl Bench {
    fn new() -> Self {
        Self::with(GroupLimits { initial_rebalance_delay_ms: 0, ..GroupLimits::default() })
    }

    fn with(limits: GroupLimits) -> Self {
        let mut coordinator = GroupCoordinator::new(limits.clone(), 1);
        let now = Now::of_ms(5_000, 1_000_000);
        coordinator.loaded(now);
        Self { coordinator, limits, now, log: Vec::new(), ticket: 0 }
    }

    fn ask(&mut self, request: Request) -> Answer {
        self.ticket += 1;
        self.coordinator.handle(request, Ticket(self.ticket), &(), self.now);
        self.settle().expect("it is answered")
    }

    fn settle(&mut self) -> Option<Answer> {
        let mut last = None;
        loop {
            let effects = self.coordinator.take_effects();
            if effects.is_empty() {
                return last;
            }
            for effect in effects {
                match effect {
                    Effect::Append { seq, records } => {
                        self.log.extend(records);
                        self.coordinator.persisted(seq, self.now);
                    }
                    Effect::Confirm => {}
                    Effect::Reply { answer, .. } => last = Some(answer),
                }
            }
        }
    }

    fn restart(&mut self) {
        let mut next = GroupCoordinator::new(self.limits.clone(), 2);
        for record in &self.log {
            next.load(&record.key, record.value.as_deref()).expect("its own record");
        }
        next.loaded(self.now);
        self.coordinator = next;
    }

    fn pass(&mut self, ms: u64) {
        self.now.advance_ms(ms);
        self.now.wall = self.now.wall.plus_ms(ms as i64);
        self.coordinator.tick(self.now);
        self.settle();
    }

    /// Commits with a guard that is taken now.
    fn commit(&mut self, who: MemberRef, producer: Producer, partition: i32, offset: i64) -> Answer {
        let guard = self.coordinator.transaction_guard(producer.id);
        self.ask(txn_commit(who, producer, guard, partition, offset))
    }

    fn pending(&mut self, group: &str, epoch: i16, partition: i32, offset: i64) {
        let answer = self.commit(memberless(group), producer(epoch), partition, offset);
        assert_eq!(answer, Answer::Each(vec![OK]));
    }

    fn fetch(&mut self, group: &str, partition: i32, require_stable: bool) -> (i64, ErrorCode) {
        let partitions = Some(vec![(topic(), partition)]);
        let one = self.fetch_some(group, partitions, require_stable).remove(0);
        (one.offset.0, one.error)
    }

    fn fetch_some(
        &mut self,
        group: &str,
        partitions: Option<Vec<(Topic, i32)>>,
        require_stable: bool,
    ) -> Vec<CommittedOffset> {
        let fetch = OffsetFetch { group: group.into(), partitions, require_stable, member: None };
        let Answer::Offsets(mut groups) = self.ask(Request::Fetch(vec![fetch])) else { panic!("no offsets") };
        groups.remove(0).offsets
    }
}

fn topic() -> Topic {
    Topic { name: "t".into(), id: [1; 16] }
}

fn producer(epoch: i16) -> Producer {
    Producer { id: ProducerId(7), epoch: ProducerEpoch(epoch) }
}

fn memberless(group: &str) -> MemberRef {
    MemberRef { group: group.into(), member: "".into(), instance: None, generation: Generation(-1) }
}

fn offset(partition: i32, offset: i64) -> NewOffset {
    NewOffset { topic: topic(), partition, offset: Offset(offset), leader_epoch: 0, metadata: "".into() }
}

fn txn_commit(
    who: MemberRef,
    producer: Producer,
    guard: TransactionGuard,
    partition: i32,
    value: i64,
) -> Request {
    Request::TxnCommit(TxnOffsetCommit { who, producer, guard, offsets: vec![offset(partition, value)] })
}

fn marker(epoch: i16, commit: bool) -> Request {
    marker_of(epoch, 0, commit, TransactionVersion::EpochPerTransaction)
}

fn marker_of(epoch: i16, coordinator: i32, commit: bool, version: TransactionVersion) -> Request {
    Request::EndTransaction(Marker {
        producer_id: ProducerId(7),
        epoch: ProducerEpoch(epoch),
        coordinator_epoch: CoordinatorEpoch(coordinator),
        commit,
        version,
    })
}

#[test]
fn pending_offset_is_invisible_until_its_commit_marker() {
    let mut bench = Bench::new();
    let plain = OffsetCommit { who: memberless("g"), version: 9, offsets: vec![offset(0, 5)] };
    assert_eq!(bench.ask(Request::Commit(plain)), Answer::Each(vec![OK]));
    bench.pending("g", 0, 0, 9);
    for _ in 0..2 {
        assert_eq!(bench.fetch("g", 0, false), (5, OK));
        assert_eq!(bench.fetch("g", 0, true), (-1, UNSTABLE));
        assert_eq!(bench.fetch("g", 1, true), (-1, OK), "another partition");
        bench.restart();
    }
    assert_eq!(bench.ask(marker(1, true)), Answer::Done);
    for _ in 0..2 {
        assert_eq!(bench.fetch("g", 0, false), (9, OK));
        assert_eq!(bench.fetch("g", 0, true), (9, OK));
        bench.restart();
    }
}

#[test]
fn pending_offset_is_dropped_by_an_abort_marker() {
    let mut bench = Bench::new();
    bench.pending("g", 0, 0, 9);
    assert_eq!(bench.ask(marker(1, false)), Answer::Done);
    for _ in 0..2 {
        assert_eq!(bench.fetch("g", 0, true), (-1, OK));
        bench.restart();
    }
}

#[test]
fn first_offset_that_is_pending_is_unstable_in_a_fetch_of_all() {
    let mut bench = Bench::new();
    bench.pending("g", 0, 3, 9);
    let all = bench.fetch_some("g", None, true);
    assert_eq!(all.iter().map(|one| (one.partition, one.error)).collect::<Vec<_>>(), [(3, UNSTABLE)]);
    assert_eq!(bench.fetch_some("g", None, false), []);
}

#[test]
fn marker_ends_the_transaction_in_all_groups_at_once() {
    let mut bench = Bench::new();
    bench.pending("a", 0, 0, 1);
    bench.pending("b", 0, 0, 2);
    bench.pending("b", 0, 1, 3);
    bench.coordinator.handle(marker(1, true), Ticket(99), &(), bench.now);
    let effects = bench.coordinator.take_effects();
    let [Effect::Append { seq, .. }] = &effects[..] else { panic!("one append: {effects:?}") };
    bench.coordinator.refused(*seq, bench.now);
    bench.settle();
    assert_eq!(bench.fetch("b", 1, true), (-1, UNSTABLE), "the marker was refused");
    assert_eq!(bench.ask(marker(1, true)), Answer::Done);
    assert_eq!([bench.fetch("a", 0, true), bench.fetch("b", 0, true)], [(1, OK), (2, OK)]);
    assert_eq!(bench.fetch("b", 1, true), (3, OK));
}

#[test]
fn marker_is_answered_again_and_changes_nothing_more() {
    let mut bench = Bench::new();
    bench.pending("g", 0, 0, 9);
    assert_eq!(bench.ask(marker(1, true)), Answer::Done);
    let logged = bench.log.len();
    assert_eq!(bench.ask(marker(1, true)), Answer::Done);
    assert_eq!(bench.log.len(), logged);
    assert_eq!(bench.fetch("g", 0, true), (9, OK));
    bench.pending("g", 1, 0, 10);
    assert_eq!(
        bench.ask(marker(1, true)),
        Answer::Failed(ErrorCode::InvalidProducerEpoch),
        "the next is open"
    );
    assert_eq!(bench.fetch("g", 0, true), (-1, UNSTABLE));
    assert_eq!(bench.ask(marker(0, true)), Answer::Failed(ErrorCode::InvalidProducerEpoch));
}

#[test]
fn marker_of_an_older_coordinator_is_fenced() {
    let mut bench = Bench::new();
    let classic = TransactionVersion::Classic;
    bench.pending("g", 0, 0, 9);
    assert_eq!(bench.ask(marker_of(0, 4, true, classic)), Answer::Done);
    bench.pending("g", 0, 0, 10);
    bench.restart();
    let old = bench.ask(marker_of(0, 3, false, classic));
    assert_eq!(old, Answer::Failed(ErrorCode::TransactionCoordinatorFenced));
    assert_eq!(bench.fetch("g", 0, true), (-1, UNSTABLE));
}

#[test]
fn commit_of_an_older_epoch_is_refused_after_a_marker_and_a_restart() {
    let mut bench = Bench::new();
    bench.pending("g", 0, 0, 9);
    assert_eq!(bench.ask(marker(1, false)), Answer::Done);
    bench.restart();
    let late = bench.commit(memberless("g"), producer(0), 0, 9);
    assert_eq!(late, Answer::Failed(ErrorCode::InvalidProducerEpoch), "a zombie (L42)");
    bench.pending("g", 1, 0, 10);
}

#[test]
fn commit_that_was_verified_before_a_marker_is_refused_behind_it() {
    let mut bench = Bench::new();
    bench.pending("g", 0, 0, 9);
    let guard = bench.coordinator.transaction_guard(ProducerId(7));
    assert_eq!(bench.ask(marker_of(0, 0, true, TransactionVersion::Classic)), Answer::Done);
    let late = bench.ask(txn_commit(memberless("g"), producer(0), guard, 0, 10));
    assert_eq!(late, Answer::Failed(ErrorCode::ConcurrentTransactions), "it would hang (L44)");
    assert_eq!(bench.fetch("g", 0, true), (9, OK));
}

#[test]
fn commit_of_a_member_is_fenced_by_its_generation() {
    let mut bench = Bench::new();
    let who = |group: &str, member: &str, instance: Option<&str>, generation| MemberRef {
        group: group.into(),
        member: member.into(),
        instance: instance.map(Into::into),
        generation: Generation(generation),
    };
    let join = Join {
        who: who("g", "", Some("i"), -1),
        version: 9,
        client_id: "c".into(),
        client_host: "h".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 20_000,
        protocol_type: "connect".into(),
        protocols: vec![("range".into(), (&b"meta"[..]).into())],
    };
    let Answer::Joined(joined) = bench.ask(Request::Join(join)) else { panic!("not joined") };
    let member = &*joined.member;
    let cases = [
        (who("g", member, None, 0), ErrorCode::IllegalGeneration),
        (who("g", "other", None, 1), ErrorCode::UnknownMemberId),
        (who("g", "other", Some("i"), 1), ErrorCode::FencedInstanceId),
        (who("none", "m", None, 1), ErrorCode::IllegalGeneration),
        (who("", "", None, -1), ErrorCode::InvalidGroupId),
    ];
    for (who, code) in cases {
        assert_eq!(bench.commit(who, producer(0), 0, 1), Answer::Failed(code));
    }
    // The leader has not synchronised yet; a transaction may commit all the same.
    let done = Answer::Each(vec![OK]);
    assert_eq!(bench.commit(who("g", member, Some("i"), 1), producer(0), 0, 1), done);
    assert_eq!(bench.commit(memberless("g"), producer(0), 0, 2), done, "clients before KIP-447");
}

#[test]
fn pending_offsets_are_bounded() {
    let mut bench = Bench::with(GroupLimits { pending_offsets_max: 1, ..GroupLimits::default() });
    bench.pending("g", 0, 0, 1);
    bench.pending("g", 0, 0, 2);
    for (group, partition) in [("g", 1), ("other", 0)] {
        let answer = bench.commit(memberless(group), producer(0), partition, 1);
        assert_eq!(answer, Answer::Each(vec![ErrorCode::PolicyViolation]));
    }
    let mut bench = Bench::with(GroupLimits { group_bytes_max: 100, ..GroupLimits::default() });
    bench.pending("g", 0, 0, 1);
    let answer = bench.commit(memberless("g"), producer(0), 1, 1);
    assert_eq!(answer, Answer::Failed(ErrorCode::PolicyViolation));
    assert_eq!(bench.fetch("g", 1, true), (-1, OK));
}

#[test]
fn offset_pending_under_an_older_epoch_is_dropped_by_the_next() {
    let mut bench = Bench::new();
    bench.pending("a", 0, 0, 1);
    bench.pending("b", 0, 0, 2);
    bench.pending("b", 1, 1, 3);
    assert_eq!([bench.fetch("a", 0, true), bench.fetch("b", 0, true)], [(-1, OK), (-1, OK)]);
    assert_eq!(bench.ask(marker(2, true)), Answer::Done);
    assert_eq!([bench.fetch("b", 0, true), bench.fetch("b", 1, true)], [(-1, OK), (3, OK)]);
}

#[test]
fn deletion_drops_what_is_pending() {
    let cases = [
        Request::TopicsDeleted(vec![topic()]),
        Request::DeleteOffsets("g".into(), vec![(topic(), 0)]),
        Request::DeleteGroups(vec!["g".into()]),
    ];
    for request in cases {
        let mut bench = Bench::new();
        bench.pending("g", 0, 0, 1);
        bench.ask(request);
        assert_eq!(bench.fetch("g", 0, true), (-1, OK));
        assert_eq!(bench.ask(marker(1, true)), Answer::Done);
        assert_eq!(bench.fetch("g", 0, true), (-1, OK));
    }
}

#[test]
fn offset_does_not_expire_while_another_is_pending_for_it() {
    let limits = GroupLimits { offsets_retention_ms: 1_000, ..GroupLimits::default() };
    let mut bench = Bench::with(limits);
    let plain = OffsetCommit { who: memberless("g"), version: 9, offsets: vec![offset(0, 5), offset(1, 5)] };
    bench.ask(Request::Commit(plain));
    bench.pending("g", 0, 0, 9);
    bench.pass(600_000);
    assert_eq!(bench.fetch("g", 1, true), (-1, OK));
    assert_eq!(bench.fetch("g", 0, false), (5, OK));
    bench.ask(marker(1, false));
    bench.pass(600_000);
    assert_eq!(bench.fetch("g", 0, false), (-1, OK));
}

#[test]
fn epoch_of_a_producer_is_forgotten_only_when_it_is_silent_and_has_nothing_pending() {
    let limits = GroupLimits { producer_expiration_ms: 3_600_000, ..GroupLimits::default() };
    let mut bench = Bench::with(limits);
    bench.pending("g", 3, 0, 9);
    for _ in 0..12 {
        bench.pass(600_000);
    }
    assert_eq!(bench.fetch("g", 0, true), (-1, UNSTABLE));
    bench.ask(marker(4, true));
    let late = bench.commit(memberless("g"), producer(3), 0, 9);
    assert_eq!(late, Answer::Failed(ErrorCode::InvalidProducerEpoch));
    for _ in 0..7 {
        bench.pass(600_000);
    }
    assert_eq!(bench.coordinator.snapshot().len(), 1, "the offset is left");
}
