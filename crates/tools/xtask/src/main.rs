//! The workspace's own commands, the same for a person and for CI: `cargo xtask check`, `fix`, `test`, ...
//!
//! A developer tool: no part of the product may depend on it, and it knows the product only by its
//! commands, its files and the workspace's manifest.

mod counting;
mod differential;
mod faults;
mod forward;
mod fuzz;
mod gates;
mod guests;
mod interop;
mod lanes;
mod log_faults;
mod mutants;
mod porcupine;
mod rust_tests;
mod tally;
mod test;
mod tools;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "The workspace's own commands", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Every gate, changing nothing: format, lints, layers, docs, dependency audit, text
    Check(gates::Args),
    /// Check that every dependency points to a lower floor and that the pure crates stay pure
    Layers,
    /// Check licences, bans and sources of all dependencies against `deny.toml`
    Audit(gates::audit::Args),
    /// Check the text of all tracked files: no machine's own paths, no registry hosts, no stubs
    Text,
    /// Format everything and apply the lints' machine-made suggestions
    Fix,
    /// Run every test there is; the last line is `N passed, N failed, N skipped`
    Test(test::Args),
    /// Run real clients' programs against Diwan, or against a real ZooKeeper or Kafka to prove the programs
    Interop(interop::Args),
    /// Feed decoders, recovery and a whole member hostile bytes
    Fuzz(fuzz::Args),
    /// Kill, stop and cut off members of real ensembles; `cargo xtask faults --help` lists the scenarios and the
    /// options
    Faults(faults::Args),
    /// Kill and stop brokers of a real cluster; `cargo xtask log-faults --help` lists the scenarios and the options
    LogFaults(log_faults::Args),
    /// Play generated scripts to a real ZooKeeper and to Diwan; `cargo xtask differential --help` lists the options
    Differential(differential::Args),
    /// Play generated scripts to a real Kafka and to Diwan's broker; `cargo xtask log-differential --help` lists the options
    LogDifferential(differential::Args),
    /// Build the modules of `guests/`, and run them under the engine of live objects
    Guests(guests::Args),
    /// Play simulated ensembles under faults; `cargo xtask sim --help` lists the options
    Sim(forward::SimArgs),
    /// Play simulated brokers of the log under faults; `cargo xtask sim-log --help` lists the options
    SimLog(forward::SimArgs),
    /// Play generated calls of live objects beside sequential models, or with `--members` whole members under faults;
    /// `cargo xtask sim-objects --help` lists the options
    SimObjects(forward::SimArgs),
    /// Plant bugs in a copy of the source, one at a time: each must be found
    Mutants(mutants::Args),
    /// Torture recovery and single members on simulated disks, for longer than the tests do
    Torture(forward::TortureArgs),
    /// Measure Diwan beside a real ZooKeeper; `cargo xtask bench -- --help` lists the rows and the options
    Bench(forward::BenchArgs),
    /// Ask a running interop server for something (what a suite's ZK_CONTROL or KAFKA_CONTROL calls)
    #[command(hide = true)]
    Control(interop::control::Args),
    /// Run a command beside a broker on the council that ZK_CONNECT names
    #[command(hide = true)]
    Broker(interop::broker::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// `Ok(false)` means that the command has already reported what is wrong.
fn run(command: Command) -> anyhow::Result<bool> {
    if let Command::Control(args) = command {
        return interop::control::ask(&args);
    }
    tools_process::kill_groups_on_signal()?;
    if let Command::Broker(args) = command {
        return interop::broker::run(&args);
    }
    let workspace = Workspace::load()?;
    match command {
        Command::Check(args) => Ok(gates::check(&workspace, &args)),
        Command::Layers => Ok(gates::alone("layers", || gates::layers::run(&workspace))),
        Command::Audit(args) => Ok(gates::alone("audit", || gates::audit::run(&workspace, &args))),
        Command::Text => Ok(gates::alone("text", || gates::text::run(&workspace))),
        Command::Fix => gates::fix::run(&workspace),
        Command::Test(args) => test::run(&workspace, &args),
        Command::Interop(args) => interop::run(&workspace, &args),
        Command::Fuzz(args) => fuzz::run(&workspace, &args),
        Command::Faults(args) => faults::run_alone(&workspace, &args),
        Command::LogFaults(args) => log_faults::run_alone(&workspace, &args),
        Command::Differential(args) => differential::COUNCIL.run_alone(&workspace, &args),
        Command::LogDifferential(args) => differential::LOG.run_alone(&workspace, &args),
        Command::Guests(args) => guests::run_alone(&workspace, &args),
        Command::Sim(args) => forward::sim(&workspace, "sim-council", "sim", &args),
        Command::SimLog(args) => forward::sim(&workspace, "sim-log", "sim-log", &args),
        Command::SimObjects(args) => forward::sim(&workspace, "sim-objects", "sim-objects", &args),
        Command::Mutants(args) => mutants::run(&workspace, &args),
        Command::Torture(args) => forward::torture(&workspace, &args),
        Command::Bench(args) => forward::bench(&workspace, &args),
        Command::Control(_) | Command::Broker(_) => unreachable!("answered above"),
    }
}
