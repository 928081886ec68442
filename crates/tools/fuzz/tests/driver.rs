//! The driver notices what it is there for: panics, inputs that never end, inputs that take too much.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tools_fuzz::{Plan, TARGETS, Target, heap, runner, target};

#[global_allocator]
static ALLOCATOR: heap::Counting = heap::Counting;

fn of(run: fn(&[u8])) -> Target {
    Target { name: "test", about: "", run, seeds: || vec![b"seed with some bytes".to_vec()], planted: false }
}

#[test]
fn seeds_pass_and_are_no_handful() {
    for target in TARGETS {
        assert!((target.seeds)().len() > 10, "{} has few seeds", target.name);
        let report = runner::run(target, &Plan { inputs: 0, ..Plan::default() });
        assert_eq!(report.finding, None, "{}", target.name);
    }
}

#[test]
fn the_planted_bug_is_found_soon_from_any_seed() {
    let canary = target::find("canary").expect("there is one");
    for seed in 1..20 {
        let report = runner::run(canary, &Plan { seed, inputs: 5_000, ..Plan::default() });
        let finding = report.finding.unwrap_or_else(|| panic!("seed {seed} found nothing"));
        assert!(finding.what.contains("canary.rs"), "{}", finding.what);
    }
}

#[test]
fn the_stranger_that_a_careless_judge_lets_in_is_found() {
    let canary = target::find("peer-canary").expect("there is one");
    for seed in 1..6 {
        let report = runner::run(canary, &Plan { seed, inputs: 20_000, ..Plan::default() });
        let finding = report.finding.unwrap_or_else(|| panic!("seed {seed} found nothing"));
        assert!(finding.what.contains("another member's id"), "{}", finding.what);
    }
}

#[test]
fn every_target_can_be_reached_by_libfuzzer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("the checkout holds it");
    for Target { name, .. } in TARGETS {
        let file = folder.join("targets").join(format!("{}.rs", name.replace('-', "_")));
        let text = fs::read_to_string(file).unwrap_or_default();
        assert!(text.contains(&format!("tools_fuzz::feed(\"{name}\", bytes)")), "{name} has no file");
        assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name} is no program");
    }
}

#[test]
fn a_seed_finds_the_same_again() {
    let target = of(|bytes| assert!(!bytes.contains(&0xfe), "0xfe"));
    let find = || {
        let report = runner::run(&target, &Plan { seed: 9, inputs: 10_000, ..Plan::default() });
        (report.inputs, report.finding.expect("it is found").input)
    };
    assert_eq!(find(), find());
    assert_eq!(find().1, [0xfe], "it was made as small as can be");
}

#[test]
fn an_input_that_never_ends_is_told() {
    static ENOUGH: AtomicBool = AtomicBool::new(false);
    let target = of(|bytes| {
        while bytes.first() == Some(&b'/') && !ENOUGH.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
    });
    let report = runner::run(&target, &Plan { hang: Duration::from_millis(500), ..Plan::default() });
    ENOUGH.store(true, Ordering::Relaxed);
    let finding = report.finding.expect("it hangs");
    assert!(finding.what.contains("did not end") && finding.input.starts_with(b"/"), "{finding:?}");
}

#[test]
fn an_input_that_takes_too_much_is_told() {
    let target = of(|bytes| {
        let wanted = if bytes.first() == Some(&0xff) { 2 << 20 } else { 10 };
        drop(Vec::<u8>::with_capacity(wanted));
    });
    let plan = Plan { memory_bytes: 1 << 20, inputs: 100_000, ..Plan::default() };
    let finding = runner::run(&target, &plan).finding.expect("it is found");
    assert!(finding.what.contains("2 MiB"), "{finding:?}");
}

#[test]
fn a_run_that_misses_the_planted_bug_fails_and_one_that_finds_it_passes() {
    let run = |fixed: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fuzz"));
        command.args(["canary", "--seconds", "0", "--fixed", fixed]);
        let output = command.output().expect("the program was built");
        (output.status.code(), String::from_utf8(output.stdout).expect("it prints text"))
    };
    let (status, text) = run("0");
    assert!(status == Some(1) && text.ends_with("0 passed, 1 failed, 0 skipped\n"), "{status:?} {text}");
    let (status, text) = run("5000");
    assert!(status == Some(0) && text.ends_with("1 passed, 0 failed, 0 skipped\n"), "{status:?} {text}");
}
