//! What controllers ask a leader for.

use replication_appointed::{Epoch, ReplicaId, Voters};
use replication_controller::{Change, Event, Version, Work, Written};
use replication_node::Effect;

use crate::bench::{Bench, C, OTHER, OWN, P, goes_on, reads, record, reports};

const HAND_OVER: Work = Work::HandOver { to: OTHER };
const PAUSE: Effect = Effect::Pause { partition: P };
const RESUME: Effect = Effect::Resume { partition: P };

fn prepared(effects: &[Effect]) -> usize {
    let is_it = |effect: &&Effect| {
        matches!(effect, Effect::Inform { event: Event::Prepared { to: OTHER, epoch: Epoch(1), .. }, .. })
    };
    effects.iter().filter(is_it).count()
}

/// The controller wants voters 1, 2 and 4.
fn change() -> Work {
    Work::Change { version: Version(1), record: Box::new(goes_on(2, &[1, 2, 4])) }
}

fn writes(effects: &[Effect]) -> Vec<Change> {
    let write = |effect: &Effect| match effect {
        Effect::Write(change) => Some((**change).clone()),
        _ => None,
    };
    effects.iter().filter_map(write).collect()
}

/// A leader with voters 1, 2 and 3 and learner 4, which nobody has heard of yet.
fn with_learner() -> Bench {
    let mut record = record(1, 1, &[1, 2, 3]);
    record.config.learners.insert(ReplicaId(4));
    let mut bench = Bench::assigned(record);
    bench.acknowledge(2, 0);
    bench.append(3);
    bench.acknowledge(2, 3);
    bench
}

/// The same after the record was sent to the configuration.
fn with_write() -> Bench {
    let mut bench = with_learner();
    bench.ask(1, change());
    let effects = bench.acknowledge(4, 3);
    assert_eq!(writes(&effects).len(), 1, "{effects:?}");
    bench
}

#[test]
fn hand_over_pauses_until_the_next_leader_has_everything_and_the_time_is_over() {
    let mut bench = Bench::leading();
    bench.append(2);
    let effects = bench.ask(1, HAND_OVER);
    assert_eq!((effects.contains(&PAUSE), prepared(&effects)), (true, 0));
    assert!(bench.node.is_paused(P));
    assert_eq!(prepared(&bench.acknowledge(2, 1)), 0);
    assert_eq!(prepared(&bench.acknowledge(2, 2)), 1);
    assert_eq!(prepared(&bench.acknowledge(3, 2)), 0);
    assert!(!bench.pass(999).contains(&RESUME));
    assert!(bench.pass(1).contains(&RESUME));
    assert!(!bench.node.is_paused(P));
    assert_eq!(bench.node.next_deadline(), None);
}

#[test]
fn hand_over_that_is_asked_for_again_lasts_longer_and_is_answered_again() {
    let mut bench = Bench::leading();
    assert_eq!(prepared(&bench.ask(1, HAND_OVER)), 1);
    bench.pass(500);
    let effects = bench.ask(1, HAND_OVER);
    assert_eq!((effects.contains(&PAUSE), prepared(&effects)), (false, 1));
    assert_eq!(bench.pass(500), []);
    assert_eq!(bench.pass(500), [RESUME]);
}

#[test]
fn hand_over_ends_with_the_lead() {
    let mut bench = Bench::leading();
    bench.ask(1, HAND_OVER);
    assert!(bench.fence(C, 2).contains(&RESUME));
}

#[test]
fn task_of_another_epoch_or_version_is_answered_with_a_report() {
    let mut bench = Bench::leading();
    let told = reports(&bench.ask(2, HAND_OVER));
    assert!(matches!(&told[..], [(C, report)] if report.epoch == Epoch(1) && report.leads), "{told:?}");
    let record = Box::new(goes_on(2, &[1, 2]));
    assert_eq!(reports(&bench.ask(1, Work::Change { version: Version(9), record })).len(), 1);
    assert_eq!((bench.node.is_paused(P), bench.node.next_deadline()), (false, None));
}

#[test]
fn voters_count_when_they_have_caught_up_and_are_written_then() {
    let mut bench = with_learner();
    assert_eq!(writes(&bench.ask(1, change())), []);
    // The learner lacks what is committed: it does not count yet, and what is appended commits without it.
    bench.append(1);
    bench.acknowledge(2, 4);
    assert_eq!(bench.copy().replica.committed().0, 4);
    assert_eq!(writes(&bench.acknowledge(4, 3)), []);
    let written = writes(&bench.acknowledge(4, 4));
    assert!(matches!(&written[..], [change] if change.version == Version(1)), "{written:?}");
    // From then on entries have to be on two of both sets, which voters 1 and 2 are.
    bench.append(1);
    bench.acknowledge(3, 5);
    assert_eq!(bench.copy().replica.committed().0, 4);
    bench.acknowledge(2, 5);
    assert_eq!(bench.copy().replica.committed().0, 5);
}

#[test]
fn voters_are_not_written_before_the_leader_knows_what_is_committed() {
    let mut record = record(1, 1, &[1, 2, 3]);
    record.config.learners.insert(ReplicaId(4));
    let mut bench = Bench::assigned(record);
    // Neither of the other voters has said anything, so entries may be committed that the leader does not know to be.
    let next = Box::new(goes_on(2, &[1, 4]));
    bench.ask(1, Work::Change { version: Version(1), record: next });
    assert_eq!(writes(&bench.acknowledge(4, 0)), []);
    assert_eq!(writes(&bench.acknowledge(2, 0)).len(), 1);
}

#[test]
fn voters_that_are_no_replicas_yet_are_not_counted() {
    let mut bench = Bench::leading();
    bench.ask(1, change());
    bench.append(1);
    bench.acknowledge(3, 1);
    assert_eq!(bench.copy().replica.committed().0, 1);
}

#[test]
fn voters_that_are_not_asked_for_again_are_given_up_before_they_are_written() {
    let mut bench = with_learner();
    bench.ask(1, change());
    bench.pass(1_000);
    bench.ask(1, change());
    bench.pass(1_000);
    assert!(bench.node.next_deadline().is_some());
    bench.pass(500);
    assert_eq!(bench.node.next_deadline(), None);
    assert_eq!(writes(&bench.acknowledge(4, 3)), []);
}

#[test]
fn voters_whose_record_was_sent_are_not_given_up_by_time_but_sent_again() {
    let mut bench = with_write();
    assert_eq!(writes(&bench.pass(1_499)), []);
    for _ in 0..20 {
        let written = writes(&bench.pass(1_500));
        assert!(matches!(&written[..], [change] if change.version == Version(1)), "{written:?}");
    }
    // They still count: entries on voters 1 and 3 alone are on one of the next voters.
    bench.append(1);
    bench.acknowledge(3, 4);
    assert_eq!(bench.copy().replica.committed().0, 3);
}

#[test]
fn leader_goes_on_with_the_voters_that_were_written() {
    let mut bench = with_write();
    bench.node.wrote(P, Written::Yes(Version(2)), bench.now, &mut bench.copies);
    assert!(bench.copy().replica.is_leading());
    assert_eq!(bench.copy().replica.promised(), Epoch(2));
    assert_eq!(bench.node.known(P).map(|known| known.version), Some(Version(2)));
    assert_eq!(bench.node.next_deadline(), None);
}

#[test]
fn write_that_failed_or_is_unknown_is_followed_by_a_read() {
    for result in [Written::Conflict, Written::Unknown, Written::Untried, Written::Yes(Version(7))] {
        let mut bench = with_write();
        bench.node.wrote(P, result, bench.now, &mut bench.copies);
        assert_eq!(reads(&bench.effects()), [P], "{result:?}");
        assert_eq!(bench.copy().replica.promised(), Epoch(1), "{result:?}");
    }
}

#[test]
fn voters_are_given_up_when_a_newer_version_shows_that_they_were_not_written() {
    let mut bench = with_write();
    let mut other = bench.node.known(P).expect("it is assigned").record.clone();
    other.preferred = vec![OWN];
    bench.learn(2, other);
    assert!(bench.copy().replica.is_leading());
    assert_eq!(bench.node.next_deadline(), None);
    bench.append(1);
    bench.acknowledge(3, 4);
    assert_eq!(bench.copy().replica.committed().0, 4);
}

#[test]
fn second_change_waits_for_the_outcome_of_the_first() {
    let mut bench = with_write();
    let record = Box::new(goes_on(2, &[1, 2]));
    bench.ask(1, Work::Change { version: Version(1), record });
    let written = writes(&bench.pass(1_500));
    let four = Voters::new([1, 2, 4].map(ReplicaId), 2).expect("voters");
    assert!(matches!(&written[..], [change] if change.record.config.voters == four), "{written:?}");
}
