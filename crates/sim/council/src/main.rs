//! `sim`: plays seeds, tells what they reached, and for a seed that fails what went wrong, its story, and the one command
//! that plays it again. `sim_kit` does that for every simulated system; this is the one over ensembles.

use std::process::ExitCode;

use sim_council::run::Run;

fn main() -> ExitCode {
    sim_kit::command_line::main::<Run>()
}
