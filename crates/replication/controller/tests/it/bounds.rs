//! Thousands of partitions: few messages, bounded batches, and no work for those that are idle.

use replication_controller::{Effect, Event, PartitionId, Settings};

use crate::bench::{Bench, node, record};

const MANY: u32 = 3_000;

fn many(settings: Settings) -> Bench {
    Bench::with(settings, (1..=MANY).map(|id| (PartitionId::numbered(id), record(&[1, 2, 3], 2))))
}

#[test]
fn death_of_a_node_costs_one_message_to_each_survivor_and_few_batches() {
    let mut bench = many(Settings::default());
    bench.die(1);
    bench.run();
    assert_eq!((bench.fences().len(), proposals(&bench)), (2, vec![MANY as usize]));
    assert!((1..=MANY).all(|id| bench.leader(PartitionId::numbered(id)) == Some(2)));
}

/// How many changes each proposal had.
fn proposals(bench: &Bench) -> Vec<usize> {
    let sizes = bench.done.iter().filter_map(|effect| match effect {
        Effect::Propose { changes, .. } => Some(changes.len()),
        _ => None,
    });
    sizes.collect()
}

#[test]
fn proposals_have_as_many_changes_as_may_be() {
    let mut bench = many(Settings { changes_max: 256, ..Settings::default() });
    bench.die(1);
    bench.run();
    let sizes = proposals(&bench);
    assert_eq!((sizes.len(), sizes.iter().sum::<usize>()), (12, MANY as usize));
    assert!(sizes.iter().all(|size| *size <= 256));
    assert!((1..=MANY).all(|id| bench.leader(PartitionId::numbered(id)) == Some(2)));
}

#[test]
fn proposals_that_are_not_answered_hold_the_others_back() {
    let mut bench = many(Settings { changes_max: 256, message_max: 1_024, ..Settings::default() });
    bench.die(1);
    for effect in bench.controller.take_effects() {
        assert!(matches!(&effect, Effect::SendFence { fences, .. } if fences.len() <= 1_024));
        bench.carry_out(effect);
    }
    assert_eq!(bench.controller.take_effects().len(), bench.settings.proposals_max);
    assert!(bench.controller.take_effects().is_empty());
    bench.pass(6_000);
    assert!((1..=MANY).all(|id| bench.leader(PartitionId::numbered(id)) == Some(2)));
}

#[test]
fn idle_partitions_cause_no_work() {
    let mut bench = many(Settings::default());
    bench.pass(1_000);
    bench.done.clear();
    let (mut ticks, end) = (0, bench.now + 30_000);
    while bench.now < end {
        bench.now += 100;
        (1..=3).for_each(|id| bench.tell(Event::Heard { node: node(id) }));
        if bench.controller.next_deadline().is_some_and(|at| at <= bench.time()) {
            bench.controller.tick(bench.time());
            ticks += 1;
        }
        bench.run();
    }
    assert!(bench.done.is_empty());
    assert!(ticks <= 30_000 / 100, "{ticks}: silence is looked for, and nothing else");
}

#[test]
fn hand_overs_are_few_at_once() {
    let mut bench = many(Settings { hand_overs_max: 10, ..Settings::default() });
    bench.is_stubborn = true;
    bench.tell(Event::Draining { node: node(1), drains: true });
    let effects = bench.controller.take_effects();
    let [Effect::Ask { tasks, .. }] = &effects[..] else { panic!("{} effects", effects.len()) };
    assert_eq!(tasks.len(), 10);
    bench.is_stubborn = false;
    effects.into_iter().for_each(|effect| bench.carry_out(effect));
    bench.run();
    assert!((1..=MANY).all(|id| bench.leader(PartitionId::numbered(id)) == Some(2)));
}
