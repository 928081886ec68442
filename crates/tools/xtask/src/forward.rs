//! Commands that only start another program of the workspace, built for speed, and hand over its output and status.

use std::process::Command;

use anyhow::Context;

use crate::workspace::{Workspace, cargo, program};

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct SimArgs {
    /// Options of the simulator
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

#[derive(clap::Args)]
pub(crate) struct TortureArgs {
    /// How many seeds each test plays; the same seed gives the same run
    #[arg(long, value_name = "N", default_value_t = 1000)]
    seeds: u64,
    /// What follows goes to the test programs: a test's name, say
    #[arg(last = true)]
    rest: Vec<String>,
}

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct BenchArgs {
    /// Options of the program `bench`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Starts a simulator: the program of that name in that package.
pub(crate) fn sim(workspace: &Workspace, package: &str, name: &str, args: &SimArgs) -> anyhow::Result<bool> {
    succeeds(program(workspace, "release", package, name).args(&args.rest))
}

pub(crate) fn torture(workspace: &Workspace, args: &TortureArgs) -> anyhow::Result<bool> {
    let mut command = cargo();
    command
        .args([
            "test",
            "--release",
            "--package",
            "sim-council",
            "--test",
            "journal",
            "--test",
            "member",
            "--",
        ])
        .args(&args.rest);
    command.env("SIM_SEEDS", args.seeds.to_string()).current_dir(&workspace.root);
    succeeds(&mut command)
}

pub(crate) fn bench(workspace: &Workspace, args: &BenchArgs) -> anyhow::Result<bool> {
    // It measures the binary that lies beside it.
    let mut build = cargo();
    build.args(["build", "--quiet", "--release", "--package", "diwan"]).current_dir(&workspace.root);
    Ok(succeeds(&mut build)?
        && succeeds(program(workspace, "release", "tools-lab", "bench").args(&args.rest))?)
}

/// Runs it at our own terminal: an interrupt reaches it as it reaches us.
pub(crate) fn succeeds(command: &mut Command) -> anyhow::Result<bool> {
    Ok(command.status().with_context(|| format!("cannot run {command:?}"))?.success())
}
