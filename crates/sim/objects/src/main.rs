//! `cargo xtask sim-objects`: live objects beside their models, or, with `--members`, whole members under faults.

use std::process::ExitCode;

use sim_kit::command_line::main_with;
use sim_objects::{MembersWorld, ObjectsWorld};

/// The option that plays whole members.
const MEMBERS: &str = "--members";

fn main() -> ExitCode {
    let (members, words): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|word| word == MEMBERS);
    match members.is_empty() {
        true => main_with::<ObjectsWorld>(words),
        false => main_with::<MembersWorld>(words),
    }
}
