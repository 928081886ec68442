//! How members are led to what they are to own: subscriptions, topics, targets, and the way there.

use log_coordinators::{ConsumerHeartbeat, Epoch, Partitions};
use log_wire::ErrorCode;

use crate::bench::{Bench, heartbeat, joining, of_t, owns, told};

fn regex(member: &str, regex: &str) -> ConsumerHeartbeat {
    ConsumerHeartbeat { topics: None, regex: Some(regex.into()), ..joining(member) }
}

#[test]
fn partition_moves_only_when_its_owner_has_given_it_up() {
    let mut bench = Bench::new();
    bench.join("a");
    assert_eq!(bench.join("b"), (2, Some(vec![])), "the last target is too young");
    assert_eq!(bench.state(), ("Assigning", 3, 2));
    bench.pass(1_000);
    assert_eq!(bench.beat("b", 2, None), Ok((3, None)));
    assert_eq!(bench.state(), ("Reconciling", 3, 3));
    assert_eq!(bench.beat("a", 2, None), Ok((2, Some(vec![0, 1]))));
    assert_eq!(bench.beat("b", 3, None), Ok((3, None)));
    let shown = bench.describe();
    let owned: Vec<_> = shown.members.iter().map(|member| member.assignment[0..].first().cloned()).collect();
    assert_eq!(
        owned[0].as_ref().map(|(_, numbers)| numbers.clone()),
        Some(vec![0, 1, 2, 3]),
        "it may own all"
    );
    assert_eq!(owned[1], None);
    assert_eq!(bench.beat("a", 2, of_t(&[0, 1, 2])), Ok((2, None)), "2 is still its own");
    assert_eq!(bench.beat("b", 3, None), Ok((3, None)));
    assert_eq!(bench.beat("a", 2, of_t(&[0, 1])), Ok((3, None)));
    assert_eq!(bench.beat("b", 3, None), Ok((3, Some(vec![2, 3]))));
    assert_eq!(bench.state(), ("Stable", 3, 3));
}

#[test]
fn partitions_are_followed_across_a_failover() {
    let mut bench = Bench::new();
    bench.join("a");
    bench.pass(1_000);
    bench.join("b");
    bench.beat("a", 2, None).expect("it is told");
    bench.restart();
    assert_eq!(bench.beat("b", 3, None), Ok((3, None)));
    assert_eq!(bench.beat("a", 2, of_t(&[0, 1])), Ok((3, None)));
    bench.restart();
    assert_eq!(bench.beat("b", 3, None), Ok((3, Some(vec![2, 3]))));
    assert_eq!(bench.state(), ("Stable", 3, 3));
}

#[test]
fn member_that_joins_again_has_given_up_what_it_had_to() {
    let mut bench = Bench::new();
    bench.join("a");
    bench.pass(1_000);
    bench.join("b");
    bench.beat("a", 2, None).expect("it is told");
    assert_eq!(bench.join("a"), (3, Some(vec![0, 1])));
    assert_eq!(bench.beat("b", 3, None), Ok((3, Some(vec![2, 3]))));
}

#[test]
fn topics_that_come_grow_and_go_change_the_assignment() {
    let mut bench = Bench::new();
    let join = ConsumerHeartbeat { topics: Some(vec!["u".into(), "new".into()]), ..joining("m") };
    let u = bench.topic("u").id;
    let answer = bench.heartbeat(join).expect("it joins");
    assert_eq!((answer.epoch, answer.assignment), (Epoch(2), owns(u, &[0, 1])));
    bench.pass(1_000);
    bench.topics.put("u", 4);
    let answer = bench.heartbeat(heartbeat("m", 2)).expect("it is known");
    assert_eq!((answer.epoch, answer.assignment), (Epoch(3), owns(u, &[0, 1, 2, 3])));
    bench.pass(1_000);
    let new = bench.topics.put("new", 1);
    let all: Partitions = [(u, (0..4).collect()), (new, [0].into())].into();
    let answer = bench.heartbeat(heartbeat("m", 3)).expect("it is known");
    assert_eq!((answer.epoch, answer.assignment), (Epoch(4), Some(all)));
    bench.restart();
    assert_eq!(bench.beat("m", 4, None), Ok((4, None)), "a failover does not change topics");
    bench.pass(1_000);
    bench.topics.remove("new");
    let answer = bench.heartbeat(heartbeat("m", 4)).expect("it is known");
    assert_eq!((answer.epoch, answer.assignment), (Epoch(4), owns(u, &[0, 1, 2, 3])), "first it gives up");
    assert_eq!(bench.state(), ("Reconciling", 5, 5));
    let confirmed = ConsumerHeartbeat { owned: owns(u, &[0, 1, 2, 3]), ..heartbeat("m", 4) };
    assert_eq!(bench.heartbeat(confirmed).map(|answer| answer.epoch), Ok(Epoch(5)));
    bench.topics.put("other", 3);
    assert_eq!(bench.beat("m", 5, None), Ok((5, None)), "nobody reads it");
}

#[test]
fn topic_of_the_same_name_is_another_topic() {
    let mut bench = Bench::new();
    bench.join("m");
    bench.pass(1_000);
    bench.topics.remove("t");
    let new = bench.topics.put("t", 4);
    let answer = bench.heartbeat(heartbeat("m", 2)).expect("it is known");
    assert_eq!((answer.epoch, answer.assignment), (Epoch(2), Some(Partitions::new())));
    let answer = bench.heartbeat(ConsumerHeartbeat { owned: Some(Partitions::new()), ..heartbeat("m", 2) });
    assert_eq!(answer.expect("it is known").assignment, owns(new, &[0, 1, 2, 3]));
}

#[test]
fn changed_subscription_takes_topics_away_at_once() {
    let mut bench = Bench::new();
    bench.join("m");
    let u = bench.topic("u").id;
    let other =
        ConsumerHeartbeat { topics: Some(vec!["u".into()]), owned: of_t(&[0, 1, 2, 3]), ..heartbeat("m", 2) };
    assert_eq!(bench.heartbeat(other).map(told), Ok((2, Some(vec![]))));
    assert_eq!(bench.state(), ("Assigning", 3, 2), "the last target is too young");
    bench.pass(1_000);
    let answer = bench.heartbeat(ConsumerHeartbeat { owned: Some(Partitions::new()), ..heartbeat("m", 2) });
    let answer = answer.expect("it is known");
    assert_eq!((answer.epoch, answer.assignment), (Epoch(3), owns(u, &[0, 1])));
}

#[test]
fn regular_expression_matches_topics_that_come_later() {
    let mut bench = Bench::new();
    let (t, u) = (bench.topic("t").id, bench.topic("u").id);
    let answer = bench.heartbeat(regex("m", "[t-v]")).expect("it joins");
    let both: Partitions = [(t, (0..4).collect()), (u, [0, 1].into())].into();
    // Kafka matches behind the first heartbeat, and tells the member with the second.
    assert_eq!((answer.epoch, answer.assignment), (Epoch(2), Some(both.clone())));
    let v = bench.topics.put("v", 1);
    assert_eq!(bench.beat("m", 2, None), Ok((2, None)), "it was matched less than 10 seconds ago");
    bench.pass(10_000);
    let answer = bench.heartbeat(heartbeat("m", 2)).expect("it is known");
    let all = both.into_iter().chain([(v, [0].into())]).collect();
    assert_eq!((answer.epoch, answer.assignment), (Epoch(3), Some(all)));
    assert_eq!(bench.describe().members[0].regex.as_ref(), "[t-v]");
}

/// Found by the model: the group's topics are the same before and after the match.
#[test]
fn regular_expression_matches_a_topic_that_another_member_reads_already() {
    let mut bench = Bench::new();
    let by_name = ConsumerHeartbeat { topics: Some(vec!["v".into()]), ..joining("a") };
    bench.heartbeat(by_name).expect("it joins");
    bench.heartbeat(regex("b", "v")).expect("it joins");
    bench.pass(1_000);
    let v = bench.topics.put("v", 2);
    let given = bench.heartbeat(heartbeat("a", 2)).expect("it is known").assignment;
    assert_eq!(given, owns(v, &[0, 1]), "topics were matched less than 10 seconds ago");
    bench.pass(10_000);
    bench.heartbeat(heartbeat("b", 2)).expect("it is known");
    let target: Vec<_> = bench.describe().members.into_iter().map(|member| member.target.len()).collect();
    assert_eq!(target, [1, 1]);
}

#[test]
fn regular_expression_that_is_none_changes_nothing() {
    let mut bench = Bench::new();
    let mut classic = Bench::new();
    classic.classic_group();
    for text in ["[", "(?=a)", "a**", &"a".repeat(9_000)] {
        assert_eq!(bench.heartbeat(regex("m", text)), Err(ErrorCode::InvalidRegularExpression));
        assert_eq!(classic.heartbeat(regex("m", text)), Err(ErrorCode::InvalidRegularExpression));
    }
    assert_eq!(bench.log, []);
    assert_eq!(classic.describe().error, ErrorCode::GroupIdNotFound, "it is still a classic group");
    bench.join("m");
    for number in 0..100 {
        let member = format!("m{number}");
        bench.heartbeat(regex(&member, &format!("x{number}"))).expect("it joins");
    }
    assert_eq!(bench.heartbeat(regex("m100", "x100")), Err(ErrorCode::PolicyViolation));
    assert!(bench.heartbeat(regex("m100", "x99")).is_ok());
}

#[test]
fn assignor_that_most_members_prefer_is_taken() {
    let mut bench = Bench::new();
    bench.topics.put("u", 4);
    let join = |member: &str, assignor: Option<&str>| ConsumerHeartbeat {
        topics: Some(vec!["t".into(), "u".into()]),
        assignor: assignor.map(Into::into),
        ..joining(member)
    };
    bench.heartbeat(join("a", None)).expect("it joins");
    assert_eq!(bench.describe().assignor, "uniform");
    bench.heartbeat(join("b", Some("range"))).expect("it joins");
    assert_eq!(bench.describe().assignor, "range");
    bench.pass(1_000);
    bench.heartbeat(heartbeat("b", 2)).expect("it is known");
    let shown = bench.describe();
    for (member, numbers) in shown.members.iter().zip([[0, 1], [2, 3]]) {
        let of_topics: Vec<_> = member.target.iter().map(|(_, numbers)| numbers.clone()).collect();
        assert_eq!(of_topics, [numbers, numbers], "the same numbers of both topics");
    }
}

/// A member that has partitions to give up must not prolong its time by changing what it reads.
#[test]
fn changing_the_subscription_does_not_prolong_the_rebalance_timeout() {
    let mut bench = Bench::new();
    bench.join("a");
    bench.pass(1_000);
    bench.join("b");
    bench.beat("a", 2, of_t(&[0, 1, 2, 3])).expect("it is told");
    for second in 0..19 {
        bench.pass(1_000);
        let topics = if second % 2 == 0 { vec!["t".into(), "u".into()] } else { vec!["t".into()] };
        let change =
            ConsumerHeartbeat { topics: Some(topics), owned: of_t(&[0, 1, 2, 3]), ..heartbeat("a", 2) };
        bench.heartbeat(change).expect("it is known");
    }
    bench.pass(1_000);
    assert_eq!(bench.beat("a", 2, None), Err(ErrorCode::UnknownMemberId));
}
