//! The program: see the library.

use std::process::ExitCode;

use sim_appointed::{World, explore, walk, worlds};

const HELP: &str = "\
Explores appointed replication.

  sim-appointed [explore] [STATES_MAX]     every order within bounds (default: 3,000,000 states of each world)
  sim-appointed walk [SEEDS] [FIRST]       random orders (default: 10,000 seeds from 1 on)
  sim-appointed control [SEEDS] [FIRST]    the same under real controllers (default: 1,000 seeds from 1 on)";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |place: usize, default: u64| words.get(place).and_then(|word| word.parse().ok()).unwrap_or(default);
    // A replica that stops by an assertion is a finding, and is told as one.
    std::panic::set_hook(Box::new(|_| {}));
    match words.first().map(String::as_str) {
        Some("control") => controlled(number(1, 1_000), number(2, 1)),
        Some("walk") => walked(number(1, 10_000), number(2, 1)),
        None | Some("explore") => explored(number(1, 3_000_000)),
        Some(_) => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
    }
}

fn explored(states_max: u64) -> ExitCode {
    let mut status = ExitCode::SUCCESS;
    for (name, bounds) in worlds::small() {
        let found = explore(bounds, usize::try_from(states_max).unwrap_or(usize::MAX));
        let extent = if found.is_whole { "all of them" } else { "as many as may be" };
        println!("{name}: {} states, {extent}, up to {} steps", found.states, found.depth);
        if let Some((violation, way)) = found.found {
            status = ExitCode::FAILURE;
            println!("  {violation}");
            way.iter().for_each(|action| println!("    {action:?}"));
        }
    }
    status
}

fn controlled(seeds: u64, first: u64) -> ExitCode {
    let (mut committed, mut epochs, mut changes, mut settled_ms, mut led_ms) = (0, 0, 0, 0, 0);
    let mut figures = sim_appointed::controlled::Figures::default();
    for seed in first..first + seeds {
        match sim_appointed::controlled::walk(seed) {
            Ok(walked) => {
                committed += walked.committed;
                epochs += walked.epochs;
                changes += walked.changes;
                figures.add(&walked.figures);
                led_ms = walked.led_ms.max(led_ms);
                settled_ms = walked.settled_ms.max(settled_ms);
            }
            Err((violation, story)) => {
                story.iter().for_each(|line| println!("{line}"));
                println!("seed {seed}: {violation}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{seeds} seeds from {first} on: nothing found; {committed} entries were committed in {epochs} epochs"
    );
    println!("{changes} changes of replicas");
    figures.all().into_iter().for_each(|(name, count)| println!("{count} {name}"));
    println!("each partition had its leader within {led_ms} ms; the longest end took {settled_ms} ms");
    ExitCode::SUCCESS
}

fn walked(seeds: u64, first: u64) -> ExitCode {
    let mut committed = 0;
    for seed in first..first + seeds {
        match walk(worlds::large(seed), seed) {
            Ok(world) => committed += world.committed_count(),
            Err((violation, way)) => {
                println!("seed {seed}: {violation}");
                let mut world = World::new(worlds::large(seed));
                let before = way.len().saturating_sub(1);
                way.iter().take(before).for_each(|action| drop(world.step(*action)));
                println!("{world:#?}");
                way.iter().for_each(|action| println!("    {action:?}"));
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{seeds} seeds from {first} on: nothing found; {committed} entries were committed");
    ExitCode::SUCCESS
}
