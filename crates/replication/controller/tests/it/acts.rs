//! Hand-overs that people ask for.

use replication_appointed::Epoch;
use replication_controller::{Act, ActError, ActKind, Effect, Event, PartitionId, Waits};

use crate::bench::{Bench, P, node, record};

#[test]
fn lead_is_handed_over_to_the_replica_that_was_named() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.ends.insert((node(1), P), 9);
    let now = bench.time();
    bench.controller.hand_over(P, node(3), now).expect("it is asked for");
    bench.run();
    assert_eq!((bench.leader(P), bench.config().epoch), (Some(3), Epoch(2)));
}

#[test]
fn longer_log_leads_whatever_was_asked_for() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    let now = bench.time();
    bench.controller.hand_over(P, node(3), now).expect("it is asked for");
    let effects = bench.controller.take_effects();
    assert!(matches!(effects[0], Effect::Ask { .. }));
    effects.into_iter().for_each(|effect| bench.carry_out(effect));
    bench.ends.insert((node(1), P), 9);
    bench.run();
    assert_eq!((bench.leader(P), bench.config().epoch), (Some(1), Epoch(2)));
}

#[test]
fn leader_that_does_not_prepare_goes_on() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.is_stubborn = true;
    let now = bench.time();
    bench.controller.hand_over(P, node(3), now).expect("it is asked for");
    bench.pass(1_000);
    assert_eq!(bench.controller.status().partitions[&P], Waits::HandOver(node(3)));
    bench.pass(1_500);
    assert_eq!((bench.leader(P), bench.config().epoch), (Some(1), Epoch(1)));
    assert!(bench.controller.status().partitions.is_empty());
}

#[test]
fn leader_that_dies_while_it_prepares_is_replaced() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.is_stubborn = true;
    let now = bench.time();
    bench.controller.hand_over(P, node(3), now).expect("it is asked for");
    bench.run();
    bench.die(1);
    bench.run();
    assert_eq!(bench.leader(P), Some(3));
}

#[test]
fn act_that_somebody_asks_for_at_a_node_is_done_and_one_that_cannot_be_is_passed_over() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    let act = |kind| Act { partition: P, kind };
    let acts =
        vec![act(ActKind::RecoverWithLoss), act(ActKind::HandOver(node(9))), act(ActKind::HandOver(node(3)))];
    bench.tell(Event::Acts { node: node(2), acts });
    bench.run();
    assert_eq!((bench.leader(P), bench.config().epoch), (Some(3), Epoch(2)));
}

#[test]
fn nobody_is_named_who_cannot_lead() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.die(3);
    let now = bench.time();
    for id in [1, 3, 4] {
        assert_eq!(bench.controller.hand_over(P, node(id), now), Err(ActError::CannotLead));
    }
    assert_eq!(
        bench.controller.hand_over(PartitionId::numbered(9), node(2), now),
        Err(ActError::NoPartition)
    );
    assert_eq!(bench.controller.cancel(P, now), Err(ActError::NoGoal));
}
