//! The controller dies between any two effects, or two of them act at once, and the end is the same.

use base::MonoTime;
use replication_controller::{Controller, Effect, Event, Record};

use crate::bench::{Bench, P, members, node, record};

/// Carries out so many effects, then the controller dies, and those that it has given besides are lost. Whether it died.
fn interrupted(bench: &mut Bench, steps: usize) -> bool {
    while bench.done.len() < steps {
        let effects = bench.controller.take_effects();
        if effects.is_empty() {
            return false;
        }
        let left = steps - bench.done.len();
        effects.into_iter().take(left).for_each(|effect| bench.carry_out(effect));
    }
    bench.restart_controller();
    bench.pass(2_000);
    true
}

#[test]
fn controller_may_die_at_any_step_of_a_failover() {
    for steps in 1..20 {
        let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
        bench.die(1);
        interrupted(&mut bench, steps);
        assert!(bench.leader(P).is_some_and(|leader| leader != 1), "after {steps}");
        assert!(bench.controller.status().partitions.is_empty(), "after {steps}");
    }
}

#[test]
fn controller_may_die_at_any_step_of_a_hand_over() {
    for steps in 1..20 {
        let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
        let now = bench.time();
        bench.controller.hand_over(P, node(2), now).expect("it is asked for");
        interrupted(&mut bench, steps);
        assert!(
            bench.leader(P).is_some(),
            "after {steps} {:#?} {:?} {:?} {:?} {:?}",
            bench.done,
            bench.leads,
            bench.promised,
            bench.config(),
            bench.controller.status()
        );
        assert!(bench.controller.status().partitions.is_empty(), "after {steps}");
    }
}

#[test]
fn controller_may_die_at_any_step_of_a_change_of_replicas() {
    let mut finished = 0;
    for steps in 1..40 {
        let mut bench = Bench::new([(P, record(&[1, 2, 3], 2))]);
        let now = bench.time();
        bench.controller.reassign(P, members(&[4, 5], 1, &[]), now).expect("it is begun");
        let is_cut = interrupted(&mut bench, steps);
        // Whoever asked looks at the record and asks again if it shows nothing.
        if bench.store[&P].1.members() != members(&[4, 5], 1, &[]) {
            let now = bench.time();
            assert_eq!(bench.store[&P].1.goal, None, "a goal that is written is pursued");
            bench.controller.reassign(P, members(&[4, 5], 1, &[]), now).expect("it is begun");
            bench.pass(1_000);
        }
        assert_eq!(bench.store[&P].1.members(), members(&[4, 5], 1, &[]), "after {steps}");
        assert!(matches!(bench.leader(P), Some(4 | 5)), "after {steps}");
        finished += usize::from(!is_cut);
    }
    assert!(finished > 0, "some were not interrupted");
}

#[test]
fn two_controllers_that_act_in_turns_come_to_one_leader() {
    let mut bench = Bench::new([(P, Record { voters_min: Some(1), ..record(&[1, 2, 3], 2) })]);
    let mut other = Controller::new(bench.settings, MonoTime::ZERO);
    core::mem::swap(&mut bench.controller, &mut other);
    bench.restart_controller();
    for round in 0..400 {
        if round == 10 {
            bench.die(1);
        }
        core::mem::swap(&mut bench.controller, &mut other);
        if round == 11 {
            bench.tell(Event::Broken { node: node(1) });
        }
        bench.now += 10;
        for id in bench.alive.keys().copied().collect::<Vec<_>>() {
            bench.tell(Event::Heard { node: id });
        }
        bench.controller.tick(bench.time());
        let effects: Vec<Effect> = bench.controller.take_effects();
        effects.into_iter().for_each(|effect| bench.carry_out(effect));
    }
    assert!(bench.leader(P).is_some_and(|leader| leader != 1));
    assert!(bench.config().epoch.0 < 20, "epoch {}", bench.config().epoch);
}
