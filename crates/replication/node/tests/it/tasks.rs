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

/// What the operator is told of hand-overs that were given up: how far the next leader is behind.
fn failed(effects: &[Effect]) -> Vec<Option<u64>> {
    let behind = |effect: &Effect| match effect {
        Effect::NotHandedOver { partition: P, to: OTHER, behind } => Some(*behind),
        _ => None,
    };
    effects.iter().filter_map(behind).collect()
}

/// The controller asks as often as it does until it gives up. What happens meanwhile.
fn ask_for_two_seconds(bench: &mut Bench, mut act: impl FnMut(&mut Bench) -> Vec<Effect>) -> Vec<Effect> {
    let mut effects = Vec::new();
    for step in 0..40 {
        if step % 10 == 0 {
            effects.extend(bench.ask(1, HAND_OVER));
        }
        effects.extend(act(bench));
        effects.extend(bench.pass(50));
    }
    effects
}

#[test]
fn hand_over_pauses_when_the_next_leader_is_near_until_it_has_everything() {
    let mut bench = Bench::leading();
    bench.append(2);
    let effects = bench.ask(1, HAND_OVER);
    assert_eq!((effects.contains(&PAUSE), prepared(&effects)), (false, 0), "is it near?");
    bench.append(1);
    assert!(!bench.acknowledge(2, 1).contains(&PAUSE));
    bench.pass(100);
    let effects = bench.acknowledge(2, 2);
    assert_eq!((effects.contains(&PAUSE), prepared(&effects)), (true, 0), "it is 100 ms behind");
    assert!(bench.node.is_paused(P));
    assert_eq!(prepared(&bench.acknowledge(2, 3)), 1);
    assert_eq!(prepared(&bench.acknowledge(3, 3)), 0);
    assert!(!bench.pass(999).contains(&RESUME));
    assert!(bench.pass(1).contains(&RESUME), "the controller is silent");
    assert_eq!((bench.node.is_paused(P), bench.node.next_deadline()), (false, None));
}

#[test]
fn hand_over_that_is_asked_for_again_is_answered_again_and_pauses_no_longer() {
    let mut bench = Bench::leading();
    let effects = bench.ask(1, HAND_OVER);
    assert_eq!((effects.contains(&PAUSE), prepared(&effects)), (true, 1));
    bench.pass(500);
    let effects = bench.ask(1, HAND_OVER);
    assert_eq!((effects.contains(&PAUSE), prepared(&effects)), (false, 1));
    assert_eq!(bench.pass(499), []);
    assert_eq!(bench.pass(1), [RESUME]);
    let effects = bench.ask(1, HAND_OVER);
    assert!(!effects.contains(&PAUSE), "there was a pause");
    assert_eq!(bench.pass(749), []);
    assert_eq!(bench.pass(1), []);
    assert_eq!(bench.node.next_deadline(), None);
    assert!(bench.ask(1, HAND_OVER).contains(&PAUSE), "the controller begins anew");
}

#[test]
fn leader_does_not_pause_for_a_next_leader_that_lags_and_the_operator_is_told_once() {
    let mut bench = Bench::leading();
    bench.append(100);
    let mut has = 0;
    // It has what was appended 250 ms ago, all the time.
    let mut effects = ask_for_two_seconds(&mut bench, |bench| {
        has += 20;
        bench.append(20);
        bench.acknowledge(2, has)
    });
    effects.extend(bench.pass(750));
    assert!(!effects.contains(&PAUSE) && !effects.contains(&RESUME), "{effects:?}");
    assert_eq!((failed(&effects), bench.node.next_deadline()), (vec![Some(100)], None));
    // Nothing is known of one that has not answered.
    let mut bench = Bench::assigned(record(1, 1, &[1, 2, 3]));
    bench.acknowledge(3, 0);
    let mut effects = ask_for_two_seconds(&mut bench, |_| Vec::new());
    effects.extend(bench.pass(750));
    assert_eq!((effects.contains(&PAUSE), failed(&effects)), (false, vec![None]));
}

#[test]
fn leader_pauses_once_the_next_leader_has_caught_up() {
    let mut bench = Bench::leading();
    bench.append(1_000);
    let mut has = 0;
    let effects = ask_for_two_seconds(&mut bench, |bench| {
        if bench.node.is_paused(P) {
            has = bench.copy().replica.log().end().0;
        } else {
            bench.append(2);
            has = (has + 100).min(bench.copy().replica.log().end().0 - 2);
        }
        bench.acknowledge(2, has)
    });
    let paused = effects.iter().filter(|effect| **effect == PAUSE).count();
    assert_eq!((paused, failed(&effects)), (1, vec![]));
    assert!(prepared(&effects) > 0, "{effects:?}");
}

#[test]
fn next_leader_that_stops_when_it_is_near_is_waited_for_no_longer_than_a_pause() {
    let mut bench = Bench::leading();
    bench.append(2);
    bench.ask(1, HAND_OVER);
    bench.append(1);
    assert!(bench.acknowledge(2, 2).contains(&PAUSE));
    let effects = ask_for_two_seconds(&mut bench, |_| Vec::new());
    assert_eq!((prepared(&effects), failed(&effects)), (0, vec![Some(1)]));
    let of_pauses = effects.iter().filter(|effect| [PAUSE, RESUME].contains(effect)).collect::<Vec<_>>();
    assert_eq!(of_pauses, [&RESUME], "it does not pause again");
}

#[test]
fn hand_over_ends_with_the_lead() {
    let mut bench = Bench::leading();
    assert!(bench.ask(1, HAND_OVER).contains(&PAUSE));
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

/// A busy log under a change of voters: the learner has what was appended so many steps ago, all the time. How often it is written.
fn written_while_busy(steps_behind: u64, step_ms: u64) -> usize {
    let mut bench = with_learner();
    let mut written = writes(&bench.ask(1, change())).len();
    for step in 0..40 {
        bench.append(2);
        let end = bench.copy().replica.log().end().0;
        bench.acknowledge(2, end);
        written += writes(&bench.acknowledge(4, end - 2 * steps_behind)).len();
        bench.pass(step_ms);
        if step % 5 == 4 {
            bench.ask(1, change());
        }
    }
    written
}

#[test]
fn replica_that_is_farther_away_counts_although_it_never_has_everything() {
    assert_eq!(written_while_busy(1, 10), 1);
    assert_eq!(written_while_busy(1, 120), 0, "entries would wait for it for 120 ms");
}

#[test]
fn voter_that_is_dead_does_not_hold_up_a_change_that_replaces_it() {
    // Nobody has heard of voter 3, nor of replica 4 yet.
    let mut bench = Bench::assigned(record(1, 1, &[1, 2, 3]));
    bench.acknowledge(2, 0);
    bench.append(3);
    bench.acknowledge(2, 3);
    let mut learns = goes_on(2, &[1, 2, 3]);
    learns.config.learners.insert(ReplicaId(4));
    let effects = bench.ask(1, Work::Change { version: Version(1), record: Box::new(learns) });
    assert_eq!(writes(&effects).len(), 1, "{effects:?}");
    // Two of the voters that are to be have everything, and the one that is new is one of them.
    let mut bench = with_learner();
    bench.ask(1, Work::Change { version: Version(1), record: Box::new(goes_on(2, &[1, 3, 4])) });
    assert_eq!(writes(&bench.acknowledge(4, 3)).len(), 1);
}

#[test]
fn voters_of_which_too_few_have_everything_are_waited_for() {
    let mut bench = with_learner();
    bench.ask(1, Work::Change { version: Version(1), record: Box::new(goes_on(2, &[3, 4])) });
    assert_eq!(writes(&bench.acknowledge(4, 3)), [], "3 votes already, and has nothing");
    assert_eq!(writes(&bench.acknowledge(3, 3)).len(), 1);
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
