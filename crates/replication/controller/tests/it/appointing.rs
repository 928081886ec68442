//! A leader is gone: fences, choices, and writes that others were faster than.

use replication_appointed::{Epoch, Position, ReplicaId, Seq};
use replication_controller::{
    ActError, Change, Effect, Event, FenceAnswer, FenceRequest, Known, PartitionId, Promise, ProposalId,
    Record, Version, Waits, Written,
};

use crate::bench::{Bench, P, members, node, record};

fn given(epoch: u32, end: u64) -> FenceAnswer {
    let position = Position { epoch: Epoch(1), end: Seq(end) };
    FenceAnswer { partition: P, epoch: Epoch(epoch), promise: Promise::Given(position) }
}

#[test]
fn dead_leader_is_followed_by_the_longest_log() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.ends.insert((node(3), P), 7);
    bench.die(1);
    bench.run();
    assert_eq!((bench.leader(P), bench.config().epoch, bench.config().chosen), (Some(3), Epoch(2), true));
    assert_eq!(bench.fences(), [(2, Epoch(2)), (3, Epoch(2))]);
    assert!(bench.controller.status().partitions.is_empty());
}

#[test]
fn equal_logs_are_led_by_the_replica_that_is_preferred() {
    let mut bench = Bench::new([(P, Record { preferred: vec![node(1), node(3)], ..record(&[1, 2, 3], 2) })]);
    bench.die(1);
    bench.run();
    assert_eq!(bench.leader(P), Some(3));
}

#[test]
fn nobody_is_fenced_while_too_few_voters_are_alive() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.die(2);
    bench.die(1);
    bench.pass(5_000);
    assert!(bench.fences().is_empty());
    let waits = &bench.controller.status().partitions[&P];
    assert_eq!(*waits, Waits::Voters { missing: [node(1), node(2)].into(), needed: 1 });
    bench.come_back(2, 2);
    bench.run();
    assert_eq!(bench.leader(P), Some(2));
}

#[test]
fn suspected_leader_goes_on_if_nobody_was_fenced() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 1))]);
    bench.tell(Event::Broken { node: node(2) });
    bench.tell(Event::Broken { node: node(1) });
    bench.tell(Event::Heard { node: node(1) });
    bench.run();
    assert_eq!((bench.leader(P), bench.config().epoch), (Some(1), Epoch(1)));
}

#[test]
fn fence_that_was_sent_is_followed_by_an_appointment_even_if_the_leader_returns() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.tell(Event::Broken { node: node(1) });
    let effects = bench.controller.take_effects();
    assert_eq!(effects.len(), 2);
    bench.tell(Event::Heard { node: node(1) });
    effects.into_iter().for_each(|effect| bench.carry_out(effect));
    bench.run();
    assert_eq!((bench.leader(P), bench.config().epoch), (Some(1), Epoch(2)));
}

#[test]
fn answers_about_another_epoch_count_for_nothing() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.die(1);
    let _ = bench.controller.take_effects();
    for epoch in [1, 3, 1] {
        for id in [2, 3] {
            bench.tell(Event::Promised { node: node(id), answers: vec![given(epoch, 5)] });
        }
    }
    // Neither does one of a node that does not vote.
    bench.tell(Event::Promised { node: node(4), answers: vec![given(2, 9)] });
    bench.tell(Event::Promised { node: node(2), answers: vec![given(2, 1), given(2, 1)] });
    assert!(bench.controller.take_effects().is_empty());
    bench.tell(Event::Promised { node: node(3), answers: vec![given(2, 2)] });
    let effects = bench.controller.take_effects();
    let [Effect::Propose { changes, .. }] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((changes[0].record.config.leader, changes[0].version), (node(3), Version(1)));
}

#[test]
fn refusal_makes_the_controller_read_and_pick_a_higher_epoch() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.promised.insert((node(2), P), Epoch(8));
    bench.die(1);
    bench.run();
    assert!(bench.done.iter().any(|effect| matches!(effect, Effect::Read { .. })));
    assert_eq!((bench.config().epoch, bench.leader(P)), (Epoch(9), Some(2)));
}

#[test]
fn read_that_is_lost_is_repeated() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.promised.insert((node(2), P), Epoch(8));
    bench.die(1);
    for effect in bench.controller.take_effects() {
        bench.carry_out(effect);
    }
    let effects = bench.controller.take_effects();
    assert!(matches!(&effects[..], [Effect::Read { .. }]), "{effects:?}");
    assert_eq!(bench.controller.status().partitions[&P], Waits::Configuration);
    bench.pass(bench.settings.proposal_ms + 100);
    assert_eq!((bench.config().epoch, bench.leader(P)), (Epoch(9), Some(2)));
}

#[test]
fn appointment_of_another_controller_is_taken_over() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.die(1);
    let fences = bench.controller.take_effects();
    // The other one was faster, with the same epoch.
    let theirs = Record { config: config_of(&bench, 2, 3), ..bench.store[&P].1.clone() };
    bench.store.insert(P, (Version(2), theirs));
    bench.promised.extend([((node(2), P), Epoch(2)), ((node(3), P), Epoch(2))]);
    fences.into_iter().for_each(|effect| bench.carry_out(effect));
    bench.run();
    assert_eq!((bench.leader(P), bench.config().epoch, bench.store[&P].0), (Some(3), Epoch(2), Version(2)));
}

#[test]
fn fence_above_the_epoch_of_another_controller_is_not_left_alone() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.promised.insert((node(2), P), Epoch(4));
    bench.die(1);
    bench.run();
    assert_eq!(bench.config().epoch, Epoch(5));
    // What another controller wrote meanwhile for a lower epoch was fenced.
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.die(1);
    bench.tell(Event::Promised {
        node: node(2),
        answers: vec![FenceAnswer { partition: P, epoch: Epoch(2), promise: Promise::Refused(Epoch(6)) }],
    });
    let theirs = Record { config: config_of(&bench, 3, 3), ..bench.store[&P].1.clone() };
    bench.store.insert(P, (Version(2), theirs));
    bench.run();
    assert_eq!((bench.config().epoch, bench.leader(P)), (Epoch(7), Some(2)));
}

fn config_of(bench: &Bench, epoch: u32, leader: u32) -> replication_appointed::Config {
    let config = bench.config().clone();
    replication_appointed::Config { epoch: Epoch(epoch), leader: node(leader), ..config }
}

#[test]
fn outcome_of_a_write_whose_answer_is_lost_is_read() {
    for is_written in [true, false] {
        let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
        bench.die(1);
        for effect in bench.controller.take_effects() {
            bench.carry_out(effect);
        }
        let effects = bench.controller.take_effects();
        let [Effect::Propose { id, changes }] = &effects[..] else { panic!("{effects:?}") };
        if is_written {
            bench.write(changes);
        } else {
            bench.tell(Event::Proposed { id: *id, results: vec![Written::Unknown] });
        }
        bench.pass(6_000);
        assert_eq!((bench.leader(P), bench.config().epoch), (Some(2), Epoch(2)));
    }
}

/// The batch that the controller proposes once it has the promises that it asks for.
fn proposed(bench: &mut Bench) -> (ProposalId, Vec<Change>) {
    for effect in bench.controller.take_effects() {
        bench.carry_out(effect);
    }
    let mut effects = bench.controller.take_effects();
    let Some(Effect::Propose { id, changes }) = effects.pop() else { panic!("{effects:?}") };
    assert_eq!(effects, []);
    (id, changes)
}

#[test]
fn batch_that_is_written_in_part_gives_each_partition_its_leader() {
    let other = PartitionId { group: [9; 16], index: 0 };
    let untried = PartitionId { group: [9; 16], index: 1 };
    let mut bench = Bench::new([P, other, untried].map(|id| (id, record(&[1, 2, 3], 2))));
    bench.die(1);
    let (id, changes) = proposed(&mut bench);
    let [first, second, third] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!([first, second, third].map(|change| change.partition), [P, other, untried]);
    let mut results = bench.write(std::slice::from_ref(first));
    assert_eq!(results, [Written::Yes(Version(2))]);
    // Another process has written the second one, and the third one is in the same part of the batch.
    bench.store.insert(other, (Version(2), record(&[1, 2, 3], 2)));
    results.extend(bench.write(&[second.clone(), third.clone()]));
    assert_eq!(results[1..], [Written::Conflict, Written::Untried]);
    bench.tell(Event::Proposed { id, results });
    bench.run();
    assert_eq!([P, other, untried].map(|id| bench.leader(id)), [Some(2); 3]);
    assert_eq!([P, other, untried].map(|id| bench.store[&id].0.0), [2, 3, 2]);
}

#[test]
fn results_of_a_batch_are_those_of_their_partitions_though_one_is_removed_meanwhile() {
    let other = PartitionId { group: [9; 16], index: 0 };
    let mut bench = Bench::new([P, other].map(|id| (id, record(&[1, 2, 3], 2))));
    bench.die(1);
    let (id, changes) = proposed(&mut bench);
    assert_eq!(changes.iter().map(|change| change.partition).collect::<Vec<_>>(), [P, other]);
    bench.tell(Event::Removed { partition: P });
    bench.tell(Event::Proposed { id, results: vec![Written::Yes(Version(2)), Written::Untried] });
    bench.run();
    assert_eq!((bench.leader(other), bench.store[&other].0), (Some(2), Version(2)), "it is tried again");
}

#[test]
fn partition_whose_answer_comes_behind_a_newer_version_is_judged_again() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3, 4, 5], 3))]);
    bench.die(1);
    let (id, changes) = proposed(&mut bench);
    let results = bench.write(&changes);
    let (version, written) = bench.store[&P].clone();
    bench.store.insert(P, (Version(version.0 + 1), Record { voters_min: Some(2), ..written }));
    bench.observe(P);
    bench.die(2);
    bench.run();
    assert_eq!(bench.leader(P), None, "what is to be written waits for the answer");
    bench.tell(Event::Proposed { id, results });
    bench.run();
    assert_eq!((bench.leader(P), bench.config().epoch), (Some(3), Epoch(3)));
}

#[test]
fn messages_that_are_lost_are_sent_again() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.die(1);
    assert_eq!(bench.controller.take_effects().len(), 2);
    bench.pass(600);
    assert_eq!(bench.leader(P), Some(2));
    bench.die(2);
    bench.come_back(1, 2);
    for _ in 0..2 {
        let effects = bench.controller.take_effects();
        effects.into_iter().for_each(|effect| bench.carry_out(effect));
    }
    let tells = bench.controller.take_effects();
    assert!(tells.iter().all(|effect| matches!(effect, Effect::Tell { .. })), "{tells:?}");
    bench.pass(600);
    assert!(bench.leader(P).is_some());
}

#[test]
fn voter_that_is_alive_and_slow_is_waited_for_briefly() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3, 4, 5], 3))]);
    bench.die(1);
    let _ = bench.controller.take_effects();
    for id in [2, 3, 4] {
        bench.tell(Event::Promised { node: node(id), answers: vec![given(2, 0)] });
    }
    assert!(bench.controller.take_effects().is_empty());
    bench.now += bench.settings.grace_ms;
    bench.controller.tick(bench.time());
    let effects = bench.controller.take_effects();
    assert!(matches!(&effects[..], [Effect::Propose { .. }]), "{effects:?}");
}

#[test]
fn voter_that_has_promised_and_died_is_not_appointed() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    bench.die(1);
    let _ = bench.controller.take_effects();
    bench.tell(Event::Promised { node: node(2), answers: vec![given(2, 9)] });
    bench.die(2);
    bench.tell(Event::Promised { node: node(3), answers: vec![given(2, 1)] });
    assert!(bench.controller.take_effects().is_empty());
    assert!(matches!(bench.controller.status().partitions[&P], Waits::Voters { .. }));
    bench.ends.insert((node(2), P), 9);
    bench.come_back(2, 2);
    bench.run();
    assert_eq!(bench.leader(P), Some(2));
}

#[test]
fn survivors_go_on_alone_where_each_voter_has_everything() {
    let shrinks = Record { voters_min: Some(1), ..record(&[1, 2], 2) };
    let mut bench = Bench::new([(P, shrinks)]);
    bench.die(1);
    bench.run();
    let record = &bench.store[&P].1;
    assert_eq!((bench.leader(P), record.members()), (Some(2), members(&[2], 1, &[1])));
    bench.come_back(1, 2);
    bench.run();
    let record = &bench.store[&P].1;
    assert_eq!((record.members(), record.goal.clone()), (members(&[1, 2], 2, &[]), None));
    // Otherwise the partition has a leader that waits.
    let mut bench = Bench::new([(P, crate::bench::record(&[1, 2], 2))]);
    bench.die(1);
    bench.run();
    assert_eq!(bench.store[&P].1.members(), members(&[1, 2], 2, &[]));
}

/// Its epoch may have begun when the other voter was dead: then it can change nothing.
#[test]
fn leader_that_does_not_go_on_alone_is_chosen_anew() {
    let shrinks = Record { voters_min: Some(1), ..record(&[1, 2], 2) };
    let mut bench = Bench::new([(P, shrinks)]);
    bench.is_stubborn = true;
    bench.die(2);
    bench.run();
    bench.pass(bench.settings.shrink_ms - 1);
    assert_eq!((bench.config().epoch, bench.store[&P].1.members()), (Epoch(1), members(&[1, 2], 2, &[])));
    bench.pass(1);
    bench.run();
    let record = &bench.store[&P].1;
    assert_eq!((bench.leader(P), record.members()), (Some(1), members(&[1], 1, &[2])));
    assert!(record.config.chosen && record.config.epoch > Epoch(1));
    // Nobody is chosen if the other is back in time.
    let shrinks = Record { voters_min: Some(1), ..crate::bench::record(&[1, 2], 2) };
    let mut bench = Bench::new([(P, shrinks)]);
    bench.is_stubborn = true;
    bench.die(2);
    bench.run();
    bench.pass(bench.settings.shrink_ms / 2);
    bench.come_back(2, 2);
    bench.run();
    bench.pass(bench.settings.shrink_ms);
    bench.run();
    assert_eq!(bench.config().epoch, Epoch(1));
}

#[test]
fn survivors_that_may_lack_entries_do_not_go_on_alone() {
    let shrinks = Record { voters_min: Some(1), ..record(&[1, 2, 3], 2) };
    let mut bench = Bench::new([(P, shrinks)]);
    bench.die(1);
    bench.run();
    assert_eq!((bench.leader(P), bench.store[&P].1.members()), (Some(2), members(&[1, 2, 3], 2, &[])));
    bench.die(2);
    bench.pass(2_000);
    assert_eq!(bench.leader(P), None);
    assert!(matches!(bench.controller.status().partitions[&P], Waits::Voters { .. }));
}

#[test]
fn loss_is_accepted_only_if_asked_for_and_is_marked() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    let now = bench.time();
    assert_eq!(bench.controller.recover_with_loss(P, now), Err(ActError::NothingLost));
    bench.die(2);
    bench.die(1);
    bench.pass(10_000);
    assert_eq!(bench.leader(P), None);
    let now = bench.time();
    assert_eq!(bench.controller.recover_with_loss(P, now), Ok([node(1), node(2)].into()));
    bench.run();
    let record = &bench.store[&P].1;
    assert_eq!((bench.leader(P), record.members()), (Some(3), members(&[3], 1, &[1, 2])));
    let loss = record.loss.clone().expect("it is marked");
    assert_eq!((loss.epoch, loss.missing), (Epoch(2), [node(1), node(2)].into()));
    bench.die(3);
    let now = bench.time();
    assert_eq!(bench.controller.recover_with_loss(P, now), Err(ActError::NobodyAlive));
}

#[test]
fn voters_that_are_left_after_a_loss_learn_until_they_have_what_the_leader_has() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3, 4, 5], 3))]);
    bench.ends.extend([((node(4), P), 3), ((node(5), P), 8)]);
    for id in [1, 2, 3] {
        bench.die(id);
    }
    let now = bench.time();
    bench.controller.recover_with_loss(P, now).expect("it is accepted");
    for effect in bench.controller.take_effects() {
        bench.carry_out(effect);
    }
    let effects = bench.controller.take_effects();
    let [Effect::Propose { changes, .. }] = &effects[..] else { panic!("{effects:?}") };
    let record = &changes[0].record;
    assert_eq!(record.members(), members(&[5], 1, &[1, 2, 3, 4]));
    assert_eq!(record.loss.as_ref().map(|loss| loss.kept.end), Some(Seq(8)));
    assert_eq!(record.goal.as_ref().map(|goal| goal.to.clone()), Some(members(&[1, 2, 3, 4, 5], 3, &[])));
}

#[test]
fn promise_that_nobody_used_is_followed_by_an_appointment() {
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
    // A controller that has died had fenced a follower.
    bench.promised.insert((node(2), P), Epoch(5));
    let record = bench.store[&P].1.clone();
    let known = Known { partition: P, version: Version(1), record };
    let report = replication_controller::Report {
        partition: P,
        version: Version(1),
        epoch: Epoch(1),
        promised: Epoch(5),
        leads: false,
    };
    assert!(report.needs_controller(ReplicaId(2), &known));
    let incarnation = bench.alive[&node(2)];
    bench.tell(Event::Reported { node: node(2), incarnation, reports: vec![report] });
    bench.run();
    assert_eq!((bench.leader(P), bench.config().epoch), (Some(1), Epoch(6)));
}

#[test]
fn one_partition_that_has_changed_does_not_stop_its_batch() {
    let other = replication_controller::PartitionId::numbered(2);
    let mut bench = Bench::new([(P, record(&[1, 2, 3], 2)), (other, record(&[1, 2, 3], 2))]);
    bench.die(1);
    for effect in bench.controller.take_effects() {
        assert!(matches!(&effect, Effect::SendFence { fences, .. } if *fences == [P, other].map(fence)));
        bench.carry_out(effect);
    }
    let (version, changed) = bench.store[&P].clone();
    bench.store.insert(P, (Version(version.0 + 1), changed));
    bench.run();
    assert_eq!((bench.leader(P), bench.leader(other)), (Some(2), Some(2)));
}

fn fence(partition: replication_controller::PartitionId) -> FenceRequest {
    FenceRequest { partition, epoch: Epoch(2) }
}
