//! A run that fails is made smaller: less time and fewer faults, as long as it fails in the same way.

use sim_council::run::{Plan, Report, Run, play};
use sim_kit::shrink;

#[test]
fn shrink_of_what_takes_two_faults_ends_with_two_the_same_each_time() {
    let happened = |report: &Report, what| report.happened.contains_key(what);
    // As if a rule broke wherever a process is killed and a disk stands still.
    let fails = |report: &Report| happened(report, "kill") && happened(report, "disk stall");
    let plans = (0..100).map(|seed| Plan::of(seed, 20_000)).filter(|plan| fails(&play(plan, None)));
    // One of the two may not strike but behind a third, and a process may also be killed on purpose in the calm, so that
    // one fault is enough: not so in all of them.
    let mut shrunk = plans.take(20).map(|plan| (shrink::<Run>(&plan, 300, fails).expect("it fails"), plan));
    let (shrunk, plan) = shrunk.find(|(shrunk, _)| shrunk.faults().len() == 2).expect("two that stand alone");
    assert!(shrunk.plan.faulty_ms < plan.faulty_ms && shrunk.runs < 300);
    let again = shrink::<Run>(&plan, 300, fails).expect("it fails");
    assert_eq!((&again.plan, again.report.hash), (&shrunk.plan, shrunk.report.hash));
    let words = shrunk.plan.without.to_string();
    let read = Plan { without: words.parse().expect("as it was written"), ..shrunk.plan.clone() };
    assert_eq!(play(&read, None).hash, shrunk.report.hash);
}

#[test]
fn shrink_of_what_does_not_fail_finds_nothing() {
    assert!(shrink::<Run>(&Plan::of(1, 1_000), 10, |_| false).is_none());
}
