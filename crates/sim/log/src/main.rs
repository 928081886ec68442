//! `cargo xtask sim-log`: simulated brokers under faults; with `--lone`, one broker in each run.

use std::process::ExitCode;

use sim_kit::command_line::main_with;
use sim_log::{LogWorld, LoneWorld};

/// The option that plays runs with one broker only.
const LONE: &str = "--lone";

fn main() -> ExitCode {
    let (lone, words): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|word| word == LONE);
    match lone.is_empty() {
        true => main_with::<LogWorld>(words),
        false => main_with::<LoneWorld>(words),
    }
}
