//! The differential test: generated scripts played to a real ZooKeeper and to Diwan by the program `differential`.

use std::path::Path;
use std::time::Duration;

use crate::counting;
use crate::tally::Tally;
use crate::workspace::{Workspace, program};

/// The name by which `--only` and `--require` know it; also the program's.
pub(crate) const NAME: &str = "differential";
const PACKAGE: &str = "tools-differential";
const DEADLINE: Duration = Duration::from_secs(20 * 60);

pub(crate) fn exists(workspace: &Workspace) -> bool {
    workspace.has_binary(PACKAGE, NAME)
}

/// Runs it against the given binary.
pub(crate) fn run(workspace: &Workspace, diwan: &Path) -> anyhow::Result<Tally> {
    let mut command = program(workspace, "test", PACKAGE, NAME);
    counting::run(NAME, command.arg("--diwan").arg(diwan), DEADLINE)
}
