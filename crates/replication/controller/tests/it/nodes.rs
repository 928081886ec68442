//! Which nodes are alive.

use replication_appointed::Epoch;
use replication_controller::{Effect, Event, Incarnation, PartitionId, Report, Settings, Version, Waits};

use crate::bench::{Bench, P, node, record};

#[test]
fn node_that_is_silent_is_suspected_after_its_time() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.alive.remove(&node(1));
    bench.pass(250);
    assert!(bench.controller.status().nodes[&node(1)].is_alive);
    bench.pass(100);
    assert!(!bench.controller.status().nodes[&node(1)].is_alive);
    assert_eq!(bench.leader(P), Some(2));
}

#[test]
fn controller_that_did_not_run_itself_counts_silence_anew() {
    let mut bench =
        Bench::new([(P, record(&[1, 2, 3], 2)), (PartitionId::numbered(2), record(&[3, 1, 2], 2))]);
    // It stands still, is told the time, and then of one node after the other.
    bench.now += 10_000;
    bench.controller.tick(bench.time());
    for id in 1..=3 {
        bench.tell(Event::Heard { node: node(id) });
    }
    bench.pass(200);
    assert!(bench.controller.take_effects().is_empty() && bench.config().epoch == Epoch(1));
    // One that stays silent is found out.
    bench.alive.remove(&node(1));
    bench.now += 10_000;
    bench.controller.tick(bench.time());
    bench.pass(250);
    assert!(bench.controller.status().nodes[&node(1)].is_alive);
    bench.pass(100);
    assert_eq!(bench.leader(P), Some(2));
}

#[test]
fn node_that_restarted_leads_under_a_new_epoch_only() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.come_back(1, 2);
    // Nobody is asked first whether it leads.
    let effects = bench.controller.take_effects();
    assert!(effects.iter().all(|effect| matches!(effect, Effect::SendFence { .. })), "{effects:?}");
    assert_eq!(effects.len(), 3);
    effects.into_iter().for_each(|effect| bench.carry_out(effect));
    bench.run();
    assert_eq!((bench.leader(P), bench.config().epoch), (Some(1), Epoch(2)));
    // An announcement that comes late says nothing.
    bench.tell(Event::Announced { node: node(1), incarnation: Incarnation(1) });
    bench.run();
    assert_eq!(bench.config().epoch, Epoch(2));
}

#[test]
fn connection_that_is_renewed_leaves_the_leader_alone() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.tell(Event::Announced { node: node(1), incarnation: Incarnation(1) });
    bench.run();
    assert_eq!((bench.leader(P), bench.config().epoch), (Some(1), Epoch(1)));
    assert!(bench.controller.status().partitions.is_empty());
}

#[test]
fn leader_is_asked_again_over_a_new_connection() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    // It was fenced while it was cut off, and what it said of that is lost.
    bench.leads.clear();
    bench.tell(Event::Announced { node: node(1), incarnation: Incarnation(1) });
    bench.run();
    assert_eq!((bench.leader(P), bench.config().epoch), (Some(1), Epoch(2)));
}

#[test]
fn report_of_a_process_that_is_gone_says_nothing() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.alive.insert(node(1), Incarnation(2));
    bench.restart_controller();
    let report =
        Report { partition: P, version: Version(1), epoch: Epoch(1), promised: Epoch(1), leads: true };
    let incarnation = Incarnation(1);
    bench.tell(Event::Reported { node: node(1), incarnation, reports: vec![report] });
    assert_eq!(bench.controller.status().partitions[&P], Waits::Leader(node(1)));
}

#[test]
fn node_that_is_not_heard_of_has_more_time_when_a_controller_begins() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.alive.remove(&node(1));
    bench.restart_controller();
    bench.pass(bench.settings.greeting_ms - 50);
    assert_eq!(bench.config().epoch, Epoch(1));
    bench.pass(100);
    assert_eq!((bench.leader(P), bench.config().epoch), (Some(2), Epoch(2)));
}

#[test]
fn node_that_is_gone_counts_again_once_it_announces_itself() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.tell(Event::Gone { node: node(1) });
    bench.tell(Event::Heard { node: node(1) });
    assert!(!bench.controller.status().nodes[&node(1)].is_alive);
    bench.come_back(1, 2);
    assert!(bench.controller.status().nodes[&node(1)].is_alive);
}

#[test]
fn leader_moves_from_a_node_that_drains() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.tell(Event::Draining { node: node(1), drains: true });
    bench.run();
    assert_eq!((bench.leader(P), bench.config().epoch), (Some(2), Epoch(2)));
}

#[test]
fn preferred_leader_is_back_after_a_delay_that_begins_anew_with_each_death() {
    let settings = Settings { preferred_after_ms: Some(1_000), ..Settings::default() };
    let mut bench = Bench::with(settings, [(P, record(&[1, 2, 3], 2))]);
    bench.die(1);
    bench.run();
    assert_eq!(bench.leader(P), Some(2));
    for incarnation in 2..6 {
        bench.come_back(1, incarnation);
        bench.pass(800);
        assert_eq!(bench.leader(P), Some(2));
        bench.die(1);
        bench.run();
    }
    bench.come_back(1, 6);
    bench.pass(1_100);
    assert_eq!(bench.leader(P), Some(1));
}

#[test]
fn lead_goes_back_only_while_more_than_the_permitted_part_is_led_elsewhere() {
    // One of the two partitions that prefer node 1 is led elsewhere.
    for (imbalance_percent, goes_back) in [(49, true), (50, false)] {
        let settings = Settings { preferred_after_ms: Some(1_000), imbalance_percent, ..Settings::default() };
        let other = PartitionId::numbered(2);
        let mut bench = Bench::with(settings, [(P, record(&[1, 2, 3], 2)), (other, record(&[1, 2, 3], 2))]);
        bench.run();
        bench.controller.hand_over(P, node(2), bench.time()).expect("it votes");
        bench.run();
        assert_eq!((bench.leader(P), bench.leader(other)), (Some(2), Some(1)));
        bench.pass(2_500);
        assert_eq!(bench.leader(P) == Some(1), goes_back, "{imbalance_percent}");
    }
}

#[test]
fn lead_does_not_go_back_unasked_if_that_is_switched_off() {
    let settings = Settings { preferred_after_ms: None, ..Settings::default() };
    let mut bench = Bench::with(settings, [(P, record(&[1, 2, 3], 2))]);
    bench.die(1);
    bench.run();
    bench.come_back(1, 2);
    bench.pass(120_000);
    assert_eq!(bench.leader(P), Some(2));
    bench.controller.hand_over(P, node(1), bench.time()).expect("it votes");
    bench.run();
    assert_eq!(bench.leader(P), Some(1));
}

#[test]
fn node_that_is_gone_and_has_nothing_is_forgotten() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.tell(Event::Gone { node: node(5) });
    assert!(!bench.controller.status().nodes.contains_key(&node(5)));
    bench.tell(Event::Gone { node: node(3) });
    assert!(bench.controller.status().nodes[&node(3)].is_gone);
    bench.tell(Event::Removed { partition: P });
    assert!(!bench.controller.status().nodes.contains_key(&node(3)));
    assert!(bench.controller.status().nodes[&node(1)].is_alive);
}

#[test]
fn partition_that_is_removed_is_left_alone() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.die(1);
    let effects = bench.controller.take_effects();
    bench.tell(Event::Removed { partition: P });
    effects.into_iter().for_each(|effect| bench.carry_out(effect));
    bench.pass(3_000);
    assert_eq!(bench.config().epoch, Epoch(1));
    assert!(bench.controller.status().partitions.is_empty());
}
