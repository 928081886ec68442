//! What a node says on its own.

use replication_appointed::{Epoch, Refused, ReplicaId};
use replication_controller::{Event, Incarnation};
use replication_node::{ControllerId, Effect, Node, Reply, Settings};

use crate::bench::{Bench, C, OWN, record, reports};

#[test]
fn node_announces_itself_to_a_controller_that_connects() {
    let mut node = Node::new(OWN, Incarnation(3), Settings::default());
    node.drain(true);
    node.connected(C);
    let inform = |event| Effect::Inform { controller: C, event };
    let announced = Event::Announced { node: OWN, incarnation: Incarnation(3) };
    let draining = |drains| Event::Draining { node: OWN, drains };
    assert_eq!(node.take_effects(), [inform(announced), inform(draining(true))]);
    node.drain(false);
    assert_eq!(node.take_effects(), [inform(draining(false))]);
}

#[test]
fn record_that_a_controller_tells_is_answered_each_time() {
    let mut bench = Bench::leading();
    bench.node.connected(ControllerId(2));
    bench.effects();
    for _ in 0..2 {
        let told = reports(&bench.tell(1, record(1, 1, &[1, 2, 3])));
        assert!(matches!(&told[..], [(C, report)] if report.leads), "{told:?}");
    }
}

#[test]
fn leader_that_stops_says_so_to_all_controllers_and_again_every_second() {
    let mut bench = Bench::leading();
    bench.node.connected(ControllerId(2));
    bench.effects();
    let effects = bench.reply(ReplicaId(3), Reply::Refused(Refused { promised: Epoch(6) }));
    let told = reports(&effects);
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|(_, report)| !report.leads && report.epoch == Epoch(1)), "{told:?}");
    assert_eq!(reports(&bench.pass(999)), []);
    assert_eq!(reports(&bench.pass(1)).len(), 2);
    assert_eq!(reports(&bench.pass(1_000)).len(), 2);
    bench.learn(2, record(7, 2, &[1, 2, 3]));
    assert_eq!(bench.node.next_deadline(), None);
}

#[test]
fn follower_whose_promise_no_leader_comes_of_says_so_after_a_second() {
    let mut bench = Bench::assigned(record(1, 2, &[1, 2, 3]));
    assert_eq!(reports(&bench.fence(C, 2)), []);
    bench.disk();
    let told = reports(&bench.pass(1_000));
    assert!(matches!(&told[..], [(C, report)] if report.promised == Epoch(2)), "{told:?}");
    bench.learn(2, record(2, 3, &[1, 2, 3]));
    assert_eq!(bench.pass(1_000), []);
}
