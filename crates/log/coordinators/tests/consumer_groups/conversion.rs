//! Groups with members of both protocols, and groups that change their type.

use log_coordinators::{
    Answer, ConsumerHeartbeat, ConsumerLimits, GroupLimits, Join, Leave, MemberRef, MigrationPolicy, Request,
    Sync,
};
use log_wire::ErrorCode;

use crate::bench::{Bench, assignment, classic, heartbeat, joining, of_t, subscription, told, who};

const OK: ErrorCode = ErrorCode::None;

fn with_policy(migration_policy: MigrationPolicy) -> Bench {
    let consumer = ConsumerLimits { migration_policy, ..ConsumerLimits::default() };
    Bench::with(GroupLimits { consumer, ..GroupLimits::default() })
}

/// A classic member and one of KIP-848, at rest. Gives the classic member's id; its epoch is 2.
fn mixed(bench: &mut Bench) -> String {
    let member = bench.classic_group();
    assert_eq!(bench.join("n"), (2, Some(vec![])));
    assert_eq!(bench.classic_beat(&member, 1), Err(ErrorCode::RebalanceInProgress));
    let joined = bench.classic_join(&member, &[0, 1]).expect("it joins again");
    assert_eq!(bench.sync(&member, joined.generation.0), Ok(vec![0, 1]));
    assert_eq!(bench.beat("n", 2, None), Ok((2, Some(vec![2, 3]))));
    member
}

fn classic_state(bench: &mut Bench) -> &'static str {
    let Answer::Described(groups) = bench.ask(Request::Describe(vec!["g".into()])) else {
        panic!("not described")
    };
    groups[0].state
}

#[test]
fn classic_group_becomes_a_consumer_group_and_its_member_is_led() {
    let mut bench = Bench::new();
    let member = bench.classic_group();
    assert_eq!(bench.beat("n", 5, None), Err(ErrorCode::GroupIdNotFound));
    assert_eq!(bench.beat("n", -1, None), Err(ErrorCode::GroupIdNotFound));
    assert_eq!(bench.join("n"), (2, Some(vec![])));
    assert_eq!(bench.state(), ("Reconciling", 2, 2));
    assert_eq!(bench.classic_beat(&member, 1), Err(ErrorCode::RebalanceInProgress));
    assert_eq!(bench.classic_beat(&member, 2), Err(ErrorCode::IllegalGeneration));
    assert_eq!(bench.classic_beat("n", 2), Err(ErrorCode::UnknownMemberId), "it speaks the other protocol");
    assert_eq!(bench.commit(&member, 1, 0), Ok(()));
    assert_eq!(bench.commit(&member, 2, 0), Err(ErrorCode::IllegalGeneration));
    assert_eq!(bench.commit(&member, 0, 0), Err(ErrorCode::IllegalGeneration));
    assert_eq!(bench.fetch(Some((&member, 9))), Err(ErrorCode::IllegalGeneration));
    assert_eq!(bench.sync(&member, 1), Err(ErrorCode::RebalanceInProgress));
    // It owns everything still, and is told by its assignment what it keeps.
    let joined = bench.classic_join(&member, &[0, 1, 2, 3]).expect("it joins again");
    assert_eq!((joined.generation.0, &*joined.leader, joined.members.len()), (1, "", 0));
    assert_eq!(bench.sync(&member, 1), Ok(vec![0, 1]));
    assert_eq!(bench.classic_beat(&member, 1), Err(ErrorCode::RebalanceInProgress));
    assert_eq!(bench.beat("n", 2, None), Ok((2, None)), "nothing is free");
    bench.restart();
    let joined = bench.classic_join(&member, &[0, 1]).expect("it joins again");
    assert_eq!(joined.generation.0, 2);
    assert_eq!(bench.sync(&member, 2), Ok(vec![0, 1]));
    assert_eq!(bench.classic_beat(&member, 2), Ok(()));
    assert_eq!(bench.beat("n", 2, None), Ok((2, Some(vec![2, 3]))));
    assert_eq!(bench.state(), ("Stable", 2, 2));
    let shown = bench.describe();
    assert_eq!(shown.members.iter().filter(|member| member.classic).count(), 1);
}

#[test]
fn request_of_a_classic_member_in_a_consumer_group_is_checked() {
    let mut bench = Bench::new();
    let member = mixed(&mut bench);
    assert_eq!(bench.sync(&member, 9), Err(ErrorCode::IllegalGeneration));
    assert_eq!(bench.sync("other", 2), Err(ErrorCode::UnknownMemberId));
    assert_eq!(bench.sync("n", 2), Err(ErrorCode::UnknownMemberId));
    for (kind, name) in [("foo", "range"), ("consumer", "foo")] {
        let protocol = Some((kind.into(), name.into()));
        let sync = Sync { who: who(&member, 2), protocol, assignments: vec![] };
        assert_eq!(bench.ask(Request::Sync(sync)), Answer::Failed(ErrorCode::InconsistentGroupProtocol));
    }
    let change = |change: fn(&mut Join)| {
        let mut join = classic("new", &[]);
        change(&mut join);
        Request::Join(join)
    };
    let cases = [
        (change(|join| join.protocols[0].0 = "foo".into()), ErrorCode::InconsistentGroupProtocol),
        (change(|join| join.protocol_type = "connect".into()), ErrorCode::InconsistentGroupProtocol),
        (change(|join| join.protocols.clear()), ErrorCode::InconsistentGroupProtocol),
        (change(|join| join.protocols[0].1 = b"xx".as_slice().into()), ErrorCode::UnknownServerError),
        (change(|join| join.session_timeout_ms = 1), ErrorCode::InvalidSessionTimeout),
        (change(|join| join.who.instance = Some("i".into())), ErrorCode::UnknownMemberId),
    ];
    for (request, code) in cases {
        assert_eq!(bench.ask(request), Answer::Failed(code));
    }
    let first = change(|join| (join.version, join.who.member) = (4, "".into()));
    assert!(matches!(bench.ask(first), Answer::MemberIdRequired(_)));
    // Kafka takes this one too. It was removed, and must not go on with what it owns.
    assert_eq!(bench.classic_join("new", &[2]), Err(ErrorCode::UnknownMemberId));
    let joined = bench.classic_join("new", &[]).expect("an id of its own is taken");
    assert_eq!(joined.generation.0, 2, "the last target is too young");
}

#[test]
fn classic_members_leave_a_consumer_group_together() {
    let mut bench = Bench::new();
    let member = mixed(&mut bench);
    bench.classic_join("m", &[]).expect("it joins");
    assert_eq!(bench.state().1, 3);
    let members = [("x", None), (&*member, None), ("m", None), ("m", Some("i"))];
    let members = members.map(|(id, instance): (&str, Option<&str>)| (id.into(), instance.map(Into::into)));
    let leave = Request::Leave(Leave { group: "g".into(), members: members.to_vec() });
    let codes = vec![ErrorCode::UnknownMemberId, OK, OK, ErrorCode::UnknownMemberId];
    assert_eq!(bench.ask(leave), Answer::Each(codes));
    assert_eq!(bench.state().1, 4, "one epoch for both");
}

#[test]
fn consumer_group_becomes_classic_when_the_last_member_of_kip_848_leaves() {
    let mut bench = Bench::new();
    let member = mixed(&mut bench);
    bench.beat("n", -1, None).expect("it leaves");
    assert_eq!(bench.describe().error, ErrorCode::GroupIdNotFound);
    assert_eq!(classic_state(&mut bench), "PreparingRebalance");
    bench.restart();
    assert_eq!(classic_state(&mut bench), "PreparingRebalance", "also after a failover");
    assert_eq!(bench.classic_beat(&member, 2), Err(ErrorCode::IllegalGeneration));
    assert_eq!(bench.commit(&member, 2, 0), Err(ErrorCode::IllegalGeneration));
    let joined = bench.classic_join(&member, &[0, 1]).expect("it joins again");
    assert_eq!((joined.generation.0, &*joined.leader), (4, member.as_str()));
    let assignments = vec![(member.as_str().into(), assignment(&[("t", &[0, 1, 2, 3])]))];
    let sync = Sync { who: who(&member, 4), protocol: None, assignments };
    assert!(matches!(bench.ask(Request::Sync(sync)), Answer::Synced(_)));
    assert_eq!(classic_state(&mut bench), "Stable");
}

#[test]
fn consumer_group_becomes_classic_when_the_last_member_of_kip_848_falls_silent() {
    let mut bench = Bench::new();
    let member = mixed(&mut bench);
    for _ in 0..9 {
        bench.pass(5_000);
        let _ = bench.classic_beat(&member, 2);
    }
    assert_eq!(classic_state(&mut bench), "PreparingRebalance");
}

/// Kafka does not rebalance here, and leaves a group in which no member knows that it leads.
#[test]
fn static_member_that_goes_back_to_the_classic_protocol_has_to_lead() {
    let mut bench = Bench::new();
    let fixed = ConsumerHeartbeat { instance: Some("i".into()), ..joining("a") };
    assert_eq!(bench.heartbeat(fixed.clone()).map(told), Ok((2, Some(vec![0, 1, 2, 3]))));
    let mut join = classic("", &[]);
    join.who.instance = Some("i".into());
    let Answer::Joined(joined) = bench.ask(Request::Join(join.clone())) else { panic!("not joined") };
    assert_eq!(joined.generation.0, 2);
    assert_eq!(classic_state(&mut bench), "PreparingRebalance");
    let me = MemberRef { instance: Some("i".into()), ..who(&joined.member, 2) };
    let sync = Sync { who: me.clone(), protocol: None, assignments: vec![] };
    let again = Answer::Failed(ErrorCode::RebalanceInProgress);
    assert_eq!(bench.ask(Request::Sync(sync)), again);
    assert_eq!(bench.ask(Request::Heartbeat(me)), again);
    join.who.member = joined.member.clone();
    let Answer::Joined(joined) = bench.ask(Request::Join(join)) else { panic!("not joined") };
    assert_eq!((joined.generation.0, &joined.leader), (3, &joined.member));
    // And forward again: the classic owner of the instance id is replaced at once.
    let again = ConsumerHeartbeat { member: "b".into(), ..fixed };
    assert_eq!(bench.heartbeat(again).map(|answer| answer.member), Ok("b".into()));
    let me = MemberRef { instance: Some("i".into()), ..who(&joined.member, 3) };
    assert_eq!(bench.ask(Request::Heartbeat(me)), Answer::Failed(ErrorCode::FencedInstanceId));
}

#[test]
fn empty_groups_change_their_type() {
    let mut bench = Bench::new();
    let member = bench.classic_group();
    let leave = Leave { group: "g".into(), members: vec![(member.as_str().into(), None)] };
    bench.ask(Request::Leave(leave));
    // Kafka begins with epoch 2 here, and with generation 1 below.
    assert_eq!(bench.join("n"), (3, Some(vec![0, 1, 2, 3])));
    bench.commit("n", 3, 0).expect("it owns it");
    bench.beat("n", -1, None).expect("it leaves");
    assert_eq!(bench.classic_join("x", &[]), Err(ErrorCode::UnknownMemberId));
    assert_eq!(bench.state().0, "Empty");
    let joined = bench.classic_join("", &[]).expect("it joins");
    assert_eq!(joined.generation.0, 5);
    assert_eq!(bench.describe().error, ErrorCode::GroupIdNotFound);
    assert_eq!(bench.fetch(None), Ok(7), "offsets stay");
    bench.restart();
    assert_eq!(bench.describe().error, ErrorCode::GroupIdNotFound);
}

#[test]
fn classic_group_that_cannot_become_a_consumer_group_stays() {
    let unlike: [fn(&mut Join); 2] =
        [|join| join.protocol_type = "connect".into(), |join| join.protocols[0].1 = b"zz".as_slice().into()];
    for change in unlike {
        let mut bench = Bench::new();
        let mut join = classic("", &[]);
        change(&mut join);
        assert!(matches!(bench.ask(Request::Join(join)), Answer::Joined(_)));
        let snapshot = bench.coordinator.snapshot();
        assert_eq!(bench.heartbeat(joining("n")), Err(ErrorCode::GroupIdNotFound));
        assert_eq!(bench.coordinator.snapshot(), snapshot);
    }
    // The leader's assignor has left something of its own in an assignment.
    let mut bench = Bench::new();
    let joined = bench.classic_join("", &[]).expect("it joins");
    let mut bytes = assignment(&[("t", &[0])]).to_vec();
    bytes.truncate(bytes.len() - 4);
    bytes.extend([0, 0, 0, 1, b'z']);
    let assignments = vec![(joined.member.clone(), bytes.into())];
    let sync = Sync { who: who(&joined.member, 1), protocol: None, assignments };
    assert!(matches!(bench.ask(Request::Sync(sync)), Answer::Synced(_)));
    assert_eq!(bench.heartbeat(joining("n")), Err(ErrorCode::GroupIdNotFound));
}

#[test]
fn policy_decides_which_groups_with_members_change_their_type() {
    for policy in [MigrationPolicy::Disabled, MigrationPolicy::Downgrade] {
        let mut bench = with_policy(policy);
        bench.classic_group();
        assert_eq!(bench.heartbeat(joining("n")), Err(ErrorCode::GroupIdNotFound));
    }
    let mut bench = with_policy(MigrationPolicy::Disabled);
    bench.join("n");
    assert_eq!(bench.classic_join("", &[]), Err(ErrorCode::InconsistentGroupProtocol));
    let mut bench = with_policy(MigrationPolicy::Upgrade);
    let member = mixed(&mut bench);
    bench.beat("n", -1, None).expect("it leaves");
    assert_eq!(bench.state().0, "Assigning", "it stays a consumer group of a classic member");
    bench.pass(1_000);
    let joined = bench.classic_join(&member, &[0, 1]).expect("it joins again");
    assert_eq!(bench.sync(&member, joined.generation.0), Ok(vec![0, 1, 2, 3]));
}

/// In a cooperative rebalance a member owns what its leader has taken from it, until it has heard of that.
#[test]
fn what_a_classic_member_said_that_it_owns_is_not_given_away() {
    let mut bench = Bench::new();
    let joined = bench.classic_join("", &[3]).expect("it joins, and owns 3");
    let member = joined.member.to_string();
    let assignments = vec![(joined.member.clone(), assignment(&[("t", &[0])]))];
    let sync = Sync { who: who(&member, 1), protocol: None, assignments };
    assert!(matches!(bench.ask(Request::Sync(sync)), Answer::Synced(_)));
    let (_, given) = bench.join("n");
    assert!(!given.expect("it joins").contains(&3));
}

#[test]
fn classic_member_that_does_not_do_its_part_is_removed() {
    // It does not join again, though it sends heartbeats.
    let mut bench = Bench::new();
    let member = bench.classic_group();
    bench.join("n");
    for _ in 0..20 {
        assert_eq!(bench.classic_beat(&member, 1), Err(ErrorCode::RebalanceInProgress));
        bench.pass(1_000);
    }
    assert_eq!(bench.classic_beat(&member, 1), Err(ErrorCode::UnknownMemberId));
    // It does not ask for its assignment.
    let mut bench = Bench::new();
    mixed(&mut bench);
    bench.classic_join("m", &[]).expect("it joins");
    for _ in 0..20 {
        assert_eq!(bench.classic_beat("m", 2), Ok(()));
        bench.pass(1_000);
        bench.coordinator.take_effects();
    }
    assert_eq!(bench.classic_beat("m", 2), Err(ErrorCode::UnknownMemberId));
}

#[test]
fn group_in_its_first_rebalance_becomes_a_consumer_group() {
    let mut bench = Bench::new();
    let first = bench.classic_join("", &[]).expect("it joins").member;
    // A second member waits for the first to join again.
    assert_eq!(bench.send(Request::Join(classic("", &[]))), []);
    let answers = bench.send(Request::ConsumerHeartbeat(joining("n")));
    let failed = |(_, answer): &&(u64, Answer)| *answer == Answer::Failed(ErrorCode::RebalanceInProgress);
    assert_eq!(answers.iter().filter(failed).count(), 1, "it is told to join again");
    assert_eq!(bench.describe().members.len(), 3);
    assert!(bench.classic_join(&first, &[]).is_ok());
}

#[test]
fn member_that_changes_its_protocol_keeps_what_it_has() {
    let mut bench = Bench::new();
    let member = mixed(&mut bench);
    let full = ConsumerHeartbeat {
        owned: of_t(&[0, 1]),
        topics: Some(vec!["t".into()]),
        rebalance_timeout_ms: Some(5_000),
        ..heartbeat(&member, 2)
    };
    assert_eq!(bench.heartbeat(full).map(told), Ok((2, Some(vec![0, 1]))));
    assert_eq!(bench.classic_beat(&member, 2), Err(ErrorCode::UnknownMemberId));
    assert_eq!(bench.state(), ("Stable", 2, 2));
}

#[test]
fn rejoin_with_other_topics_changes_what_a_classic_member_gets() {
    let mut bench = Bench::new();
    let member = mixed(&mut bench);
    let mut join = classic(&member, &[0, 1]);
    join.protocols = vec![("range".into(), subscription(&["u"], &[0, 1]))];
    let Answer::Joined(joined) = bench.ask(Request::Join(join)) else { panic!("not joined") };
    assert_eq!(bench.sync(&member, joined.generation.0), Ok(vec![]));
}
