//! Who is in a group: joining, heartbeats, leaving, static members, timeouts; and what others may do with the group.

use log_coordinators::{
    Answer, ConsumerHeartbeat, ConsumerLimits, Epoch, GroupConfig, GroupLimits, OffsetCommit, Partitions,
    Request,
};
use log_wire::ErrorCode;

use crate::bench::{Bench, heartbeat, joining, of_t, told, who};

fn fixed(member: &str, epoch: i32) -> ConsumerHeartbeat {
    ConsumerHeartbeat { instance: Some("i".into()), ..heartbeat(member, epoch) }
}

fn fixed_joining(member: &str) -> ConsumerHeartbeat {
    ConsumerHeartbeat { instance: Some("i".into()), ..joining(member) }
}

#[test]
fn request_that_is_none_is_refused() {
    let mut bench = Bench::new();
    let change = |change: fn(&mut ConsumerHeartbeat)| {
        let mut request = joining("m");
        change(&mut request);
        request
    };
    let invalid: [fn(&mut ConsumerHeartbeat); 12] = [
        |join| join.member = "".into(),
        |join| join.group = "".into(),
        |join| join.instance = Some("".into()),
        |join| join.rack = Some("".into()),
        |join| join.rebalance_timeout_ms = None,
        |join| join.owned = None,
        |join| join.owned = of_t(&[0]),
        |join| join.topics = None,
        |join| join.epoch = Epoch(-3),
        |join| join.epoch = Epoch(-2),
        |join| (join.version, join.member, join.epoch) = (0, "".into(), Epoch(5)),
        |join| (join.version, join.member, join.epoch) = (0, "".into(), Epoch(-1)),
    ];
    for one in invalid {
        assert_eq!(bench.heartbeat(change(one)), Err(ErrorCode::InvalidRequest));
    }
    let assignor = change(|join| join.assignor = Some("nope".into()));
    assert_eq!(bench.heartbeat(assignor), Err(ErrorCode::UnsupportedAssignor));
    let big = change(|join| join.topics = Some(vec!["x".repeat(300_000).as_str().into()]));
    assert_eq!(bench.heartbeat(big), Err(ErrorCode::InvalidRequest));
    assert_eq!(bench.log, [], "nothing of it is kept");
}

#[test]
fn member_of_version_0_gets_an_id() {
    let mut bench = Bench::new();
    let answer = bench.heartbeat(ConsumerHeartbeat { version: 0, ..joining("") }).expect("it joins");
    assert!(!answer.member.is_empty());
    assert_eq!(bench.beat(&answer.member, 2, None), Ok((2, None)));
}

#[test]
fn unknown_groups_and_members_are_told_so() {
    let mut bench = Bench::new();
    for epoch in [5, -1] {
        assert_eq!(bench.beat("m", epoch, None), Err(ErrorCode::GroupIdNotFound));
    }
    bench.join("m");
    for epoch in [5, -1] {
        assert_eq!(bench.beat("other", epoch, None), Err(ErrorCode::UnknownMemberId));
    }
}

#[test]
fn lone_member_gets_everything_and_hears_it_again_only_if_it_asks() {
    let mut bench = Bench::new();
    assert_eq!(bench.join("m"), (2, Some(vec![0, 1, 2, 3])));
    assert_eq!(bench.beat("m", 2, None), Ok((2, None)));
    assert_eq!(bench.beat("m", 2, of_t(&[0, 1, 2, 3])), Ok((2, None)));
    let full = ConsumerHeartbeat { epoch: Epoch(2), owned: of_t(&[0, 1, 2, 3]), ..joining("m") };
    assert_eq!(bench.heartbeat(full).map(told), Ok((2, Some(vec![0, 1, 2, 3]))));
    assert_eq!(bench.state(), ("Stable", 2, 2));
    assert_eq!(bench.beat("m", -1, None), Ok((-1, None)));
    assert_eq!(bench.beat("m", -1, None), Err(ErrorCode::UnknownMemberId));
    assert_eq!(bench.state(), ("Empty", 3, 2));
}

#[test]
fn heartbeat_writes_nothing_if_nothing_has_changed() {
    let mut bench = Bench::new();
    bench.join("m");
    let before = bench.log.len();
    for _ in 0..10 {
        bench.pass(5_000);
        assert_eq!(bench.beat("m", 2, None), Ok((2, None)));
    }
    assert_eq!(bench.log.len(), before);
}

#[test]
fn member_without_topics_is_in_the_group() {
    let mut bench = Bench::new();
    let nothing = ConsumerHeartbeat { topics: Some(vec![]), ..joining("m") };
    assert_eq!(bench.heartbeat(nothing).map(told), Ok((1, Some(vec![]))));
    assert_eq!(bench.state(), ("Stable", 1, 1));
}

#[test]
fn epoch_that_the_member_was_not_given_is_fenced() {
    let mut bench = Bench::new();
    bench.join("m");
    assert_eq!(bench.beat("m", 3, None), Err(ErrorCode::FencedMemberEpoch));
    assert_eq!(bench.beat("m", 1, None), Err(ErrorCode::FencedMemberEpoch));
    assert_eq!(bench.beat("m", 1, of_t(&[0])), Err(ErrorCode::FencedMemberEpoch));
    assert_eq!(bench.join("m"), (2, Some(vec![0, 1, 2, 3])), "it joins again and has everything");
}

#[test]
fn member_that_did_not_hear_its_newest_epoch_goes_on() {
    let mut bench = Bench::new();
    bench.join("a");
    bench.pass(1_000);
    bench.join("b");
    assert_eq!(bench.beat("a", 2, None), Ok((2, Some(vec![0, 1]))));
    assert_eq!(bench.beat("a", 2, of_t(&[0, 1])), Ok((3, None)));
    // The answer was lost.
    assert_eq!(bench.beat("a", 2, of_t(&[0])), Ok((3, None)));
    assert_eq!(bench.beat("a", 2, None), Err(ErrorCode::FencedMemberEpoch), "it has to say what it owns");
    assert_eq!(bench.beat("a", 2, of_t(&[0, 3])), Err(ErrorCode::FencedMemberEpoch), "3 is not its own");
}

#[test]
fn member_is_removed_after_its_session_and_not_before() {
    let mut bench = Bench::new();
    bench.join("m");
    bench.pass(44_999);
    assert_eq!(bench.beat("m", 2, None), Ok((2, None)));
    bench.pass(44_999);
    bench.restart();
    bench.pass(44_999);
    assert_eq!(bench.state().0, "Stable", "a new coordinator grants the whole session");
    bench.pass(1);
    assert_eq!(bench.state(), ("Empty", 3, 2));
}

#[test]
fn many_members_whose_time_is_over_go_in_several_appends() {
    let mut bench = Bench::new();
    (0..40).for_each(|number| drop(bench.join(&format!("m{number:02}"))));
    bench.largest = 0;
    bench.pass(45_000);
    assert_eq!(bench.describe().members.len(), 0, "they are gone at once all the same");
    // Of each of eight its member and its target, and the group.
    assert!(bench.largest <= 17, "an append of {} records", bench.largest);
}

#[test]
fn group_has_settings_of_its_own() {
    let limits = ConsumerLimits {
        session_timeout_min_ms: 1_000,
        heartbeat_interval_min_ms: 100,
        ..ConsumerLimits::default()
    };
    let mut bench = Bench::with(GroupLimits { consumer: limits, ..GroupLimits::default() });
    let config = GroupConfig {
        session_timeout_ms: Some(6_000),
        heartbeat_interval_ms: Some(1_000),
        assignment_interval_ms: Some(0),
    };
    bench.coordinator.configure("g".into(), config);
    assert_eq!(bench.heartbeat(joining("a")).expect("it joins").heartbeat_interval_ms, 1_000);
    assert_eq!(bench.join("b"), (3, Some(vec![])), "the target is computed at once");
    bench.pass(5_999);
    assert_eq!(bench.describe().members.len(), 2);
    bench.pass(1);
    assert_eq!(bench.describe().members.len(), 0);
}

#[test]
fn full_group_takes_nobody_else() {
    let limits = ConsumerLimits { group_size_max: 1, ..ConsumerLimits::default() };
    let mut bench = Bench::with(GroupLimits { consumer: limits, ..GroupLimits::default() });
    bench.join("a");
    assert_eq!(bench.heartbeat(joining("b")), Err(ErrorCode::GroupMaxSizeReached));
    assert_eq!(bench.beat("a", 2, None), Ok((2, None)));
}

#[test]
fn instance_id_in_use_is_not_given_away() {
    let mut bench = Bench::new();
    bench.heartbeat(fixed_joining("a")).expect("it joins");
    // Also not to its owner, which has to be silent for a session: so it is in Kafka.
    for member in ["a", "b"] {
        assert_eq!(bench.heartbeat(fixed_joining(member)), Err(ErrorCode::UnreleasedInstanceId));
    }
    assert_eq!(bench.heartbeat(fixed("b", 2)), Err(ErrorCode::FencedInstanceId));
    assert_eq!(bench.heartbeat(fixed("b", -2)), Err(ErrorCode::FencedInstanceId));
    let unknown = ConsumerHeartbeat { instance: Some("x".into()), ..heartbeat("a", 2) };
    assert_eq!(bench.heartbeat(unknown), Err(ErrorCode::UnknownMemberId));
    assert_eq!(bench.heartbeat(fixed("a", 9)), Err(ErrorCode::FencedMemberEpoch));
}

#[test]
fn static_member_that_starts_anew_gets_the_same_and_nobody_notices() {
    let mut bench = Bench::new();
    bench.heartbeat(fixed_joining("a")).expect("it joins");
    bench.pass(1_000);
    bench.join("x");
    bench.beat("a", 2, of_t(&[0, 1, 2, 3])).expect("it is led");
    bench.beat("a", 2, of_t(&[0, 1])).expect("it has given up");
    bench.beat("x", 3, None).expect("it gets the rest");
    assert_eq!(bench.heartbeat(fixed("a", -2)).map(told), Ok((-2, None)));
    assert_eq!(bench.state(), ("Reconciling", 3, 3));
    assert_eq!(bench.heartbeat(fixed("a", 3)), Err(ErrorCode::FencedMemberEpoch));
    bench.restart();
    let second = bench.heartbeat(fixed_joining("b")).map(told);
    assert_eq!(second, Ok((3, Some(vec![0, 1]))));
    assert_eq!(bench.state(), ("Stable", 3, 3), "no epoch, no rebalance (L54)");
    assert_eq!(bench.heartbeat(fixed("a", 3)), Err(ErrorCode::FencedInstanceId));
    assert_eq!(bench.beat("a", 3, None), Err(ErrorCode::UnknownMemberId));
    assert_eq!(bench.commit("a", 3, 0), Err(ErrorCode::UnknownMemberId));
}

#[test]
fn static_member_that_stays_away_is_removed() {
    let mut bench = Bench::new();
    bench.heartbeat(fixed_joining("a")).expect("it joins");
    bench.pass(40_000);
    bench.heartbeat(fixed("a", -2)).expect("it leaves for a while");
    bench.pass(5_000);
    assert_eq!(bench.state().0, "Empty");
}

#[test]
fn member_that_does_not_give_up_partitions_in_time_is_removed() {
    let mut bench = Bench::new();
    bench.join("a");
    bench.pass(1_000);
    bench.join("b");
    bench.beat("a", 2, of_t(&[0, 1, 2, 3])).expect("it is told");
    for _ in 0..19 {
        bench.pass(1_000);
        assert_eq!(bench.beat("a", 2, of_t(&[0, 1, 2, 3])), Ok((2, None)));
    }
    bench.pass(999);
    assert_eq!(bench.beat("a", 2, of_t(&[0, 1, 2, 3])), Ok((2, None)));
    bench.pass(1);
    assert_eq!(bench.beat("a", 2, of_t(&[0, 1, 2, 3])), Err(ErrorCode::UnknownMemberId));
    assert_eq!(bench.beat("b", 3, None), Ok((4, Some(vec![0, 1, 2, 3]))));
}

#[test]
fn rebalance_timeout_begins_anew_with_a_new_coordinator() {
    let mut bench = Bench::new();
    bench.join("a");
    bench.pass(1_000);
    bench.join("b");
    bench.beat("a", 2, None).expect("it is told");
    bench.pass(15_000);
    bench.restart();
    bench.pass(19_999);
    assert_eq!(bench.beat("a", 2, None), Ok((2, None)));
    bench.pass(1);
    assert_eq!(bench.beat("a", 2, None), Err(ErrorCode::UnknownMemberId));
}

#[test]
fn commit_needs_the_present_epoch_or_one_since_which_the_partition_is_the_members() {
    let mut bench = Bench::new();
    assert_eq!(bench.commit("m", 3, 0), Err(ErrorCode::GroupIdNotFound));
    bench.join("a");
    bench.pass(1_000);
    bench.join("b");
    bench.beat("a", 2, None).expect("it is told to give up 2 and 3");
    assert_eq!(bench.commit("a", 2, 3), Ok(()), "it is still its own");
    bench.beat("a", 2, of_t(&[0, 1])).expect("it has given up");
    assert_eq!(bench.commit("a", 3, 0), Ok(()));
    assert_eq!(bench.commit("a", 2, 0), Ok(()), "it has been its own since 2");
    assert_eq!(bench.commit("a", 2, 3), Err(ErrorCode::StaleMemberEpoch));
    assert_eq!(bench.commit("a", 1, 0), Err(ErrorCode::StaleMemberEpoch));
    assert_eq!(bench.commit("a", 4, 0), Err(ErrorCode::StaleMemberEpoch));
    assert_eq!(bench.commit("b", 2, 0), Err(ErrorCode::StaleMemberEpoch));
    assert_eq!(bench.commit("other", 3, 0), Err(ErrorCode::UnknownMemberId));
    assert_eq!(bench.commit("", -1, 0), Err(ErrorCode::UnknownMemberId));
    let old = OffsetCommit { who: who("a", 3), version: 8, offsets: vec![] };
    assert_eq!(bench.ask(Request::Commit(old)), Answer::Failed(ErrorCode::UnsupportedVersion));
}

#[test]
fn fetch_of_a_member_needs_its_epoch() {
    let mut bench = Bench::new();
    bench.join("m");
    bench.commit("m", 2, 0).expect("it owns it");
    assert_eq!(bench.fetch(None), Ok(7));
    assert_eq!(bench.fetch(Some(("m", 2))), Ok(7));
    assert_eq!(bench.fetch(Some(("m", 1))), Err(ErrorCode::StaleMemberEpoch));
    assert_eq!(bench.fetch(Some(("", -1))), Err(ErrorCode::UnknownMemberId));
    bench.beat("m", -1, None).expect("it leaves");
    assert_eq!(bench.commit("", -1, 0), Ok(()), "anybody may commit to an empty group");
    assert_eq!(bench.commit("m", 2, 0), Err(ErrorCode::UnknownMemberId));
}

#[test]
fn offsets_of_topics_that_are_read_are_not_deleted() {
    let mut bench = Bench::new();
    bench.join("m");
    bench.commit("m", 2, 0).expect("it owns it");
    let (t, u) = (bench.topic("t"), bench.topic("u"));
    let delete = |group: &str| Request::DeleteOffsets(group.into(), vec![(t.clone(), 0), (u.clone(), 0)]);
    let used = Answer::Each(vec![ErrorCode::GroupSubscribedToTopic, ErrorCode::None]);
    assert_eq!(bench.ask(delete("g")), used);
    assert_eq!(bench.ask(delete("none")), Answer::Failed(ErrorCode::GroupIdNotFound));
    assert_eq!(
        bench.ask(Request::DeleteGroups(vec!["g".into()])),
        Answer::Each(vec![ErrorCode::NonEmptyGroup])
    );
    bench.beat("m", -1, None).expect("it leaves");
    assert_eq!(bench.ask(delete("g")), Answer::Each(vec![ErrorCode::None; 2]));
    let gone = [ErrorCode::None, ErrorCode::GroupIdNotFound];
    assert_eq!(bench.ask(Request::DeleteGroups(vec!["g".into(); 2])), Answer::Each(gone.to_vec()));
    assert_eq!(bench.describe().error, ErrorCode::GroupIdNotFound);
    bench.restart();
    assert_eq!(bench.coordinator.snapshot(), []);
}

#[test]
fn offsets_of_a_regular_expression_are_not_deleted_after_a_failover_either() {
    let mut bench = Bench::new();
    let regex = ConsumerHeartbeat { topics: None, regex: Some("t|x.*".into()), ..joining("m") };
    bench.heartbeat(regex).expect("it joins");
    bench.restart();
    let (t, u) = (bench.topic("t"), bench.topic("u"));
    let delete = Request::DeleteOffsets("g".into(), vec![(t, 0), (u, 0)]);
    let used = Answer::Each(vec![ErrorCode::GroupSubscribedToTopic, ErrorCode::None]);
    assert_eq!(bench.ask(delete), used);
}

#[test]
fn group_is_listed_with_its_type_and_is_no_classic_group() {
    let mut bench = Bench::new();
    bench.join("m");
    let mut listed = |states: &[&str]| {
        let Answer::Listed(groups) =
            bench.ask(Request::List(states.iter().map(|state| (*state).into()).collect()))
        else {
            panic!("not listed")
        };
        groups
            .into_iter()
            .map(|group| (group.state, group.group_type, group.protocol_type.to_string()))
            .collect::<Vec<_>>()
    };
    let shown = [("Stable", "consumer", "consumer".to_owned())];
    assert_eq!(listed(&[]), shown);
    assert_eq!(listed(&["stable"]), shown);
    assert_eq!(listed(&["Empty"]), []);
    let Answer::Described(groups) = bench.ask(Request::Describe(vec!["g".into()])) else {
        panic!("not described")
    };
    assert_eq!((groups[0].error, groups[0].state), (ErrorCode::GroupIdNotFound, "Dead"));
}

#[test]
fn empty_group_goes_with_its_last_offset() {
    let mut bench = Bench::new();
    bench.join("m");
    bench.commit("m", 2, 0).expect("it owns it");
    bench.beat("m", -1, None).expect("it leaves");
    let day = 24 * 3_600_000;
    bench.pass(7 * day - 1);
    assert_eq!(bench.fetch(None), Ok(7));
    bench.pass(2 * 600_000);
    assert_eq!(bench.fetch(None), Ok(-1));
    assert_eq!(bench.describe().error, ErrorCode::GroupIdNotFound);
    assert_eq!(bench.coordinator.snapshot(), []);
}

#[test]
fn join_is_undone_if_its_append_is_refused() {
    let mut bench = Bench::new();
    bench.join("a");
    let snapshot = bench.coordinator.snapshot();
    bench.now.advance_ms(1_000);
    bench.coordinator.handle(
        Request::ConsumerHeartbeat(joining("b")),
        log_coordinators::Ticket(99),
        &bench.topics,
        bench.now,
    );
    let effects = bench.coordinator.take_effects();
    let [log_coordinators::Effect::Append { seq, .. }] = &effects[..] else { panic!("{effects:?}") };
    bench.coordinator.refused(*seq, bench.now);
    let failed = Answer::Failed(ErrorCode::CoordinatorNotAvailable);
    let reply = log_coordinators::Effect::Reply { ticket: log_coordinators::Ticket(99), answer: failed };
    assert_eq!(bench.coordinator.take_effects(), [reply]);
    assert_eq!(bench.coordinator.snapshot(), snapshot);
    assert_eq!(bench.beat("b", 3, None), Err(ErrorCode::UnknownMemberId));
    assert_eq!(bench.beat("a", 2, Some(Partitions::new())), Ok((2, None)));
}
