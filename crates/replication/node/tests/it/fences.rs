//! Promises.

use replication_appointed::Epoch;
use replication_controller::Promise;
use replication_node::{ControllerId, Effect};

use crate::bench::{Bench, C, P, given, promises, reads, record};

const D: ControllerId = ControllerId(2);

#[test]
fn promise_is_answered_when_it_is_durable_and_not_before() {
    let mut bench = Bench::leading();
    bench.append(3);
    assert_eq!(promises(&bench.fence(C, 2)), []);
    assert!(!bench.copy().replica.is_leading());
    assert_eq!(promises(&bench.disk()), [(C, 2, given(1, 3))]);
}

#[test]
fn promise_of_a_lower_epoch_is_refused_at_once() {
    let mut bench = Bench::leading();
    bench.fence(C, 5);
    assert_eq!(promises(&bench.fence(C, 4)), [(C, 4, Promise::Refused(Epoch(5)))]);
}

#[test]
fn promise_that_was_overtaken_is_refused() {
    let mut bench = Bench::leading();
    bench.node.connected(D);
    bench.fence(C, 2);
    let effects = bench.fence(D, 3);
    assert_eq!(promises(&effects), [(C, 2, Promise::Refused(Epoch(3)))]);
    assert_eq!(promises(&bench.disk()), [(D, 3, given(1, 0))]);
}

#[test]
fn promise_that_is_asked_for_again_goes_to_the_disk_once() {
    let mut bench = Bench::leading();
    let before = bench.copy().persists;
    bench.fence(C, 2);
    bench.fence(C, 2);
    bench.disk();
    assert_eq!(promises(&bench.fence(C, 2)), [(C, 2, given(1, 0))]);
    assert_eq!(bench.copy().persists, before + 1);
}

#[test]
fn promise_of_an_unknown_partition_waits_for_the_record_and_the_copy() {
    let mut bench = Bench::new();
    assert_eq!(reads(&bench.fence(C, 8)), [P]);
    bench.learn(1, record(6, 2, &[1, 2, 3]));
    bench.created(P, Epoch(6));
    assert_eq!(bench.copy().replica.promised(), Epoch(8));
    assert_eq!(promises(&bench.disk()), [(C, 8, given(0, 0))]);
}

#[test]
fn promise_is_not_made_for_a_record_that_does_not_name_the_node() {
    let mut bench = Bench::new();
    bench.fence(C, 8);
    assert_eq!(bench.learn(1, record(6, 2, &[2, 3])), []);
    // Nothing waits any more; the controller would ask again.
    assert_eq!(bench.node.next_deadline(), None);
    assert_eq!(reads(&bench.fence(C, 8)), [P]);
}

#[test]
fn controller_that_is_not_connected_is_not_heard() {
    let mut bench = Bench::leading();
    assert_eq!(bench.fence(D, 2), []);
    assert!(bench.copy().replica.is_leading());
    bench.fence(C, 2);
    bench.node.disconnected(C);
    let effects = bench.disk();
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Inform { .. })), "{effects:?}");
}
