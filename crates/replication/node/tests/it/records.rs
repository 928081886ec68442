//! What a node does when it learns a record.

use replication_appointed::{
    Answer, Append, Epoch, EpochStart, Position, Received, Refused, ReplicaId, Round, Seq,
};
use replication_controller::{Loss, Record};
use replication_node::{Effect, Node, Settings};

use crate::bench::{Bench, OWN, P, goes_on, reads, record, reports};

const DROP: Effect = Effect::Drop { partition: P };

const fn create(epoch: u32) -> Effect {
    Effect::Create { partition: P, promised: Epoch(epoch) }
}

#[test]
fn copy_is_made_with_the_promise_of_the_record_that_names_it() {
    let mut bench = Bench::new();
    assert_eq!(bench.learn(1, record(4, 2, &[1, 2, 3])), [create(4)]);
    // The next record does not ask for it again.
    assert_eq!(bench.learn(2, record(5, 2, &[1, 2, 3])), []);
    bench.created(P, Epoch(4));
    assert_eq!(bench.copy().replica.promised(), Epoch(4));
    assert!(bench.learn(3, record(6, 2, &[1, 2])).is_empty());
}

#[test]
fn copy_that_cannot_be_used_does_not_give_way_to_an_empty_one() {
    let mut bench = Bench::assigned(record(1, 2, &[1, 2, 3]));
    bench.copies.0.clear();
    assert_eq!(bench.learn(2, record(2, 2, &[1, 2, 3])), []);
}

#[test]
fn copy_that_was_made_for_an_earlier_record_is_not_taken_for_the_one_that_is_wanted() {
    let mut bench = Bench::new();
    bench.learn(1, record(4, 1, &[1, 2, 3]));
    assert_eq!(bench.learn(2, record(5, 2, &[2, 3])), [DROP]);
    assert_eq!(bench.learn(3, record(6, 1, &[1, 2])), [create(6)]);
    assert_eq!(bench.created(P, Epoch(4)), []);
    assert!(!bench.copy().replica.is_leading());
    bench.created(P, Epoch(6));
    assert!(bench.copy().replica.is_leading());
}

#[test]
fn first_leader_leads_as_soon_as_its_copy_is_there_and_says_so() {
    let mut bench = Bench::new();
    bench.learn(1, record(1, 1, &[1, 2, 3]));
    let effects = bench.created(P, Epoch(1));
    assert!(bench.copy().replica.is_leading());
    let told = reports(&effects);
    assert!(matches!(&told[..], [(_, report)] if report.leads && report.epoch == Epoch(1)), "{told:?}");
}

#[test]
fn record_that_names_other_nodes_drops_the_copy_and_a_late_one_makes_none() {
    let mut bench = Bench::assigned(record(1, 2, &[1, 2, 3]));
    assert_eq!(bench.learn(3, record(2, 2, &[2, 3, 4])), [DROP]);
    bench.copies.0.clear();
    assert_eq!(bench.learn(2, record(1, 2, &[1, 2, 3])), []);
    assert_eq!(bench.tell(2, record(1, 2, &[1, 2, 3])), []);
    assert_eq!(bench.learn(4, record(3, 2, &[1, 2, 3])), [create(3)]);
}

#[test]
fn controllers_record_of_an_unknown_partition_is_read_before_a_copy_is_made() {
    let mut bench = Bench::new();
    let effects = bench.tell(1, record(1, 1, &[1, 2]));
    assert_eq!(effects, [Effect::Read { partitions: vec![P] }]);
    // The partition was removed since.
    bench.node.removed(P, &mut bench.copies);
    assert_eq!(bench.effects(), []);
    assert_eq!(bench.node.next_deadline(), None);
}

#[test]
fn removed_partition_takes_its_copy_and_its_deadlines_with_it() {
    let mut bench = Bench::leading();
    bench.fence(crate::bench::C, 2);
    assert!(bench.node.next_deadline().is_some());
    bench.node.removed(P, &mut bench.copies);
    assert_eq!(bench.effects(), [DROP]);
    assert_eq!((bench.node.next_deadline(), bench.node.known(P)), (None, None));
}

#[test]
fn copy_of_which_a_start_finds_no_assignment_is_dropped() {
    let mut bench = Bench::assigned(record(1, 2, &[1, 2, 3]));
    // The process starts again, and finds the copy on its disk.
    bench.node = Node::new(OWN, replication_controller::Incarnation(2), Settings::default());
    assert_eq!(bench.learn(2, record(2, 2, &[2, 3, 4])), [DROP]);
}

fn with_loss(leader: u32) -> Record {
    let kept = Position::default();
    let loss = Loss { epoch: Epoch(3), missing: [ReplicaId(1)].into(), kept };
    Record { loss: Some(loss), ..record(3, leader, &[1, 2]) }
}

#[test]
fn copy_is_started_anew_after_a_loss_with_the_promise_that_it_had() {
    let mut bench = Bench::leading();
    bench.append(5);
    bench.fence(crate::bench::C, 9);
    assert_eq!(bench.learn(2, with_loss(2)).first(), Some(&create(9)));
    bench.created(P, Epoch(9));
    assert_eq!(bench.copy().replica.log().end(), Seq(0));
    // The same loss in the next record concerns it no more.
    assert_eq!(bench.learn(3, with_loss(2)), []);
}

/// Otherwise it would take what the leader before has sent it and a person has given up, and then stop as it hears from the new
/// leader.
#[test]
fn copy_without_entries_takes_none_of_an_epoch_before_a_loss() {
    let mut bench = Bench::assigned(record(1, 3, &[2, 3]));
    assert_eq!(bench.learn(2, with_loss(2)).first(), Some(&create(3)));
    bench.created(P, Epoch(3));
    let append = Append {
        epoch: Epoch(1),
        epoch_start: Seq(0),
        after: Position::default(),
        to: Seq(5),
        starts: vec![EpochStart { epoch: Epoch(1), start: Seq(0) }],
        committed: Seq(5),
        start: Seq(0),
        resets: None,
        probes: true,
        round: Round(0),
    };
    let received = bench.copy().replica.receive_append(ReplicaId(3), &append);
    assert_eq!(received, Ok(Received::Answer(Answer::Refused(Refused { promised: Epoch(3) }))));
    // It has promised the epoch of the loss now: the next record with it changes nothing.
    assert_eq!(bench.learn(3, with_loss(2)), []);
}

#[test]
fn leader_that_was_chosen_with_a_loss_keeps_its_log() {
    let mut bench = Bench::leading();
    bench.append(5);
    bench.fence(crate::bench::C, 3);
    let effects = bench.learn(2, with_loss(1));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Create { .. })), "{effects:?}");
    assert!(bench.copy().replica.is_leading());
    assert_eq!(bench.copy().replica.log().end(), Seq(5));
}

#[test]
fn leader_that_cannot_lead_a_newer_record_stops() {
    let mut bench = Bench::leading();
    bench.learn(2, record(2, 2, &[1, 2, 3]));
    assert!(!bench.copy().replica.is_leading());
    // Nor does it lead one for which it was chosen without its promise.
    let mut bench = Bench::leading();
    let effects = bench.learn(2, record(2, 1, &[1, 2, 3]));
    assert!(!bench.copy().replica.is_leading());
    assert_eq!(reports(&effects).len(), 1);
}

#[test]
fn leader_goes_on_under_the_record_that_it_wrote() {
    let mut bench = Bench::leading();
    bench.learn(2, goes_on(2, &[1, 2]));
    assert!(bench.copy().replica.is_leading());
    assert_eq!(bench.copy().replica.promised(), Epoch(2));
}

#[test]
fn read_that_is_not_answered_is_asked_for_again() {
    let mut bench = Bench::new();
    bench.fence(crate::bench::C, 2);
    assert_eq!(reads(&bench.pass(4_999)), []);
    assert_eq!(reads(&bench.pass(1)), [P]);
    assert_eq!(reads(&bench.pass(5_000)), [P]);
}
