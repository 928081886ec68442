//! Behaviour of single groups, as a client sees it.

use base::Now;
use log_coordinators::{
    Answer, Blob, Effect, Generation, GroupCoordinator, GroupLimits, Join, Joined, Leave, MemberRef,
    NewOffset, Offset, OffsetCommit, OffsetFetch, Record, Request, Seq, Sync, Ticket, Topic,
};
use log_wire::ErrorCode;

struct Bench {
    coordinator: GroupCoordinator,
    now: Now,
    log: Vec<Record>,
    ticket: u64,
}

impl Bench {
    fn new() -> Self {
        let limits = GroupLimits { initial_rebalance_delay_ms: 0, ..GroupLimits::default() };
        let mut coordinator = GroupCoordinator::new(limits, 1);
        let now = Now::of_ms(5_000, 1_000_000);
        coordinator.loaded(now);
        Self { coordinator, now, log: Vec::new(), ticket: 0 }
    }

    fn settle(&mut self) -> Vec<(u64, Answer)> {
        let mut answers = Vec::new();
        loop {
            let effects = self.coordinator.take_effects();
            if effects.is_empty() {
                return answers;
            }
            for effect in effects {
                match effect {
                    Effect::Append { seq, records } => {
                        self.log.extend(records);
                        self.coordinator.persisted(seq, self.now);
                    }
                    Effect::Confirm => {}
                    Effect::Reply { ticket, answer } => answers.push((ticket.0, answer)),
                }
            }
        }
    }

    fn send(&mut self, request: Request) -> Vec<(u64, Answer)> {
        self.ticket += 1;
        self.coordinator.handle(request, Ticket(self.ticket), &(), self.now);
        self.settle()
    }

    fn ask(&mut self, request: Request) -> Answer {
        let mut answers = self.send(request);
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.remove(0).1
    }

    fn pass(&mut self, ms: u64) -> Vec<(u64, Answer)> {
        let end = self.now.mono().plus_ms(ms);
        let mut answers = Vec::new();
        while self.now.mono() < end {
            let due = self.coordinator.next_deadline().expect("it is loaded");
            let step_ms = due.min(end).since(self.now.mono()).max(1);
            self.now.advance_ms(step_ms);
            self.now.wall = self.now.wall.plus_ms(step_ms as i64);
            self.coordinator.tick(self.now);
            answers.extend(self.settle());
        }
        answers
    }

    fn restart(&mut self) {
        let mut next = GroupCoordinator::new(GroupLimits::default(), 2);
        for record in &self.log {
            next.load(&record.key, record.value.as_deref()).expect("its own record");
        }
        next.loaded(self.now);
        self.coordinator = next;
    }

    fn lone(&mut self, instance: Option<&str>) -> Joined {
        let Answer::Joined(joined) = self.ask(join("", instance)) else { panic!("not joined") };
        let who = who(&joined.member, instance, joined.generation.0);
        let mine = (joined.member.clone(), Blob::from(&b"mine"[..]));
        let answer = self.ask(Request::Sync(Sync { who, protocol: None, assignments: vec![mine] }));
        assert!(matches!(answer, Answer::Synced(_)));
        joined
    }

    fn fetch(&mut self) -> i64 {
        let fetch = OffsetFetch {
            group: "g".into(),
            partitions: Some(vec![(topic(), 0)]),
            require_stable: true,
            member: None,
        };
        let Answer::Offsets(groups) = self.ask(Request::Fetch(vec![fetch])) else { panic!("no offsets") };
        groups[0].offsets[0].offset.0
    }
}

fn topic() -> Topic {
    Topic { name: "t".into(), id: [1; 16] }
}

fn who(member: &str, instance: Option<&str>, generation: i32) -> MemberRef {
    MemberRef {
        group: "g".into(),
        member: member.into(),
        instance: instance.map(Into::into),
        generation: Generation(generation),
    }
}

fn join(member: &str, instance: Option<&str>) -> Request {
    Request::Join(Join {
        who: who(member, instance, -1),
        version: if instance.is_some() { 9 } else { 3 },
        client_id: "c".into(),
        client_host: "h".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 20_000,
        protocol_type: "connect".into(),
        protocols: vec![("range".into(), Blob::from(&b"meta"[..]))],
    })
}

fn commit(who: MemberRef, offset: i64) -> Request {
    let metadata = "".into();
    let one = NewOffset { topic: topic(), partition: 0, offset: Offset(offset), leader_epoch: 0, metadata };
    Request::Commit(OffsetCommit { who, version: 9, offsets: vec![one] })
}

const OK: ErrorCode = ErrorCode::None;

#[test]
fn commit_is_answered_only_when_durable_and_undone_when_refused() {
    let mut bench = Bench::new();
    bench.coordinator.handle(commit(who("", None, -1), 7), Ticket(1), &(), bench.now);
    let effects = bench.coordinator.take_effects();
    assert!(matches!(effects[..], [Effect::Append { seq: Seq(1), .. }]));
    bench.coordinator.refused(Seq(1), bench.now);
    assert_eq!(bench.settle(), [(1, Answer::Failed(ErrorCode::CoordinatorNotAvailable))]);
    assert_eq!(bench.fetch(), -1);
    assert_eq!(bench.ask(commit(who("", None, -1), 8)), Answer::Each(vec![OK]));
    bench.restart();
    assert_eq!(bench.fetch(), 8);
}

#[test]
fn commit_of_another_generation_or_without_membership_is_fenced() {
    let mut bench = Bench::new();
    let joined = bench.lone(None);
    let mut fails = |who, code| assert_eq!(bench.ask(commit(who, 1)), Answer::Failed(code));
    fails(who(&joined.member, None, 0), ErrorCode::IllegalGeneration);
    fails(who("other", None, 1), ErrorCode::UnknownMemberId);
    fails(who("", None, -1), ErrorCode::UnknownMemberId);
    fails(MemberRef { group: "none".into(), ..who("m", None, 1) }, ErrorCode::GroupIdNotFound);
    assert_eq!(bench.ask(commit(who(&joined.member, None, 1), 1)), Answer::Each(vec![OK]));
}

#[test]
fn topic_of_the_same_name_does_not_see_offsets_of_the_deleted_one() {
    let mut bench = Bench::new();
    bench.ask(commit(who("", None, -1), 8));
    let namesake = (Topic { id: [2; 16], ..topic() }, 0);
    let fetch = OffsetFetch {
        group: "g".into(),
        partitions: Some(vec![namesake]),
        require_stable: true,
        member: None,
    };
    let Answer::Offsets(groups) = bench.ask(Request::Fetch(vec![fetch])) else { panic!("no offsets") };
    assert_eq!(groups[0].offsets[0].offset, Offset::NONE);
    assert_eq!(bench.ask(Request::TopicsDeleted(vec![topic()])), Answer::Done);
    assert_eq!(bench.fetch(), -1);
}

#[test]
fn offset_expires_only_after_its_retention() {
    let mut bench = Bench::new();
    bench.ask(commit(who("", None, -1), 8));
    let days = 24 * 3_600_000;
    for _ in 0..24 * 7 - 1 {
        for _ in 0..6 {
            bench.pass(600_000);
        }
    }
    assert_eq!(bench.fetch(), 8);
    for _ in 0..8 {
        bench.pass(600_000);
    }
    assert_eq!(bench.fetch(), -1, "after {} days", 7 * days / days);
}

#[test]
fn offsets_of_a_group_with_members_stay() {
    let mut bench = Bench::new();
    let joined = bench.lone(None);
    let me = who(&joined.member, None, 1);
    bench.ask(commit(me.clone(), 8));
    for _ in 0..8 * 24 * 3_600 / 9 {
        bench.pass(9_000);
        assert_eq!(bench.ask(Request::Heartbeat(me.clone())), Answer::Done);
    }
    assert_eq!(bench.fetch(), 8);
}

#[test]
fn member_keeps_its_whole_session_after_a_failover() {
    let mut bench = Bench::new();
    let joined = bench.lone(None);
    let me = who(&joined.member, None, 1);
    bench.pass(9_000);
    bench.restart();
    bench.pass(9_500);
    assert_eq!(bench.ask(Request::Heartbeat(me.clone())), Answer::Done);
    bench.pass(10_000);
    assert_eq!(bench.ask(Request::Heartbeat(me)), Answer::Failed(ErrorCode::UnknownMemberId));
}

#[test]
fn member_that_has_left_is_not_waited_for_after_a_failover() {
    let mut bench = Bench::new();
    let first = bench.lone(None);
    bench.send(join("", None));
    let answers = bench.send(join(&first.member, None));
    let of = |answer: &Answer| match answer {
        Answer::Joined(joined) => joined.member.clone(),
        other => panic!("{other:?}"),
    };
    let members: Vec<_> = answers.iter().map(|(_, answer)| of(answer)).collect();
    let second = members.iter().find(|member| **member != first.member).expect("there are two").clone();
    let assignments = members.iter().map(|member| (member.clone(), Blob::from(&b"half"[..]))).collect();
    bench.send(Request::Sync(Sync { who: who(&first.member, None, 2), protocol: None, assignments }));
    bench.ask(Request::Sync(Sync { who: who(&second, None, 2), protocol: None, assignments: Vec::new() }));
    let leave = Leave { group: "g".into(), members: vec![(first.member.clone(), None)] };
    assert_eq!(bench.ask(Request::Leave(leave)), Answer::Each(vec![ErrorCode::None]));
    bench.restart();
    let me = who(&second, None, 2);
    assert_eq!(
        bench.ask(commit(me.clone(), 5)),
        Answer::Each(vec![ErrorCode::None]),
        "it keeps what it has read"
    );
    let refused = Answer::Failed(ErrorCode::RebalanceInProgress);
    assert_eq!(bench.ask(Request::Heartbeat(me)), refused);
    let Answer::Joined(joined) = bench.ask(join(&second, None)) else { panic!("it waits for nobody") };
    assert_eq!((joined.generation, joined.leader, joined.members.len()), (Generation(3), second, 1));
}

#[test]
fn member_is_not_expelled_for_a_pause_of_the_coordinator() {
    let mut bench = Bench::new();
    let joined = bench.lone(None);
    bench.pass(8_000);
    assert_eq!(bench.ask(Request::Heartbeat(who(&joined.member, None, 1))), Answer::Done);
    bench.now.advance_ms(3_600_000);
    let (ticket, answer) = bench.send(Request::Heartbeat(who(&joined.member, None, 1))).remove(0);
    // The pause is longer than the session, and no part of it counts.
    assert!(ticket > 0 && answer == Answer::Done, "{answer:?}");
}

#[test]
fn member_is_not_expelled_for_a_pause_that_ends_at_its_deadline() {
    for pause_ms in [8_500, 9_000, 9_900] {
        let mut bench = Bench::new();
        let joined = bench.lone(None);
        bench.pass(1_000);
        assert_eq!(bench.ask(Request::Heartbeat(who(&joined.member, None, 1))), Answer::Done);
        bench.pass(1_000);
        // The deadline passes in the pause, and a heartbeat stands behind the tick that ends it.
        bench.now.advance_ms(pause_ms);
        bench.coordinator.tick(bench.now);
        let answer = bench.ask(Request::Heartbeat(who(&joined.member, None, 1)));
        assert_eq!(answer, Answer::Done, "after {pause_ms} ms");
    }
}

#[test]
fn static_member_that_restarts_keeps_its_assignment_and_fences_its_old_id() {
    let mut bench = Bench::new();
    let first = bench.lone(Some("i"));
    let Answer::Joined(second) = bench.ask(join("", Some("i"))) else { panic!("not joined") };
    assert_ne!(first.member, second.member);
    assert_eq!((second.generation, second.skip_assignment), (first.generation, true));
    bench.restart();
    let old = Request::Heartbeat(who(&first.member, Some("i"), 1));
    assert_eq!(bench.ask(old), Answer::Failed(ErrorCode::FencedInstanceId));
    let old = commit(who(&first.member, Some("i"), 1), 3);
    assert_eq!(bench.ask(old), Answer::Failed(ErrorCode::FencedInstanceId));
    let sync = Sync { who: who(&second.member, Some("i"), 1), protocol: None, assignments: vec![] };
    let Answer::Synced(synced) = bench.ask(Request::Sync(sync)) else { panic!("not synced") };
    assert_eq!(&*synced.assignment, b"mine");
}

#[test]
fn second_member_rebalances_and_the_first_leads_on() {
    let mut bench = Bench::new();
    let first = bench.lone(None);
    assert_eq!(bench.send(join("", None)), []);
    let heartbeat = Request::Heartbeat(who(&first.member, None, 1));
    assert_eq!(bench.ask(heartbeat), Answer::Failed(ErrorCode::RebalanceInProgress));
    let answers = bench.send(join(&first.member, None));
    let leads = |answer: &Answer| matches!(answer, Answer::Joined(joined) if joined.members.len() == 2);
    assert_eq!(answers.iter().map(|(_, answer)| leads(answer)).filter(|leads| *leads).count(), 1);
    assert_eq!(answers.len(), 2);
    let leave = Leave { group: "g".into(), members: vec![(first.member.clone(), None), ("x".into(), None)] };
    assert_eq!(bench.ask(Request::Leave(leave)), Answer::Each(vec![OK, ErrorCode::UnknownMemberId]));
    assert_eq!(
        bench.ask(Request::DeleteGroups(vec!["g".into()])),
        Answer::Each(vec![ErrorCode::NonEmptyGroup])
    );
}

#[test]
fn member_that_does_not_sync_is_expelled_and_the_rebalance_ends() {
    let mut bench = Bench::new();
    let Answer::Joined(joined) = bench.ask(join("", None)) else { panic!("not joined") };
    bench.pass(10_001);
    let sync = Sync { who: who(&joined.member, None, 1), protocol: None, assignments: vec![] };
    assert_eq!(bench.ask(Request::Sync(sync)), Answer::Failed(ErrorCode::UnknownMemberId));
    let Answer::Described(groups) = bench.ask(Request::Describe(vec!["g".into(), "none".into()])) else {
        panic!("not described")
    };
    let states: Vec<_> = groups.iter().map(|group| (group.state, group.error)).collect();
    assert_eq!(states, [("Empty", OK), ("Dead", ErrorCode::GroupIdNotFound)]);
}

#[test]
fn join_outside_of_the_limits_is_refused() {
    let mut bench = Bench::new();
    let change = |change: fn(&mut Join)| {
        let Request::Join(mut request) = join("", None) else { unreachable!() };
        change(&mut request);
        Request::Join(request)
    };
    let cases = [
        (change(|join| join.who.group = "".into()), ErrorCode::InvalidGroupId),
        (change(|join| join.session_timeout_ms = 5_999), ErrorCode::InvalidSessionTimeout),
        (change(|join| join.protocols.clear()), ErrorCode::InconsistentGroupProtocol),
        (change(|join| join.who.member = "m".into()), ErrorCode::UnknownMemberId),
    ];
    for (request, code) in cases {
        assert_eq!(bench.ask(request), Answer::Failed(code));
    }
    assert!(matches!(bench.ask(change(|join| join.version = 4)), Answer::MemberIdRequired(_)));
}

#[test]
fn request_before_the_partition_is_read_is_sent_back() {
    let mut coordinator = GroupCoordinator::new(GroupLimits::default(), 1);
    coordinator.handle(Request::List(vec![]), Ticket(1), &(), Now::of_ms(1, 1));
    coordinator.handle(Request::Heartbeat(who("m", None, 1)), Ticket(2), &(), Now::of_ms(1, 1));
    let answers = [(1, Answer::Failed(ErrorCode::CoordinatorLoadInProgress)), (2, Answer::Done)];
    let reply = |(ticket, answer)| Effect::Reply { ticket: Ticket(ticket), answer };
    assert_eq!(coordinator.take_effects(), answers.map(reply));
}

#[test]
fn heartbeat_of_a_member_needs_no_confirmation_and_that_of_none_does() {
    let mut coordinator = GroupCoordinator::new(GroupLimits::default(), 1);
    coordinator.loaded(Now::of_ms(1, 1));
    coordinator.handle(Request::Heartbeat(who("m", None, 1)), Ticket(1), &(), Now::of_ms(1, 1));
    let reply = Effect::Reply { ticket: Ticket(1), answer: Answer::Failed(ErrorCode::UnknownMemberId) };
    assert_eq!(coordinator.take_effects(), [Effect::Confirm, reply]);
    coordinator.handle(Request::List(vec![]), Ticket(2), &(), Now::of_ms(1, 1));
    let reply = Effect::Reply { ticket: Ticket(2), answer: Answer::Listed(vec![]) };
    assert_eq!(coordinator.take_effects(), [Effect::Confirm, reply]);
}

/// Its session lasts longer than a rebalance may take.
#[test]
fn member_that_never_syncs_is_expelled_though_it_is_heard_of() {
    let mut bench = Bench::new();
    let Request::Join(mut slow) = join("", None) else { panic!("a join") };
    slow.session_timeout_ms = 60_000;
    let Answer::Joined(joined) = bench.ask(Request::Join(slow)) else { panic!("not joined") };
    let me = who(&joined.member, None, joined.generation.0);
    for _ in 0..19 {
        bench.pass(1_000);
        assert_eq!(bench.ask(Request::Heartbeat(me.clone())), Answer::Done);
    }
    bench.pass(1_000);
    assert_eq!(bench.ask(Request::Heartbeat(me)), Answer::Failed(ErrorCode::UnknownMemberId));
}

#[test]
fn request_that_names_too_much_is_refused() {
    let limits = GroupLimits { names_per_request_max: 2, ..GroupLimits::default() };
    let mut bench = Bench::new();
    let mut coordinator = GroupCoordinator::new(limits, 1);
    coordinator.loaded(bench.now);
    bench.coordinator = coordinator;
    let describe = |count| Request::Describe(vec!["g".into(); count]);
    assert!(matches!(bench.ask(describe(2)), Answer::Described(_)));
    assert_eq!(bench.ask(describe(3)), Answer::Failed(ErrorCode::InvalidRequest));
}
