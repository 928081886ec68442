//! What a node says of entries that go from one replica to another.

use replication_appointed::{Append, Appended, Diverged, Epoch, Position, Received, ReplicaId, Round, Seq};
use replication_node::{Admission, Effect, Reply, Settings};

use crate::bench::{Bench, OTHER, P, reads, record};

fn sends(effects: &[Effect]) -> Vec<u32> {
    let to = |effect: &Effect| match effect {
        Effect::Send { to, partitions } if partitions == &[P] => Some(to.0),
        _ => None,
    };
    effects.iter().filter_map(to).collect()
}

fn replies(effects: &[Effect]) -> Vec<(ReplicaId, Reply)> {
    let all = |effect: &Effect| match effect {
        Effect::Reply { to, replies } => replies.iter().map(|(_, reply)| (*to, *reply)).collect(),
        _ => Vec::new(),
    };
    effects.iter().flat_map(all).collect()
}

/// What a leader of that epoch asks first: whether the follower's log ends where its own begins.
fn probe(epoch: u32) -> Append {
    let (epoch, after, to) = (Epoch(epoch), Position::default(), Seq(0));
    let (starts, committed, start) = (Vec::new(), Seq(0), Seq(0));
    Append {
        epoch,
        epoch_start: Seq(0),
        after,
        to,
        starts,
        committed,
        start,
        resets: None,
        probes: true,
        round: Round(0),
    }
}

#[test]
fn leader_is_told_which_replicas_have_something_to_be_sent() {
    let mut bench = Bench::leading();
    assert_eq!(sends(&bench.append(1)), [2, 3]);
    assert_eq!(sends(&bench.acknowledge(2, 1)), [2, 3], "the one the entry, the other what is committed");
    bench.acknowledge(2, 1);
    bench.acknowledge(3, 1);
    assert_eq!(sends(&bench.acknowledge(3, 1)), []);
}

#[test]
fn leader_sends_again_over_a_new_connection() {
    let mut bench = Bench::leading();
    bench.append(1);
    for follower in [2, 3, 2, 3] {
        bench.acknowledge(follower, 1);
    }
    bench.node.reconnected(OTHER, bench.now, &mut bench.copies);
    assert_eq!(sends(&bench.effects()), [2]);
}

#[test]
fn follower_answers_when_its_disk_has_it_and_again_over_a_new_connection() {
    let mut bench = Bench::assigned(record(1, 2, &[1, 2, 3]));
    assert_eq!(bench.admit(OTHER, 1), Admission::Take);
    let received = bench.copy().replica.receive_append(OTHER, &probe(1));
    assert!(matches!(received, Ok(Received::Store(_))), "{received:?}");
    bench.node.follow_up(P, bench.now, &mut bench.copies);
    assert_eq!(replies(&bench.effects()), []);
    let answer = (
        OTHER,
        Reply::Appended(Appended { epoch: Epoch(1), durable: Seq(0), start: Seq(0), round: Round(0) }),
    );
    assert_eq!(replies(&bench.disk()), [answer]);
    bench.node.reconnected(ReplicaId(3), bench.now, &mut bench.copies);
    assert_eq!(replies(&bench.effects()), []);
    bench.node.reconnected(OTHER, bench.now, &mut bench.copies);
    assert_eq!(replies(&bench.effects()), [answer]);
}

#[test]
fn entries_of_an_epoch_above_the_records_wait_for_the_record() {
    let mut bench = Bench::assigned(record(1, 2, &[1, 2, 3]));
    assert_eq!(bench.admit(OTHER, 3), Admission::Later);
    assert_eq!(reads(&bench.effects()), [P]);
    let common = Position::default();
    let asked = (OTHER, Reply::Diverged(Diverged { epoch: Epoch(3), common }));
    assert_eq!(replies(&bench.learn(2, record(3, 2, &[1, 2, 3]))), [asked]);
    assert_eq!((bench.admit(OTHER, 3), bench.node.next_deadline()), (Admission::Take, None));
}

#[test]
fn entries_of_an_unknown_partition_wait_for_the_record_and_the_copy() {
    let mut bench = Bench::new();
    assert_eq!(bench.admit(OTHER, 3), Admission::Later);
    assert_eq!(replies(&bench.learn(2, record(3, 2, &[1, 2, 3]))), []);
    assert_eq!(bench.admit(OTHER, 3), Admission::Later);
    let asked = (OTHER, Reply::Diverged(Diverged { epoch: Epoch(3), common: Position::default() }));
    assert_eq!(replies(&bench.created(P, Epoch(3))), [asked]);
}

#[test]
fn record_that_lacks_the_epoch_of_entries_is_read_again_until_the_sender_must_be_at_fault() {
    let mut bench = Bench::assigned(record(1, 2, &[1, 2, 3]));
    bench.admit(OTHER, 9);
    let mut count = reads(&bench.effects()).len();
    for _ in 0..3 {
        count += reads(&bench.learn(1, record(1, 2, &[1, 2, 3]))).len();
    }
    assert_eq!(count, 4, "one at once after each of the first three answers");
    for _ in 0..12 {
        assert_eq!(reads(&bench.learn(1, record(1, 2, &[1, 2, 3]))), []);
        assert_eq!(reads(&bench.pass(5_000)), [P]);
    }
    assert_eq!(replies(&bench.learn(1, record(1, 2, &[1, 2, 3]))), []);
    assert_eq!(bench.node.next_deadline(), None);
}

#[test]
fn entries_of_too_many_unknown_partitions_close_the_connection() {
    let mut bench = Bench::with(Settings { reads_max: 1, ..Settings::default() });
    assert_eq!(bench.admit(OTHER, 1), Admission::Later);
    let another = replication_controller::PartitionId::numbered(8);
    assert_eq!(bench.node.admit(another, OTHER, Epoch(1), bench.now), Admission::Close);
    assert_eq!(bench.admit(OTHER, 2), Admission::Later);
}
