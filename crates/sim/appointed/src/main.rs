//! The program: see the library.

use replication_appointed::{ReplicaId, Voters};
use sim_appointed::{Bounds, World, explore, walk};

const HELP: &str = "\
Explores appointed replication.

  sim-appointed [explore] [STATES_MAX]     every order within bounds (default: 3,000,000 states of each world)
  sim-appointed walk [SEEDS] [FIRST]       random orders (default: 10,000 seeds from 1 on)";

fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |place: usize, default: u64| words.get(place).and_then(|word| word.parse().ok()).unwrap_or(default);
    std::panic::set_hook(Box::new(|_| {}));
    match words.first().map(String::as_str) {
        Some("--help" | "-h" | "help") => {
            println!("{HELP}");
            std::process::ExitCode::SUCCESS
        }
        Some("walk") => walked(number(1, 10_000), number(2, 1)),
        _ => explored(number(1, 3_000_000)),
    }
}

/// Small worlds, each with another kind of fault.
fn worlds() -> Vec<(&'static str, Bounds)> {
    let voters = |ids: &[u32], durable_on| {
        Voters::new(ids.iter().copied().map(ReplicaId), durable_on).expect("a constant that is fine")
    };
    let all = voters(&[1, 2, 3], 2);
    let quiet = Bounds {
        replicas: 3,
        voters: vec![all.clone()],
        proposals: 1,
        epochs: 3,
        attempts: 0,
        crashes: 0,
        reconnects: 0,
        changes: 0,
        cuts: 0,
        messages: 2,
    };
    vec![
        ("two controllers", Bounds { attempts: 2, proposals: 2, ..quiet.clone() }),
        ("a crash", Bounds { attempts: 1, crashes: 1, proposals: 2, ..quiet.clone() }),
        ("a crash of two, each entry on both", {
            Bounds { voters: vec![voters(&[1, 2], 2)], replicas: 2, attempts: 2, crashes: 2, ..quiet.clone() }
        }),
        ("other voters", {
            let sets = vec![voters(&[1, 2], 2), all.clone(), voters(&[1, 3], 1)];
            Bounds { voters: sets, attempts: 1, changes: 1, ..quiet.clone() }
        }),
        ("a log whose start is gone", Bounds { attempts: 1, cuts: 1, proposals: 2, ..quiet }),
    ]
}

fn explored(states_max: u64) -> std::process::ExitCode {
    let mut fine = true;
    for (name, bounds) in worlds() {
        let found = explore(bounds, usize::try_from(states_max).unwrap_or(usize::MAX));
        let extent = if found.is_whole { "all of them" } else { "as many as may be" };
        println!("{name}: {} states, {extent}, up to {} steps", found.states, found.depth);
        if let Some((violation, way)) = found.found {
            fine = false;
            println!("  {violation}");
            way.iter().for_each(|action| println!("    {action:?}"));
        }
    }
    if fine { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}

fn walked(seeds: u64, first: u64) -> std::process::ExitCode {
    let voters = |ids: &[u32], durable_on| {
        Voters::new(ids.iter().copied().map(ReplicaId), durable_on).expect("a constant that is fine")
    };
    let sets = [
        vec![voters(&[1, 2, 3], 2), voters(&[2, 3, 4], 2), voters(&[1, 4], 2), voters(&[1, 2, 3, 4, 5], 3)],
        vec![voters(&[1], 1), voters(&[1, 2], 1), voters(&[1, 2], 2), voters(&[2, 3, 4], 3)],
    ];
    let mut steps = 0;
    let bounds = |seed: u64| Bounds {
        replicas: 5,
        voters: sets[(seed % 2) as usize].clone(),
        proposals: 40,
        epochs: 200,
        attempts: 20,
        crashes: 12,
        reconnects: 20,
        changes: 8,
        cuts: 6,
        messages: 12,
    };
    for seed in first..first + seeds {
        match walk(bounds(seed), seed) {
            Ok(world) => steps += world.committed_count(),
            Err((violation, way)) => {
                println!("seed {seed}: {violation}");
                let mut world = World::new(bounds(seed));
                way.iter().take(way.len() - 1).for_each(|action| drop(world.step(*action)));
                println!("{world:#?}");
                way.iter().for_each(|action| println!("    {action:?}"));
                return std::process::ExitCode::FAILURE;
            }
        }
    }
    println!("{seeds} seeds from {first} on: nothing found; {steps} entries were committed");
    std::process::ExitCode::SUCCESS
}
