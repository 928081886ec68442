//! `cargo xtask sim-log`: simulated brokers under faults.

use std::process::ExitCode;

fn main() -> ExitCode {
    sim_kit::command_line::main::<sim_log::LogWorld>()
}
