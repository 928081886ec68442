//! Changes of replicas: each step follows from the record.

use replication_appointed::Epoch;
use replication_controller::{Effect, Record, Waits, Work};

use crate::bench::{Bench, P, members, node, record};

fn changes(bench: &Bench) -> Vec<Record> {
    let tasks = bench.done.iter().filter_map(|effect| match effect {
        Effect::Ask { tasks, .. } => Some(tasks.clone()),
        _ => None,
    });
    let changes = tasks.flatten().filter_map(|task| match task.work {
        Work::Change { record, .. } => Some(*record),
        Work::HandOver { .. } => None,
    });
    changes.collect()
}

#[test]
fn replicas_learn_before_they_vote_and_the_lead_moves_last() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    let now = bench.time();
    bench.controller.reassign(P, members(&[4, 5], 2, &[]), now).expect("it is begun");
    bench.run();
    let steps: Vec<_> = changes(&bench).iter().map(Record::members).collect();
    assert_eq!(steps, [members(&[1, 2, 3], 2, &[4, 5]), members(&[4, 5], 2, &[])]);
    let record = &bench.store[&P].1;
    assert_eq!((bench.leader(P), record.members()), (Some(4), members(&[4, 5], 2, &[])));
    assert_eq!(record.goal, None);
    assert!(bench.controller.status().partitions.is_empty());
}

#[test]
fn change_waits_for_the_voters_that_are_to_be_and_can_be_cancelled() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.die(5);
    let now = bench.time();
    bench.controller.reassign(P, members(&[1, 2, 5], 2, &[]), now).expect("it is begun");
    bench.pass(2_000);
    assert_eq!(bench.store[&P].1.members(), members(&[1, 2, 3], 2, &[5]));
    assert_eq!(bench.controller.status().partitions[&P], Waits::Replicas { missing: [node(5)].into() });
    let now = bench.time();
    bench.controller.cancel(P, now).expect("it is cancelled");
    bench.run();
    let record = &bench.store[&P].1;
    assert_eq!((record.members(), record.goal.clone()), (members(&[1, 2, 3], 2, &[]), None));
    assert_eq!(bench.leader(P), Some(1));
}

#[test]
fn change_goes_on_under_another_leader_and_another_controller() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    let now = bench.time();
    bench.controller.reassign(P, members(&[2, 4], 1, &[3]), now).expect("it is begun");
    let effects = bench.controller.take_effects();
    effects.into_iter().for_each(|effect| bench.carry_out(effect));
    assert!(bench.store[&P].1.goal.is_some());
    bench.die(1);
    bench.restart_controller();
    bench.pass(1_500);
    assert_eq!(bench.store[&P].1.members(), members(&[2, 4], 1, &[3]));
    assert_eq!((bench.leader(P), bench.store[&P].1.goal.clone()), (Some(2), None));
}

#[test]
fn voter_that_died_is_missed_only_if_entries_need_it() {
    let shrinks = Record { voters_min: Some(2), ..record(&[1, 2, 3], 2) };
    let mut bench = Bench::new([(P, shrinks)]);
    bench.die(2);
    bench.pass(1_000);
    assert_eq!(bench.config().epoch, Epoch(1));
    // Two of three are fewer than may be left.
    bench.die(3);
    bench.pass(1_000);
    assert_eq!(bench.config().epoch, Epoch(1));
    let shrinks = Record { voters_min: Some(1), ..record(&[1, 2, 3], 2) };
    let mut bench = Bench::new([(P, shrinks)]);
    bench.die(2);
    bench.die(3);
    bench.run();
    assert_eq!(bench.store[&P].1.members(), members(&[1], 1, &[2, 3]));
    assert_eq!((bench.leader(P), bench.config().chosen), (Some(1), false));
    bench.come_back(2, 2);
    bench.pass(1_000);
    assert_eq!(bench.store[&P].1.members(), members(&[1], 1, &[2, 3]));
    bench.come_back(3, 2);
    bench.pass(1_000);
    assert_eq!(bench.store[&P].1.members(), members(&[1, 2, 3], 2, &[]));
}
