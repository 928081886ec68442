//! `cargo xtask sim-objects`: live objects beside their models.

use std::process::ExitCode;

fn main() -> ExitCode {
    sim_kit::command_line::main::<sim_objects::ObjectsWorld>()
}
